"""Names: the rules and words of each kind of name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.apimachinery.validation.names import (
    config_map_key,
    dns1035_label,
    dns1123_label,
    dns1123_subdomain,
    label_value,
    name_is_dns_label,
    name_is_dns_subdomain,
    name_is_path_segment,
    path_segment_name,
    qualified_name,
    regex_error,
)

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
DNS1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (dns1123_label, "a-1", []),
        (dns1123_label, "a" * 63, []),
        (dns1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (dns1123_label, "a.b", ["must not contain dots"]),
        (dns1123_label, "-a", [LABEL]),
        (dns1123_label, "", [LABEL]),
        (dns1123_label, "a\n", [LABEL]),
        (dns1123_label, "é" * 32, ["must be no more than 63 characters", LABEL]),
        (dns1123_subdomain, "a.b-c.9", []),
        (dns1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (dns1035_label, "a1", []),
        (dns1035_label, "1a", [DNS1035]),
        (dns1035_label, "a" * 64, ["must be no more than 63 characters"]),
        (label_value, "", []),
        (qualified_name, "example.com/a", []),
        (qualified_name, "a" * 64 + ".com/a", []),
        (config_map_key, ".x", []),
        (config_map_key, ".", ["must not be '.'"]),
        (config_map_key, "..a", ["must not start with '..'"]),
    ],
)
def test_checks(check: Callable[[str], list[str]], value: str, expected: list[str]) -> None:
    assert check(value) == expected


@pytest.mark.parametrize(
    ("value", "name", "prefix"),
    [
        ("a", [], []),
        (".", ["may not be '.'"], []),
        ("..", ["may not be '..'"], []),
        ("a/b%", ["may not contain '/'", "may not contain '%'"], ["may not contain '/'", "may not contain '%'"]),
        ("Any Thing", [], []),
    ],
)
def test_path_segments(value: str, name: list[str], prefix: list[str]) -> None:
    assert path_segment_name(value) == name == name_is_path_segment(value, False)
    assert path_segment_name(value, prefix=True) == prefix == name_is_path_segment(value, True)


def test_a_prefix_may_end_in_a_dash() -> None:
    assert name_is_dns_label("a-", True) == []
    assert name_is_dns_label("a-", False) != []
    assert name_is_dns_subdomain("a.b-", True) == []
    assert name_is_dns_subdomain("-", True) != []


def test_a_rule_without_examples() -> None:
    assert regex_error("must be x", "x") == "must be x (regex used for validation is 'x')"
