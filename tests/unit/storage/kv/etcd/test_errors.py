"""Each error of etcd and gRPC, in the words of storage."""

from __future__ import annotations

import pytest

from controlplane.base.grpc import Code, RpcError
from controlplane.storage.errors import Compacted, FutureRevision, Unavailable, ValueTooLarge
from controlplane.storage.kv.api import VALUE_LIMIT_BYTES
from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.errors import failed_member, translate

RANGE = pb.RangeRequest(key=b"a", revision=41)


def failure(code: Code, text: str) -> RpcError:
    return RpcError(code, text)


def put_of(size: int) -> pb.TxnRequest:
    return pb.TxnRequest(success=[pb.RequestOp(request_put=pb.PutRequest(key=b"/k", value=bytes(size)))])


def test_a_compacted_revision_is_named() -> None:
    error = translate(failure(Code.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted"), RANGE, "m")
    assert isinstance(error, Compacted)
    assert (error.requested, error.compacted) == (41, 0)


def test_a_future_revision_is_named() -> None:
    text = "etcdserver: mvcc: required revision is a future revision"
    error = translate(failure(Code.OUT_OF_RANGE, text), pb.CompactionRequest(revision=42), "m")
    assert isinstance(error, FutureRevision)
    assert error.requested == 42


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (Code.INVALID_ARGUMENT, "etcdserver: request is too large"),
        (Code.RESOURCE_EXHAUSTED, "grpc: received message larger than max (9 vs. 8)"),
    ],
)
def test_a_request_over_the_servers_limit_names_a_limit_below_the_value(code: Code, text: str) -> None:
    error = translate(failure(code, text), put_of(VALUE_LIMIT_BYTES), "m")
    assert isinstance(error, ValueTooLarge)
    assert error.key == b"/k"
    assert error.limit_bytes < error.size_bytes == VALUE_LIMIT_BYTES
    small = translate(failure(code, text), put_of(1000), "m")
    assert isinstance(small, ValueTooLarge)
    assert small.limit_bytes == 999


def test_an_unknown_lease_is_the_callers_error() -> None:
    error = translate(failure(Code.NOT_FOUND, "etcdserver: requested lease not found"), put_of(1), "m")
    assert isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("code", "text", "says", "outcome_known"),
    [
        (Code.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", "NOSPACE", True),
        (Code.RESOURCE_EXHAUSTED, "etcdserver: too many requests", "too many requests", True),
        (Code.UNAVAILABLE, "etcdserver: no leader", "no leader", False),
        (Code.UNAVAILABLE, "etcdserver: request timed out", "request timed out", False),
        (Code.UNAVAILABLE, "Socket closed", "Socket closed", False),
        (Code.DEADLINE_EXCEEDED, "Deadline Exceeded", "no answer in time", False),
        (Code.PERMISSION_DENIED, "etcdserver: permission denied", "permission denied", True),
        (Code.DATA_LOSS, "etcdserver: corrupt cluster", "corrupt cluster", False),
        (Code.UNKNOWN, "", "no details", False),
    ],
)
def test_everything_else_is_unavailable_and_says_whether_it_happened(
    code: Code, text: str, says: str, *, outcome_known: bool
) -> None:
    error = translate(failure(code, text), put_of(1), "http://db:2379")
    assert isinstance(error, Unavailable)
    assert says in str(error)
    assert "http://db:2379" in str(error)
    assert error.outcome_known is outcome_known


def test_another_member_is_asked_only_if_this_one_failed() -> None:
    assert failed_member(failure(Code.UNAVAILABLE, "etcdserver: no leader"))
    assert failed_member(failure(Code.DEADLINE_EXCEEDED, ""))
    assert not failed_member(failure(Code.OUT_OF_RANGE, ""))


def test_what_was_not_sent_has_certainly_not_happened() -> None:
    error = translate(RpcError(Code.UNAVAILABLE, "failed to connect to db:2379", unsent=True), put_of(1), "m")
    assert isinstance(error, Unavailable)
    assert error.outcome_known
