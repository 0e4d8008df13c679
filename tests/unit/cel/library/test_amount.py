"""Quantities in expressions: exact, and an integer only where upstream says so."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.quantity import parse_quantity
from controlplane.cel.library.amount import Amount, parse_amount


@pytest.mark.parametrize(
    ("text", "int64", "approximate"),
    [
        ("0", 0, 0.0),
        ("12Mi", 12 * 2**20, 12582912.0),
        ("0.2G", 200_000_000, 2e8),
        ("50.703k", 50703, 50703.0),
        ("1e3", 1000, 1000.0),
        ("-5", -5, -5.0),
        ("1000m", None, 1.0),  # a whole number, but not kept as one
        ("1.5Gi", None, 1610612736.0),  # longer than 64 bits, as fractions of binary units are
        ("9223372036854775807", None, 9223372036854775807.0),
        ("9999999999999999999999999999999999999G", None, 1e46),
        ("0.0000000001", None, 1e-9),
        ("1E", 10**18, 1e18),
        ("100E", None, 1e20),
        ("16Ei", None, 9223372036854775807.0),
        ("1e200", None, 1e200),
        ("1e-9", None, 1e-9),
    ],
)
def test_whether_it_is_an_integer(text: str, int64: int | None, approximate: float) -> None:
    amount = parse_amount(text)
    assert amount.int64 == int64
    assert amount.approximate == pytest.approx(approximate, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("10Mo", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("1,3G", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("10Mm", "unable to parse quantity's suffix"),
        ("1e201", "unable to parse quantity's suffix"),
        ("9" * 10000, "unable to parse numeric part of quantity"),
    ],
)
def test_what_is_no_quantity(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_amount(text)
    assert str(caught.value) == problem


def _exact(amount: Amount) -> Fraction:
    return amount.unscaled * Fraction(10) ** amount.scale


_TEXTS = st.from_regex(
    r"[+-]?[0-9]{1,20}(\.[0-9]{0,12})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})?", fullmatch=True
)


@given(_TEXTS)
def test_the_value_is_the_one_that_objects_have(text: str) -> None:
    assert _exact(parse_amount(text)) == Fraction(parse_quantity(text).nanos, 10**9)


@given(_TEXTS, _TEXTS)
def test_arithmetic_and_order_are_exact(first: str, second: str) -> None:
    left, right = parse_amount(first), parse_amount(second)
    assert _exact(left + right) == _exact(left) + _exact(right)
    assert _exact(left - right) == _exact(left) - _exact(right)
    assert left.compare(right) == (_exact(left) > _exact(right)) - (_exact(left) < _exact(right))
    assert (left == right) == (_exact(left) == _exact(right))
    if left == right:
        assert hash(left) == hash(right)


def test_sums_beyond_64_bits_are_no_integers_any_more() -> None:
    large = Amount(2**63 - 1)
    assert large.int64 == 2**63 - 1
    beyond = large + Amount(1)
    assert beyond.int64 is None
    assert (beyond - Amount(1)).int64 is None
    assert beyond - Amount(1) == large
