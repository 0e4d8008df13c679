"""A load client that costs little: keep-alive connections over TLS on uvloop, requests rendered beforehand.

Run as a process of its own, so that client and server have a core each:

    python -m tests.bench.load '{"host": "127.0.0.1", "port": 6443, "op": "get", "path": "/…", "connections": 32, …}'

It prints one JSON line: operations, seconds, rate, latency percentiles in ms, bytes. The same client drives the bare
baseline and the server under test, so its own cost is in both.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from dataclasses import dataclass, field
from typing import Any

import uvloop

__all__ = ["Connection", "Load", "percentile"]


JSON, MERGE_PATCH, APPLY_PATCH = "application/json", "application/merge-patch+json", "application/apply-patch+yaml"


def percentile(sorted_values: list[float], q: float) -> float:
    """The q-quantile (0..1) of an ascending list; 0.0 for an empty one."""
    return sorted_values[min(len(sorted_values) - 1, int(q * len(sorted_values)))] if sorted_values else 0.0


class Connection(asyncio.Protocol):
    """One connection: one request at a time. Chunked answers end where the last chunk is the end of what came."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._missing = -1
        self._chunked, self._tail = False, b""
        self._waiter: asyncio.Future[int] | None = None
        self._status = 0
        self.received_bytes = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self.transport = transport  # type: ignore[assignment]  # uvloop's transports are not asyncio.Transport

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        if self._missing < 0:
            self._buffer += data
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(self._buffer[:end]).lower()
            self._status = int(head[9:12])
            if b"transfer-encoding: chunked" in head:
                self._missing, self._chunked = 1, True
                data = bytes(self._buffer[end + 4 :])
                self._buffer.clear()
                self._end_of_chunks(data)
                return
            at = head.index(b"content-length: ") + 16
            stop = head.find(b"\r\n", at)
            length = int(head[at:stop] if stop > 0 else head[at:])
            self._missing = length - (len(self._buffer) - end - 4)
            self._buffer.clear()
        elif self._chunked:
            self._end_of_chunks(data)
            return
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._done()

    def _end_of_chunks(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-5:]
        if self._tail == b"0\r\n\r\n":
            self._tail, self._chunked = b"", False
            self._done()

    def _done(self) -> None:
        self._missing = -1
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(self._status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError("closed by the server"))

    def send(self, request: bytes) -> asyncio.Future[int]:
        """Send one request; the future gives its status once the whole answer is there."""
        self._waiter = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self._waiter


@dataclass(kw_only=True)
class Load:
    """One run. ``op``: ``get`` (GET ``path``); ``create`` (POST of ``size``-byte ConfigMaps to ``path``); ``put``,
    ``merge`` or ``apply``: change those of them that ``objects`` creates with this ``prefix`` have made, in turn."""

    host: str
    port: int
    path: str
    op: str = "get"
    connections: int = 32
    seconds: float = 5.0
    warm_seconds: float = 1.0
    size: int = 1000
    ca: str = ""
    cert: str = ""
    key: str = ""
    prefix: str = "load"
    accept: str = "application/json"
    encoding: str = ""
    objects: int = 1000
    _counter: int = field(default=0, init=False)

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca or None)
        context.check_hostname = False
        if not self.ca:
            context.verify_mode = ssl.CERT_NONE
        if self.cert:
            context.load_cert_chain(self.cert, self.key)
        return context

    def request(self) -> bytes:
        """The next request."""
        if self.op == "get":
            return f"GET {self.path} HTTP/1.1\r\n{self._headers}\r\n".encode()
        self._counter += 1
        name, fresh = f"{self.prefix}-{(self._counter - 1) % self.objects + 1}", f"{self.prefix}-{self._counter}"
        one, text = f"{self.path}/{name}", f"{self._counter:<8}{'x' * max(1, self.size - 308)}"
        if self.op == "create":
            return self.sending(f"POST {self.path}", JSON, self._config_map(fresh, text))
        if self.op == "put":
            return self.sending(f"PUT {one}", JSON, self._config_map(name, text))
        if self.op == "merge":
            return self.sending(f"PATCH {one}", MERGE_PATCH, {"data": {"payload": text}})
        return self.sending(f"PATCH {one}?fieldManager=load&force=true", APPLY_PATCH, self._config_map(name, text))

    @property
    def _headers(self) -> str:
        encoding = f"Accept-Encoding: {self.encoding}\r\n" if self.encoding else ""
        return f"Host: {self.host}:{self.port}\r\nAccept: {self.accept}\r\nUser-Agent: bench/1\r\n{encoding}"

    def _config_map(self, name: str, text: str) -> dict[str, Any]:
        meta = {"name": name, "labels": {"app": "bench", "part": name[-1]}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"payload": text}}

    def sending(self, line: str, content_type: str, value: dict[str, Any]) -> bytes:
        body = json.dumps(value)
        return (
            f"{line} HTTP/1.1\r\n{self._headers}Content-Type: {content_type}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        context = self.context()
        connections = [
            (await loop.create_connection(Connection, self.host, self.port, ssl=context))[1]
            for _ in range(self.connections)
        ]
        latencies: list[float] = []
        bad: dict[int, int] = {}
        begin = time.perf_counter() + self.warm_seconds
        end = begin + self.seconds

        async def drive(connection: Connection) -> None:
            fixed = self.request() if self.op == "get" else b""
            while (start := time.perf_counter()) < end:
                status = await connection.send(fixed or self.request())
                if status >= 300:
                    bad[status] = bad.get(status, 0) + 1
                done = time.perf_counter()
                if begin <= start and done <= end:
                    latencies.append(done - start)

        await asyncio.gather(*(drive(c) for c in connections))
        received = sum(c.received_bytes for c in connections)
        for connection in connections:
            connection.transport.close()
        latencies.sort()
        return {
            "operations": len(latencies),
            "seconds": self.seconds,
            "rate": round(len(latencies) / self.seconds, 1),
            "p50_ms": round(percentile(latencies, 0.5) * 1000, 3),
            "p99_ms": round(percentile(latencies, 0.99) * 1000, 3),
            "max_ms": round((latencies[-1] if latencies else 0.0) * 1000, 3),
            "mb_per_second": round(received / (self.seconds + self.warm_seconds) / 1e6, 1),
            "bad": bad,
        }


def main() -> None:
    load = Load(**json.loads(sys.argv[1]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(load.run())), flush=True)


if __name__ == "__main__":
    main()
