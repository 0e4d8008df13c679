"""Header blocks against the ``hpack`` library, in both directions."""

from __future__ import annotations

import contextlib

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.grpc.frames import ErrorCode, ProtocolError
from controlplane.base.grpc.headers import MAX_BLOCK_BYTES, HeaderDecoder, request_block, timeout_text
from controlplane.base.grpc.status import Code, from_http, from_reset, from_trailers
from tests.unit.base.grpc.peer import block

TEXT = st.text("abcdefgh-:./0123456789", min_size=1, max_size=300)


@given(authority=TEXT, path=TEXT, metadata=st.lists(st.tuples(TEXT, TEXT), max_size=3))
def test_a_request_block_says_what_was_meant(authority: str, path: str, metadata: list[tuple[str, str]]) -> None:
    expected = [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", path),
        (":authority", authority),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("grpc-timeout", "9m"),
        *metadata,
    ]
    decoded = Decoder().decode(request_block("https", authority, path, "9m", metadata), raw=True)
    assert [(bytes(name).decode(), bytes(value).decode()) for name, value in decoded] == expected


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10000m"), (0.25, "250m"), (0.00001, "1m"), (1e6, "1000000S"), (1e12, "99999999S")]
)
def test_timeouts_have_at_most_eight_digits(seconds: float, text: str) -> None:
    assert timeout_text(seconds) == text


@given(status=TEXT, message=TEXT)
def test_an_answer_is_read_and_read_alike_again(status: str, message: str) -> None:
    decoder = HeaderDecoder()
    encoded = block({":status": "200", "grpc-status": status, "grpc-message": message, "x-other": "1"})
    for _ in range(2):
        read = decoder.decode(encoded)
        assert (read.status, read.content_type, read.grpc_status, read.grpc_message) == ("200", "", status, message)


def test_an_update_to_the_table_size_that_was_announced_is_taken() -> None:
    assert HeaderDecoder().decode(b"\x20" + block({":status": "200"})).status == "200"


def _of_dynamic_table() -> bytes:
    encoder = Encoder()
    encoder.encode([("x-a", "1")])
    return encoder.encode([("x-a", "1")])


@pytest.mark.parametrize(
    "encoded",
    [
        pytest.param(_of_dynamic_table(), id="dynamic table"),
        pytest.param(b"\x3f\xe1\x1f", id="a larger table"),
        pytest.param(b"\x80", id="index 0"),
        pytest.param(b"\x00\x05ab", id="cut off"),
        pytest.param(b"\x7f" + b"\xff" * 40, id="endless number"),
        pytest.param(block({"a": "v" * MAX_BLOCK_BYTES}), id="too large"),
        pytest.param(block({"a": "v" * 5000}) * 14, id="too many"),
    ],
)
def test_an_unreadable_block_is_refused(encoded: bytes) -> None:
    with pytest.raises(ProtocolError) as raised:
        HeaderDecoder().decode(encoded)
    assert raised.value.code is ErrorCode.COMPRESSION_ERROR


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(encoded: bytes) -> None:
    """No other exception gets out."""
    with contextlib.suppress(ProtocolError):
        HeaderDecoder().decode(encoded)


def test_a_status_is_told_by_trailers_http_or_reset() -> None:
    assert from_trailers("0", "") is None
    error = from_trailers("11", "revision%20%E2%82%AC%2")
    assert error is not None
    assert (error.code, error.details, error.unsent) == (Code.OUT_OF_RANGE, "revision €%2", False)
    for status, code in {"": Code.INTERNAL, "x": Code.INTERNAL, "²": Code.INTERNAL, "77": Code.UNKNOWN}.items():
        error = from_trailers(status, "")
        assert error is not None
        assert error.code is code
    assert from_http("503").code is Code.UNAVAILABLE
    assert from_http("404").code is Code.UNIMPLEMENTED
    assert from_http("302").code is Code.UNKNOWN
    assert from_reset(ErrorCode.REFUSED_STREAM).unsent
    assert not from_reset(ErrorCode.CANCEL).unsent
    assert "error 4711" in from_reset(4711).details
