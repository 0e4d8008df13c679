"""Tokens of other issuers: what they mean, which are refused, keys that change, a configuration that changes."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from controlplane.apiserver.authentication.jwt import configured
from controlplane.base.clock import SystemClock
from controlplane.base.options import load
from controlplane.generic.config import Config, config_of
from controlplane.generic.options import GenericOptions
from controlplane.generic.server import StartError
from tests.aio import run
from tests.integration.authentication.planes import bearer, identity_plane
from tests.integration.authentication.remote import CA_PEM, Issuer, issuer
from tests.integration.plane import Plane

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
HEAD = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration"}


def of_issuer(made: Issuer, **more: Any) -> dict[str, Any]:
    return {
        "issuer": {
            "url": made.url,
            "certificateAuthority": CA_PEM,
            "audiences": ["plane", "other"],
            "audienceMatchPolicy": "MatchAny",
        },
        "claimMappings": {
            "username": {"claim": "sub", "prefix": "oidc:"},
            "groups": {"claim": "groups", "prefix": "oidc:"},
            "uid": {"claim": "oid"},
        },
        **more,
    }


class QuickLooks(SystemClock):
    """Looks at the file every 20 ms."""

    async def sleep(self, seconds: float) -> None:
        await super().sleep(0.02 if seconds == configured.LOOK_SECONDS else seconds)


def configure(file: Path) -> Any:
    def change(config: Config) -> None:
        config.authentication_config_file, config.clock = str(file), QuickLooks()

    return change


async def who(plane: Plane, token: str) -> tuple[int, Any]:
    status, body = await plane.call("POST", WHO, {}, anonymous=True, headers=bearer(token))
    return status, body.get("status", {}).get("userInfo") if status == 201 else body


async def why(plane: Plane, token: str) -> str:
    status, body = await plane.call("POST", REVIEWS, {"spec": {"token": token}})
    assert status == 201
    text: str = body["status"].get("error", "")
    return text


def test_claims_mean_a_user(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with issuer(tmp_path) as made:
            file = tmp_path / "authentication.yaml"
            rules = [{"claim": "hd", "requiredValue": "acme.com"}]
            file.write_text(json.dumps({**HEAD, "jwt": [of_issuer(made, claimValidationRules=rules)]}))
            async with identity_plane(tmp_path, configure=configure(file)) as plane:
                good = {"hd": "acme.com", "groups": ["dev"], "oid": "7", "jti": "1"}
                token = made.token("first", **good)
                first, again = await who(plane, token), await who(plane, token)
                assert first == again
                assert first[0] == 201
                assert first[1] == {
                    "username": "oidc:jane",
                    "uid": "7",
                    "groups": ["oidc:dev", "system:authenticated"],
                    "extra": {"authentication.kubernetes.io/credential-id": ["JTI=1"]},
                }
                assert made.asked == {"/.well-known/openid-configuration": 1, "/keys": 1}
                assert (await who(plane, made.token("first", **{**good, "aud": ["x", "other"], "groups": "one"})))[
                    0
                ] == 201
                for claims, reason in (
                    ({"aud": "elsewhere"}, 'oidc: expected audience in ["other" "plane"] got ["elsewhere"]'),
                    ({"exp": 1}, "oidc: token is expired (Token Expiry: 1970-01-01 00:00:01 +0000 UTC)"),
                    ({"hd": "evil.com"}, "required claim hd value does not match. Got = evil.com, want = acme.com"),
                    ({"hd": None}, "oidc: required claim hd not present in ID token"),
                    ({"oid": 7}, "json: cannot unmarshal number into Go value of type string"),
                    ({"groups": {"a": 1}}, "json: cannot unmarshal object into Go value of type string"),
                ):
                    refused = made.token("first", **{**good, **claims})
                    assert reason in await why(plane, refused)
                    assert (await who(plane, refused))[0] == 401
                other = Issuer(url="https://elsewhere.example", keys=made.keys)
                assert await why(plane, other.token("first", **good)) == "invalid bearer token"

    run(scenario())


def test_expressions_say_what_claims_mean(tmp_path: Path) -> None:
    mappings = {
        "username": {"expression": "claims.email_verified ? claims.email : 'nobody'"},
        "groups": {"expression": "claims.roles.split(',')"},
        "uid": {"expression": "string(claims.number)"},
        "extra": [
            {"key": "acme.com/team", "valueExpression": "claims.?team.orValue('')"},
            {"key": "acme.com/all", "valueExpression": "claims.roles.split(',')"},
        ],
    }
    rules = [{"expression": "claims.exp - claims.nbf <= 86400", "message": "it lasts too long"}]
    user_rules = [{"expression": "!user.username.startsWith('system:')", "message": "no system users"}]

    async def scenario() -> None:
        async with issuer(tmp_path) as made:
            file = tmp_path / "authentication.yaml"
            more = {"claimMappings": mappings, "claimValidationRules": rules, "userValidationRules": user_rules}
            file.write_text(json.dumps({**HEAD, "jwt": [of_issuer(made, **more)]}))
            async with identity_plane(tmp_path, configure=configure(file)) as plane:
                now = int(time.time())
                good = {
                    "email": "a@b",
                    "email_verified": True,
                    "roles": "x,y",
                    "number": 7,
                    "nbf": now,
                    "exp": now + 99,
                }
                status, user = await who(plane, made.token("first", **good))
                assert status == 201, user
                assert user == {
                    "username": "a@b",
                    "uid": "7",
                    "groups": ["x", "y", "system:authenticated"],
                    "extra": {"acme.com/all": ["x", "y"]},
                }
                for claims, reason in (
                    ({"exp": now + 90_000}, "failed: it lasts too long"),
                    ({"email": "system:admin"}, "failed: no system users"),
                    ({"email": ""}, "oidc: empty username via CEL expression is not allowed"),
                    ({"roles": None}, "resulted in error: no such key: roles"),
                    ({"roles": 7}, "oidc: error evaluating group claim expression"),
                ):
                    assert reason in await why(plane, made.token("first", **{**good, **claims}))

    run(scenario())


def test_keys_change_and_forged_tokens_do_not_make_us_ask_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with issuer(tmp_path) as made:
            file = tmp_path / "authentication.yaml"
            file.write_text(json.dumps({**HEAD, "jwt": [of_issuer(made)]}))
            async with identity_plane(tmp_path, configure=configure(file)) as plane:
                extra = {"oid": "7"}
                assert (await who(plane, made.token("first", **extra)))[0] == 201
                made.add_key("second", curve=True)
                assert (await who(plane, made.token("second", **extra)))[0] == 201
                assert made.asked["/keys"] == 2
                del made.keys["first"]
                stranger = Issuer(url=made.url)
                stranger.add_key("second", curve=True)
                for number in range(8):
                    token = made.token("second", key=stranger.keys["second"], n=number, **extra)
                    assert (await who(plane, token))[0] == 401
                assert made.asked["/keys"] <= 2 + 5

    run(scenario())


def test_the_configuration_is_followed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with issuer(tmp_path) as made:
            file = tmp_path / "authentication.yaml"
            file.write_text(json.dumps({**HEAD, "jwt": []}))
            async with identity_plane(tmp_path, configure=configure(file)) as plane:

                async def until(token: str, wanted: int) -> Any:
                    async with asyncio.timeout(10):
                        while (answer := await who(plane, token))[0] != wanted:
                            pass
                    return answer[1]

                token = made.token("first", oid="7")
                assert (await who(plane, token))[0] == 401
                file.write_text(json.dumps({**HEAD, "jwt": [of_issuer(made)]}))
                assert (await until(token, 201))["username"] == "oidc:jane"
                file.write_text(json.dumps({**HEAD, "jwt": [{"issuer": {"url": "http://no"}}]}))
                _, page = await plane.call("GET", "/metrics")
                async with asyncio.timeout(10):
                    while 'automatic_reloads_total{status="failure"' not in page:
                        _, page = await plane.call("GET", "/metrics")
                assert (await who(plane, token))[0] == 201  # the old one stays in force
                file.write_text(json.dumps({**HEAD, "jwt": []}))
                await until(token, 401)

    run(scenario())


def test_anonymous_requests_on_some_paths(tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(json.dumps({**HEAD, "anonymous": {"enabled": True, "conditions": [{"path": "/livez"}]}}))

    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure(file)) as plane:
            assert (await plane.call("GET", "/livez", anonymous=True))[0] == 200
            assert (await plane.call("GET", "/readyz", anonymous=True))[0] == 401

    run(scenario())


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"jwt": []}, "must be AuthenticationConfiguration of one of apiserver.config.k8s.io/v1"),
        ({**HEAD, "jwt": [{"isuer": {}}]}, 'strict decoding error: unknown field "jwt[0].isuer"'),
        ({**HEAD, "jwt": [{}]}, "jwt[0].issuer.url: Required value"),
        (
            {**HEAD, "jwt": [{"issuer": {"url": "https://kubernetes.default.svc", "audiences": ["a"]}}]},
            "URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]",
        ),
        (
            {**HEAD, "jwt": [{"claimMappings": {"username": {"expression": "claims.email"}}}]},
            'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be',
        ),
        (
            {**HEAD, "jwt": [{"claimValidationRules": [{"expression": "claims."}]}]},
            'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.": compilation failed: ERROR: <input>',
        ),
        (
            {**HEAD, "jwt": [{"userValidationRules": [{"expression": "user.name == 'a'"}]}]},
            "undefined field 'name'",
        ),
        ({**HEAD, "jwt": [{"claimValidationRules": [{"expression": "claims.sub"}]}]}, "must evaluate to bool"),
        (
            {**HEAD, "jwt": [{"claimMappings": {"extra": [{"key": "a.k8s.io/b", "valueExpression": "'x'"}]}}]},
            "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
        ),
        (
            {**HEAD, "anonymous": {"enabled": False, "conditions": [{"path": "/x"}]}},
            "enabled should be set to true when conditions are defined",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_is_refused(tmp_path: Path, document: Any, why: str) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(json.dumps(document))

    async def scenario() -> None:
        with pytest.raises(StartError) as caught:
            async with identity_plane(tmp_path, configure=configure(file)):
                pass
        assert str(caught.value).startswith(f"--authentication-config: {file}: ")
        assert why in str(caught.value)

    run(scenario())


def test_flags_name_one_issuer(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with issuer(tmp_path) as made:
            ca = tmp_path / "issuer-ca.crt"
            ca.write_text(CA_PEM)
            flags = [
                f"--oidc-issuer-url={made.url}",
                "--oidc-client-id=plane",
                f"--oidc-ca-file={ca}",
                "--oidc-groups-claim=groups",
                "--oidc-required-claim=hd=acme.com",
            ]
            said = config_of(load(GenericOptions, flags, environ={}).options)

            def change(config: Config) -> None:
                config.oidc, config.oidc_ca_file = said.oidc, said.oidc_ca_file

            async with identity_plane(tmp_path, configure=change) as plane:
                status, user = await who(plane, made.token("first", hd="acme.com", groups=["dev"]))
                assert (status, user["username"]) == (201, f"{made.url}#jane")
                assert (await who(plane, made.token("first", hd="other")))[0] == 401

    run(scenario())
