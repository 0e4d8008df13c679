"""Field errors: their words, and values as Go prints them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.validation import field
from controlplane.apimachinery.validation.field import FieldError, go_quoted


@pytest.mark.parametrize(
    ("error", "reason", "text"),
    [
        (field.required("a.b"), "FieldValueRequired", "a.b: Required value"),
        (field.required("a", "say so"), "FieldValueRequired", "a: Required value: say so"),
        (field.invalid("a", "x", "why"), "FieldValueInvalid", 'a: Invalid value: "x": why'),
        (field.type_invalid("a", 1, "why"), "FieldValueTypeInvalid", "a: Invalid value: 1: why"),
        (field.not_found("a", "x"), "FieldValueNotFound", 'a: Not found: "x"'),
        (field.duplicate("a[1]", "x"), "FieldValueDuplicate", 'a[1]: Duplicate value: "x"'),
        (field.forbidden("a", "why"), "FieldValueForbidden", "a: Forbidden: why"),
        (
            field.not_supported("a", "x", ["c", "b"]),
            "FieldValueNotSupported",
            'a: Unsupported value: "x": supported values: "c", "b"',
        ),
        (field.too_long("a", 1), "FieldValueTooLong", "a: Too long: may not be more than 1 byte"),
        (field.too_long("a", 2), "FieldValueTooLong", "a: Too long: may not be more than 2 bytes"),
        (field.too_many("a", 3, 2), "FieldValueTooMany", "a: Too many: 3: must have at most 2 items"),
    ],
)
def test_texts(error: FieldError, reason: str, text: str) -> None:
    assert error.reason == reason
    assert str(error) == text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (1.5, "1.5"),
        (["a", "b"], '["a","b"]'),
        ({"a": 1}, '{"a":1}'),
        ("x", '"x"'),
        (1_000_000, "1000000"),
        (999_999.5, "999999.5"),
        (100_000.0, "100000"),
        (1_000_000.0, "1e+06"),
        (-1_234_567.5, "-1.2345675e+06"),
        (1e-5, "1e-05"),
        (0.00012, "0.00012"),
        (1.5e300, "1.5e+300"),
    ],
)
def test_values(value: Any, shown: str) -> None:
    assert field.invalid("a", value, "why").body == f"Invalid value: {shown}: why"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("héllo ☃ 😀", '"héllo ☃ 😀"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("\u2028\U000e0001", r'"\u2028\U000e0001"'),
    ],
)
def test_quoting_is_gos(text: str, quoted: str) -> None:
    assert go_quoted(text) == quoted
