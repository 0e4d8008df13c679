"""The members of an etcd cluster, one gRPC channel to each, and which one is asked.

One member is asked until it fails; then the next is. A request that has certainly not been sent, and a read in any
case, is tried at each member once; a write whose outcome is unknown is never repeated. Channels reconnect by
themselves and fail at once what is asked meanwhile, so nothing hangs and nothing queues up.

Knows nothing of keys and revisions. Source: etcd's gRPC service names.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from google.protobuf.message import DecodeError

from controlplane.base.grpc import Channel, Code, RpcError, Stream
from controlplane.base.tasks import TaskGroup
from controlplane.storage.errors import Unavailable
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.errors import CLOSED, failed_member, translate
from controlplane.storage.kv.etcd.location import Endpoint
from controlplane.storage.kv.etcd.puts import ConditionalPut

__all__ = ["Cluster", "Member", "UnaryCall"]

LEADER: Final = (("hasleader", "true"),)
"""Metadata that makes a member end the stream when it has lost its leader, instead of staying quiet."""


class Encodable(Protocol):
    """A request: a protobuf message, or what encodes itself as one."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802  # as protobuf's messages have it


Q_contra = TypeVar("Q_contra", bound=Encodable, contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class UnaryCall(Generic[Q_contra, R_co]):
    """A method of one member: messages outside; ``call``, with ``path``, is of bytes."""

    __slots__ = ("_decode", "call", "path")

    def __init__(self, channel: Channel, path: str, decode: Callable[[bytes], R_co]) -> None:
        self.call, self.path, self._decode = channel.unary, path, decode

    async def __call__(self, request: Q_contra, *, timeout: float) -> R_co:
        """Call it once.

        Raises:
            RpcError: after ``timeout`` seconds at the latest.
        """
        return self.read(await self.call(self.path, request.SerializeToString(), timeout))

    def read(self, encoded: bytes) -> R_co:
        """Read an answer.

        Raises:
            RpcError: it is none.
        """
        try:
            return self._decode(encoded)
        except DecodeError as error:
            raise RpcError(Code.INTERNAL, f"unreadable response: {error}") from error


class Member:
    """One etcd endpoint: its channel, the methods called on it, and its version (``""`` until it has said)."""

    __slots__ = ("_channel", "compact", "endpoint", "grant", "name", "range", "status", "txn", "version")

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext | None) -> None:
        self.endpoint = endpoint
        self.name = str(endpoint)
        self.version = ""
        channel = self._channel = Channel(endpoint.target, context)
        # Ranges and watches are handed over as bytes: they may be large and are decoded in pieces.
        self.range: UnaryCall[pb.RangeRequest, bytes] = UnaryCall(channel, "/etcdserverpb.KV/Range", bytes)
        self.txn: UnaryCall[pb.TxnRequest | ConditionalPut, pb.TxnResponse] = UnaryCall(
            channel, "/etcdserverpb.KV/Txn", pb.TxnResponse.FromString
        )
        self.compact: UnaryCall[pb.CompactionRequest, pb.CompactionResponse] = UnaryCall(
            channel, "/etcdserverpb.KV/Compact", pb.CompactionResponse.FromString
        )
        self.grant: UnaryCall[pb.LeaseGrantRequest, pb.LeaseGrantResponse] = UnaryCall(
            channel, "/etcdserverpb.Lease/LeaseGrant", pb.LeaseGrantResponse.FromString
        )
        self.status: UnaryCall[pb.StatusRequest, pb.StatusResponse] = UnaryCall(
            channel, "/etcdserverpb.Maintenance/Status", pb.StatusResponse.FromString
        )

    async def watch(self, *, timeout: float) -> Stream:
        """Open a stream of watches; wait ``timeout`` seconds for a connection at most.

        Raises:
            RpcError.
        """
        return await self._channel.stream("/etcdserverpb.Watch/Watch", LEADER, seconds=timeout)

    async def close(self) -> None:
        """Fail what is under way and disconnect."""
        await self._channel.close()


class Cluster:
    """All members, and ``current``, the one that is asked."""

    def __init__(self, endpoints: Sequence[Endpoint], context: ssl.SSLContext | None, request_seconds: float) -> None:
        self.members = tuple(Member(each, context if each.tls else None) for each in endpoints)
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
        until = monotonic() + self.request_seconds
        seconds = self.request_seconds
        for attempt in range(1, len(self.members) + 1):
            if self.closed:
                raise Unavailable(CLOSED, outcome_known=True)
            member = self.current
            try:
                asked = method(member)
                return asked.read(await asked.call(asked.path, request.SerializeToString(), seconds))
            except RpcError as error:
                if self.closed:
                    raise Unavailable(CLOSED, outcome_known=error.unsent) from error
                seconds = until - monotonic()
                if failed_member(error):
                    self.leave(member)
                    if attempt < len(self.members) and seconds > 0 and (repeatable or error.unsent):
                        continue
                raise translate(error, request, member.name) from error
        raise AssertionError("the last attempt returns or raises")

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
        except RpcError as error:
            self.leave(member)
            return Unavailable(str(translate(error, request, member.name)), outcome_known=True)
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
