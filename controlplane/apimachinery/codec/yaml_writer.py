"""Values as YAML, byte by byte as Kubernetes writes them.

Keys are in natural order (``a2`` before ``a10``), texts that would read as something else in double quotes, texts of
several lines are blocks, long texts folded after 80 columns.

Source: go.yaml.in/yaml/v2 ``encode.go`` and ``sorter.go``; sigs.k8s.io/yaml ``JSONToYAML``.
"""

from __future__ import annotations

import re
from functools import cmp_to_key
from io import BytesIO
from typing import Any

import yaml
from yaml._yaml import CEmitter

from controlplane.apimachinery.codec.yaml_scalars import reads_as_text

__all__ = ["write"]

_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_WORDS = {None: "null", True: "true", False: "false"}
_FIXED_DIGITS = 6
"""Numbers below ten to this power, and over a ten-thousandth, are written without an exponent."""
_SMALLEST_EXPONENT = -4


def write(value: Any) -> bytes:
    """One document of plain JSON values."""
    stream = BytesIO()
    emitter = CEmitter(stream, allow_unicode=True, encoding="utf-8")
    try:
        emitter.emit(yaml.StreamStartEvent(encoding="utf-8"))
        emitter.emit(yaml.DocumentStartEvent(explicit=False))
        _emit(emitter.emit, value)
        emitter.emit(yaml.DocumentEndEvent(explicit=False))
        emitter.emit(yaml.StreamEndEvent())
    finally:
        emitter.dispose()
    return stream.getvalue()


def _emit(emit: Any, value: Any) -> None:
    if isinstance(value, str):
        emit(_text(value))
    elif isinstance(value, dict):
        emit(yaml.MappingStartEvent(None, None, implicit=True, flow_style=False))
        for key in _in_order(value):
            emit(_text(key))
            _emit(emit, value[key])
        emit(yaml.MappingEndEvent())
    elif isinstance(value, list):
        emit(yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False))
        for item in value:
            _emit(emit, item)
        emit(yaml.SequenceEndEvent())
    else:
        emit(_scalar(_number(value), None))


def _scalar(text: str, style: str | None) -> yaml.ScalarEvent:
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _text(text: str) -> yaml.ScalarEvent:
    if "\n" in text:
        return _scalar(text, "|")
    plain = reads_as_text(text) and not (":" in text and _BASE_60.fullmatch(text))
    return _scalar(text, None if plain else '"')


def _number(value: float | bool | None) -> str:  # noqa: FBT001  # any scalar of JSON
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        return str(value)
    return _float(value)


def _float(value: float) -> str:
    """As Go's ``%g`` with as few digits as read back."""
    sign, digits, power = _parts(value)
    if not _SMALLEST_EXPONENT <= power < _FIXED_DIGITS:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{power:+03d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole = digits[: power + 1].ljust(power + 1, "0")
    return f"{sign}{whole}.{digits[power + 1 :]}" if len(digits) > power + 1 else sign + whole


def _parts(value: float) -> tuple[str, str, int]:
    """Sign, the fewest digits, and the power of ten of the first."""
    head, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = head.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1
    if whole == "0":
        power = int(exponent or 0) - 1 - (len(fraction) - len(fraction.lstrip("0")))
    digits = digits.rstrip("0") or "0"
    return "-" if value < 0 else "", digits, 0 if digits == "0" else power


def _in_order(mapping: dict[str, Any]) -> list[str]:
    keys = list(mapping)
    if all(map(str.isalpha, keys)):
        return sorted(keys)
    return sorted(keys, key=cmp_to_key(_compare))


def _compare(one: str, other: str) -> int:
    """Letters after all else, digits as the number that they are."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            continue
        if a.isalpha() or b.isalpha():
            before = a < b if a.isalpha() and b.isalpha() else b.isalpha()
            return -1 if before else 1
        left, right = _digits(one, i), _digits(other, i)
        # a nought is no begin of a number if digits that are none stand before it
        head = 1 if "0" in (a, b) and _goes_on(one[:i]) else 0
        numbers = _count(head, left), _count(head, right)
        if numbers[0] != numbers[1]:
            return -1 if numbers[0] < numbers[1] else 1
        if len(left) != len(right):
            return -1 if len(left) < len(right) else 1
        return -1 if a < b else 1
    return len(one) - len(other)


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end]


def _count(head: int, digits: str) -> int:
    """The number of ``head`` and digits, of whichever script."""
    for digit in digits:
        head = head * 10 + ord(digit) - ord("0")
    return head


def _goes_on(before: str) -> bool:
    """Whether the digits that a text ends with are not all noughts."""
    digits = before[len(before.rstrip("0123456789")) :]
    return digits.strip("0") != ""
