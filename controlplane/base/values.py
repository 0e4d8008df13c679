"""``dataclass`` for programs that start often: what a class's methods are is worked out when one is first used.

The standard library compiles up to six functions for each class when its module is imported: a sixth of this program's
start, for classes of which most are made later or never. Here ``__init__`` is compiled at the first instance, and the
others are closures. To a type checker it is ``dataclasses.dataclass``; its instances work with ``dataclasses.fields``
and ``replace``, with ``copy`` and ``pickle``.

Guarantees (tests/unit/base/test_values.py, beside the standard library's own):
  as specified   arguments, defaults, factories, ``__post_init__``, inheritance, comparison, hash, ``repr``, freezing
  refused        what is not supported: classes without slots, ``InitVar``, ``KW_ONLY``, ``kw_only`` of one field

Source: the documented behaviour of the Python standard library's ``dataclasses``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import _FIELD, MISSING, Field, FrozenInstanceError, field  # type: ignore[attr-defined]  # not public
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

C = TypeVar("C", bound=type)
_Fields = dict[str, Any]
"""A class's fields by name, those of its bases first, in the order of the arguments."""

_FIELDS = "__dataclass_fields__"
"""Where the standard library looks for them."""


def _dataclass(*, slots: bool, frozen: bool = False, kw_only: bool = False) -> Callable[[C], C]:
    """As the standard library's, for classes with slots."""
    if not slots:
        raise TypeError("this dataclass is for classes with slots; take the standard library's")
    return lambda cls: _made(cls, frozen=frozen, kw_only=kw_only)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _made(cls: C, *, frozen: bool, kw_only: bool) -> C:
    """The class again, with slots and methods."""
    fields: _Fields = {}
    inherited: set[str] = set()
    for base in reversed(cls.__mro__[1:]):
        fields.update(vars(base).get(_FIELDS, {}))
        inherited.update(vars(base).get("__slots__", ()))
    namespace = dict(vars(cls))
    for name, annotation in namespace.get("__annotations__", {}).items():
        if "ClassVar" in str(annotation):
            continue
        if "InitVar" in str(annotation) or "KW_ONLY" in str(annotation):
            raise TypeError(f"{cls.__qualname__}.{name}: {annotation} is not supported; take the standard library's")
        fields[name] = _field(f"{cls.__qualname__}.{name}", annotation, namespace.pop(name, MISSING), kw_only=kw_only)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    namespace[_FIELDS] = fields
    namespace["__slots__"] = tuple(name for name in fields if name not in inherited)
    _add_methods(namespace, fields, frozen=frozen)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in namespace:
        _init_later(made, fields, frozen=frozen)
    return made


def _field(place: str, annotation: Any, default: Any, *, kw_only: bool) -> Any:
    """A field as the standard library describes it."""
    if isinstance(default, MemberDescriptorType):  # a slot of that name
        default = MISSING
    made: Any = default if isinstance(default, Field) else field(default=default)
    if made.kw_only is not MISSING and made.kw_only != kw_only:
        raise TypeError(f"{place}: kw_only of one field is not supported; take the standard library's")
    if type(made.default).__hash__ is None:
        raise ValueError(f"{place}: a mutable default is shared by all instances: use default_factory")
    made.name, made.type, made.kw_only, made._field_type = place.rpartition(".")[2], annotation, kw_only, _FIELD  # noqa: SLF001
    return made


def _add_methods(namespace: dict[str, Any], fields: _Fields, *, frozen: bool) -> None:
    """All but ``__init__``. What the class defines itself stays."""
    shown = [one.name for one in fields.values() if one.repr]
    values = _values_of([one.name for one in fields.values() if one.compare])

    def as_text(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def equals(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: object) -> int:
        return hash(values(self))

    def state(self: object) -> list[Any]:
        return [getattr(self, name) for name in fields]

    def take_state(self: object, values: list[Any]) -> None:
        for name, value in zip(fields, values, strict=True):
            object.__setattr__(self, name, value)

    def assign(self: object, name: str, value: object) -> None:
        if name in fields or vars(type(self)).get(_FIELDS) is fields:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)  # an attribute of a class below

    def delete(self: object, name: str) -> None:
        if name in fields or vars(type(self)).get(_FIELDS) is fields:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    has_hash = namespace.get("__hash__") is not None or ("__hash__" in namespace and "__eq__" not in namespace)
    if not has_hash:
        namespace["__hash__"] = hash_of if frozen else None
    namespace.setdefault("__repr__", as_text)
    namespace.setdefault("__eq__", equals)
    in_place = tuple(one.name for one in fields.values() if one.init and not one.kw_only)
    namespace.setdefault("__match_args__", in_place)
    if frozen:
        namespace.setdefault("__getstate__", state)
        namespace.setdefault("__setstate__", take_state)
        namespace["__setattr__"], namespace["__delattr__"] = assign, delete


def _values_of(names: list[str]) -> Callable[[object], Any]:
    """What takes the tuple of these from an instance."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda one: tuple([getattr(one, name) for name in names])


def _init_later(made: Any, fields: _Fields, *, frozen: bool) -> None:
    """Give the class an ``__init__`` that puts the compiled one in its place."""

    def compile_and_call(self: object, /, *args: object, **kwargs: object) -> None:
        init = made.__init__ = _compiled_init(made, fields, frozen=frozen)
        init(self, *args, **kwargs)

    made.__init__ = compile_and_call


def _compiled_init(made: Any, fields: _Fields, *, frozen: bool) -> Callable[..., None]:
    in_place: list[str] = ["self"]
    lines: list[str] = []
    by_name: list[str] = []
    names: dict[str, Any] = {"__missing": MISSING, "__set": object.__setattr__}
    for name, one in fields.items():
        given, default = name, ""
        if one.default_factory is not MISSING:
            names[f"__make_{name}"], default = one.default_factory, "__missing"
            given = f"__make_{name}() if {name} is __missing else {name}" if one.init else f"__make_{name}()"
        elif one.default is not MISSING:
            default = f"__default_{name}"
            names[default] = one.default
            given = name if one.init else default
        elif not one.init:
            continue
        if one.init:
            (by_name if one.kw_only else in_place).append(f"{name}={default}" if default else name)
        lines.append(f"__set(self, {name!r}, {given})" if frozen else f"self.{name} = {given}")
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join([*in_place, "*", *by_name] if by_name else in_place)
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({arguments}):\n {body}", names)  # noqa: S102  # made of a class's own names
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    return init
