"""The members of an etcd cluster, one gRPC channel to each, and which one is asked.

One member is asked until it fails; then the next is. A request that has certainly not been sent, and a read in any
case, is tried at each member once; a write whose outcome is unknown is never repeated. Channels reconnect by
themselves, at most ``RECONNECT_MAX_MS`` apart, and fail at once what is asked meanwhile, so nothing hangs and nothing
queues up.

Knows nothing of keys and revisions. Source: gRPC channel arguments; etcd's gRPC service names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeVar

import grpc.aio  # type: ignore[import-untyped]  # grpcio ships no types
from google.protobuf.message import Message

from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.errors import CLOSED, failed_member, never_sent, translate
from controlplane.storage.kv.etcd.location import Endpoint

__all__ = ["Cluster", "Member", "StreamCall"]

Q_contra = TypeVar("Q_contra", bound=Message, contravariant=True)
R_co = TypeVar("R_co", covariant=True)

KEEPALIVE_MS: Final = 10_000
"""A ping after this silence, and the connection is dead after ``KEEPALIVE_TIMEOUT_MS`` more. etcd's servers drop
clients that ping more often than every 5 s."""

KEEPALIVE_TIMEOUT_MS: Final = 5_000
RECONNECT_MIN_MS: Final = 100
RECONNECT_MAX_MS: Final = 1_000
CONNECT_MS: Final = 3_000
"""How long one attempt to connect may take, TLS included."""

CHANNEL_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    ("grpc.max_receive_message_length", -1),  # a watch that catches up may bring 1,000 revisions at once
    ("grpc.max_send_message_length", -1),
    ("grpc.keepalive_time_ms", KEEPALIVE_MS),
    ("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
    ("grpc.http2.max_pings_without_data", 0),  # a quiet watch must be kept alive too
    ("grpc.initial_reconnect_backoff_ms", RECONNECT_MIN_MS),
    ("grpc.max_reconnect_backoff_ms", RECONNECT_MAX_MS),
    ("grpc.min_reconnect_backoff_ms", CONNECT_MS),  # which gRPC takes for the connect timeout
    ("grpc.use_local_subchannel_pool", 1),  # stores in one process do not share connections and their backoff
    ("grpc.enable_http_proxy", 0),  # the environment's proxy is for other traffic
    ("grpc.enable_retries", 0),  # what may be repeated is decided here
)


class UnaryCall(Protocol[Q_contra, R_co]):
    """A gRPC method with one request and one response; raises AioRpcError."""

    def __call__(self, request: Q_contra, *, timeout: float) -> Awaitable[R_co]: ...


class StreamCall(Protocol):
    """An open gRPC stream in both directions. ``read`` returns ``grpc.aio.EOF`` at its end; cancelling a read or a
    write cancels the stream."""

    async def read(self) -> bytes | object: ...
    async def write(self, request: pb.WatchRequest) -> None: ...
    def cancel(self) -> bool: ...


class Member:
    """One etcd endpoint: its channel, the methods called on it, and its version (``""`` until it has said)."""

    __slots__ = ("_channel", "compact", "endpoint", "grant", "name", "range", "status", "txn", "version", "watch")

    def __init__(self, endpoint: Endpoint, credentials: grpc.ChannelCredentials | None) -> None:
        self.endpoint = endpoint
        self.name = str(endpoint)
        self.version = ""
        if credentials is None:
            channel = grpc.aio.insecure_channel(endpoint.target, CHANNEL_OPTIONS)
        else:
            channel = grpc.aio.secure_channel(endpoint.target, credentials, CHANNEL_OPTIONS)
        self._channel = channel
        # Ranges and watches are handed over as bytes: they may be large and are decoded in pieces.
        self.range: UnaryCall[pb.RangeRequest, bytes] = channel.unary_unary(
            "/etcdserverpb.KV/Range", pb.RangeRequest.SerializeToString
        )
        self.txn: UnaryCall[pb.TxnRequest, pb.TxnResponse] = channel.unary_unary(
            "/etcdserverpb.KV/Txn", pb.TxnRequest.SerializeToString, pb.TxnResponse.FromString
        )
        self.compact: UnaryCall[pb.CompactionRequest, pb.CompactionResponse] = channel.unary_unary(
            "/etcdserverpb.KV/Compact", pb.CompactionRequest.SerializeToString, pb.CompactionResponse.FromString
        )
        self.grant: UnaryCall[pb.LeaseGrantRequest, pb.LeaseGrantResponse] = channel.unary_unary(
            "/etcdserverpb.Lease/LeaseGrant", pb.LeaseGrantRequest.SerializeToString, pb.LeaseGrantResponse.FromString
        )
        self.status: UnaryCall[pb.StatusRequest, pb.StatusResponse] = channel.unary_unary(
            "/etcdserverpb.Maintenance/Status", pb.StatusRequest.SerializeToString, pb.StatusResponse.FromString
        )
        self.watch: Callable[..., StreamCall] = channel.stream_stream(
            "/etcdserverpb.Watch/Watch", pb.WatchRequest.SerializeToString
        )

    async def close(self) -> None:
        """Fail what is under way and disconnect."""
        await self._channel.close()


class Cluster:
    """All members, and ``current``, the one that is asked."""

    def __init__(
        self, endpoints: Sequence[Endpoint], credentials: grpc.ChannelCredentials | None, request_seconds: float
    ) -> None:
        self.members = tuple(Member(each, credentials if each.tls else None) for each in endpoints)
        self.request_seconds = request_seconds
        self.current = self.members[0]
        self.closed = False

    async def call(
        self, method: Callable[[Member], UnaryCall[Q_contra, R_co]], request: Q_contra, *, repeatable: bool
    ) -> R_co:
        """Ask the current member, or those after it if it fails and the request may be repeated.

        Args:
            method: picks the method off a member.
            repeatable: the request may be executed twice (it only reads, or does the same again).

        Raises:
            What ``errors.translate`` says; Unavailable after ``request_seconds`` at the latest, and at once if no
            member can be reached.
        """
        until = asyncio.get_running_loop().time() + self.request_seconds
        seconds = self.request_seconds
        for attempt in range(1, len(self.members) + 1):
            if self.closed:
                raise Unavailable(CLOSED, outcome_known=True)
            member = self.current
            try:
                return await method(member)(request, timeout=seconds)
            except grpc.aio.AioRpcError as error:
                seconds = until - asyncio.get_running_loop().time()
                if failed_member(error):
                    self.leave(member)
                    if attempt < len(self.members) and seconds > 0 and (repeatable or never_sent(error)):
                        continue
                raise translate(error, request, member.name) from error
            except asyncio.CancelledError:
                self.raise_if_closed_under_us()
                raise
        raise AssertionError("the last attempt returns or raises")

    def raise_if_closed_under_us(self) -> None:
        """gRPC cancels the tasks that wait for a channel when it is closed; for them that is a failure, not a wish.

        Raises:
            Unavailable: the current task was not cancelled by anybody else.
        """
        task = asyncio.current_task()
        if self.closed and task is not None and not task.cancelling():
            raise Unavailable(CLOSED) from None

    def leave(self, member: Member) -> None:
        """Ask the next member from now on, unless somebody has changed already."""
        if member is self.current:
            self.current = self.members[(self.members.index(member) + 1) % len(self.members)]

    async def learn_versions(self, seconds: float) -> list[Unavailable]:
        """Ask all members for their versions at once, and keep what is known of those that do not answer in time.

        Returns:
            Why each that did not answer did not.
        """
        async with TaskGroup("etcd.versions") as group:
            tasks = [group.start(self._learn_version(member, seconds), name=member.name) for member in self.members]
            return [failure for task in tasks if (failure := await task) is not None]

    async def _learn_version(self, member: Member, seconds: float) -> Unavailable | None:
        request = pb.StatusRequest()
        try:
            member.version = (await member.status(request, timeout=seconds)).version
        except grpc.aio.AioRpcError as error:
            self.leave(member)
            return Unavailable(str(translate(error, request, member.name)), outcome_known=True)
        except asyncio.CancelledError:
            self.raise_if_closed_under_us()
            raise
        return None

    async def status(self) -> tuple[Member, pb.StatusResponse]:
        """The state of the first member that answers, from the current on; notes its version.

        Raises:
            Unavailable.
        """
        asked: list[Member] = []

        def method(member: Member) -> UnaryCall[pb.StatusRequest, pb.StatusResponse]:
            asked.append(member)
            return member.status

        response = await self.call(method, pb.StatusRequest(), repeatable=True)
        asked[-1].version = response.version
        return asked[-1], response

    async def close(self) -> None:
        """Fail what is under way and disconnect from all. Idempotent."""
        self.closed = True
        for member in self.members:
            await member.close()
