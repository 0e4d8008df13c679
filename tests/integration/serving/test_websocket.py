"""Watches over WebSockets against the whole server: by certificate, and by a token in the subprotocol."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from pathlib import Path

import aiohttp
import pytest

from tests.aio import run
from tests.integration.plane import config_in, running_plane

WATCH = "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0&timeoutSeconds=5"
ORIGIN = {"Origin": "https://ui.example.com"}


def test_a_browser_watches_with_its_token(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("secret,ui,1,system:masters\n")
    config = config_in(tmp_path)
    config.token_auth_file = str(tokens)
    offered = ["base64url.bearer.authorization.k8s.io." + urlsafe_b64encode(b"secret").decode().rstrip("="), "v1.ui"]

    async def scenario() -> None:
        async with running_plane(tmp_path, config) as plane:
            url = plane.running.url + WATCH
            async with plane.http.ws_connect(
                url, ssl=plane.anonymous_tls, headers=ORIGIN, protocols=offered
            ) as browser:
                assert browser.protocol == "v1.ui"
                await plane.call("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
                event = json.loads(await browser.receive_str(timeout=5))
                assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await plane.http.ws_connect(url, ssl=plane.anonymous_tls, headers=ORIGIN, protocols=["v1.ui"])
            assert refused.value.status in {401, 403}

    run(scenario())


def test_a_watch_ends_at_its_timeout(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_plane(tmp_path) as plane:
            url = plane.running.url + WATCH.replace("timeoutSeconds=5", "timeoutSeconds=1")
            async with plane.http.ws_connect(url, ssl=plane.admin_tls, headers=ORIGIN) as watching:
                message = await watching.receive(timeout=10)
                assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1000)

    run(scenario())
