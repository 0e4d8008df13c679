"""Durations in Go's text, and ages as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.duration import format_duration, human_age, human_duration, parse_duration

DAY = 24 * 3600


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("5s", 5),
        ("30s", 30),
        ("1h0m0s", 3600),
        ("1h15m30.918s", 4530.918),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("5.s", 5),
        ("-1m", -60),
        ("+1m", 60),
        ("100ms", 0.1),
        ("12us", 12e-6),
        ("12µs", 12e-6),
        ("12μs", 12e-6),
        ("9ns", 9e-9),
        ("1s1s", 2),
        ("2562047h47m16.854775807s", 9223372036.854775807),
        ("-2562047h47m16.854775808s", -9223372036.854775808),
        ("0.3333333333333333333h", 1200),
        ("9007199254.740993s", 9007199254.740993),
    ],
)
def test_parsing(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'time: invalid duration ""'),
        ("3", 'time: missing unit in duration "3"'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".", 'time: invalid duration "."'),
        (".s", 'time: invalid duration ".s"'),
        ("+.s", 'time: invalid duration "+.s"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("1 s", 'time: unknown unit " s" in duration "1 s"'),
        ("1s ", 'time: unknown unit "s " in duration "1s "'),
        ("ten seconds", 'time: invalid duration "ten seconds"'),
        ("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'),
        ("9223372036.854775808s", 'time: invalid duration "9223372036.854775808s"'),
        ("-9223372036854775809ns", 'time: invalid duration "-9223372036854775809ns"'),
        ("1h" * 129, f'time: invalid duration "{"1h" * 129}"'),
        ("9" * 30 + "h", f'time: invalid duration "{"9" * 30}h"'),
        ("1é", r'time: unknown unit "\xc3\xa9" in duration "1\xc3\xa9"'),
        ('1"', r'time: unknown unit "\"" in duration "1\""'),
    ],
)
def test_error_texts(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_duration(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (1e-9, "1ns"),
        (1.1e-6, "1.1µs"),
        (2.2e-3, "2.2ms"),
        (3.3, "3.3s"),
        (60, "1m0s"),
        (245, "4m5s"),
        (245.001, "4m5.001s"),
        (3600, "1h0m0s"),
        (5 * 3600 + 6 * 60 + 7.001, "5h6m7.001s"),
        (-90, "-1m30s"),
    ],
)
def test_formatting(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_reads_back(microseconds: int) -> None:
    seconds = microseconds / 10**6
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, abs=1e-6)


@given(st.text(st.sampled_from("0123456789.+-hmsnuµ "), max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_duration(text)
    except ValueError as e:
        assert str(e).startswith("time: ")  # noqa: PT017


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.5, "0s"),
        (0, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (10 * 60 - 1, "9m59s"),
        (10 * 60 + 5, "10m"),
        (179 * 60, "179m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 61, "3h1m"),
        (8 * 3600 - 1, "7h59m"),
        (8 * 3600 + 61, "8h"),
        (47 * 3600, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + 3 * 3600, "2d3h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY + 3600, "8d"),
        (729 * DAY, "729d"),
        (730 * DAY, "2y"),
        (773 * DAY, "2y43d"),
        (8 * 365 * DAY + DAY, "8y"),
    ],
)
def test_human_durations(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


def test_ages() -> None:
    now = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    assert human_age("2026-01-01T00:00:00Z", now) == "60s"
    assert human_age("", now) == "<unknown>"
    assert human_age(None, now) == "<unknown>"
