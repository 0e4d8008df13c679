"""Messages are the same however they were cut into frames; lengths are bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.grpc.messages import MESSAGE_LIMIT_BYTES, MessageReader, prefixed
from controlplane.base.grpc.status import Code, RpcError
from tests.unit.base.grpc.test_frames import split


@given(messages=st.lists(st.binary(max_size=60), max_size=8), cuts=st.lists(st.integers(0, 1000), max_size=20))
def test_messages_survive_any_split(messages: list[bytes], cuts: list[int]) -> None:
    data = b"".join(prefixed(message) for message in messages)
    reader = MessageReader()
    assert [message for part in split(data, cuts) for message in reader.feed(part)] == messages
    assert reader.complete


def test_a_message_that_is_cut_off_is_not_complete() -> None:
    reader = MessageReader()
    assert reader.feed(b"\0\0") == []
    assert not reader.complete
    assert reader.feed(b"\0\0\2a") == []
    assert not reader.complete
    assert reader.feed(b"b") == [b"ab"]
    assert reader.complete


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\1\0\0\0\1a", "compressed"),
        (b"\0" + (MESSAGE_LIMIT_BYTES + 1).to_bytes(4, "big"), "at most"),
        (b"\0\xff\xff\xff\xff", "4294967295 bytes"),
    ],
)
def test_what_is_not_taken_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(RpcError, match=says) as raised:
        MessageReader().feed(data)
    assert raised.value.code is Code.INTERNAL
