"""IP addresses and networks: what is read, what is said of what is not, and how they are written and classified."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.cel.library.netip import parse_address, parse_network


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unable to parse IP"),
        ("x", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("192.168.0.1.0", "IPv4 address too long"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1.2.3.4x", 'unexpected character (at "x")'),
        ("2001:db8:::68", 'each colon-separated field must have at least one digit (at ":68")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("12345::", 'each group must have 4 or fewer digits (at "12345::")'),
        ("1:2", "address string too short"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("1:2g", 'unexpected character, want colon (at "g")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:2:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
    ],
)
def test_what_is_no_address_is_said_in_go_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_address(text)
    assert str(caught.value) == (
        f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): {problem}'
    )


def test_zones_and_mapped_addresses_are_refused() -> None:
    with pytest.raises(ValueError, match=r'^IP address "fe80::1%e" with zone value is not allowed$'):
        parse_address("fe80::1%e")
    with pytest.raises(ValueError, match=r'^IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed$'):
        parse_address("::ffff:1.2.3.4")
    with pytest.raises(ValueError, match=r'^IPv4-mapped IPv6 address "::ffff:1.2.3.4/96" is not allowed$'):
        parse_network("::ffff:1.2.3.4/96")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1.2.3.4", "no '/'"),
        ("1.2.3.4/", 'bad bits after slash: ""'),
        ("1.2.3.4/x", 'bad bits after slash: "x"'),
        ("1.2.3.4/08", 'bad bits after slash: "08"'),
        ("1.2.3.4/+8", 'bad bits after slash: "+8"'),
        ("1.2.3.4/33", "prefix length out of range"),
        ("::1/129", "prefix length out of range"),
        ("fe80::1%e/8", "IPv6 zones cannot be present in a prefix"),
        ("1.2/8", 'ParseAddr("1.2"): IPv4 address too short'),
    ],
)
def test_what_is_no_network_is_said_in_go_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_network(text)
    assert str(caught.value) == (
        f'network address parse error during conversion from string: netip.ParsePrefix("{text}"): {problem}'
    )


@given(st.ip_addresses())
def test_addresses_are_written_as_python_writes_them(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return
    ours = parse_address(str(address))
    assert str(ours) == str(address)
    assert ours == parse_address(address.exploded)
    assert ours.family == address.version
    assert ours.is_loopback == (address in ipaddress.ip_network("127.0.0.0/8" if ours.family == 4 else "::1/128"))
    assert ours.is_multicast == address.is_multicast
    assert ours.is_unspecified == address.is_unspecified
    assert ours.is_link_local_unicast == address.is_link_local


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("0.0.0.0", ""),
        ("255.255.255.255", ""),
        ("10.0.0.1", "global"),
        ("224.0.0.1", "link-local multicast"),
        ("224.0.1.1", ""),
        ("169.254.169.254", "link-local unicast"),
        ("::", ""),
        ("2001:db8::abcd", "global"),
        ("fd00::1", "global"),
        ("ff02::1", "link-local multicast"),
        ("ff12::1", "link-local multicast"),
        ("ff05::1", ""),
        ("fe80::1", "link-local unicast"),
        ("febf::1", "link-local unicast"),
        ("fec0::1", "global"),
    ],
)
def test_kinds_of_addresses(text: str, kinds: str) -> None:
    address = parse_address(text)
    assert address.is_global_unicast == (kinds == "global")
    assert address.is_link_local_multicast == (kinds == "link-local multicast")
    assert address.is_link_local_unicast == (kinds == "link-local unicast")


def test_networks_contain_addresses_and_networks_of_their_family() -> None:
    network = parse_network("192.168.0.0/24")
    assert network.contains(parse_address("192.168.0.1"))
    assert not network.contains(parse_address("192.168.1.1"))
    assert not network.contains(parse_address("::1"))
    assert parse_network("0.0.0.0/0").contains(parse_address("255.0.0.1"))
    assert network.contains_network(parse_network("192.168.0.0/25"))
    assert network.contains_network(network)
    assert not network.contains_network(parse_network("192.168.0.0/23"))
    assert not parse_network("::/0").contains_network(network)


def test_masking_clears_the_bits_beyond_the_prefix() -> None:
    network = parse_network("2001:db8:1::1/32")
    assert str(network) == "2001:db8:1::1/32"
    assert str(network.masked()) == "2001:db8::/32"
    assert network != network.masked()
    assert network.masked() == parse_network("2001:db8::/32")
    assert hash(network.masked()) == hash(parse_network("2001:db8::/32"))
