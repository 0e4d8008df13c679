"""CEL's values: plain Python where JSON has the type, small classes where it has not.

====================  ===========================================================================
CEL                   Python
====================  ===========================================================================
null, bool            ``None``, ``bool``
int                   ``int`` (within 64 bits; arithmetic checks it)
uint                  ``UInt``, a subclass of ``int``
double                ``float``
string, bytes         ``str``, ``bytes``
list                  ``list``
map, declared object  ``dict`` (JSON objects as they are, without conversion)
timestamp, duration   ``Timestamp``, ``Duration``
type                  ``controlplane.cel.types.Type``
optional              ``Optional``
opaque                an instance of a slotted class with a class attribute ``cel_type: Type``
====================  ===========================================================================

Values are never changed in place. Python's ``==`` is not CEL's (``True == 1``): use ``equality.equal``. Opaque classes
define ``__eq__`` and ``__hash__`` by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol

from controlplane.cel.errors import EvalError
from controlplane.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    list_of,
    map_of,
    optional_of,
)

__all__ = [
    "INT_MAX",
    "INT_MIN",
    "NONE",
    "UINT_MAX",
    "Duration",
    "Message",
    "Opaque",
    "Optional",
    "Timestamp",
    "UInt",
    "Value",
    "checked_int",
    "checked_uint",
    "size_of",
    "type_of",
]

Value = Any
"""A CEL value, see the table above."""

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


class UInt(int):
    """A CEL uint. Arithmetic on it gives plain ints; whoever computes wraps the result by ``checked_uint``."""

    __slots__ = ()


class Timestamp:
    """A moment: ``ns`` nanoseconds since 1970-01-01T00:00:00Z; years 1 to 9999. ``offset``: seconds east of UTC, as it
    was written; it counts for its text and its calendar alone."""

    __slots__ = ("ns", "offset")
    cel_type: ClassVar[Type] = TIMESTAMP

    def __init__(self, ns: int, offset: int = 0) -> None:
        self.ns: Final = ns
        self.offset: Final = offset

    def __eq__(self, other: object) -> bool:
        return self.ns == other.ns if isinstance(other, Timestamp) else NotImplemented

    def __lt__(self, other: Timestamp) -> bool:
        return self.ns < other.ns

    def __le__(self, other: Timestamp) -> bool:
        return self.ns <= other.ns

    def __hash__(self) -> int:
        return hash((Timestamp, self.ns))

    def __repr__(self) -> str:
        return f"Timestamp({self.ns})"


class Duration:
    """A signed span of ``ns`` nanoseconds, within 64 bits."""

    __slots__ = ("ns",)
    cel_type: ClassVar[Type] = DURATION

    def __init__(self, ns: int) -> None:
        self.ns: Final = ns

    def __eq__(self, other: object) -> bool:
        return self.ns == other.ns if isinstance(other, Duration) else NotImplemented

    def __lt__(self, other: Duration) -> bool:
        return self.ns < other.ns

    def __le__(self, other: Duration) -> bool:
        return self.ns <= other.ns

    def __hash__(self) -> int:
        return hash((Duration, self.ns))

    def __repr__(self) -> str:
        return f"Duration({self.ns})"


class _Absent:
    __slots__ = ()


_ABSENT = _Absent()


class Optional:
    """A value or none: ``Optional(value)``, ``NONE``."""

    __slots__ = ("_value",)
    cel_type: ClassVar[Type] = optional_of(DYN)

    def __init__(self, value: Value = _ABSENT) -> None:
        self._value = value

    @property
    def has_value(self) -> bool:
        """Whether there is a value."""
        return self._value is not _ABSENT

    @property
    def value(self) -> Value:
        """The value.

        Raises:
            EvalError: there is none.
        """
        if self._value is _ABSENT:
            raise EvalError("optional.none() dereference")
        return self._value

    def __repr__(self) -> str:
        return f"Optional({self._value!r})" if self.has_value else "NONE"


NONE = Optional()


class Message:
    """An object of a library's own type that has fields; subclasses are opaque values, too."""

    __slots__ = ()

    def __getitem__(self, field: str) -> Value:
        """The field's value.

        Raises:
            KeyError: there is none.
        """
        raise NotImplementedError

    def __contains__(self, field: object) -> bool:
        """What ``has(message.field)`` says."""
        raise NotImplementedError


class Opaque(Protocol):
    """What a library's own value has: its CEL type."""

    cel_type: ClassVar[Type]


_TYPES: Mapping[type, Type] = {
    type(None): NULL,
    bool: BOOL,
    int: INT,
    UInt: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    list: list_of(DYN),
    dict: map_of(DYN, DYN),
    Type: TYPE,
}


def type_of(value: Value) -> Type:
    """The run-time type of a value; lists and maps are those of ``dyn``."""
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    declared: Type = value.cel_type
    return declared


def checked_int(number: int) -> int:
    """The number, if it is within 64 bits.

    Raises:
        EvalError: integer overflow.
    """
    if INT_MIN <= number <= INT_MAX:
        return number
    raise EvalError("integer overflow")


def checked_uint(number: int) -> UInt:
    """The number as a uint, if it is one.

    Raises:
        EvalError: unsigned integer overflow.
    """
    if 0 <= number <= UINT_MAX:
        return UInt(number)
    raise EvalError("unsigned integer overflow")


def size_of(value: Value) -> int:
    """What a value counts as where costs go by size: its length, that of an optional's value, or 1."""
    if isinstance(value, str | bytes | list | dict):
        return len(value)
    if isinstance(value, Optional) and value.has_value:
        return size_of(value.value)
    return 1
