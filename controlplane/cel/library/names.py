"""Names: which strings may name objects, labels, annotations and finalizers.

Each check returns the problems it finds, in Kubernetes' words; an empty list is a good name. Lengths are in bytes of
UTF-8. A good name costs one match of a compiled pattern, and is looked at first.

Source: the rules and texts of kubernetes/apimachinery ``util/validation`` and ``api/validation/generic.go``.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = [
    "config_map_key",
    "dns1035_label",
    "dns1123_label",
    "dns1123_subdomain",
    "label_value",
    "max_length_error",
    "name_is_dns1035_label",
    "name_is_dns_label",
    "name_is_dns_subdomain",
    "name_is_path_segment",
    "path_segment_name",
    "qualified_name",
    "regex_error",
]

LABEL_BYTES = 63
"""Longest DNS label, and longest label value and name part of a label key."""
SUBDOMAIN_BYTES = 253
"""Longest DNS subdomain (RFC 1123)."""

_DNS1123_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS1123_SUBDOMAIN = _DNS1123_LABEL + r"(\." + _DNS1123_LABEL + ")*"
_DNS1035_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(" + _KEY_NAME + ")?"
_CONFIG_MAP_KEY = "[-._a-zA-Z0-9]+"

_KEY_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_DNS1123_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_DNS1123_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS1035_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)

_dns1123_label = re.compile(_DNS1123_LABEL).fullmatch
_dns1123_subdomain = re.compile(_DNS1123_SUBDOMAIN).fullmatch
_dns1035_label = re.compile(_DNS1035_LABEL).fullmatch
_key_name = re.compile(_KEY_NAME).fullmatch
_label_value = re.compile(_LABEL_VALUE).fullmatch
_config_map_key = re.compile(_CONFIG_MAP_KEY).fullmatch

# Label keys and values, namespaces and data keys are the same few in most objects: what has matched is looked up, at a
# fourth of the price. Only texts within their limit come here.
_is_dns1123_label = lru_cache(maxsize=2048)(lambda value: _dns1123_label(value) is not None)
_is_key_name = lru_cache(maxsize=2048)(lambda value: _key_name(value) is not None)
_is_label_value = lru_cache(maxsize=2048)(lambda value: _label_value(value) is not None)
_is_config_map_key = lru_cache(maxsize=2048)(lambda value: _config_map_key(value) is not None)


def regex_error(rule: str, pattern: str, *examples: str) -> str:
    """``rule`` with examples of what would be right and the pattern that says so."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def max_length_error(limit: int, unit: str = "characters") -> str:
    return f"must be no more than {limit} {unit}"


_JUDGED_CHARACTERS = 4096
"""Of a name that is far too long only the beginning is looked at: nobody waits for a pattern over megabytes."""


def _longer(value: str, limit: int) -> bool:
    return len(value) > limit or (not value.isascii() and len(value.encode()) > limit)


def dns1123_label(value: str) -> list[str]:
    if len(value) <= LABEL_BYTES and _is_dns1123_label(value):
        return []
    problems = [max_length_error(LABEL_BYTES)] if _longer(value, LABEL_BYTES) else []
    if not _dns1123_label(value[:_JUDGED_CHARACTERS]):
        if _dns1123_subdomain(value[:_JUDGED_CHARACTERS]):
            problems.append("must not contain dots")
        else:
            problems.append(regex_error(_DNS1123_LABEL_RULE, _DNS1123_LABEL, "my-name", "123-abc"))
    return problems


def dns1123_subdomain(value: str) -> list[str]:
    if len(value) <= SUBDOMAIN_BYTES and _dns1123_subdomain(value):
        return []
    problems = [max_length_error(SUBDOMAIN_BYTES)] if _longer(value, SUBDOMAIN_BYTES) else []
    if not _dns1123_subdomain(value[:_JUDGED_CHARACTERS]):
        problems.append(regex_error(_DNS1123_SUBDOMAIN_RULE, _DNS1123_SUBDOMAIN, "example.com"))
    return problems


