"""gRPC's and etcd's errors in the words of ``storage.errors``: the one place that knows both.

etcd tells its errors apart by text (``etcdserver: …``); the texts are part of its API and stable since 3.0.

Source: etcd api/v3rpc/rpctypes/error.go; gRPC status codes.
"""

from __future__ import annotations

from typing import Final

from controlplane.base.grpc import Code, RpcError
from controlplane.storage.errors import Compacted, FutureRevision, StoreFull, Unavailable, ValueTooLarge
from controlplane.storage.kv.api import VALUE_LIMIT_BYTES
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.puts import ConditionalPut

__all__ = ["CLOSED", "failed_member", "translate"]

CLOSED: Final = "etcd: this store has been closed"

_CONNECTION: Final = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)
_NOT_DONE: Final = (
    Code.UNAUTHENTICATED,
    Code.PERMISSION_DENIED,
    Code.UNIMPLEMENTED,
    Code.INVALID_ARGUMENT,
    Code.FAILED_PRECONDITION,
    Code.RESOURCE_EXHAUSTED,
    Code.OUT_OF_RANGE,
    Code.NOT_FOUND,
)
"""Codes with which etcd refuses a request; it has then had no effect."""


def translate(error: RpcError, request: object, member: str) -> Exception:
    """What to raise for a failed call of ``request`` to the endpoint ``member``.

    Returns:
        Compacted, FutureRevision (``current`` 0: unknown), ValueTooLarge, ValueError (no such lease), else Unavailable,
        whose text names the endpoint and what it said, and whose ``outcome_known`` is true if the request has
        certainly had no effect. StoreFull is one of these.
    """
    code, text = error.code, error.details
    match code:
        case Code.OUT_OF_RANGE if "has been compacted" in text:
            return Compacted(_revision(request), 0)
        case Code.OUT_OF_RANGE if "is a future revision" in text:
            return FutureRevision(_revision(request), 0)
        case Code.NOT_FOUND if "lease not found" in text:
            return ValueError(f"etcd {member}: {text}")
        case Code.INVALID_ARGUMENT if "request is too large" in text:
            return _too_large(request)
        case Code.RESOURCE_EXHAUSTED if "larger than max" in text:
            return _too_large(request)
        case Code.RESOURCE_EXHAUSTED if "database space exceeded" in text:
            why = "NOSPACE alarm, the database is full: compact, defragment, then `etcdctl alarm disarm`"
            return StoreFull(f"etcd {member}: {why}", outcome_known=True)
        case Code.DEADLINE_EXCEEDED:
            why = "no answer in time"
        case _:
            why = f"{text or 'no details'} ({code.name})"
    return Unavailable(f"etcd {member}: {why}", outcome_known=error.unsent or code in _NOT_DONE)


def failed_member(error: RpcError) -> bool:
    """Whether another member might do better: this one is not reached, too slow, or without a leader."""
    return error.code in _CONNECTION


def _revision(request: object) -> int:
    return request.revision if isinstance(request, (pb.RangeRequest, pb.CompactionRequest)) else 0


def _too_large(request: object) -> Exception:
    match request:
        case ConditionalPut(key, value, _):
            pass
        case pb.TxnRequest():
            put = request.success[0].request_put
            key, value = put.key, put.value
        case _:
            return ValueError("etcd: request is too large")
    overhead = len(request.SerializeToString()) - len(value)
    return ValueTooLarge(key, size_bytes=len(value), limit_bytes=min(VALUE_LIMIT_BYTES - overhead, len(value) - 1))
