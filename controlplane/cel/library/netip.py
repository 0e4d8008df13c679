"""IP addresses and networks, read as strictly as Go's ``net/netip`` reads them.

No leading zeros, no short forms of IPv4; zones and IPv4-mapped IPv6 addresses are told apart so that the callers can
refuse them. Python's ``ipaddress`` reads nearly the same, but says something else about what it does not.

Source: the grammar and the error texts of Go's ``net/netip``; what Kubernetes refuses beyond it, from
kubernetes/apiserver ``pkg/cel/library``.
"""

from __future__ import annotations

import re
from typing import ClassVar

from controlplane.cel.library.go_text import go_quoted
from controlplane.cel.types import Type, opaque

__all__ = ["Address", "Network", "parse_address", "parse_any_address", "parse_network"]

_HEX = re.compile(r"[0-9A-Fa-f]*")
_MAPPED_PREFIX = 0xFFFF


class Address:
    """An IPv4 (32 bits) or IPv6 (128 bits) address, without zone."""

    __slots__ = ("bits", "value")
    cel_type: ClassVar[Type] = opaque("net.IP")

    def __init__(self, value: int, bits: int) -> None:
        self.value = value
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self.value == other.value and self.bits == other.bits

    def __hash__(self) -> int:
        return hash((self.value, self.bits))

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __str__(self) -> str:
        """The canonical text (RFC 5952)."""
        if self.bits == 32:
            return ".".join(str(self.value >> shift & 0xFF) for shift in (24, 16, 8, 0))
        groups = [self.value >> shift & 0xFFFF for shift in range(112, -1, -16)]
        start, length = _longest_zeros(groups)
        if length < 2:
            return ":".join(f"{group:x}" for group in groups)
        head = ":".join(f"{group:x}" for group in groups[:start])
        tail = ":".join(f"{group:x}" for group in groups[start + length :])
        return f"{head}::{tail}"

    @property
    def family(self) -> int:
        return 4 if self.bits == 32 else 6

    @property
    def is_unspecified(self) -> bool:
        return self.value == 0

    @property
    def is_loopback(self) -> bool:
        return self.value >> 24 == 127 if self.bits == 32 else self.value == 1

    @property
    def is_multicast(self) -> bool:
        return self.value >> 28 == 0xE if self.bits == 32 else self.value >> 120 == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        if self.bits == 32:
            return self.value >> 8 == 0xE00000
        return self.value >> 112 & 0xFF0F == 0xFF02

    @property
    def is_link_local_unicast(self) -> bool:
        return self.value >> 16 == 0xA9FE if self.bits == 32 else self.value >> 118 == 0x3FA

    @property
    def is_global_unicast(self) -> bool:
        """Neither unspecified, broadcast, loopback, multicast nor link-local; private ranges count as global."""
        if self.value == 0 or (self.bits == 32 and self.value == 0xFFFFFFFF):
            return False
        return not (self.is_loopback or self.is_multicast or self.is_link_local_unicast)


class Network:
    """An address and the length of its prefix; bits beyond the prefix may be set."""

    __slots__ = ("address", "length")
    cel_type: ClassVar[Type] = opaque("net.CIDR")

    def __init__(self, address: Address, length: int) -> None:
        self.address = address
        self.length = length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self.address == other.address and self.length == other.length

    def __hash__(self) -> int:
        return hash((self.address, self.length))

    def __repr__(self) -> str:
        return f"Network({str(self)!r})"

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    def contains(self, address: Address) -> bool:
        host_bits = self.address.bits - self.length
        return address.bits == self.address.bits and address.value >> host_bits == self.address.value >> host_bits

    def contains_network(self, other: Network) -> bool:
        return self.length <= other.length and self.contains(other.address)

    def masked(self) -> Network:
        """The same network with the bits beyond the prefix cleared."""
        host_bits = self.address.bits - self.length
        return Network(Address(self.address.value >> host_bits << host_bits, self.address.bits), self.length)


def _longest_zeros(groups: list[int]) -> tuple[int, int]:
    """Where the first of the longest runs of zeros begins, and its length."""
    best, length, start = 0, 0, 0
    for i, group in enumerate(groups):
        if group:
            start = i + 1
        elif i + 1 - start > length:
            best, length = start, i + 1 - start
    return best, length


def parse_address(text: str) -> Address:
    """Read an address.

    Raises:
        ValueError: with the message that ``ip()`` answers.
    """
    try:
        address, zone = _parsed(text)
    except ValueError as error:
        raise ValueError(f"IP Address {go_quoted(text)} parse error during conversion from string: {error}") from None
    if zone:
        raise ValueError(f"IP address {go_quoted(text)} with zone value is not allowed")
    if address.bits == 128 and address.value >> 32 == _MAPPED_PREFIX:
        raise ValueError(f"IPv4-mapped IPv6 address {go_quoted(text)} is not allowed")
    return address


