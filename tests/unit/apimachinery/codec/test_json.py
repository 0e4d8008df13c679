"""JSON text in and out: what is refused, and with which words."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.codec.json import MAX_DEPTH, MalformedJSON, TooDeep, dumps, dumps_sorted, loads
from controlplane.apimachinery.schema.decode import SpelledFloat


def nested(depth: int, inner: Any = None) -> Any:
    value: Any = {} if inner is None else inner
    for _ in range(depth - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1e999}',
    ],
)
def test_what_only_the_parser_refuses_is_refused_with_its_position(text: bytes) -> None:
    with pytest.raises(MalformedJSON, match=r"line \d+ column \d+ \(char \d+\)"):
        loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'"\xe2\x82x"', "\ufffd\ufffdx"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'"\\ud800"', "\ufffd"),
        (b'"\\ud800\\u0041\\udc00\\ud83d\\ude00\xff"', "\ufffdA\ufffd\U0001f600\ufffd"),
        (b'"\\\\ud800 \\udfff"', "\\ud800 \ufffd"),
    ],
)
def test_what_is_not_unicode_is_replaced_byte_by_byte(text: bytes, value: Any) -> None:
    assert loads(text) == value


@pytest.mark.parametrize("text", ['"\\ud800"', "{"])
def test_text_that_is_decoded_already_is_read_alike(text: str) -> None:
    if text == "{":
        with pytest.raises(MalformedJSON, match="unexpected end"):
            loads(text)
    else:
        assert loads(text) == "\ufffd"


@pytest.mark.parametrize("text", [b"", b"{", b'{"apiVersion":"v1",', b'"abc'])
def test_text_that_is_cut_off_is_refused_in_kubernetes_words(text: bytes) -> None:
    with pytest.raises(MalformedJSON, match=r"^unexpected end of JSON input$"):
        loads(text)


@pytest.mark.parametrize("as_text", [False, True])
def test_depth_that_could_not_be_written_again_is_refused(as_text: bool) -> None:
    deepest = b'{"a":' * (MAX_DEPTH - 1) + b"{}" + b"}" * (MAX_DEPTH - 1)
    value = loads(deepest.decode() if as_text else deepest)
    assert dumps(value) == deepest
    deeper = b"[" + deepest + b"]"
    with pytest.raises(TooDeep, match="exceeded max depth"):
        loads(deeper.decode() if as_text else deeper)


@pytest.mark.parametrize("depth", [1025, 100_000, 3_000_000])
def test_hostile_depth_is_an_error_not_a_crash(depth: int) -> None:
    with pytest.raises(TooDeep):
        loads(b"[" * depth + b"]" * depth)


def test_many_brackets_that_are_not_deep_are_read() -> None:
    value = {"items": [{"a": [i]} for i in range(1000)]}
    assert loads(dumps(value)) == value


def test_writing_too_deep_is_the_same_error() -> None:
    with pytest.raises(TooDeep):
        dumps(nested(MAX_DEPTH + 1))


def test_what_json_cannot_express_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        dumps({"a": object()})


def test_a_float_of_another_class_is_written_as_the_number_it_is() -> None:
    assert dumps({"a": [SpelledFloat("1.50"), 2**70]}) == b'{"a":[1.5,1180591620717411303424]}'


def test_sorted_bytes_do_not_depend_on_order() -> None:
    assert dumps_sorted({"b": {"d": 1, "c": 2}, "a": 0}) == b'{"a":0,"b":{"c":2,"d":1}}'
