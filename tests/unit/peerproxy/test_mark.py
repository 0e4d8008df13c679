"""The mark of the peer proxy: believed by the certificate alone, on every request anew, and taken out."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.authentication.front_proxy import BY_FRONT_PROXY
from controlplane.apiserver.filters.authentication import NAMED_ITSELF
from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.base.clock import SystemClock
from controlplane.client.forward.identity import PEER_PROXIED
from controlplane.client.request import KnownHeaders, Request
from controlplane.peerproxy.mark import with_peer_mark
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering

HEADERS = CIMultiDict({"Accept": "*/*", PEER_PROXIED: "true"})


@pytest.mark.parametrize("headers", [HEADERS, KnownHeaders(HEADERS)], ids=["new", "known"])
def test_the_same_headers_are_judged_by_each_requests_certificate(headers: CIMultiDict[str] | KnownHeaders) -> None:
    async def scenario() -> None:
        seen: list[Request] = []
        handler = with_peer_mark(answering(seen=seen), clock=SystemClock())
        for values in ({BY_FRONT_PROXY: True}, {}, {BY_FRONT_PROXY: True}):
            made = Request("GET", "/", headers=headers)
            made.values.update(values)
            await handler(made)
        assert [FROM_PEER in one.values for one in seen] == [True, False, True]
        assert [list(one.headers.items()) for one in seen] == [[("Accept", "*/*")]] * 3
        claiming = Request("GET", "/", headers=headers)
        claiming.values[NAMED_ITSELF] = True
        with pytest.raises(APIError, match="Unauthorized"):
            await handler(claiming)

    run(scenario())
