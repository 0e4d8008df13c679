"""The KV of an etcd cluster, or of whatever else speaks etcd's API to kube-apiserver.

Writes are kube-apiserver's own transactions: compare the modification revision, then put or delete, else read. Knows
nothing of connections, pages and streams; those are the modules' beside it.

Source: etcd's v3 API; the shapes in apiserver pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from time import perf_counter
from typing import Final

from controlplane.base.tasks import Owner
from controlplane.storage.errors import Compacted, FutureRevision, StoreUnusable, ValueTooLarge
from controlplane.storage.kv.api import LATEST, VALUE_LIMIT_BYTES, KVStatus, RangeResult, TxnResult, Watch
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.channel import Cluster, Member, UnaryCall
from controlplane.storage.kv.etcd.compactor import COMPACT_KEY, Compactor
from controlplane.storage.kv.etcd.credentials import read_credentials
from controlplane.storage.kv.etcd.leases import Leases
from controlplane.storage.kv.etcd.location import parse_location
from controlplane.storage.kv.etcd.metrics import RequestCounter
from controlplane.storage.kv.etcd.pages import read_range, to_key_value
from controlplane.storage.kv.etcd.puts import ConditionalPut
from controlplane.storage.kv.etcd.version import progress_is_trustworthy
from controlplane.storage.kv.etcd.watch import EtcdWatch

__all__ = ["EtcdKV", "open_kv"]

VERSION_SECONDS: Final = 1.0
"""How long ``status`` waits for the versions of members that are not the one it asks."""

_MOD: Final = pb.Compare.MOD

_new = tuple.__new__
"""A third of the cost of calling a named tuple's class; two are made for each put."""


async def open_kv(location: str, options: KVOptions) -> EtcdKV:
    """Connect to ``HOST:PORT[,HOST:PORT…]`` (``https://`` before a host: TLS).

    Raises:
        StoreUnusable: a malformed location, unusable TLS files, or nobody who answers: at once if all refuse the
            connection, else after ``options.request_seconds``.
    """
    endpoints = parse_location(location)
    credentials = await read_credentials(endpoints, options)
    cluster = Cluster(endpoints, credentials, options.request_seconds)
    try:
        failures = await cluster.learn_versions(options.request_seconds)
        if len(failures) == len(endpoints):
            raise StoreUnusable(f"{failures[0]}; is etcd running there, and do the TLS settings fit?")
    except BaseException:
        await cluster.close()
        raise
    return EtcdKV(cluster, options)