def dns1035_label(value: str) -> list[str]:
    problems = [max_length_error(LABEL_BYTES)] if _longer(value, LABEL_BYTES) else []
    if not _dns1035_label(value[:_JUDGED_CHARACTERS]):
        problems.append(regex_error(_DNS1035_LABEL_RULE, _DNS1035_LABEL, "my-name", "abc-123"))
    return problems


def qualified_name(value: str) -> list[str]:
    """A label key: an optional DNS subdomain and a slash, then a name."""
    if len(value) <= LABEL_BYTES and _is_key_name(value):
        return []
    prefix, slash, name = value.partition("/")
    if not slash:
        name = prefix
    if "/" in name:
        rule = regex_error(_KEY_NAME_RULE, _KEY_NAME, "MyName", "my.name", "123-abc")
        return [f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems: list[str] = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        # the prefix's length limit is worded in bytes here, in characters elsewhere
        if _longer(prefix, SUBDOMAIN_BYTES):
            problems.append("prefix part " + max_length_error(SUBDOMAIN_BYTES, "bytes"))
        if not _dns1123_subdomain(prefix[:_JUDGED_CHARACTERS]):
            problems.append("prefix part " + regex_error(_DNS1123_SUBDOMAIN_RULE, _DNS1123_SUBDOMAIN, "example.com"))
    if not name:
        problems.append("name part must be non-empty")
    elif _longer(name, LABEL_BYTES):
        problems.append("name part " + max_length_error(LABEL_BYTES, "bytes"))
    if not _key_name(name[:_JUDGED_CHARACTERS]):
        problems.append("name part " + regex_error(_KEY_NAME_RULE, _KEY_NAME, "MyName", "my.name", "123-abc"))
    return problems


def label_value(value: str) -> list[str]:
    if len(value) <= LABEL_BYTES and _is_label_value(value):
        return []
    problems = [max_length_error(LABEL_BYTES, "bytes")] if _longer(value, LABEL_BYTES) else []
    if not _label_value(value[:_JUDGED_CHARACTERS]):
        rule = f"a valid label must be an empty string or {_KEY_NAME_RULE.removeprefix('must ')}"
        problems.append(regex_error(rule, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return problems


def config_map_key(value: str) -> list[str]:
    """A key of a config map's or a secret's data: it becomes a file name."""
    if len(value) <= SUBDOMAIN_BYTES and _is_config_map_key(value) and value[0] != ".":
        return []
    problems = [max_length_error(SUBDOMAIN_BYTES)] if _longer(value, SUBDOMAIN_BYTES) else []
    if not _config_map_key(value[:_JUDGED_CHARACTERS]):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        problems.append(regex_error(rule, _CONFIG_MAP_KEY, "key.name", "KEY_NAME", "key-name"))
    if value in {".", ".."}:
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def path_segment_name(value: str, *, prefix: bool = False) -> list[str]:
    """What may stand in a URL path and in a store key. ``prefix``: more will be appended."""
    if not prefix and value in {".", ".."}:
        return [f"may not be '{value}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in value]


def _as_prefix(name: str) -> str:
    """A generateName may end in a dash, since more follows.

    Two characters are replaced by one, as upstream does: a prefix of one dash too many still passes there.
    """
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def name_is_dns_label(name: str, prefix: bool) -> list[str]:  # noqa: FBT001 - the shape of Strategy.validate_name
    return dns1123_label(_as_prefix(name) if prefix else name)


def name_is_dns1035_label(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    return dns1035_label(_as_prefix(name) if prefix else name)


def name_is_dns_subdomain(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    return dns1123_subdomain(_as_prefix(name) if prefix else name)


def name_is_path_segment(name: str, prefix: bool) -> list[str]:  # noqa: FBT001
    return path_segment_name(name, prefix=prefix)
