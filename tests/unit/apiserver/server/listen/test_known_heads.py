"""How many header blocks a connection remembers."""

from __future__ import annotations

import pytest
from aiohttp.http import HttpVersion11, RawRequestMessage
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from controlplane.apiserver.server.listen.known_heads import (
    BLOCKS,
    BLOCKS_BYTES,
    BLOCKS_OF_SERVER,
    HEAD_BYTES,
    KnownHeads,
)

AUDIT_ID = "Audit-Id: 5b0b8d2e\r\n"


class Reader:
    """Reads heads, and counts them."""

    def __init__(self) -> None:
        self.read = 0

    def __call__(self, head: bytes) -> RawRequestMessage:
        self.read += 1
        fields = (line.partition(": ") for line in head.decode().split("\r\n")[1:-2])
        headers = CIMultiDictProxy(CIMultiDict([(name, value) for name, _, value in fields]))
        return RawRequestMessage("GET", "/a", HttpVersion11, headers, (), False, None, False, False, URL("/a"))


def head(number: int, further: str = "") -> bytes:
    return f"GET /a HTTP/1.1\r\nUser-Agent: client/{number}\r\n{further}\r\n".encode()


@pytest.mark.parametrize(("clients", "further"), [(BLOCKS, ""), (BLOCKS_OF_SERVER, AUDIT_ID)], ids=["client", "server"])
def test_clients_are_remembered_more_of_them_behind_a_server(clients: int, further: str) -> None:
    reader = Reader()
    heads = KnownHeads(reader)
    for number in (*range(clients), *range(clients)):
        assert heads.find(head(number, further)) is not None
    assert reader.read == clients
    assert heads.find(head(clients, further)) is not None
    assert heads.find(head(0, further)) is not None  # the oldest had to go
    assert reader.read == clients + 2


def test_long_heads_are_remembered_up_to_a_number_of_bytes() -> None:
    reader = Reader()
    heads = KnownHeads(reader)
    long = f"Authorization: Bearer {'x' * (HEAD_BYTES - 200)}\r\n"
    most = BLOCKS_BYTES // len(head(0, long))
    for number in (*range(most), *range(most)):
        assert heads.find(head(number, long)) is not None
    assert reader.read == most
    assert heads.find(head(most, long)) is not None
    assert heads.find(head(0, long)) is not None
    assert reader.read == most + 2
