"""Large messages are cut at field boundaries, and nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.storage.kv.etcd import rpc_pb2 as pb
from controlplane.storage.kv.etcd.wire import PIECE_BYTES, PIECE_FIELDS, WHOLE_BYTES, pieces


@given(sizes=st.lists(st.one_of(st.integers(0, 300), st.integers(0, 400_000)), max_size=30), more=st.booleans())
def test_pieces_of_a_message_merge_to_the_message(sizes: list[int], *, more: bool) -> None:
    whole = pb.RangeResponse(header=pb.ResponseHeader(revision=7), more=more, count=len(sizes))
    for number, size in enumerate(sizes):
        whole.kvs.add(key=b"%d" % number, value=b"v" * size, mod_revision=number)
    encoded = whole.SerializeToString()
    cut = list(pieces(encoded))
    assert b"".join(cut) == encoded
    merged = pb.RangeResponse()
    for piece in cut:
        merged.MergeFrom(pb.RangeResponse.FromString(piece))
    assert merged == whole


def test_no_piece_has_more_fields_or_bytes_than_are_decoded_in_a_moment() -> None:
    small = pb.RangeResponse(kvs=[pb.KeyValue(key=b"%05d" % n) for n in range(10_000)]).SerializeToString()
    assert [len(pb.RangeResponse.FromString(piece).kvs) for piece in pieces(small)] == [PIECE_FIELDS] * 25
    large = pb.RangeResponse(kvs=[pb.KeyValue(value=bytes(100_000))] * 40).SerializeToString()
    assert max(len(piece) for piece in pieces(large)) < PIECE_BYTES + 100_100


def test_a_small_message_is_one_piece() -> None:
    encoded = pb.RangeResponse(kvs=[pb.KeyValue(key=b"a")] * 1000).SerializeToString()
    assert len(encoded) <= WHOLE_BYTES
    assert list(pieces(encoded)) == [encoded]
    assert list(pieces(b"")) == [b""]


@pytest.mark.parametrize(
    ("tail", "complaint"),
    [
        pytest.param(b"\x12\xff\xff\x01", "field ends", id="length beyond the end"),
        pytest.param(b"\x12", "inside a number", id="length missing"),
        pytest.param(b"\x13", "wire type 3", id="group"),
    ],
)
def test_what_is_no_message_is_refused(tail: bytes, complaint: str) -> None:
    encoded = pb.RangeResponse(kvs=[pb.KeyValue(value=bytes(20_000))]).SerializeToString() + tail
    with pytest.raises(ValueError, match=complaint):
        list(pieces(encoded))


def test_numbers_and_fixed_fields_are_stepped_over() -> None:
    fields = b"\x18\x96\x01" + b"\x21" + bytes(8) + b"\x2d" + bytes(4)
    encoded = fields + b"\x12\xa0\x9c\x01" + bytes(20_000)
    assert b"".join(pieces(encoded)) == encoded
