"""A gRPC server that plays an etcd member by script, for what a healthy single etcd never does.

It stores nothing: status and ranges have fixed answers, and a watch sends what the test says. Where a real etcd can
show a behaviour the tests use one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc.aio  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.storage.kv.etcd import rpc_pb2 as pb

__all__ = ["Scripted", "event", "header", "scripted"]


def header(revision: int) -> pb.ResponseHeader:
    return pb.ResponseHeader(cluster_id=0xC1, revision=revision)


def event(key: bytes, revision: int) -> pb.Event:
    return pb.Event(kv=pb.KeyValue(key=key, value=b"v", create_revision=revision, mod_revision=revision, version=1))


@dataclass
class Scripted:
    """One playing member.

    ``refuse``: the status with which every unary request ends. ``mute``: none is answered, and ``muted`` is set by the
    first. ``sends``: what a watch sends after ``created``; then the stream ends with ``ending`` (None: stays open).
    ``progress``: the answer to a request for it; ``ends_when_asked``: the stream ends with that request instead.
    """

    version: str = "3.5.21"
    revision: int = 10
    refuse: tuple[grpc.StatusCode, str] | None = None
    mute: bool = False
    created: pb.WatchResponse = field(default_factory=lambda: pb.WatchResponse(header=header(10), created=True))
    sends: list[pb.WatchResponse] = field(default_factory=list)
    ending: tuple[grpc.StatusCode, str] | None = None
    progress: pb.WatchResponse | None = None
    ends_when_asked: bool = False
    metadata: dict[str, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    creates: list[pb.WatchCreateRequest] = field(default_factory=list)
    endpoint: str = ""
    muted: asyncio.Event = field(default_factory=asyncio.Event)

    async def unary(self, request: bytes, context: grpc.aio.ServicerContext, answer: Callable[[], bytes]) -> bytes:
        if self.mute:
            self.muted.set()
            await asyncio.Event().wait()
        if self.refuse is not None:
            await context.abort(*self.refuse)
        return answer()

    async def watch(self, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext) -> None:
        self.metadata = dict(context.invocation_metadata())
        async for encoded in requests:
            request = pb.WatchRequest.FromString(encoded)
            if request.HasField("create_request"):
                self.creates.append(request.create_request)
                await context.write(self.created.SerializeToString())
                for response in self.sends:
                    await context.write(response.SerializeToString())
                if self.ending is not None and not self.ends_when_asked:
                    await context.abort(*self.ending)
            elif self.ending is not None:
                await context.abort(*self.ending)
            elif self.progress is not None:
                await context.write(self.progress.SerializeToString())

    def handler(self, call: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        path = call.method
        self.requests.append(path)
        if path == "/etcdserverpb.Watch/Watch":
            return grpc.stream_stream_rpc_method_handler(self.watch)
        answers: dict[str, Callable[[], bytes]] = {
            "/etcdserverpb.Maintenance/Status": lambda: pb.StatusResponse(
                header=header(self.revision), version=self.version
            ).SerializeToString(),
            "/etcdserverpb.KV/Range": lambda: pb.RangeResponse(header=header(self.revision)).SerializeToString(),
            "/etcdserverpb.KV/Txn": lambda: pb.TxnResponse(
                header=header(self.revision),
                succeeded=True,
                responses=[pb.ResponseOp(response_delete_range=pb.DeleteRangeResponse())],
            ).SerializeToString(),
            "/etcdserverpb.Lease/LeaseGrant": lambda: pb.LeaseGrantResponse(
                header=header(self.revision), ID=len(self.requests)
            ).SerializeToString(),
        }

        async def respond(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            return await self.unary(request, context, answers[path])

        return grpc.unary_unary_rpc_method_handler(respond)


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpcio ships no types
    def __init__(self, script: Scripted) -> None:
        self._script = script

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return self._script.handler(handler_call_details)


@asynccontextmanager
async def scripted(script: Scripted) -> AsyncIterator[Scripted]:
    """Serve the script on a free port."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((_Handlers(script),))
    script.endpoint = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield script
    finally:
        await server.stop(None)
