"""``format``: the one that Kubernetes has, which writes numbers for en-US, and the later one, which does not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.functions import Library
from controlplane.cel.library.strings import strings
from controlplane.cel.types import INT
from controlplane.cel.values import Duration, Optional, Timestamp, UInt


def _format_of(library: Library) -> Any:
    return next(function.overloads[0].impl for function in library.functions if function.name == "format")


localized, plain = _format_of(strings(2)), _format_of(strings(4))

HOUR_NS = 3600 * 10**9
MOMENT = Timestamp(1_675_467_080 * 10**9)


@pytest.mark.parametrize(
    ("text", "arguments", "written"),
    [
        ("no substitution", [], "no substitution"),
        ("%% and also %%", [], "% and also %"),
        ("%%%s%%", ["text"], "%text%"),
        ("%d %d, %s", [1, UInt(2), "A"], "1 2, A"),
        ("%.3f", [1.2345], "1.234"),
        ("%f", [1234567.5], "1,234,567.500000"),
        ("%.0f", [2.5], "2"),
        ("%f %f", ["NaN", "-Infinity"], "NaN -\u221e"),
        ("%f", [math.inf], "\u221e"),
        ("%.6e", [1052.032911275], "1.052033\u00d710\u2070\u00b3"),
        ("%e", [0.00271828], "2.718280\u00d710\u207b\u2070\u00b3"),
        ("%e", [0.0], "0.000000\u00d710\u2070\u2070"),
        ("%b %b %b", [5, -5, True], "101 -101 1"),
        ("%o %o", [11, -11], "13 -13"),
        ("%x %X %x %X", [30, 30, "Hello", b"\x00ab"], "1e 1E 48656c6c6f 006162"),
        ("%x", [-30], "-1e"),
        ("%s", [2.71], "2.71"),
        ("%s", [0.000000002], "2e-09"),
        ("%s", [1000000.0], "1e+06"),
        ("%s %s %s", [math.nan, math.inf, -math.inf], "NaN +Inf -Inf"),
        ("%s %s %s", [None, True, b"xyz"], "null true xyz"),
        ("%s", [INT], "int"),
        ("%s %s", [MOMENT, Duration(2)], "2023-02-03T23:31:20Z 0.000000002s"),
        (
            "%s",
            [["abc", 3.14, None, [9, 8], MOMENT, math.nan]],
            '["abc", 3.140000, null, [9, 8], timestamp("2023-02-03T23:31:20Z"), "NaN"]',
        ),
        (
            "%s",
            [{"key2": b"xyz", "key1": None, 6: Duration(2 * HOUR_NS), False: True}],
            '{"key1":null, "key2":b"xyz", 6:duration("7200s"), false:true}',
        ),
    ],
)
def test_what_kubernetes_writes(text: str, arguments: list[Any], written: str) -> None:
    assert localized(text, arguments) == written


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("%a", [1], 'could not parse formatting clause: unrecognized formatting clause "a"'),
        ("%d %d %d", [0, 1], "index 2 out of range"),
        ("%", [], "index 0 out of range"),
        ("%", [1], "unexpected end of string"),
        (
            "%.3",
            [1],
            (
                "could not parse formatting clause: error while parsing precision: "
                "could not find end of precision specifier"
            ),
        ),
        (
            "%.f",
            [1.0],
            (
                "could not parse formatting clause: error while parsing precision: "
                'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            ),
        ),
        (
            "%.1001f",
            [1.0],
            (
                "could not parse formatting clause: error while parsing precision: "
                "precision 1001 exceeds maximum allowed precision 1000"
            ),
        ),
        (
            "%b",
            ["abc"],
            "error during formatting: only integers and bools can be formatted as binary, was given string",
        ),
        (
            "%d",
            [Duration(0)],
            "error during formatting: decimal clause can only be used on integers, was given google.protobuf.Duration",
        ),
        ("%o", ["a"], "error during formatting: octal clause can only be used on integers, was given string"),
        (
            "%x",
            [1.5],
            (
                "error during formatting: only integers, byte buffers, and strings can be formatted as hex, "
                "was given double"
            ),
        ),
        ("%f", [1], "error during formatting: fixed-point clause can only be used on doubles, was given int"),
        ("%e", ["x"], "error during formatting: scientific clause can only be used on doubles, was given string"),
        (
            "%s",
            [Optional(1)],
            (
                "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, "
                "maps, lists, types, durations, and timestamps, was given optional_type"
            ),
        ),
        ("%s", [[Optional(1)]], "error during formatting: no formatting function for optional_type"),
        ("%d %a", ["x", 1], "error during formatting: decimal clause can only be used on integers, was given string"),
    ],
)
def test_what_kubernetes_cannot_write(text: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(EvalError) as caught:
        localized(text, arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "arguments", "written"),
    [
        ("%f", [1234567.5], "1234567.500000"),
        ("%e", [1052.032911275], "1.052033e+03"),
        ("%d %d %d", [1.5, 2, math.inf], "1.5 2 Infinity"),
        ("%f", [3], "3.000000"),
        ("%s", [0.000000002], "0.000000002"),
        ("%s %s", [1e21, 100.0], "1000000000000000000000 100"),
        ("%s", [["abc", 3.14, None, MOMENT]], "[abc, 3.14, null, 2023-02-03T23:31:20Z]"),
        ("%s", [{"b": 1, "a": [2]}], "{a: [2], b: 1}"),
        ("%s", [-math.inf], "-Infinity"),
    ],
)
def test_what_later_versions_write(text: str, arguments: list[Any], written: str) -> None:
    assert plain(text, arguments) == written


def test_what_later_versions_cannot_write() -> None:
    with pytest.raises(EvalError, match=r"octal clause can only be used on ints and uints, was given double$"):
        plain("%o", [1.5])


def test_a_text_grows_no_further_than_its_limit() -> None:
    with pytest.raises(CostExceeded):
        localized("%s" * 11, ["x" * 1_000_000] * 11)
    shared: list[Any] = [1]
    for _ in range(60):
        shared = [shared, shared]
    with pytest.raises(CostExceeded):
        localized("%s", [shared])
