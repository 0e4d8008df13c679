"""Who a request is from, and that its credentials go no further."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from controlplane.apimachinery.status import APIError, unauthorized
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.filters.authentication import NAMED_ITSELF, with_authentication
from controlplane.apiserver.filters.metrics import AUTHENTICATION_ATTEMPTS
from controlplane.client.request import KnownHeaders, Request
from tests.aio import run
from tests.unit.apiserver.filters.harness import ALICE, answering, request


class Fixed:
    """Authenticates everybody as the same user, or refuses everybody."""

    def __init__(self, user: UserInfo | None, *, bad: bool = False) -> None:
        self._user, self._bad = user, bad

    async def authenticate(self, _: Request) -> UserInfo | None:
        if self._bad:
            raise unauthorized()
        return self._user


def passed(made: Request, authenticator: Fixed) -> Request:
    async def scenario() -> Request:
        seen: list[Request] = []
        await with_authentication(answering(seen=seen), authenticator=authenticator)(made)
        return seen[0]

    return run(scenario())


@pytest.mark.parametrize(
    ("authenticator", "result"),
    [pytest.param(Fixed(None), "failure", id="nobody"), pytest.param(Fixed(None, bad=True), "error", id="refused")],
)
def test_unauthorized(authenticator: Fixed, result: str) -> None:
    attempts = AUTHENTICATION_ATTEMPTS.labels_cached((result,))
    before = attempts.value
    with pytest.raises(APIError) as caught:
        passed(request(user=None), authenticator)
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")
    assert attempts.value == before + 1


def test_user_is_set_and_loopback_brings_its_own() -> None:
    assert passed(request(user=None), Fixed(ALICE)).user is ALICE
    bob = UserInfo(name="bob")
    assert passed(request(user=None, identity=bob), Fixed(None, bad=True)).user is bob


def test_credentials_are_taken_out() -> None:
    headers = {
        "Accept": "application/json",
        "AUTHORIZATION": "Bearer x",
        "X-Remote-User": "root",
        "x-remote-group": "system:masters",
        "X-Remote-Extra-Scopes": "a",
        "X-Forwarded-For": "1.2.3.4",
        "Sec-WebSocket-Protocol": "base64url.bearer.authorization.k8s.io.dA, v4.channel.k8s.io",
    }
    known = KnownHeaders(CIMultiDict(headers))
    seen: list[Request] = []
    handler = with_authentication(answering(seen=seen), authenticator=Fixed(ALICE))

    async def scenario() -> None:
        for sent in (CIMultiDict(headers), known, known):
            await handler(request(user=None, headers=sent))

    run(scenario())
    for one in seen:
        assert NAMED_ITSELF in one.values
        assert dict(one.headers) == {
            "Accept": "application/json",
            "X-Forwarded-For": "1.2.3.4",
            "Sec-WebSocket-Protocol": "v4.channel.k8s.io",
        }
    assert seen[1].headers is seen[2].headers, "what is known is read once"


def test_a_token_is_taken_out_of_known_headers() -> None:
    known = KnownHeaders(CIMultiDict({"Accept": "*/*", "Authorization": "Bearer x"}))
    for _ in range(2):
        assert dict(passed(request(user=None, headers=known), Fixed(ALICE)).headers) == {"Accept": "*/*"}


def test_headers_without_credentials_are_not_copied() -> None:
    made = request(user=None, headers={"Accept": "*/*", "User-Agent": "kubectl"})
    before = made.headers
    assert passed(made, Fixed(ALICE)).headers is before
