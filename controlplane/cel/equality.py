"""CEL's equality and order, where Python's own will not do.

Python's ``==`` says yes to all that CEL's says yes to, and to two things more: ``True == 1``, and an object that holds
NaN compared with itself.

Source: google/cel-spec ``doc/langdef.md`` (equality, ordering), google/cel-go ``common/types/compare.go``, ``util.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.values import Duration, Optional, Timestamp, UInt, Value, type_of

__all__ = [
    "MAX_STEPS",
    "compare",
    "contains",
    "equal",
    "find",
    "index",
    "is_exact",
    "key_in",
    "list_index",
    "shown",
    "type_name",
]

MAX_STEPS = 25_000
"""Lists and maps that one comparison looks into. An expression can build a list that shares its parts and is 2**40 long
to walk."""

_NUMBERS = frozenset({int, UInt, float})
_SCALARS = frozenset({int, UInt, float, str, bytes, type(None)})


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; values of different kinds are not.

    Raises:
        CostExceeded: they are too large to compare.
    """
    kind = type(left)
    if kind in _SCALARS:
        other = type(right)
        return bool(left == right) if kind is other else _numbers_equal(left, right)
    if kind is bool:
        return left is right
    return _equal(left, right, [MAX_STEPS])


def _numbers_equal(left: Value, right: Value) -> bool:
    """Of different types. As upstream, an int is made a double to be compared with one, and may lose digits."""
    kind, other = type(left), type(right)
    if kind not in _NUMBERS or other not in _NUMBERS:
        return False
    return float(left) == float(right) if float in (kind, other) else bool(left == right)


def _equal(left: Value, right: Value, steps: list[int]) -> bool:
    kind = type(left)
    if kind is not type(right):
        return _numbers_equal(left, right)
    if kind is not list and kind is not dict and kind is not Optional:
        return bool(left == right)
    steps[0] -= 1
    if steps[0] < 0:
        raise CostExceeded
    if kind is Optional:
        if left.has_value and right.has_value:
            return _equal(left.value, right.value, steps)
        return bool(left.has_value == right.has_value)
    if len(left) != len(right):
        return False
    if kind is list:
        return _all_equal(zip(left, right, strict=True), steps)
    if left.keys() != right.keys():
        return False
    return _all_equal(((value, right[key]) for key, value in left.items()), steps)


def _all_equal(pairs: Iterable[tuple[Value, Value]], steps: list[int]) -> bool:
    for left, right in pairs:
        kind = type(left)
        if kind is type(right) and kind in _SCALARS:
            if left != right:
                return False
        elif not _equal(left, right, steps):
            return False
    return True


def is_exact(value: Value) -> bool:
    """Whether Python finds equal to this value what CEL does: not 0 and 1, which are False and True to Python, and not
    integers that a double cannot hold.
    """
    kind = type(value)
    return kind is str or kind is bytes or (kind is int and (1 < value < _EXACT or -_EXACT < value < 0))


_EXACT = 2**53


def contains(items: list[Value], wanted: Value) -> bool:
    """``wanted in items``."""
    if is_exact(wanted):
        return wanted in items
    return any(equal(wanted, item) for item in items)


def key_in(mapping: dict[Value, Value], key: Value) -> bool:
    """``key in mapping``."""
    try:
        if key not in mapping:
            return False
    except TypeError:
        return False
    if type(key) is bool or (type(key) in _NUMBERS and key in (0, 1)):
        return any(equal(key, known) for known in mapping)
    return True


def index(container: Value, key: Value) -> Value:
    """``container[key]`` of any list or map.

    Raises:
        EvalError: no such key, index out of bounds, or no container.
    """
    kind = type(container)
    if kind is dict:
        if key_in(container, key):
            return container[key]
        raise EvalError(f"no such key: {shown(key)}")
    if kind is list:
        return container[list_index(container, key)]
    if kind is Optional:
        return optional_index(container, key)
    raise EvalError(f"no such key: {shown(key)}")


def list_index(items: list[Value], key: Value) -> int:
    """The place in a list that a number means.

    Raises:
        EvalError: index out of bounds, or no whole number.
    """
    kind = type(key)
    if kind is float and key.is_integer():
        key = int(key)
    elif kind not in (int, UInt):
        raise EvalError(f"unsupported index type '{type_name(key)}' in list")
    if 0 <= key < len(items):
        place: int = key
        return place
    raise EvalError(f"index out of bounds: {key}")


def find(container: Value, key: Value) -> Optional:
    """``container[?key]``."""
    kind = type(container)
    if kind is dict:
        return Optional(container[key]) if key_in(container, key) else Optional()
    if kind is list:
        if type(key) not in (int, UInt, float):
            raise EvalError(f"unsupported index type '{type_name(key)}' in list")
        return Optional(container[int(key)]) if key == int(key) and 0 <= key < len(container) else Optional()
    if kind is Optional:
        return optional_index(container, key)
    raise EvalError(f"no such key: {shown(key)}")


def optional_index(container: Optional, key: Value) -> Optional:
    """``container[key]`` where the container is an optional: none stays none."""
    return find(container.value, key) if container.has_value else container


def compare(left: Value, right: Value) -> int:
    """Below 0, 0 or above 0 as the left is less, equal or greater.

    Raises:
        EvalError: NaN, or values that have no order.
    """
    kind, other = type(left), type(right)
    if kind in _NUMBERS and other in _NUMBERS:
        if left != left or right != right:  # noqa: PLR0124  (NaN)
            raise EvalError("NaN values cannot be ordered")
        if kind is not other and float in (kind, other):
            left, right = float(left), float(right)
    elif kind is not other or kind not in (str, bytes, bool, Timestamp, Duration):
        raise EvalError("no such overload")
    return 1 if left > right else -1 if left < right else 0


def type_name(value: Value) -> str:
    """The name of a value's type, for messages."""
    return str(type_of(value))


def shown(value: Value) -> str:
    """A key as messages show it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
