"""A webhook that is asked whose tokens are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.apiserver.authentication.webhook import TokenWebhookConfig
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.authentication.planes import bearer, identity_plane
from tests.integration.authentication.remote import webhook

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"


def answer(review: dict[str, Any]) -> tuple[int, Any]:
    token = review["spec"]["token"]
    if token == "broken":
        return 403, {}
    if token == "bad":
        status: dict[str, Any] = {"authenticated": False, "error": "it is revoked"}
    elif token == "elsewhere":
        status = {"authenticated": True, "user": {"username": "jane"}, "audiences": ["bank"]}
    elif token == "good":
        user = {"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"acme.com/team": ["red"]}}
        status = {"authenticated": True, "user": user}
    else:
        status = {"authenticated": False}
    return 200, {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_it_says_whose_a_token_is(tmp_path: Path, version: Any) -> None:
    async def scenario() -> None:
        async with webhook(tmp_path, answer) as (kubeconfig, seen):

            def change(config: Config) -> None:
                config.token_webhook = TokenWebhookConfig(file=str(kubeconfig), version=version)

            async with identity_plane(tmp_path, configure=change) as plane:
                for _ in range(2):
                    status, body = await plane.call("POST", WHO, {}, anonymous=True, headers=bearer("good"))
                    assert status == 201
                    assert body["status"]["userInfo"] == {
                        "username": "jane",
                        "uid": "7",
                        "groups": ["dev", "system:authenticated"],
                        "extra": {"acme.com/team": ["red"]},
                    }
                assert len(seen) == 1  # the answer is remembered
                assert seen[0]["apiVersion"] == f"authentication.k8s.io/{version}"
                assert seen[0]["spec"] == {"token": "good", "audiences": ["https://kubernetes.default.svc"]}
                for token, why in (
                    ("bad", "[invalid bearer token, it is revoked]"),
                    ("elsewhere", "invalid bearer token"),
                    ("unknown", "invalid bearer token"),
                    ("broken", "[invalid bearer token, webhook authenticator: status 403]"),
                ):
                    _, review = await plane.call("POST", REVIEWS, {"spec": {"token": token}})
                    assert review["status"]["error"] == why
                asked = {"token": "elsewhere", "audiences": ["bank"]}
                _, review = await plane.call("POST", REVIEWS, {"spec": asked})
                assert review["status"]["audiences"] == ["bank"]

    run(scenario())
