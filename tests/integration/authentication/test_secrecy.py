"""Credentials never get into the log, whatever becomes of the request."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.authentication.planes import bearer, identity_plane

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SECRETS = "/api/v1/namespaces/default/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
STATIC, UNKNOWN, HIDDEN = "of-jane-and-nobody-else", "of-nobody-at-all", "what-the-secret-holds"


def test_tokens_and_secrets_stay_out_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text(f"{STATIC},jane,1\n{STATIC},jane,1\n")

    def configure(config: Config) -> None:
        config.token_auth_file = str(tokens)

    async def scenario() -> str:
        async with identity_plane(tmp_path, configure=configure) as plane:
            await plane.call("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
            _, given = await plane.call("POST", f"{ACCOUNTS}/robot/token", {})
            token: str = given["status"]["token"]
            await plane.call("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": HIDDEN}})
            await plane.call("POST", SECRETS, {"metadata": {"name": "s"}, "stringData": {"a": HIDDEN}, "type": 7})
            for credential in (token, token[:-4] + "AAAA", STATIC, UNKNOWN):
                await plane.call("GET", "/api", anonymous=True, headers=bearer(credential))
                await plane.call("POST", REVIEWS, {"spec": {"token": credential}})
            await plane.call("DELETE", f"{ACCOUNTS}/robot")
            status, _ = await plane.call("GET", "/api", anonymous=True, headers=bearer(token))
            assert status == 401
            return token

    with caplog.at_level(logging.DEBUG, logger="controlplane"):
        token = run(scenario())
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert "cannot authenticate a request" in logged
    for credential in (token, token.rpartition(".")[2], STATIC, UNKNOWN, HIDDEN):
        assert credential not in logged
