"""Times in their canonical form: the quick way and the long way say the same."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, datetime

import pytest

from controlplane.apimachinery.schema.scalars import _parse, normalize_micro_time, normalize_time

DATES = [(year, month, day) for year in (2023, 2024) for month in range(1, 13) for day in (1, 28, 29, 30, 31)]


@pytest.mark.parametrize(("year", "month", "day"), DATES)
def test_every_end_of_a_month_is_a_date_if_the_calendar_has_it(year: int, month: int, day: int) -> None:
    text, micro = f"{year}-{month:02}-{day:02}T23:59:59Z", f"{year}-{month:02}-{day:02}T23:59:59.000007Z"
    if day <= monthrange(year, month)[1]:
        assert normalize_time(text) == text
        assert normalize_micro_time(micro) == micro
        assert _parse(text, "2006-01-02T15:04:05Z07:00") == datetime(year, month, day, 23, 59, 59, tzinfo=UTC)
        return
    for normalize, wrong in ((normalize_time, text), (normalize_micro_time, micro)):
        with pytest.raises(ValueError, match="day out of range"):
            normalize(wrong)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("2024-02-29T01:00:00+02:00", "2024-02-28T23:00:00Z"),
        ("2024-12-31T23:59:59.999Z", "2024-12-31T23:59:59Z"),
        ("2024-06-30T00:00:00-00:30", "2024-06-30T00:30:00Z"),
    ],
)
def test_other_spellings(text: str, canonical: str) -> None:
    assert normalize_time(text) == canonical


@pytest.mark.parametrize("text", ["2024-13-01T00:00:00Z", "2024-00-29T00:00:00Z", "2024-06-31T00:00:00Z", "2024-06-30"])
def test_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="parsing time"):
        normalize_time(text)


def test_micro_time_needs_six_digits() -> None:
    with pytest.raises(ValueError, match=r"\.000000"):
        normalize_micro_time("2024-06-30T00:00:00Z")
    assert normalize_micro_time("2024-06-30T00:00:00.000001+01:00") == "2024-06-29T23:00:00.000001Z"
