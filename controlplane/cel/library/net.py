"""The libraries of IP addresses and networks.

Source: kubernetes/apiserver ``pkg/cel/library`` (``ip.go``, ``cidr.go``), costs of its ``cost.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import STRING_FACTOR, Bounds, CallEstimate, Operand, fixed
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import nominal, scanned, scanning
from controlplane.cel.library.netip import Address, Network, parse_address, parse_network
from controlplane.cel.types import BOOL, INT, STRING, Type

__all__ = ["CIDR", "IP"]

_ADDRESS, _NETWORK = Address.cel_type, Network.cel_type
_WIRE_BYTES = Bounds(4, 16)


def _address(text: str) -> Address:
    try:
        return parse_address(text)
    except ValueError as error:
        raise EvalError(str(error)) from None


def _is_address(text: str) -> bool:
    try:
        parse_address(text)
    except ValueError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _accessor(name: str, id_: str, result: Type, impl: Callable[[Address], object]) -> Function:
    return Function(name, (Overload(id_, (_ADDRESS,), result, impl, member=True, estimate=nominal),))


IP = Library(
    (
        Function("ip", (Overload("string_to_ip", (STRING,), _ADDRESS, _address, cost=scanned(), estimate=scanning()),)),
        Function(
            "ip.isCanonical",
            (Overload("ip_is_canonical", (STRING,), BOOL, _is_canonical, cost=scanned(2), estimate=scanning(2)),),
        ),
        Function("isIP", (Overload("is_ip", (STRING,), BOOL, _is_address, cost=scanned(), estimate=scanning()),)),
        Function("string", (Overload("ip_to_string", (_ADDRESS,), STRING, str),)),
        _accessor("family", "ip_family", INT, lambda address: address.family),
        _accessor("isUnspecified", "ip_is_unspecified", BOOL, lambda address: address.is_unspecified),
        _accessor("isLoopback", "ip_is_loopback", BOOL, lambda address: address.is_loopback),
        _accessor(
            "isLinkLocalMulticast", "ip_is_link_local_multicast", BOOL, lambda address: address.is_link_local_multicast
        ),
        _accessor(
            "isLinkLocalUnicast", "ip_is_link_local_unicast", BOOL, lambda address: address.is_link_local_unicast
        ),
        _accessor("isGlobalUnicast", "ip_is_global_unicast", BOOL, lambda address: address.is_global_unicast),
    ),
    types={"net.IP": _ADDRESS},
)


def _network(text: str) -> Network:
    try:
        return parse_network(text)
    except ValueError as error:
        raise EvalError(f"network address parse error during conversion from string: {error}") from None


def _is_network(text: str) -> bool:
    try:
        parse_network(text)
    except ValueError:
        return False
    return True


def _contains_text(network: Network, text: str) -> bool:
    if not _is_address(text):
        raise EvalError("no such overload")  # upstream drops the reason here, and only here
    return network.contains(parse_address(text))


def _contains_network_text(network: Network, text: str) -> bool:
    return network.contains_network(_network(text))


def _prefix_bytes(network: Network) -> int:
    return math.ceil(network.length / 8)


def _size(value: Address | Network | str) -> int:
    if isinstance(value, str):
        return len(value)
    return value.bits // 8 if isinstance(value, Address) else _prefix_bytes(value)


def _comparison_cost(*, networks: bool) -> Callable[..., int]:
    """Counted: both are compared over the prefix; a network is masked first; a text is parsed before."""

    def cost(_result: object, network: Network, other: Address | Network | str) -> int:
        prefix = _prefix_bytes(network)
        total = math.ceil((prefix + prefix) * STRING_FACTOR)
        if networks:
            total += math.ceil(prefix * STRING_FACTOR) + 1
        if isinstance(other, str):
            total += math.ceil(_size(other) * STRING_FACTOR)
        return total

    return cost


def _comparison_estimate(*, networks: bool, text: bool) -> Callable[..., CallEstimate]:
    def estimate(_network: Operand, other: Operand) -> CallEstimate:
        cost = _WIRE_BYTES.plus(_WIRE_BYTES).scaled(STRING_FACTOR)
        if networks:
            cost = cost.plus(_WIRE_BYTES.scaled(STRING_FACTOR)).plus(fixed(1))
        if text:
            cost = cost.plus(other.size.scaled(STRING_FACTOR))
        return CallEstimate(cost)

    return estimate


def _comparison(id_: str, other: Type, impl: Callable[..., bool], *, networks: bool) -> Overload:
    return Overload(
        id_,
        (_NETWORK, other),
        BOOL,
        impl,
        member=True,
        cost=_comparison_cost(networks=networks),
        estimate=_comparison_estimate(networks=networks, text=other is STRING),
    )


CIDR = Library(
    (
        Function(
            "cidr", (Overload("string_to_cidr", (STRING,), _NETWORK, _network, cost=scanned(), estimate=scanning()),)
        ),
        Function("isCIDR", (Overload("is_cidr", (STRING,), BOOL, _is_network, cost=scanned(), estimate=scanning()),)),
        Function(
            "containsIP",
            (
                _comparison("cidr_contains_ip_string", STRING, _contains_text, networks=False),
                _comparison("cidr_contains_ip_ip", _ADDRESS, Network.contains, networks=False),
            ),
        ),
        Function(
            "containsCIDR",
            (
                _comparison("cidr_contains_cidr_string", STRING, _contains_network_text, networks=True),
                _comparison("cidr_contains_cidr", _NETWORK, Network.contains_network, networks=True),
            ),
        ),
        Function(
            "ip",
            (
                Overload(
                    "cidr_ip", (_NETWORK,), _ADDRESS, lambda network: network.address, member=True, estimate=nominal
                ),
            ),
        ),
        Function(
            "prefixLength",
            (
                Overload(
                    "cidr_prefix_length",
                    (_NETWORK,),
                    INT,
                    lambda network: network.length,
                    member=True,
                    estimate=nominal,
                ),
            ),
        ),
        Function(
            "masked",
            (Overload("cidr_masked", (_NETWORK,), _NETWORK, Network.masked, member=True, estimate=nominal),),
        ),
        Function("string", (Overload("cidr_to_string", (_NETWORK,), STRING, str),)),
    ),
    types={"net.CIDR": _NETWORK, "net.IP": _ADDRESS},
)
