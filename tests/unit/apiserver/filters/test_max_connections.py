"""Limits of the connections that a user has."""

from __future__ import annotations

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.front_proxy import BY_FRONT_PROXY
from controlplane.apiserver.filters.max_connections import with_max_connections
from controlplane.client.request import Response
from tests.aio import run
from tests.unit.apiserver.authentication.requests import Peer
from tests.unit.apiserver.filters.harness import ALICE, answering, header, request

BOB = UserInfo(name="bob")
ADMIN = UserInfo(name="admin", groups=("system:masters",))


def test_each_user_has_so_many_and_administrators_have_all() -> None:
    async def scenario() -> None:
        handler = with_max_connections(answering(), per_user=2)

        async def ask(peer: Peer, user: UserInfo = ALICE, *, by_proxy: bool = False) -> Response:
            made = request(user=user, peer=peer)
            if by_proxy:
                made.values[BY_FRONT_PROXY] = True
            return await handler(made)

        one, two, three = Peer(), Peer(), Peer()
        assert [(await ask(peer)).status for peer in (one, two, one, two)] == [200] * 4
        refused = await ask(three)
        assert (refused.status, header(refused, "Retry-After"), header(refused, "Connection")) == (429, "1", "close")
        assert refused.content() == b"This user has too many connections, please try again later.\n"
        three.close()
        assert (await ask(Peer())).status == 429, "one that was refused holds no place"
        assert (await ask(three, BOB)).status == 200
        assert [(await ask(Peer(), ADMIN)).status for _ in range(3)] == [200] * 3
        assert (await ask(Peer(), by_proxy=True)).status == 200
        assert (await handler(request(user=ALICE))).status == 200, "in this process there is no connection"

        assert (await ask(one, BOB)).status == 200  # another user on it: it is his now
        assert (await ask(Peer())).status == 200
        assert (await ask(Peer())).status == 429
        two.close()
        assert (await ask(Peer())).status == 200

    run(scenario())


def test_no_limit_is_no_filter() -> None:
    handler = answering()
    assert with_max_connections(handler, per_user=0) is handler
