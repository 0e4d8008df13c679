"""Requests with credentials, for authenticators' tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from multidict import CIMultiDict

from controlplane.apimachinery.status import APIError
from controlplane.client import request as client
from controlplane.client.request import Request


class Peer:
    """The other end of a connection, with a certificate or without."""

    def __init__(self, der: bytes | None = None) -> None:
        self._der = der
        self.user = ""
        self.lost: Callable[[client.Peer], None] | None = None

    def der(self) -> bytes | None:
        return self._der

    def close(self) -> None:
        """The connection has ended."""
        if self.lost is not None:
            self.lost(self)


def request(*headers: tuple[str, str], der: bytes | None = None, path: str = "/api") -> Request:
    return Request("GET", path, headers=CIMultiDict(headers), peer=Peer(der))


@contextmanager
def refused(why: str) -> Iterator[None]:
    """The block raises a 401 whose wire text says nothing and whose cause says why."""
    with pytest.raises(APIError) as caught:
        yield
    assert (caught.value.code, caught.value.message) == (401, "Unauthorized")
    assert why in str(caught.value.__cause__)
