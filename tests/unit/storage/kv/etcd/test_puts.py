"""What is laid out by hand is what protobuf's own library would send."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.puts import ConditionalPut

LENGTHS = st.sampled_from([1, 60, 63, 64, 100, 118, 119, 120, 127, 128, 129, 1_000, 16_383, 16_384, 16_400, 2_097_152])


def by_protobuf(key: bytes, value: bytes, expect: int) -> bytes:
    request = pb.TxnRequest()
    compare = request.compare.add()
    compare.target, compare.key, compare.mod_revision = pb.Compare.MOD, key, expect
    put = request.success.add().request_put
    put.key, put.value = key, value
    request.failure.add().request_range.key = key
    return request.SerializeToString()


@given(key=LENGTHS.filter(lambda size: size < 3_000), value=LENGTHS, expect=st.integers(0, 2**63 - 1))
def test_the_bytes_are_protobufs_own(key: int, value: int, expect: int) -> None:
    put = ConditionalPut(b"k" * key, b"v" * value, expect)
    assert put.SerializeToString() == by_protobuf(*put)


@pytest.mark.parametrize("expect", [0, 1, 127, 128, 2**63 - 1])
def test_an_empty_value_is_left_out(expect: int) -> None:
    put = ConditionalPut(b"/registry/a", b"", expect)
    assert put.SerializeToString() == by_protobuf(*put)
