"""Formats of strings: which names are known, and what they accept.

A format that is not known is no constraint; dashes in its name do not count. What is accepted is what Kubernetes'
validator accepts, its oddities included.

Source: kubernetes/kube-openapi ``pkg/validation/strfmt`` and kubernetes/apiextensions-apiserver
``pkg/apiserver/validation/formats.go``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping

from controlplane.apimachinery.duration import parse_duration
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.email_address import is_email_address
from controlplane.cel.library.text_formats import is_base64, is_date, is_date_time, is_uuid
from controlplane.cel.patterns import searcher

__all__ = ["FORMATS", "effective_format", "is_recognized"]

Accepts = Callable[[str], bool]

_INTEGER_FORMATS = frozenset({"int32", "int64"})
_NUMBER_FORMATS = frozenset({"float", "double"})


def is_recognized(name: str, type_name: str) -> bool:
    """Whether a format constrains values of a type (``""``: any)."""
    if type_name in ("", "string"):
        return name.replace("-", "") in FORMATS
    if type_name == "integer":
        return name in _INTEGER_FORMATS
    return type_name == "number" and name in _NUMBER_FORMATS


def effective_format(schema: Obj) -> str:
    """The format of a schema, ``""`` if it has none that counts."""
    name = schema.get("format") or ""
    if not name:
        return ""
    type_name = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type") or ""
    return name if is_recognized(name, type_name) else ""


def _matches(pattern: str) -> Accepts:
    return lambda text: bool(searcher(pattern)(text))


def _is_uri(text: str) -> bool:
    from controlplane.cel.library.net_url import is_request_uri  # late: few schemas name it

    return is_request_uri(text)


_DURATION = re.compile(r"([0-9]+)\s*([A-Za-zµ]+)")
_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        pass
    else:
        return True
    for amount, unit in _DURATION.findall(text):
        if int(amount) > 2**63 - 1:
            return False
        small = unit.lower()
        if any(small in names or small.startswith(names[-1]) for names in _UNITS):
            return True
    return False


def _sloppy_ipv4(text: str) -> bool:
    """Leading zeros are ignored, as before Go 1.17."""
    parts = text.split(".")
    return len(parts) == 4 and all(p.isascii() and p.isdigit() and int(p) <= 255 for p in parts)


def _is_ip(text: str) -> bool:
    if _sloppy_ipv4(text):
        return True
    head, colon, tail = text.rpartition(":")
    if colon and "." in tail:
        if not _sloppy_ipv4(tail):
            return False
        text = f"{head}:0:0"
    return _is_plain_ipv6(text)


def _is_plain_ipv6(text: str) -> bool:
    if "%" in text:
        return False
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _is_ipv4(text: str) -> bool:
    return "." in text and _is_ip(text)


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not (bits.isascii() and bits.isdigit()) or len(bits) > 4:
        return False
    if _sloppy_ipv4(address):
        return int(bits) <= 32
    return ":" in address and _is_ip(address) and int(bits) <= 128


_MAC_LENGTHS = {6, 8, 20}


def _is_mac(text: str) -> bool:
    for separator, digits in ((":", 2), ("-", 2), (".", 4)):
        if separator in text:
            parts = text.split(separator)
            groups = all(len(part) == digits and re.fullmatch(r"[0-9a-fA-F]+", part) for part in parts)
            return groups and len(parts) * digits // 2 in _MAC_LENGTHS
    return False


def _digits(text: str) -> str:
    return re.sub(r"[\s-]+", "", text)


def _is_isbn10(text: str) -> bool:
    found = _digits(text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", found):
        return False
    values = [10 if c == "X" else int(c) for c in found]
    return sum(i * v for i, v in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    found = _digits(text)
    if not re.fullmatch(r"[0-9]{13}", found):
        return False
    return sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(found)) % 10 == 0


_CARD = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)


def _is_credit_card(text: str) -> bool:
    found = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(found):
        return False
    total = 0
    for i, c in enumerate(reversed(found)):
        value = int(c) * (1 + i % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)


def _is_hostname(text: str) -> bool:
    size = len(text.encode())
    return size <= 255 and all(len(p.encode()) <= 63 for p in text.split(".")) and bool(searcher(_HOSTNAME)(text))


def _uuid(third: str, fourth: str) -> Accepts:
    return _matches(rf"(?i)^[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{fourth}-?[0-9a-f]{{12}}$")


_BYTE = r"(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_NAME = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _bounded(pattern: str, limit_bytes: int) -> Accepts:
    return lambda text: len(text.encode()) <= limit_bytes and bool(searcher(pattern)(text))


FORMATS: Mapping[str, Accepts] = {
    "bsonobjectid": lambda text: bool(re.fullmatch(r"[0-9a-fA-F]{24}", text)),
    "byte": is_base64,
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": is_date,
    "datetime": is_date_time,
    "duration": _is_duration,
    "email": is_email_address,
    "hexcolor": lambda text: bool(re.fullmatch(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})", text)),
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8sshortname": _bounded(f"^{_NAME}$", 63),
    "k8slongname": _bounded(rf"^{_NAME}(\.{_NAME})*$", 253),
    "mac": _is_mac,
    "password": lambda _text: True,
    "rgbcolor": _matches(rf"^rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)$"),
    "ssn": lambda text: len(text) == 11 and bool(re.fullmatch(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text)),
    "uri": _is_uri,
    "uuid": is_uuid,
    "uuid3": _uuid("3[0-9a-f]{3}", "[0-9a-f]{4}"),
    "uuid4": _uuid("4[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
    "uuid5": _uuid("5[0-9a-f]{3}", "[89ab][0-9a-f]{3}"),
}
"""By name without dashes: what each accepts."""
