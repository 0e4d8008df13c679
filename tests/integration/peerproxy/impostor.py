"""A peer that is a record, a serving certificate and whatever a test lets it say."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from controlplane.apiserver.identity.record import HOLDER_ANNOTATION
from controlplane.base.tls.issue import issue_serving, new_key
from controlplane.testing.planes import Plane
from tests.integration.peerproxy.fleet import Fleet

__all__ = ["GHOSTS", "ID", "Impostor", "answer", "discovery", "impostor"]

RECORDS = b"/registry/peerserverleases/"
ID = "apiserver-impostor"
GHOSTS = "/apis/lies.example.org/v1/namespaces/default/ghosts"
VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]


def discovery() -> dict[str, Any]:
    """An aggregated document with ghosts, which nobody serves."""
    ghosts = {"resource": "ghosts", "scope": "Namespaced", "singularResource": "ghost", "verbs": [*VERBS]}
    version = {"version": "v1", "resources": [ghosts], "freshness": "Current"}
    return {"items": [{"metadata": {"name": "lies.example.org"}, "versions": [version]}]}


def answer(status: int, body: bytes | dict[str, Any], *headers: str) -> bytes:
    """One with a body of JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = (
        f"HTTP/1.1 {status} Said",
        "Content-Type: application/json",
        *headers,
        f"Content-Length: {len(content)}",
    )
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + content


class Impostor:
    """``says``: answers by path; ``ghosts``: to all requests for them. Nothing else is there.

    ``asked``: the heads of the requests for ghosts.
    """

    def __init__(self, made: Fleet) -> None:
        self._made = made
        self.says: dict[str, bytes] = {"/apis": answer(200, discovery())}
        self.ghosts = answer(200, {"kind": "GhostList", "items": []})
        self.asked: list[bytes] = []
        self._holders = 0
        self.port = 0

    async def start_again(self) -> None:
        """Be another process of the same server: who knows it asks what it serves."""
        self._holders += 1
        record = {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {"annotations": {HOLDER_ANNOTATION: str(self._holders)}},
            "subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "https", "port": self.port}]}],
        }
        key = RECORDS + ID.encode()
        await self._made.store.remove(key)
        await self._made.store.kv.put(key, json.dumps(record).encode(), expect=0)

    def knows(self, plane: Plane) -> bool:
        """Whether a server shows what this one says."""
        elsewhere = plane.control_plane.tables.current.elsewhere
        return elsewhere is not None and ID in elsewhere.servers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].partition(b"?")[0].decode()
                if path.startswith(GHOSTS):
                    self.asked.append(head)
                    writer.write(self.ghosts)
                else:
                    writer.write(self.says.get(path) or answer(404, {}))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def impostor(made: Fleet) -> AsyncIterator[Impostor]:
    """One that listens. It is no peer before ``start_again``."""
    directory, ca, key = made.files.directory, made.files.certs / "serving-ca", new_key()
    authority = ca.with_suffix(".crt").read_bytes(), ca.with_suffix(".key").read_bytes()
    cert_file, key_file = directory / "impostor.crt", directory / "impostor.key"
    key_file.write_bytes(key)
    cert_file.write_bytes(issue_serving(key, authority, ("kubernetes.default.svc",), time.time()))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert_file, key_file)
    one = Impostor(made)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0, ssl=tls)
    one.port = server.sockets[0].getsockname()[1]
    try:
        yield one
    finally:
        server.close()
