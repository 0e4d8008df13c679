"""Label selectors: parse, print and match ``a=b,c in (d,e),!f``.

Source: the grammar, error texts and canonical form of kubernetes/apimachinery ``pkg/labels/selector.go``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from controlplane.apimachinery.validation.field import FieldError
from controlplane.apimachinery.validation.field import invalid as invalid_value
from controlplane.apimachinery.validation.names import label_value, qualified_name

__all__ = ["EVERYTHING", "LabelSelector", "Requirement", "SelectorError", "parse_label_selector"]


class SelectorError(ValueError):
    """The text is not a selector; the message is the one that Kubernetes answers with."""


class Requirement(NamedTuple):
    """One condition on one key.

    ``operator``: ``=``, ``==``, ``!=``, ``in``, ``notin``, ``exists``, ``!``, ``gt`` or ``lt``. ``values`` are sorted
    and unique.
    """

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[tuple[str | None, ...], bool]:
        """The values (None: the key is missing) that the key must have (True) or must not have (False)."""
        match self.operator:
            case "=" | "==" | "in":
                return self.values, True
            case "!=" | "notin":
                return self.values, False
            case "exists":
                return (None,), False
            case _:
                return (None,), self.operator == "!"

    @property
    def numeric(self) -> bool:
        return self.operator in {"gt", "lt"}

    def compares(self, labels: Mapping[str, str]) -> bool:
        """Whether a numeric requirement holds; a missing key or a value that is no 64-bit integer does not meet it."""
        value = labels.get(self.key)
        number = None if value is None else _int64(value)
        if number is None:
            return False
        limit = int(self.values[0])
        return number > limit if self.operator == "gt" else number < limit

    def __str__(self) -> str:
        match self.operator:
            case "!":
                return "!" + self.key
            case "exists":
                return self.key
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                symbol = {"gt": ">", "lt": "<"}.get(self.operator, self.operator)
                return f"{self.key}{symbol}{self.values[0]}"


class LabelSelector:
    """All requirements must hold. ``str`` gives the canonical form: equal selectors give equal text."""

    __slots__ = ("_numeric", "_plain", "requirements")

    def __init__(self, requirements: tuple[Requirement, ...] = ()) -> None:
        self.requirements = tuple(sorted(requirements, key=_key))
        self._plain = tuple((r.key, *r.accepted) for r in self.requirements if not r.numeric)
        self._numeric = tuple(r for r in self.requirements if r.numeric)

    @property
    def empty(self) -> bool:
        """Whether everything matches."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet all requirements. A missing key meets ``!``, ``!=`` and ``notin`` only."""
        for key, values, wanted in self._plain:
            if (labels.get(key) in values) is not wanted:
                return False
        return all(requirement.compares(labels) for requirement in self._numeric)

    def exact(self, key: str) -> str | None:
        """The one value that ``key`` must have, or None if there is no such."""
        for requirement in self.requirements:
            if requirement.key == key:
                exact = requirement.operator in {"=", "==", "in"} and len(requirement.values) == 1
                return requirement.values[0] if exact else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"LabelSelector({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelSelector) and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash(self.requirements)


def _key(requirement: Requirement) -> str:
    return requirement.key


EVERYTHING = LabelSelector()

_INTEGER = re.compile(r"[+-]?[0-9]+")
_BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt"


def _int64(text: str) -> int | None:
    if not _INTEGER.fullmatch(text) or len(text) > 32:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


# ---- text to tokens

_TOKEN = re.compile(r"==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+")
_KINDS = {symbol: symbol for symbol in ("==", "!=", "=", "!", "(", ")", ",", "<", ">")} | {"": "end"}
"""What a token is, by its text; all others are words."""
_Token = tuple[str, str]
"""Kind and text."""


def _tokens(text: str) -> list[str]:
    tokens: list[str] = _TOKEN.findall(text.partition("\0")[0])
    tokens.append("")
    return tokens


# ---- tokens to requirements


