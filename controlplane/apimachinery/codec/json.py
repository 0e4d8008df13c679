"""JSON text to values and back, strict and bounded.

Two bounds matter. orjson reads documents nested up to 1024 deep but writes only 254 levels, so a document between the
two could be read and never written again: ``loads`` refuses what ``dumps`` could not write. NaN, Infinity and numbers
beyond a double are not JSON and are refused by the parser.

Integers beyond 64 bits become floats, as they do in Kubernetes.
"""

from __future__ import annotations

from typing import Any

import orjson

from controlplane.apimachinery.codec.json_errors import syntax_error
from controlplane.apimachinery.codec.json_text import well_formed

__all__ = ["MAX_DEPTH", "MalformedJSON", "TooDeep", "dumps", "dumps_sorted", "in_order", "loads", "loads_unbounded"]

MAX_DEPTH = 254
"""Deepest nesting of arrays and objects that orjson writes; a scalar has depth 0, ``{}`` depth 1."""


class MalformedJSON(ValueError):
    """The text is not one JSON document; the message says where it stops being one."""


class TooDeep(MalformedJSON):
    """Nested deeper than ``MAX_DEPTH``."""

    def __init__(self) -> None:
        super().__init__(f"exceeded max depth: JSON may be nested at most {MAX_DEPTH} levels deep")


def dumps(value: Any) -> bytes:
    """Encode compactly, keys in their own order.

    Raises:
        TooDeep: nested deeper than MAX_DEPTH.
        TypeError: something that JSON has no form for (a programming error).
    """
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError as e:
        return _dumps_long(value, 0, e)


def dumps_sorted(value: Any) -> bytes:
    """Encode compactly, keys sorted at every level: equal values give equal bytes. Raises as ``dumps``."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as e:
        return _dumps_long(value, orjson.OPT_SORT_KEYS, e)


def in_order(value: Any) -> Any:
    """A copy of a JSON value, the keys of its objects in order: how Go shows what it has no types for."""
    return loads(dumps_sorted(value)) if isinstance(value, (dict, list)) else value


def loads(text: bytes | str) -> Any:
    """Decode one JSON document; what is not UTF-8 in its strings is replaced, as in Kubernetes.

    Raises:
        MalformedJSON: in Kubernetes' words. TooDeep: what ``dumps`` could not write again.
    """
    value = loads_unbounded(text)
    if isinstance(text, str):
        brackets = text.count("{") + text.count("[")
    else:
        brackets = text.count(b"{") + text.count(b"[")
    if brackets > MAX_DEPTH:  # cannot be deeper than it has brackets; only then is the real depth worth knowing
        dumps(value)
    return value


def loads_unbounded(text: bytes | str) -> Any:
    """``loads`` for who writes the value again at once, and so learns that it is nested too deep.

    Raises:
        MalformedJSON; TooDeep: deeper than can be read.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as e:
        if "depth limit" in e.msg:
            raise TooDeep from e
        raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
        problem = syntax_error(text)
        if not problem and (repaired := well_formed(raw)) != raw:
            return loads_unbounded(repaired)
        raise MalformedJSON(problem or str(e)) from e


def _dumps_long(value: Any, option: int, error: orjson.JSONEncodeError) -> bytes:
    """Encode what could not be because of its numbers: orjson writes integers up to 64 bits, and floats of no other
    class."""
    if "ecursion" in str(error):
        raise _encoding_error(error) from error
    try:
        return orjson.dumps(_with_long_integers(value), default=_plain_float, option=option)
    except orjson.JSONEncodeError as e:
        raise _encoding_error(e) from e


def _with_long_integers(value: Any) -> Any:
    if type(value) is dict:
        return {key: _with_long_integers(item) for key, item in value.items()}
    if type(value) is list:
        return [_with_long_integers(item) for item in value]
    if type(value) is int and not -(2**63) <= value < 2**64:
        return orjson.Fragment(str(value).encode())
    return value


def _plain_float(value: Any) -> float:
    if isinstance(value, float):
        return float(value)
    raise TypeError


def _encoding_error(e: orjson.JSONEncodeError) -> Exception:
    return TooDeep() if "ecursion" in str(e) else TypeError(str(e))
