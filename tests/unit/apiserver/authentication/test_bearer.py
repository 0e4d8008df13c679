"""Bearer tokens in headers and in websocket subprotocols."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.bearer import (
    SPACE_WARNING,
    WEBSOCKET_PREFIX,
    BearerAuthenticator,
    WebsocketBearerAuthenticator,
    remove_websocket_token,
)
from controlplane.apiserver.authentication.token_file import TokenFileAuthenticator
from controlplane.apiserver.authentication.tokens import ForOwnAudiences, TokenUnion
from tests.aio import run
from tests.unit.apiserver.authentication.requests import refused, request


def tokens(**users: str) -> TokenFileAuthenticator:
    authenticator = TokenFileAuthenticator()
    for token, name in users.items():
        authenticator.add(token, UserInfo(name=name))
    return authenticator


OURS = ("api",)
KNOWN = TokenUnion([ForOwnAudiences(tokens(one="alice"), OURS), ForOwnAudiences(tokens(two="bob"), OURS)])
BEARER = BearerAuthenticator(KNOWN, OURS)
WEBSOCKET = WebsocketBearerAuthenticator(KNOWN, OURS)


def encoded(token: bytes) -> str:
    return WEBSOCKET_PREFIX + urlsafe_b64encode(token).decode().rstrip("=")


def name_of(user: UserInfo | None) -> str | None:
    return user.name if user is not None else None


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Bearer one", "alice"),
        ("bearer two", "bob"),
        ("  Bearer one  ", "alice"),
        ("Bearer one trailing", "alice"),
        ("Basic b25lOm9uZQ==", None),
        ("Bearer", None),
        ("one", None),
        ("", None),
    ],
)
def test_headers(header: str, name: str | None) -> None:
    assert name_of(run(BEARER.authenticate(request(("Authorization", header))))) == name


def test_a_space_before_the_token_is_warned_of() -> None:
    asked = request(("Authorization", "Bearer  one"))
    assert run(BEARER.authenticate(asked)) is None
    assert asked.warnings == [SPACE_WARNING]


def test_no_header_is_no_credentials() -> None:
    assert run(BEARER.authenticate(request())) is None


def test_an_unknown_token_is_refused() -> None:
    with refused("invalid bearer token"):
        run(BEARER.authenticate(request(("Authorization", "Bearer three"))))


UPGRADE = (("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"))


@pytest.mark.parametrize(
    "protocols",
    [
        pytest.param((f"{encoded(b'one')}, v4.channel.k8s.io",), id="one header"),
        pytest.param(("v4.channel.k8s.io", encoded(b"one")), id="two headers"),
    ],
)
def test_websocket_tokens(protocols: tuple[str, ...]) -> None:
    headers = [("Sec-WebSocket-Protocol", protocol) for protocol in protocols]
    assert name_of(run(WEBSOCKET.authenticate(request(*UPGRADE, *headers)))) == "alice"


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((("Sec-WebSocket-Protocol", f"{encoded(b'one')}, v4"),), id="not a websocket"),
        pytest.param((*UPGRADE, ("Sec-WebSocket-Protocol", "v4")), id="no token"),
        pytest.param((*UPGRADE, ("Sec-WebSocket-Protocol", f"{WEBSOCKET_PREFIX}, v4")), id="empty token"),
        pytest.param(UPGRADE, id="no subprotocol"),
    ],
)
def test_no_websocket_credentials(headers: tuple[tuple[str, str], ...]) -> None:
    assert run(WEBSOCKET.authenticate(request(*headers))) is None


@pytest.mark.parametrize(
    ("protocols", "why"),
    [
        (f"{encoded(b'three')}, v4", "invalid bearer token"),
        (f"{encoded(b'one')}, {encoded(b'one')}, v4", "multiple base64.bearer.authorization tokens specified"),
        (encoded(b"one"), "missing additional subprotocol"),
        (f"{WEBSOCKET_PREFIX}a, v4", "invalid base64.bearer.authorization token encoding"),
        (f"{WEBSOCKET_PREFIX}b25l=, v4", "invalid base64.bearer.authorization token encoding"),
        (f"{encoded(bytes([0xFF, 0xFE]))}, v4", "invalid base64.bearer.authorization token"),
    ],
)
def test_bad_websocket_credentials(protocols: str, why: str) -> None:
    with refused(why):
        run(WEBSOCKET.authenticate(request(*UPGRADE, ("Sec-WebSocket-Protocol", protocols))))


def test_the_token_can_be_taken_out_of_the_header() -> None:
    assert remove_websocket_token(f"v5, {encoded(b'one')}, v4") == "v5,v4"
