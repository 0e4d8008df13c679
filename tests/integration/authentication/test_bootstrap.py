"""Bootstrap tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.authentication.planes import bearer, identity_plane

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
SECRETS = "/api/v1/namespaces/kube-system/secrets"
GOOD = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm,system:bootstrappers:a",
    "expiration": "2999-01-01T00:00:00Z",
}


def test_a_bootstrap_token_is_good_while_its_secret_says_so(tmp_path: Path) -> None:
    def configure(config: Config) -> None:
        config.bootstrap_tokens = True

    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure) as plane:

            async def who(token: str) -> tuple[int, Any]:
                return await plane.call("POST", WHO, {}, anonymous=True, headers=bearer(token))

            token = "abcdef.0123456789abcdef"
            assert (await who(token))[0] == 401
            secret = {"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token"}
            status, _ = await plane.call("POST", SECRETS, {**secret, "stringData": GOOD})
            assert status == 201
            status, body = await who(token)
            assert status == 201
            assert body["status"]["userInfo"] == {
                "username": "system:bootstrap:abcdef",
                "groups": [
                    "system:bootstrappers",
                    "system:bootstrappers:a",
                    "system:bootstrappers:kubeadm",
                    "system:authenticated",
                ],
            }
            assert (await who("abcdef.0123456789abcdee"))[0] == 401
            for change in (
                {"expiration": "2001-01-01T00:00:00Z"},
                {"usage-bootstrap-authentication": "false"},
                {"auth-extra-groups": "system:masters"},
                {"token-id": "bcdefa"},
            ):
                await plane.call(
                    "PUT", f"{SECRETS}/bootstrap-token-abcdef", {**secret, "stringData": {**GOOD, **change}}
                )
                assert (await who(token))[0] == 401, change

    run(scenario())
