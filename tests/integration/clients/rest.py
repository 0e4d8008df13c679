"""The person beside the client under test: plain requests as the admin, and waiting for what must become true."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.processes import target_of

__all__ = ["Rest", "eventually"]

T = TypeVar("T")

MERGE = "application/merge-patch+json"


class Rest:
    """Requests to the server of a kubeconfig. Each answer is (status, decoded body)."""

    def __init__(self, kubeconfig: Path) -> None:
        self._target = target_of(kubeconfig)
        self._tls = ssl.create_default_context(cafile=self._target.ca)
        self._tls.load_cert_chain(self._target.cert, self._target.key)

    def request(
        self, method: str, path: str, body: Any = None, *, content: str = "application/json"
    ) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(self._target.host, self._target.port, timeout=20, context=self._tls)
        with contextlib.closing(connection):
            sent = None if body is None else json.dumps(body).encode()
            connection.request(method, path, sent, {"Content-Type": content, "Accept": "application/json"})
            with contextlib.closing(connection.getresponse()) as answer:
                return answer.status, json.loads(answer.read())

    def create(self, collection: str, body: Any) -> Any:
        status, made = self.request("POST", collection, body)
        assert status == 201, made
        return made

    def merge(self, path: str, patch: Any) -> Any:
        status, patched = self.request("PATCH", path, patch, content=MERGE)
        assert status == 200, patched
        return patched

    def get(self, path: str) -> Any:
        """The object, or None where there is none."""
        status, found = self.request("GET", path)
        assert status in (200, 404), found
        return found if status == 200 else None

    def delete(self, path: str) -> Any:
        status, deleted = self.request("DELETE", path)
        assert status in (200, 202), deleted
        return deleted


def eventually(read: Callable[[], T], holds: Callable[[T], object], *, seconds: float = 20.0) -> T:
    """Read until it holds; for what other processes do, of which no event reaches the test.

    Raises:
        TimeoutError: it never held; with what was read last.
    """
    end = time.monotonic() + seconds
    while True:
        value = read()
        if holds(value):
            return value
        if time.monotonic() > end:
            raise TimeoutError(f"still {value!r} after {seconds} s")
        time.sleep(0.02)
