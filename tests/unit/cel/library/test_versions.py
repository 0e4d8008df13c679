"""Semantic versions: read, normalized and compared."""

from __future__ import annotations

import pytest

from controlplane.cel.library.versions import normalized, parse_version

ORDERED = (
    "0.0.1",
    "0.1.0",
    "1.0.0-1",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.1-0",
    "18446744073709551615.0.0",
)


def test_precedence() -> None:
    versions = [parse_version(text) for text in ORDERED[::-1]]
    assert [str(version) for version in sorted(versions)] == list(ORDERED)


def test_build_metadata_has_no_precedence() -> None:
    assert parse_version("1.2.3+a.b") == parse_version("1.2.3+c")
    assert hash(parse_version("1.2.3+a")) == hash(parse_version("1.2.3"))
    assert str(parse_version("1.2.3-beta.1+build.1")) == "1.2.3-beta.1+build.1"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Version string empty"),
        ("1.0", "No Major.Minor.Patch elements found"),
        ("v1.0.0", 'Invalid character(s) found in major number "v1"'),
        ("1.x.0", 'Invalid character(s) found in minor number "x"'),
        ("1.0.x", 'Invalid character(s) found in patch number "x"'),
        ("01.0.0", 'Major number must not contain leading zeroes "01"'),
        ("1.01.0", 'Minor number must not contain leading zeroes "01"'),
        ("1.0.01", 'Patch number must not contain leading zeroes "01"'),
        (".0.0", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("1.0.0-", "Prerelease is empty"),
        ("1.0.0-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.0.0-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.0.0+", "Build meta data is empty"),
        ("1.0.0+a_b", 'Invalid character(s) found in build meta data "a_b"'),
    ],
)
def test_what_is_no_version(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_version(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [("v1.02", "1.2.0"), ("1", "1.0.0"), ("01.01.01", "1.1.1"), ("v00.0.00-rc", "0.0.0-rc"), ("1.1.1", "1.1.1")],
)
def test_normalizing(text: str, expected: str) -> None:
    assert str(parse_version(normalized(text))) == expected


def test_short_versions_have_no_preview() -> None:
    with pytest.raises(ValueError, match=r"^short version cannot contain PreRelease/Build meta data$"):
        normalized("1.0-rc")
