"""The strings library. Positions and sizes are in code points.

Source: google/cel-go v0.26 ``ext/strings.go``; costs of kubernetes/apiserver ``pkg/cel/library/cost.go``.
"""

from __future__ import annotations

import math

from controlplane.cel.errors import EvalError
from controlplane.cel.estimates import STRING_FACTOR, UNBOUNDED, Bounds, CallEstimate, Operand, fixed
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import result_written, rewritten, scanned, scanning, walked, walking
from controlplane.cel.library.strings_format import FORMAT, FORMAT_PLAIN
from controlplane.cel.limits import check_characters
from controlplane.cel.types import INT, STRING, list_of

__all__ = ["strings"]

_STRINGS = list_of(STRING)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""White space of Unicode. Python's own ``strip`` takes four control characters more."""
_QUOTED = {
    7: "\\a",
    8: "\\b",
    9: "\\t",
    10: "\\n",
    11: "\\v",
    12: "\\f",
    13: "\\r",
    34: '\\"',
    92: "\\\\",
} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise EvalError(f"index out of range: {index}")
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise EvalError(f"index out of range: {offset}")
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_before(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise EvalError(f"index out of range: {offset}")
    return -1 if offset >= len(text) else text.rfind(part, 0, offset + len(part))


def _lower_ascii(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _upper_ascii(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_UPPER)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if len(new) > len(old):
        found = text.count(old)
        check_characters(len(text) + (found if count < 0 else min(found, count)) * (len(new) - len(old)))
    return text.replace(old, new, min(count, len(text) + 1))


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    """At most ``count`` pieces, the last one with the rest; negative means all."""
    if count == 0:
        return []
    if separator:
        return text.split(separator, min(count - 1, len(text)) if count > 0 else -1)
    if 0 < count < len(text):
        return [*text[: count - 1], text[count - 1 :]]
    return list(text)


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise EvalError(f"index out of range: {start}")
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if not 0 <= position <= len(text):
            raise EvalError(f"index out of range: {position}")
    return text[start:end]


def _trim(text: str) -> str:
    return text.strip(_SPACES)


def _join(texts: list[object], separator: str = "") -> str:
    pieces: list[str] = []
    for text in texts:
        if not isinstance(text, str):
            raise EvalError(f"join: invalid input: {text}")
        pieces.append(text)
    check_characters(sum(map(len, pieces)) + len(separator) * len(pieces))
    return separator.join(pieces)


def _reverse(text: str) -> str:
    return text[::-1]


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _estimate_replace(text: Operand, old: Operand, new: Operand, *_count: Operand) -> CallEstimate:
    """The longest result takes the shortest of ``old`` as often as it fits, and the other way round."""
    size, old_size, new_size = text.size, old.size, new.size
    kept_most, kept_least = size.most, size.least
    if old_size.least == 0:
        most = min(size.most + 1, UNBOUNDED)
    elif new_size.most <= old_size.least:
        most = 0
    else:
        most, kept_most = math.ceil(float(size.most) / float(old_size.least)), 0
    if old_size.most == 0:
        least = min(size.least + 1, UNBOUNDED)
    elif old_size.most <= new_size.least:
        least = 0
    else:
        least, kept_least = math.ceil(float(size.least) / float(old_size.most)), 0
    result = Bounds(least, min(most, UNBOUNDED)).times(new_size).plus(Bounds(kept_least, kept_most))
    return CallEstimate(size.scaled(2 * STRING_FACTOR), result)


def _estimate_split(text: Operand, _separator: Operand, count: Operand | None = None) -> CallEstimate:
    most = text.size.most
    if count is not None and count.int_constant is not None:
        most = count.int_constant & UNBOUNDED
    return CallEstimate(text.size.scaled(2 * STRING_FACTOR), Bounds(0, most))


def _estimate_join(texts: Operand, separator: Operand | None = None) -> CallEstimate:
    item = texts.item()
    size = texts.size.times(item.size) if item is not None else fixed(0)
    if separator is not None:
        between = Bounds(max(texts.size.least - 1, 0), max(texts.size.most - 1, 0))
        size = size.plus(separator.size.times(between))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _estimate_quote(text: Operand) -> CallEstimate:
    size = text.size
    quoted = Bounds(min(size.least + 2, UNBOUNDED), min(size.most * 2 + 2, UNBOUNDED))
    return CallEstimate(size.scaled(STRING_FACTOR), quoted)


_SCAN = scanning(sized=True)


def _case(name: str, id_: str, impl: object) -> Function:
    assert callable(impl)
    return Function(name, (Overload(id_, (STRING,), STRING, impl, member=True, cost=scanned(), estimate=_SCAN),))


def _index(name: str, id_: str, impl: object, impl_from: object) -> Function:
    assert callable(impl)
    assert callable(impl_from)
    return Function(
        name,
        (
            Overload(id_, (STRING, STRING), INT, impl, member=True, cost=walked, estimate=walking),
            Overload(f"{id_}_int", (STRING, STRING, INT), INT, impl_from, member=True, cost=walked, estimate=walking),
        ),
    )


_V0 = (
    Function("charAt", (Overload("string_char_at_int", (STRING, INT), STRING, _char_at, member=True),)),
    _index("indexOf", "string_index_of_string", _index_of, _index_of),
    _index("lastIndexOf", "string_last_index_of_string", _last_index_of, _last_index_before),
    _case("lowerAscii", "string_lower_ascii", _lower_ascii),
    _case("upperAscii", "string_upper_ascii", _upper_ascii),
    _case("trim", "string_trim", _trim),
    Function(
        "replace",
        (
            Overload(
                "string_replace_string_string",
                (STRING, STRING, STRING),
                STRING,
                _replace,
                member=True,
                cost=rewritten(2),
                estimate=_estimate_replace,
                by_result=True,
            ),
            Overload(
                "string_replace_string_string_int",
                (STRING, STRING, STRING, INT),
                STRING,
                _replace,
                member=True,
                cost=rewritten(2),
                estimate=_estimate_replace,
                by_result=True,
            ),
        ),
    ),
    Function(
        "split",
        (
            Overload(
                "string_split_string",
                (STRING, STRING),
                _STRINGS,
                _split,
                member=True,
                cost=scanned(2),
                estimate=_estimate_split,
            ),
            Overload(
                "string_split_string_int",
                (STRING, STRING, INT),
                _STRINGS,
                _split,
                member=True,
                cost=scanned(2),
                estimate=_estimate_split,
            ),
        ),
    ),
    Function(
        "substring",
        (
            Overload(
                "string_substring_int",
                (STRING, INT),
                STRING,
                _substring,
                member=True,
                cost=scanned(),
                estimate=_SCAN,
            ),
            Overload(
                "string_substring_int_int",
                (STRING, INT, INT),
                STRING,
                _substring_range,
                member=True,
                cost=scanned(),
                estimate=_SCAN,
            ),
        ),
    ),
    Function(
        "join",
        (
            Overload(
                "list_join",
                (_STRINGS,),
                STRING,
                _join,
                member=True,
                cost=result_written,
                estimate=_estimate_join,
                by_result=True,
            ),
            Overload(
                "list_join_string",
                (_STRINGS, STRING),
                STRING,
                _join,
                member=True,
                cost=result_written,
                estimate=_estimate_join,
                by_result=True,
            ),
        ),
    ),
)

_V1 = (
    Function(
        "strings.quote",
        (Overload("strings_quote", (STRING,), STRING, _quote, cost=scanned(), estimate=_estimate_quote),),
    ),
)

_V3 = (Function("reverse", (Overload("string_reverse", (STRING,), STRING, _reverse, member=True),)),)


def strings(version: int) -> Library:
    """The library as of a version: 1 adds ``format`` and ``strings.quote``, 3 ``reverse``; 4 formats without locale."""
    functions: tuple[Function, ...] = _V0
    if version >= 1:
        functions += (*_V1, FORMAT_PLAIN if version >= 4 else FORMAT)
    if version >= 3:
        functions += _V3
    return Library(functions)
