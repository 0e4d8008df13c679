"""The conformance cases of google/cel-spec: which pass, and why the others cannot.

Kubernetes' expressions are about JSON objects: there are no protocol buffers, and nothing is evaluated that was not
checked. Everything else is run, libraries included that Kubernetes does not offer.

Skipped, by name, where the specification is not at hand: see ``cases``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from tests.unit.cel.conformance.cases import Case, cases, outcome, source

PASSED = 1635
"""Of 2,456, at the commit of cel-spec of June 2026."""

PROTOCOL_BUFFERS = "messages, enumerations and wrappers of protocol buffers: values here are JSON's"
BLOCKS = "cel.block is written by an optimizer, never by people"
UNCHECKED = "evaluated without being checked, which Kubernetes never does; the checker refuses it"

_PROTOCOL_BUFFERS = re.compile(
    r"cel\.expr\.conformance\.proto|google\.protobuf\.(?!Timestamp|Duration)[A-Z]|TestAllTypes|\benum_value\b"
    r"|'container': \[b'google\.protobuf'\]"
)


def _disables_check(case: Case) -> bool:
    return case.message.get("disable_check") == ["true"]


CLASSES: Mapping[str, Callable[[Case], bool]] = {
    PROTOCOL_BUFFERS: lambda case: _PROTOCOL_BUFFERS.search(str(case.message)) is not None,
    BLOCKS: lambda case: case.id.startswith("block_ext/"),
    UNCHECKED: _disables_check,
}
"""Of the cases that do not pass, those that belong to a class; the first one counts."""

CLASS_COUNTS = {PROTOCOL_BUFFERS: 713, BLOCKS: 25, UNCHECKED: 75}

_AS_CEL_GO = "cel-go, whose results Kubernetes has, is not as the specification says either"
_MAPPED = "Kubernetes' ip() refuses IPv4-mapped IPv6 addresses"
OTHERS: Mapping[str, str] = {
    "fields/qualified_identifier_resolution/map_value_repeat_key": _AS_CEL_GO,
    "network_ext/ipv4/ipv4_equals_ipv6": _MAPPED,
    "network_ext/ipv4/ipv4_not_equals_ipv6": _MAPPED,
    "string_ext/format/map support (all key types)": "1 and true are one key of a dict: refused",
    "string_ext/value_errors/indexof_out_of_range": _AS_CEL_GO,
    "string_ext/value_errors/lastindexof_out_of_range": _AS_CEL_GO,
    "timestamps/duration_converters/get_milliseconds": _AS_CEL_GO,
    "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": _AS_CEL_GO,
}
"""The rest, one by one, each with the reason."""


@pytest.mark.skipif(source() is None, reason="google/cel-spec is not here; name it in CONTROLPLANE_CEL_SPEC")
def test_the_specification() -> None:
    """Every case that does not pass is accounted for, and nothing is listed that passes."""
    failed = {case.id: (case, found) for case in cases() if (found := outcome(case))}
    by_class: Counter[str] = Counter()
    others: dict[str, str] = {}
    for id_, (case, found) in failed.items():
        reason = next((name for name, belongs in CLASSES.items() if belongs(case)), None)
        if reason is None:
            others[id_] = found
        else:
            by_class[reason] += 1
    assert others.keys() == OTHERS.keys(), {id_: others.get(id_, "passes") for id_ in others.keys() ^ OTHERS.keys()}
    assert dict(by_class) == CLASS_COUNTS
    assert len(cases()) - len(failed) == PASSED
