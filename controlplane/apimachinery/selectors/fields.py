r"""Field selectors: parse, print and match ``metadata.name=x,status.phase!=Active``.

In values ``\``, ``,`` and ``=`` are escaped by a backslash.

Source: the grammar, error texts and canonical form of kubernetes/apimachinery ``pkg/fields/selector.go``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from controlplane.apimachinery.selectors.labels import SelectorError

__all__ = ["EVERYTHING", "FieldRequirement", "FieldSelector", "escape_value", "parse_field_selector", "unknown_field"]

_ESCAPES = str.maketrans({"\\": "\\\\", ",": "\\,", "=": "\\="})


class FieldRequirement(NamedTuple):
    """``operator`` is ``=`` or ``!=``."""

    field: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{escape_value(self.value)}"


class FieldSelector:
    """All requirements must hold. A field that an object lacks counts as the empty string."""

    __slots__ = ("requirements",)

    def __init__(self, requirements: tuple[FieldRequirement, ...] = ()) -> None:
        self.requirements = requirements

    @property
    def empty(self) -> bool:
        """Whether everything matches."""
        return not self.requirements

    def matches(self, attributes: Mapping[str, str]) -> bool:
        for field, operator, value in self.requirements:
            if (attributes.get(field, "") == value) is not (operator == "="):
                return False
        return True

    def exact(self, field: str) -> str | None:
        """The value that ``field`` must have, or None if it may have several."""
        return next((r.value for r in self.requirements if r.field == field and r.operator == "="), None)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"FieldSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


EVERYTHING = FieldSelector()


def escape_value(value: str) -> str:
    return value.translate(_ESCAPES)


def _unescape(text: str) -> str:
    if "\\" not in text and "," not in text and "=" not in text:
        return text
    value: list[str] = []
    characters = iter(text)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in {"\\", ",", "="}:
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            value.append(escaped)
        elif character in {",", "="}:
            # the character is printed as its number there, and clients see it so
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(character)}")
        else:
            value.append(character)
    return "".join(value)


def _terms(text: str) -> list[str]:
    """Split at commas that no backslash escapes; the backslashes stay."""
    terms: list[str] = []
    start, escaped = 0, False
    for i, character in enumerate(text):
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == ",":
            terms.append(text[start:i])
            start = i + 1
    terms.append(text[start:])
    return terms


def _split(term: str) -> tuple[str, str, str] | None:
    """Field, operator and raw value, at the first operator."""
    for i, character in enumerate(term):
        if character == "=":
            return term[:i], "=", term[i + 2 :] if term[i + 1 : i + 2] == "=" else term[i + 1 :]
        if character == "!" and term[i + 1 : i + 2] == "=":
            return term[:i], "!=", term[i + 2 :]
    return None


def parse_field_selector(text: str) -> FieldSelector:
    """Read a selector; the empty text selects everything.

    Raises:
        SelectorError: with Kubernetes' message.
    """
    requirements: list[FieldRequirement] = []
    for term in sorted(_terms(text)) if text else ():
        if not term:
            continue
        split = _split(term)
        if split is None:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{term}'")
        field, operator, raw = split
        requirements.append(FieldRequirement(field, operator, _unescape(raw)))
    return FieldSelector(tuple(requirements)) if requirements else EVERYTHING


def unknown_field(field: str, allowed: Sequence[str], *, native: bool) -> str:
    """What a client is told about a field that it may not select by.

    Native kinds with the two common fields alone are worded in one way, kinds with fields of their own and all custom
    ones in another; both are upstream's.
    """
    if native and set(allowed) == {"metadata.name", "metadata.namespace"}:
        return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
    return f"field label not supported: {field}"
