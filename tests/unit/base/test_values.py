"""Each class twice: by our ``dataclass`` and by the standard library's, which says what is right."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from controlplane.base.values import dataclass

Maker = Callable[..., Any]


def classes(decorator: Maker) -> dict[str, Any]:
    @decorator(frozen=True, slots=True, kw_only=True)
    class Base:
        """Frozen, by keyword."""

        shared: ClassVar[int] = 7
        name: str
        size: int = 1
        tags: tuple[str, ...] = ()
        more: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)
        secret: str = dataclasses.field(default="", repr=False)

        def double(self) -> int:
            return self.size * 2

    @decorator(frozen=True, slots=True, kw_only=True)
    class Derived(Base):
        other: Any = None

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError("size")

    @decorator(slots=True)
    class Plain:
        first: int
        second: list[int] = dataclasses.field(default_factory=list)
        third: int = dataclasses.field(default=3, init=False)

    @decorator(frozen=True, slots=True)
    class Own:
        one: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @decorator(frozen=True, slots=True)
    class Empty:
        pass

    return {"Base": Base, "Derived": Derived, "Plain": Plain, "Own": Own, "Empty": Empty}


OURS, THEIRS = classes(dataclass), classes(dataclasses.dataclass)


def outcome(act: Callable[[dict[str, Any]], Any], of: dict[str, Any]) -> object:
    try:
        return act(of)
    except Exception as error:  # noqa: BLE001  # both must fail alike
        return type(error)


@pytest.mark.parametrize(
    "act",
    [
        lambda c: repr(c["Base"](name="a")),
        lambda c: repr(c["Derived"](name="a", size=2, other=[1], secret="s")),
        lambda c: repr(c["Plain"](1)),
        lambda c: repr(c["Plain"](1, [2])),
        lambda c: repr((c["Own"](1), c["Empty"]())),
        lambda c: (c["Base"](name="a").double(), c["Base"].shared, c["Base"](name="a").shared),
        lambda c: c["Base"](name="a") == c["Base"](name="a", more={"x": 1}),
        lambda c: c["Base"](name="a") == c["Base"](name="a", size=2),
        lambda c: c["Base"](name="a") == c["Derived"](name="a"),
        lambda c: c["Own"](1) == c["Own"](2),
        lambda c: c["Empty"]() == c["Empty"](),
        lambda c: hash(c["Base"](name="a")) == hash(c["Base"](name="a", more={"x": 1})),
        lambda c: (hash(c["Own"](1)), hash(c["Empty"]())),
        lambda c: hash(c["Plain"](1)),
        lambda c: hash(c["Base"](name="a", tags=[])),
        lambda c: c["Plain"](1).second is c["Plain"](1).second,
        lambda c: c["Base"]("a"),
        lambda c: c["Base"](),
        lambda c: c["Base"](name="a", nothing=1),
        lambda c: c["Plain"](1, [], 3),
        lambda c: c["Derived"](name="a", size=-1),
        lambda c: setattr(c["Base"](name="a"), "size", 2),
        lambda c: delattr(c["Base"](name="a"), "size"),
        lambda c: setattr(c["Plain"](1), "unknown", 2),
        lambda c: repr(dataclasses.replace(c["Derived"](name="a", other=2), size=3)),
        lambda c: dataclasses.asdict(c["Derived"](name="a", more={"x": 1})),
        lambda c: [(f.name, f.type, f.default) for f in dataclasses.fields(c["Derived"]) if f.name != "more"],
        lambda c: repr(copy.copy(c["Derived"](name="a", other=2))),
        lambda c: repr(copy.deepcopy(c["Plain"](1, [2]))),
        lambda c: [c[name].__match_args__ for name in c],
        lambda c: [c[name].__slots__ for name in c],
        lambda c: [c[name].__qualname__ for name in c],
        lambda c: hasattr(c["Base"](name="a"), "__dict__"),
    ],
)
def test_does_what_the_standard_library_does(act: Callable[[dict[str, Any]], Any]) -> None:
    assert outcome(act, OURS) == outcome(act, THEIRS)


@dataclass(frozen=True, slots=True)
class Pickled:
    one: int
    two: str = "2"


def test_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, "b"))) == Pickled(1, "b")


class Below(Pickled):
    """Not a dataclass itself."""


def test_a_class_below_may_have_more() -> None:
    below = Below(1)
    below.more = 2  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        below.one = 2  # type: ignore[misc]
    assert vars(below) == {"more": 2}


def test_the_first_call_compiles_for_all() -> None:
    @dataclass(slots=True)
    class Fresh:
        one: int

    late = Fresh.__init__
    assert Fresh(1).one == 1
    assert Fresh.__init__ is not late
    assert Fresh.__init__.__code__.co_varnames == ("self", "one")


def refuse(decorator: Maker, annotation: str, default: object) -> None:
    decorator(slots=True, kw_only=True)(type("Bad", (), {"__annotations__": {"x": annotation}, "x": default}))


@pytest.mark.parametrize(
    ("annotation", "default", "error"),
    [
        ("InitVar[int]", 1, TypeError),
        ("KW_ONLY", 1, TypeError),
        ("int", dataclasses.field(default=1, kw_only=False), TypeError),
        ("list[int]", [], ValueError),
    ],
)
def test_refuses_what_it_does_not_support(annotation: str, default: object, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Bad\.x"):
        refuse(dataclass, annotation, default)


def test_refuses_classes_without_slots() -> None:
    with pytest.raises(TypeError, match="slots"):
        dataclass(slots=False)
