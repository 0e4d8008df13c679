"""The format library: named formats that texts are validated against, with the reasons why not.

Source: kubernetes/apiserver ``pkg/cel/library/format.go`` and ``pkg/cel/format.go``, costs of its ``cost.go``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import ClassVar

from controlplane.cel.estimates import REGEX_LENGTH_FACTOR, STRING_FACTOR, CallEstimate, Operand
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library import names
from controlplane.cel.library.costs import nominal
from controlplane.cel.library.net_url import parse_request_uri
from controlplane.cel.library.text_formats import is_base64, is_date, is_date_time, is_uuid
from controlplane.cel.types import STRING, Type, list_of, object_type, optional_of
from controlplane.cel.values import NONE, Optional

__all__ = ["FORMAT_LIBRARY", "NAMED_FORMATS", "NamedFormat"]

_MAX_REGEX_SIZE = 128
"""What estimates take the largest pattern to be."""

Validate = Callable[[str], list[str]]


class NamedFormat:
    """A format: ``validate`` returns what is wrong with a text; ``regex_size`` is the length of its pattern."""

    __slots__ = ("name", "regex_size", "validate")
    cel_type: ClassVar[Type] = object_type("kubernetes.NamedFormat")

    def __init__(self, name: str, validate: Validate, regex_size: int) -> None:
        self.name = name
        self.validate = validate
        self.regex_size = regex_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"NamedFormat({self.name!r})"


def _unless(holds: Callable[[str], bool], problem: str) -> Validate:
    return lambda text: [] if holds(text) else [problem]


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except ValueError as error:
        return [str(error)]
    return []


NAMED_FORMATS: Mapping[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", names.dns1123_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", names.dns1123_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", names.dns1035_label, 30),
    "qualifiedName": NamedFormat("QualifiedName", names.qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", lambda text: names.name_is_dns_label(text, True), 30),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", lambda text: names.name_is_dns_subdomain(text, True), 60
    ),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", lambda text: names.name_is_dns1035_label(text, True), 30),
    "labelValue": NamedFormat("LabelValue", names.label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _unless(is_uuid, "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _unless(is_base64, "invalid base64"), 84),
    "date": NamedFormat("date", _unless(is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _unless(is_date_time, "invalid datetime"), 71),
}
"""By the name that ``format.named`` takes."""

_FORMAT = NamedFormat.cel_type
_PROBLEMS = optional_of(list_of(STRING))


def _named(name: str) -> Optional:
    known = NAMED_FORMATS.get(name)
    return NONE if known is None else Optional(known)


def _validate(named: NamedFormat, text: str) -> Optional:
    problems = named.validate(text)
    return Optional(problems) if problems else NONE


def _validate_cost(_result: Optional, named: NamedFormat, text: str) -> int:
    return math.ceil((1 + len(text)) * STRING_FACTOR) * math.ceil(named.regex_size * REGEX_LENGTH_FACTOR)


def _validate_estimate(_named: Operand, text: Operand) -> CallEstimate:
    return CallEstimate(text.size.scaled(STRING_FACTOR).scaled(_MAX_REGEX_SIZE * REGEX_LENGTH_FACTOR))


def _constant(name: str, named: NamedFormat) -> Function:
    function = f"format.{name}"
    return Function(function, (Overload(function, (), _FORMAT, lambda: named),))


FORMAT_LIBRARY = Library(
    (
        *(_constant(name, named) for name, named in NAMED_FORMATS.items()),
        Function(
            "format.named", (Overload("format-named", (STRING,), optional_of(_FORMAT), _named, estimate=nominal),)
        ),
        Function(
            "validate",
            (
                Overload(
                    "format-validate",
                    (_FORMAT, STRING),
                    _PROBLEMS,
                    _validate,
                    member=True,
                    cost=_validate_cost,
                    estimate=_validate_estimate,
                ),
            ),
        ),
    ),
    types={"kubernetes.NamedFormat": _FORMAT},
)
