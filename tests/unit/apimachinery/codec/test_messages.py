"""Messages made from schemas."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import (
    array,
    binary,
    boolean,
    integer,
    mapping,
    micro_time,
    pointer,
    quantity,
    record,
    string,
    time,
)
from tests.unit.apimachinery.codec.protobuf.test_envelope import put

PART = record({"name": string(), "on": boolean()}, go_type="v1.Part")
SCHEMA = record(
    {
        "text": string(),
        "kept": pointer(string()),
        "count": integer(),
        "on": pointer(boolean()),
        "bytes": binary(),
        "at": time(),
        "exactly": micro_time(),
        "amounts": mapping(quantity()),
        "lists": mapping(array(string())),
        "part": PART,
        "parts": array(PART),
        "name": string(),
        "spread": boolean(),
    },
    go_type="v1.Whole",
)
NUMBERS = {
    "Whole": "metadata text kept count on - bytes at exactly amounts lists part parts +Outer",
    "Outer": "name +Inner",
    "Inner": "spread",
    "Part": "name on",
}
MESSAGE = message_of(SCHEMA, NUMBERS)
SECONDS = put(1, 1_767_225_600)


def decoded(body: bytes) -> Obj:
    return MESSAGE.decode(body)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (put(1, put(1, "a")), {"metadata": {"name": "a"}}),
        (put(2, "x") + put(3, ""), {"text": "x", "kept": ""}),
        (put(2, "") + put(4, 0), {}),
        (put(4, -1) + put(5, 0), {"count": -1, "on": False}),
        (put(6, "a number that is not used"), {}),
        (put(7, b"\x00"), {"bytes": "AA=="}),
        (put(8, SECONDS) + put(9, SECONDS), {"at": "2026-01-01T00:00:00Z", "exactly": "2026-01-01T00:00:00.000000Z"}),
        (put(10, put(1, "cpu") + put(2, put(1, "500m"))), {"amounts": {"cpu": "500m"}}),
        (put(10, put(1, "cpu") + put(2, b"")), {"amounts": {"cpu": "0"}}),
        (put(11, put(1, "a") + put(2, put(1, "x") + put(1, "y"))), {"lists": {"a": ["x", "y"]}}),
        (put(11, put(1, "a") + put(2, b"")), {"lists": {"a": []}}),
        (put(12, put(1, "p") + put(2, 1)), {"part": {"name": "p", "on": True}}),
        (put(13, put(1, "p")) + put(13, b""), {"parts": [{"name": "p"}, {}]}),
        (put(14, put(1, "n") + put(2, put(1, 1))), {"name": "n", "spread": True}),
    ],
)
def test_fields(body: bytes, fields: dict[str, Any]) -> None:
    assert decoded(body) == fields


@pytest.mark.parametrize("numbers", [{}, {"Whole": "metadata text unknown"}, {"Whole": "metadata part"}])
def test_numbers_must_fit_the_schema(numbers: dict[str, str]) -> None:
    with pytest.raises(KeyError):
        message_of(SCHEMA, numbers).complete()


def test_a_type_that_no_message_has_is_refused() -> None:
    with pytest.raises(TypeError, match="no message has a field of this type: 'null'"):
        message_of(record({"x": {"type": "null"}}, go_type="v1.X"), {"X": "x"}).complete()
