"""Formats of strings, and patterns."""

from __future__ import annotations

import re
import time

import pytest

from controlplane.apimachinery.schema.formats import FORMATS, effective_format
from controlplane.cel.patterns import PatternError, searcher

pytestmark = pytest.mark.alone


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("bsonobjectid", ["507f1f77bcf86cd799439011"], ["507f", "z" * 24]),
        ("byte", ["aGk=", "abcd"], ["%%", "abc", ""]),
        ("cidr", ["10.0.0.0/8", "010.0.0.0/8", "fd00::/64"], ["10.0.0.0", "10.0.0.0/33", "x/8"]),
        ("creditcard", ["4111 1111 1111 1111"], ["4111111111111112", "1"]),
        ("date", ["2020-02-29"], ["2021-02-29", "20-01-01", "2020-1-1"]),
        ("datetime", ["2020-01-01T00:00:00Z", "2020-01-01t23:59:59.5+01:00"], ["2020-01-01", "2020-01-01T24:00:00Z"]),
        ("duration", ["1h", "1.5s", "2 days", "3 weeks"], ["5x", "", "abc"]),
        ("email", ["a@example.com"], ["a", "a@", "a b@example.com"]),
        ("hexcolor", ["#fff", "FF00ff"], ["#ff", "red"]),
        ("hostname", ["example.com", "a"], ["-a.com", "a" * 256, "a..b"]),
        ("ipv4", ["10.0.0.1", "010.1.1.1"], ["1.2.3", "1.2.3.256", "::1"]),
        ("ipv6", ["::1", "fd00::1.2.3.4"], ["1.2.3.4", "::1%eth0", "1::2::3"]),
        ("isbn10", ["0321751043"], ["0321751044"]),
        ("isbn13", ["978-0321751041"], ["978-0321751042"]),
        ("k8sshortname", ["a-b"], ["A", "-a", "a" * 64]),
        ("k8slongname", ["a-b.c"], ["a..b", "a" * 254]),
        ("mac", ["01:23:45:67:89:ab", "0123.4567.89ab"], ["01:23:45", "01:23:45:67:89:xx"]),
        ("password", ["", "anything"], []),
        ("rgbcolor", ["rgb(1,2,255)"], ["rgb(1,2,256)"]),
        ("ssn", ["123-45-6789"], ["123456789", "1"]),
        ("uri", ["https://example.com/a", "/path", "mailto:a"], ["", "a b", "http://[::1"]),
        ("uuid", ["A987FBC9-4BED-3078-CF07-9141BA07C9F3"], ["not-a-uuid"]),
        ("uuid4", ["57B73598-8764-4AD0-A76A-679BB6640EB1"], ["57B73598-8764-3AD0-A76A-679BB6640EB1"]),
    ],
)
def test_formats(name: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not FORMATS[name](text)] == []
    assert [text for text in bad if FORMATS[name](text)] == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "format": "date-time"}, "date-time"),
        ({"type": "string", "format": "int32"}, ""),
        ({"type": "integer", "format": "int32"}, "int32"),
        ({"type": "number", "format": "int32"}, ""),
        ({"type": "object", "format": "ipv4"}, ""),
        ({"x-kubernetes-int-or-string": True, "format": "ipv4"}, "ipv4"),
    ],
)
def test_a_format_counts_where_its_type_knows_it(schema: dict[str, object], expected: str) -> None:
    assert effective_format(schema) == expected


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),  # Python's own $ would match
        ("^[a-z]{2,3}$", "abc", True),
        (r"^\d+$", "٣", False),  # digits are ASCII
        (r"^\pL+$", "é", True),
        ("(?i)^AB$", "ab", True),
        ("x", "axb", True),
    ],
)
def test_patterns_mean_what_they_mean_in_re2(pattern: str, text: str, found: bool) -> None:
    assert bool(searcher(pattern)(text)) is found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[", "missing closing ]: `[`"),
        ("(a", "missing closing ): `(a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        ("[a-z]{1,1000}" * 50, "expression too large"),
    ],
)
def test_what_is_no_pattern_is_told_in_gos_words(pattern: str, text: str) -> None:
    with pytest.raises(PatternError, match=re.escape(text)):
        searcher(pattern)


def test_no_pattern_takes_long() -> None:
    begin = time.perf_counter()
    for pattern in (r"^(a+)+$", r"^(a|aa)*$", r"^[a-z]*[a-z]*[a-z]*[a-z]*$"):
        assert not searcher(pattern)("a" * 5000 + "!")
    assert time.perf_counter() - begin < 0.5