class EtcdKV:
    """See ``kv.api.KV``; opened by ``open_kv``."""

    def __init__(self, cluster: Cluster, options: KVOptions) -> None:
        self._cluster = cluster
        self._leases = Leases(cluster, options.clock)
        self._requests = RequestCounter()
        self._owner = Owner("etcd")
        if options.history_seconds:
            compactor = Compactor(cluster, options.clock, options.history_seconds)
            self._owner.start(compactor.run(), name="compactor")

    @property
    def trustworthy_progress(self) -> bool:
        """Whether all endpoints have a version whose requested progress can be believed."""
        return all(progress_is_trustworthy(member.version) for member in self._cluster.members)

    async def range(
        self, start: bytes, end: bytes, *, revision: int = LATEST, limit: int = 0, count_only: bool = False
    ) -> RangeResult:
        request = pb.RangeRequest(key=start or b"\0", range_end=end, limit=limit, revision=revision)
        request.count_only = count_only
        operation, begun = "list" if end else "get", perf_counter()
        try:
            result = await read_range(self._cluster, request)
        except BaseException as error:
            self._requests.count(operation, start, begun, failed=True)
            if isinstance(error, FutureRevision):
                raise FutureRevision(revision, await self.revision()) from error
            raise
        self._requests.count(operation, start, begun)
        return result

    async def put(self, key: bytes, value: bytes, *, expect: int, lease: int = 0) -> TxnResult:
        if len(value) > VALUE_LIMIT_BYTES:
            raise ValueTooLarge(key, size_bytes=len(value), limit_bytes=VALUE_LIMIT_BYTES)
        request: pb.TxnRequest | ConditionalPut
        if lease:
            request = _if_unchanged(key, expect)
            put = request.success.add().request_put
            put.key, put.value, put.lease = key, value, lease
        else:
            request = _new(ConditionalPut, (key, value, expect))
        operation, begun = "update" if expect else "create", perf_counter()
        try:
            response = await self._cluster.call(_txn, request, repeatable=False)
        except BaseException:
            self._requests.count(operation, key, begun, failed=True)
            raise
        self._requests.count(operation, key, begun)
        if response.succeeded:
            return _new(TxnResult, (True, response.header.revision, None))
        return _refused(response)

    async def delete(self, key: bytes, *, expect: int) -> TxnResult:
        request = _if_unchanged(key, expect)
        delete = request.success.add().request_delete_range
        delete.key = key
        delete.prev_kv = True
        begun = perf_counter()
        try:
            response = await self._cluster.call(_txn, request, repeatable=False)
        except BaseException:
            self._requests.count("delete", key, begun, failed=True)
            raise
        self._requests.count("delete", key, begun)
        if response.succeeded:
            deleted = response.responses[0].response_delete_range.prev_kvs
            return TxnResult(True, response.header.revision, to_key_value(deleted[0]) if deleted else None)
        return _refused(response)

    def watch(self, prefix: bytes, start: int, *, prev: bool = False) -> AbstractAsyncContextManager[Watch]:
        return EtcdWatch(self._cluster, prefix, start, prev=prev)

    async def revision(self) -> int:
        return (await self._compaction(count_only=True)).header.revision

    def revision_nowait(self) -> int | None:
        return None

    def problem_nowait(self) -> str:
        return ""

    async def compact(self, revision: int) -> None:
        try:
            await self._cluster.call(_compact, pb.CompactionRequest(revision=revision), repeatable=True)
        except Compacted:
            return  # at least as far already
        except FutureRevision as error:
            raise FutureRevision(revision, await self.revision()) from error

    async def grant(self, ttl_seconds: int) -> int:
        return await self._leases.get(ttl_seconds)

    async def status(self) -> KVStatus:
        """``compacted_revision`` is what the servers that share the store agreed on; etcd does not tell its own."""
        await self._cluster.learn_versions(VERSION_SECONDS)
        _, status = await self._cluster.status()
        compaction = await self._compaction(count_only=False)
        text = compaction.kvs[0].value if compaction.kvs else b""
        return KVStatus(
            cluster_id=f"{status.header.cluster_id:x}",
            revision=compaction.header.revision,
            compacted_revision=int(text) if text.isdigit() else 0,
            db_size_bytes=status.dbSize,
            version=f"etcd {status.version}",
        )

    def name_keys_by(self, name_of: Callable[[bytes], tuple[str, str]]) -> None:
        """See ``kv.api.CountsRequests``."""
        self._requests.name_of = name_of

    async def close(self) -> None:
        await self._owner.close()
        await self._cluster.close()

    async def _compaction(self, *, count_only: bool) -> pb.RangeResponse:
        """A linearizable read of the key of compactions, or of nothing but the revision."""
        request = pb.RangeRequest(key=COMPACT_KEY, count_only=count_only)
        return pb.RangeResponse.FromString(await self._cluster.call(_range, request, repeatable=True))


def _if_unchanged(key: bytes, expect: int) -> pb.TxnRequest:
    """A transaction that does what is still to be added if the key is at ``expect`` (0: absent), else reads the key."""
    request = pb.TxnRequest()
    compare = request.compare.add()
    compare.target = _MOD
    compare.key = key
    compare.mod_revision = expect
    request.failure.add().request_range.key = key
    return request


def _refused(response: pb.TxnResponse) -> TxnResult:
    found = response.responses[0].response_range.kvs
    return TxnResult(False, response.header.revision, to_key_value(found[0]) if found else None)


def _range(member: Member) -> UnaryCall[pb.RangeRequest, bytes]:
    return member.range


def _txn(member: Member) -> UnaryCall[pb.TxnRequest | ConditionalPut, pb.TxnResponse]:
    return member.txn


def _compact(member: Member) -> UnaryCall[pb.CompactionRequest, pb.CompactionResponse]:
    return member.compact