class _Parser:
    __slots__ = ("_at", "_tokens")

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def parse(self) -> tuple[Requirement, ...]:
        requirements: list[Requirement] = []
        while True:
            kind, text = self._peek()
            if kind == "end":
                return tuple(requirements)
            if kind not in {"word", "!"}:
                raise SelectorError(f"found '{text}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self._requirement())
            except SelectorError as e:
                raise SelectorError(f"unable to parse requirement: {e}") from None
            kind, text = self._next()
            if kind == "end":
                return tuple(requirements)
            if kind != ",":
                raise SelectorError(f"found '{text}', expected: ',' or 'end of string'")
            kind, text = self._peek()
            if kind not in {"word", "!"}:
                raise SelectorError(f"found '{text}', expected: identifier after ','")

    def _peek(self) -> _Token:
        """The next token; ``in`` and ``notin`` are words like any other, except where an operator may stand."""
        text = self._tokens[self._at]
        return _KINDS.get(text, "word"), text

    def _next(self) -> _Token:
        token = self._peek()
        if token[0] != "end":
            self._at += 1
        return token

    def _requirement(self) -> Requirement:
        kind, text = self._next()
        negated = kind == "!"
        if negated:
            kind, text = self._next()
        if kind != "word":
            raise SelectorError(f"found '{text}', expected: identifier")
        if problems := qualified_name(text):
            # the key has no path of its own there, and the message says so
            raise SelectorError(str(invalid_value("<nil>", text, "; ".join(problems))))
        if negated:  # whatever follows is then wrong for the caller, not for this requirement
            return Requirement(text, "!")
        if self._peek()[0] in {"end", ","}:
            return Requirement(text, "exists")
        return self._comparison(text)

    def _comparison(self, key: str) -> Requirement:
        _, text = self._next()
        match text:
            case "in" | "notin":
                return _checked(key, text, self._value_list())
            case "=" | "==" | "!=":
                return _checked(key, text, self._value())
            case ">" | "<":
                return _checked(key, "gt" if text == ">" else "lt", self._value())
            case _:
                raise SelectorError(f"found '{text}', expected: {_BINARY_OPERATORS}")

    def _value(self) -> set[str]:
        kind, text = self._peek()
        if kind in {"end", ","}:
            return {""}
        self._at += 1
        if kind == "word":
            return {text}
        raise SelectorError(f"found '{text}', expected: identifier")

    def _value_list(self) -> set[str]:
        kind, text = self._next()
        if kind != "(":
            raise SelectorError(f"found '{text}' expected: '('")
        kind, text = self._peek()
        if kind == ")":
            self._at += 1
            return {""}
        if kind not in {"word", ","}:
            raise SelectorError(f"found '{text}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            kind, text = self._next()
            if kind == "word":
                values.add(text)
                kind, text = self._peek()
                if kind == ")":
                    break
                if kind != ",":
                    raise SelectorError(f"found '{text}', expected: ',' or ')'")
            elif kind == ",":
                following = self._peek()[0]
                if not values or following in {")", ","}:
                    values.add("")  # "(,", ",," and ",)" each name the empty value
                if following == ")":
                    break
            else:
                raise SelectorError(f"found '{text}', expected: ',', or identifier")
        self._at += 1
        return values


def _checked(key: str, operator: str, values: set[str]) -> Requirement:
    errors: list[FieldError] = []
    ordered = tuple(sorted(values))
    if operator in {"gt", "lt"}:
        errors += [
            invalid_value(f"values[{i}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for i, value in enumerate(ordered)
            if _int64(value) is None
        ]
    for i, value in enumerate(ordered):
        if problems := label_value(value):
            errors.append(invalid_value(f"values[{i}][{key}]", value, "; ".join(problems)))
    _raise(errors)
    return Requirement(key, operator, ordered)


def _raise(errors: list[FieldError]) -> None:
    """One error is its own text; several are a bracketed list of the different ones."""
    if not errors:
        return
    texts = list(dict.fromkeys(map(str, errors)))
    raise SelectorError(texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]")


def parse_label_selector(text: str) -> LabelSelector:
    """Read a selector; the empty text selects everything.

    Raises:
        SelectorError: with Kubernetes' message.
    """
    if not text:
        return EVERYTHING
    return _parse_often(text) if len(text) <= _OFTEN_CHARACTERS else _parse(text)


def _parse(text: str) -> LabelSelector:
    return LabelSelector(_Parser(text).parse())


_OFTEN_CHARACTERS = 512
"""Selectors up to this length are remembered: clients ask for the same few again and again."""
_parse_often = lru_cache(maxsize=1024)(_parse)