def parse_any_address(text: str) -> Address:
    """Read an address of any form; a zone is read and left out.

    Raises:
        ValueError: with Go's message.
    """
    return _parsed(text)[0]


def parse_network(text: str) -> Network:
    """Read a network in CIDR notation.

    Raises:
        ValueError: with the message that ``cidr()`` answers, but for its own beginning.
    """
    try:
        network = _parsed_network(text)
    except ValueError as error:
        raise ValueError(
            f"network address parse error during conversion from string: netip.ParsePrefix({go_quoted(text)}): {error}"
        ) from None
    if network.address.bits == 128 and network.address.value >> 32 == _MAPPED_PREFIX:
        raise ValueError(f"IPv4-mapped IPv6 address {go_quoted(text)} is not allowed")
    return network


def _parsed_network(text: str) -> Network:
    head, slash, tail = text.rpartition("/")
    if not slash:
        raise ValueError("no '/'")
    address, zone = _parsed(head)
    if zone:
        raise ValueError("IPv6 zones cannot be present in a prefix")
    if not (tail.isascii() and tail.isdigit()) or (len(tail) > 1 and tail[0] == "0") or len(tail) > 18:
        raise ValueError(f"bad bits after slash: {go_quoted(tail)}")
    if int(tail) > address.bits:
        raise ValueError("prefix length out of range")
    return Network(address, int(tail))


def _wrong(text: str, what: str, at: str = "") -> ValueError:
    where = f" (at {go_quoted(at)})" if at else ""
    return ValueError(f"ParseAddr({go_quoted(text)}): {what}{where}")


def _parsed(text: str) -> tuple[Address, str]:
    """The address and its zone."""
    for char in text:
        if char == ".":
            return Address(_ipv4(text, text), 32), ""
        if char == ":":
            return _ipv6(text)
        if char == "%":
            raise _wrong(text, "missing IPv6 address")
    raise _wrong(text, "unable to parse IP")


def _ipv4(text: str, part: str) -> int:
    """The four octets in ``part``, the end of ``text``; what is wrong is found from left to right."""
    value, octet, dots = 0, "", 0
    for i, char in enumerate(part):
        if char == ".":
            if not octet or i == len(part) - 1:
                raise _wrong(text, "IPv4 field must have at least one digit", part[i:])
            if dots == 3:
                raise _wrong(text, "IPv4 address too long")
            value, octet, dots = value << 8 | int(octet), "", dots + 1
        elif not "0" <= char <= "9":
            raise _wrong(text, "unexpected character", part[i:])
        elif octet == "0":
            raise _wrong(text, "IPv4 field has octet with leading zero")
        else:
            octet += char
            if int(octet) > 255:
                raise _wrong(text, "IPv4 field has value >255")
    if dots < 3:
        raise _wrong(text, "IPv4 address too short")
    return value << 8 | int(octet)


def _ipv6(text: str) -> tuple[Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _wrong(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis: int | None = None
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return Address(0, 128), zone
    while len(groups) < 8:
        group, rest_after = _group(text, rest)
        if rest_after.startswith("."):
            groups += _embedded(text, rest, groups, has_ellipsis=ellipsis is not None)
            rest = ""
            break
        groups.append(group)
        if not rest_after:
            rest = ""
            break
        if rest_after[0] != ":":
            raise _wrong(text, "unexpected character, want colon", rest_after)
        if len(rest_after) == 1:
            raise _wrong(text, "colon must be followed by more characters", rest_after)
        rest = rest_after[1:]
        if rest[0] == ":":
            if ellipsis is not None:
                raise _wrong(text, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    if rest:
        raise _wrong(text, "trailing garbage after address", rest)
    return Address(_filled(text, groups, ellipsis), 128), zone


def _filled(text: str, groups: list[int], ellipsis: int | None) -> int:
    """The address of its groups, with zeros where the ``::`` stood."""
    missing = 8 - len(groups)
    if missing and ellipsis is None:
        raise _wrong(text, "address string too short")
    if not missing and ellipsis is not None:
        raise _wrong(text, "the :: must expand to at least one field of zeros")
    if ellipsis is not None:
        groups[ellipsis:ellipsis] = [0] * missing
    value = 0
    for group in groups:
        value = value << 16 | group
    return value


def _group(text: str, rest: str) -> tuple[int, str]:
    """One group of hexadecimal digits, and what follows."""
    found = _HEX.match(rest)
    digits = found[0] if found else ""
    if not digits:
        raise _wrong(text, "each colon-separated field must have at least one digit", rest)
    if len(digits) > 4:
        raise _wrong(text, "each group must have 4 or fewer digits", rest)
    return int(digits, 16), rest[len(digits) :]


def _embedded(text: str, rest: str, groups: list[int], *, has_ellipsis: bool) -> list[int]:
    """The two groups of an IPv4 address at the end."""
    if not has_ellipsis and len(groups) != 6:
        raise _wrong(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if len(groups) > 6:
        raise _wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    value = _ipv4(text, rest)
    return [value >> 16, value & 0xFFFF]
