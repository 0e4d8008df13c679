"""Quantities: grammar, canonical text, arithmetic, rounding and the error texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.quantity import Format, Quantity, QuantityError, parse_quantity

NANO, UNIT = 1, 10**9


@pytest.mark.parametrize(
    ("text", "nanos", "canonical"),
    [
        ("0", 0, "0"),
        ("0Ki", 0, "0"),
        ("0.0m", 0, "0"),
        (".", 0, "0"),
        ("-", 0, "0"),
        ("1", UNIT, "1"),
        ("+1", UNIT, "+1"),
        ("-1", -UNIT, "-1"),
        ("1Ki", 1024 * UNIT, "1Ki"),
        ("8Ki", 8192 * UNIT, "8Ki"),
        ("1024Ki", 2**20 * UNIT, "1Mi"),
        ("1025Ki", 1025 * 1024 * UNIT, "1025Ki"),
        ("3Ei", 3 * 2**60 * UNIT, "3Ei"),
        ("1.5Gi", 3 * 2**29 * UNIT, "1536Mi"),
        ("0.5Mi", 2**19 * UNIT, "512Ki"),
        ("0.05Gi", 536870912 * UNIT // 10, "53687091200m"),
        ("512", 512 * UNIT, "512"),
        ("5n", 5, "5n"),
        ("3m", 3 * 10**6, "3m"),
        ("50k", 50_000 * UNIT, "50k"),
        ("1000k", 10**6 * UNIT, "1M"),
        ("1E", 10**18 * UNIT, "1E"),
        ("12E", 12 * 10**18 * UNIT, "12E"),
        ("5000E", 5 * 10**21 * UNIT, "5000E"),
        ("0.001", 10**6, "1m"),
        ("0.0005k", UNIT // 2, "500m"),
        (".0001k", UNIT // 10, "100m"),
        ("1.", UNIT, "1."),
        ("1.G", 10**9 * UNIT, "1.G"),
        ("100.035k", 100035 * UNIT, "100.035k"),
        ("1.20", 12 * UNIT // 10, "1200m"),
        ("1e3", 1000 * UNIT, "1e3"),
        ("1E3", 1000 * UNIT, "1E3"),
        ("1.3E+6", 1_300_000 * UNIT, "1300e3"),
        ("1.2e3", 1200 * UNIT, "1200"),
        ("0.5e-1", UNIT // 20, "50e-3"),
        ("1e14", 10**14 * UNIT, "100e12"),
        ("3.001n", 4, "4n"),
        ("-3.001n", -4, "-4n"),
        ("0.0000000001", 1, "1n"),
        ("1.1E-9", 2, "2e-9"),
        ("0.00000012354", 124, "124n"),
        ("0.000000000001Ki", 2, "2n"),
        ("9Ei", (2**63 - 1) * UNIT, "9223372036854775807"),
        ("9223372036854775807Ki", (2**63 - 1) * UNIT, "9223372036854775807"),
        ("1e-1000", 1, "1e-9"),
        ("000123", 123 * UNIT, "000123"),
    ],
)
def test_parsing_and_canonical_text(text: str, nanos: int, canonical: str) -> None:
    quantity = parse_quantity(text)
    assert quantity.nanos == nanos
    assert str(quantity) == canonical
    assert parse_quantity(str(quantity)) == quantity


FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
SUFFIX = "unable to parse quantity's suffix"
NUMERIC = "unable to parse numeric part of quantity"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT),
        ("Non-Numeric", FORMAT),
        ("1.1.M", FORMAT),
        ("1+1.0M", FORMAT),
        ("0.1mi", SUFFIX),
        ("0.1am", FORMAT),
        ("aoeu", FORMAT),
        (".5i", SUFFIX),
        ("1i", SUFFIX),
        ("-3.01i", SUFFIX),
        ("-3.01e-", SUFFIX),
        (" 1", FORMAT),
        ("1\n", FORMAT),
        ("0e", SUFFIX),
        ("1e1001", SUFFIX),
        ("1e" + "9" * 5000, SUFFIX),
        ("9" * 5000, NUMERIC),
    ],
)
def test_error_texts(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert str(caught.value) == message


def test_comparison_is_by_value() -> None:
    assert parse_quantity("1") == parse_quantity("1000m") == parse_quantity("1e0")
    assert parse_quantity("1Ki") > parse_quantity("1k")
    assert parse_quantity("-1") < parse_quantity("0") <= parse_quantity("0m")
    assert hash(parse_quantity("1")) == hash(parse_quantity("1000m"))
    assert parse_quantity("1") != 1
    assert not parse_quantity("0Ki")
    assert parse_quantity("1n")


def test_arithmetic_keeps_the_format_of_the_first_that_is_not_zero() -> None:
    assert str(parse_quantity("1Gi") + parse_quantity("512Mi")) == "1536Mi"
    assert str(parse_quantity("0") + parse_quantity("1Ki") + parse_quantity("1Ki")) == "2Ki"
    assert str(parse_quantity("1Ki") - parse_quantity("24")) == "1k"
    assert str(-parse_quantity("1Ki")) == "-1Ki"
    assert repr(parse_quantity("1.5")) == "Quantity('1500m')"


@pytest.mark.parametrize(
    ("text", "value", "milli"), [("1500m", 2, 1500), ("-1500m", -2, -1500), ("1n", 1, 1), ("2Ki", 2048, 2048000)]
)
def test_whole_values_round_away_from_zero(text: str, value: int, milli: int) -> None:
    quantity = parse_quantity(text)
    assert (quantity.value, quantity.milli_value) == (value, milli)


formats: st.SearchStrategy[Format] = st.sampled_from(["DecimalSI", "BinarySI", "DecimalExponent"])
amounts = st.integers(-(2**63 - 1) * UNIT, (2**63 - 1) * UNIT) | st.integers(-(2**33), 2**33).map(lambda n: n * UNIT)


@given(nanos=amounts, format_=formats)
def test_canonical_text_reads_back_and_stays(nanos: int, format_: Format) -> None:
    text = str(Quantity(nanos, format_))
    read = parse_quantity(text)
    assert read.nanos == nanos
    # 5,000 in binary is "5000", which reads as a decimal and is then "5k": upstream's too
    assert str(read) == (text if read.format == format_ else str(Quantity(nanos, read.format)))
    assert str(parse_quantity(str(read))) == str(read)


@given(amounts, amounts)
def test_addition_is_exact(left: int, right: int) -> None:
    total = Quantity(left) + Quantity(right)
    assert total - Quantity(right) == Quantity(left)
