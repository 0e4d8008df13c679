"""Tokens of service accounts on a running control plane: given, shown, verified by others, ended."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest

from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.base.tls import issue
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.authentication.planes import bearer, identity_plane
from tests.integration.plane import Plane

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


async def account(plane: Plane, name: str = "robot") -> str:
    """Create a service account; its uid."""
    status, body = await plane.call("POST", ACCOUNTS, {"metadata": {"name": name}})
    assert status == 201, body
    uid: str = body["metadata"]["uid"]
    return uid


async def token_of(plane: Plane, name: str = "robot", **spec: Any) -> str:
    status, body = await plane.call("POST", f"{ACCOUNTS}/{name}/token", {"spec": spec})
    assert status == 201, body
    token: str = body["status"]["token"]
    return token


async def who(plane: Plane, token: str) -> tuple[int, Any]:
    return await plane.call("POST", WHO, {}, anonymous=True, headers=bearer(token))


def test_a_token_says_whose_it_is_and_is_believed_until_its_account_is_gone(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path) as plane:
            uid = await account(plane)
            token = await token_of(plane)
            (status, body), again = await who(plane, token), await who(plane, token)  # verified, then remembered
            assert (status, again) == (201, (201, body))
            claims = jwt.decode(token, options={"verify_signature": False})
            assert body["status"]["userInfo"] == {
                "username": "system:serviceaccount:default:robot",
                "uid": uid,
                "groups": ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
                "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]},
            }
            assert claims["sub"] == "system:serviceaccount:default:robot"
            assert claims["aud"] == ["https://kubernetes.default.svc"]
            assert claims["exp"] - claims["iat"] == 3600
            assert claims["kubernetes.io"] == {
                "namespace": "default",
                "serviceaccount": {"name": "robot", "uid": uid},
            }
            status, gone = await plane.call("DELETE", f"{ACCOUNTS}/robot")
            assert (status, gone["kind"]) == (200, "ServiceAccount")
            assert (await who(plane, token))[0] == 401  # at once
            await account(plane)
            assert (await who(plane, token))[0] == 401  # another of the name does not revive it
            _, review = await plane.call("POST", REVIEWS, {"spec": {"token": token}})
            assert review["status"]["error"].startswith("[invalid bearer token, service account UID (")

    run(scenario())


def test_a_token_ends_with_the_secret_that_it_is_bound_to(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path) as plane:
            await account(plane)
            await plane.call("POST", SECRETS, {"metadata": {"name": "s"}})
            token = await token_of(plane, boundObjectRef={"kind": "Secret", "apiVersion": "v1", "name": "s"})
            assert (await who(plane, token))[0] == 201
            await plane.call("DELETE", f"{SECRETS}/s")
            assert (await who(plane, token))[0] == 401
            _, review = await plane.call("POST", REVIEWS, {"spec": {"token": token}})
            assert review["status"]["error"] == "[invalid bearer token, service account token has been invalidated]"

    run(scenario())


def test_others_can_verify_tokens_by_the_published_keys(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path) as plane:
            await account(plane)
            token = await token_of(plane, audiences=["bank"])
            status, configuration = await plane.call("GET", "/.well-known/openid-configuration")
            assert status == 200
            assert configuration["issuer"] == "https://kubernetes.default.svc"
            assert configuration["jwks_uri"] == f"{plane.running.url}/openid/v1/jwks"
            async with plane.http.get(configuration["jwks_uri"], ssl=plane.admin_tls) as response:
                assert response.content_type == "application/jwk-set+json"
                assert response.headers["Cache-Control"] == "public, max-age=3600"
                keys = jwt.PyJWKSet.from_dict(json.loads(await response.text()))
            key = keys[jwt.get_unverified_header(token)["kid"]]
            assert jwt.decode(token, key.key, algorithms=["ES256"], audience="bank")["sub"].endswith(":robot")
            assert (await who(plane, token))[0] == 401  # it is good for the bank, not here

    run(scenario())


def secret_token(plane_key: Path, claims: dict[str, Any]) -> str:
    return jwt.encode(claims, plane_key.read_bytes(), algorithm="ES256")


def test_tokens_that_are_kept_in_secrets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path) as plane:
            uid = await account(plane)
            prefix = "kubernetes.io/serviceaccount/"
            token = secret_token(
                tmp_path / "certs" / "sa.key",
                {
                    "iss": "kubernetes/serviceaccount",
                    "sub": "system:serviceaccount:default:robot",
                    prefix + "namespace": "default",
                    prefix + "secret.name": "kept",
                    prefix + "service-account.name": "robot",
                    prefix + "service-account.uid": uid,
                },
            )
            assert (await who(plane, token))[0] == 401  # there is no such secret
            secret = {"metadata": {"name": "kept"}, "stringData": {"token": token}}
            await plane.call("POST", SECRETS, secret)
            status, body = await who(plane, token)
            assert (status, body["status"]["userInfo"]["uid"]) == (201, uid)
            assert "extra" not in body["status"]["userInfo"]
            _, marked = await plane.call("GET", f"{SECRETS}/kept")
            day = marked["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"]
            assert abs(datetime.now(UTC) - datetime.fromisoformat(f"{day}T12:00:00+00:00")) < timedelta(days=1)
            await plane.call("PUT", f"{ACCOUNTS}/robot", {"metadata": {"name": "robot"}, "secrets": [{"name": "kept"}]})
            async with plane.http.post(
                plane.running.url + WHO, json={}, ssl=plane.anonymous_tls, headers=bearer(token)
            ) as response:
                assert "Use tokens from the TokenRequest API" in response.headers["Warning"]
            patch = {"metadata": {"labels": {"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}}}
            headers = {"Content-Type": "application/merge-patch+json"}
            await plane.call("PATCH", f"{SECRETS}/kept", patch, headers=headers)
            assert (await who(plane, token))[0] == 401

    run(scenario())


def test_keys_of_the_operators_and_several_issuers(tmp_path: Path) -> None:
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    old.write_bytes(issue.new_key())
    new.write_bytes(issue.new_key())

    def configure(config: Config) -> None:
        config.service_accounts = ServiceAccountConfig(
            issuers=("https://new.example", "https://old.example"),
            audiences=("api",),
            key_files=(str(old),),
            signing_key_file=str(new),
            max_token_seconds=7200,
        )

    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure) as plane:
            uid = await account(plane)
            assert not (tmp_path / "certs" / "sa.key").exists()
            async with plane.http.post(
                f"{plane.running.url}{ACCOUNTS}/robot/token",
                json={"spec": {"expirationSeconds": 9000}},
                ssl=plane.admin_tls,
            ) as response:
                given = await response.json()
                assert "requested expiration of 9000 seconds shortened to 7200 seconds" in response.headers["Warning"]
            assert given["spec"] == {"audiences": ["api"], "boundObjectRef": None, "expirationSeconds": 7200}
            claims = jwt.decode(given["status"]["token"], options={"verify_signature": False})
            assert claims["iss"] == "https://new.example"
            assert (await who(plane, given["status"]["token"]))[0] == 201
            before = {**claims, "iss": "https://old.example"}
            assert (await who(plane, secret_token(old, before)))[0] == 201
            assert (await who(plane, secret_token(old, {**before, "iss": "https://other.example"})))[0] == 401
            assert (await who(plane, secret_token(old, {**before, "exp": claims["iat"] - 61})))[0] == 401
            _, keys = await plane.call("GET", "/openid/v1/jwks", headers={"Accept": "*/*"})
            assert len(json.loads(keys)["keys"]) == 2
            assert uid

    run(scenario())


@pytest.mark.parametrize("off", ["serviceaccounts", "secrets"])
def test_what_is_off_is_gone(tmp_path: Path, off: str) -> None:
    def configure(config: Config) -> None:
        config.resources = [resource for resource in config.resources if resource.plural != off]

    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure) as plane:
            status, _ = await plane.call("GET", "/openid/v1/jwks")
            assert status == (404 if off == "serviceaccounts" else 200)
            assert (tmp_path / "certs" / "sa.key").exists() == (off == "secrets")
            if off == "secrets":
                await account(plane)
                bound = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
                status, body = await plane.call("POST", f"{ACCOUNTS}/robot/token", {"spec": {"boundObjectRef": bound}})
                assert (status, body["message"]) == (404, 'secrets "s" not found')

    run(scenario())
