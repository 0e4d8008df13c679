"""Python for the overloads that rules are made of, where the checker has proved the types.

Each template gets the writer and the arguments as text; it counts the cost and returns the result as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controlplane.cel.codegen.writer import Writer

__all__ = ["TEMPLATES", "Template"]

Template = Callable[[Writer, list[str]], str]

_MIN, _MAX = -(2**63), 2**63 - 1


def _inline(form: str) -> Template:
    def write(writer: Writer, args: list[str]) -> str:
        writer.cost(1)
        return form.format(*args)

    return write


def _checked(operator: str) -> Template:
    """Arithmetic of ints within 64 bits."""

    def write(writer: Writer, args: list[str]) -> str:
        writer.cost(1)
        result = writer.name()
        return f"({result} if {_MIN} <= ({result} := {args[0]} {operator} {args[1]}) <= {_MAX} else fail())"

    return write


def _texts(operator: str) -> Template:
    """Order of strings: costs a walk over the shorter."""

    def write(writer: Writer, args: list[str]) -> str:
        left, right = writer.named(args[0]), writer.named(args[1])
        writer.dynamic_cost(shorter(left, right))
        return f"({left} {operator} {right})"

    return write


def shorter(left: str, right: str) -> str:
    """The cost of a walk over the shorter of two texts."""
    return f"T[len({left}) if len({left}) < len({right}) else len({right})]"


def _walk(form: str) -> Template:
    """A walk over the first argument."""

    def write(writer: Writer, args: list[str]) -> str:
        text = writer.named(args[0])
        writer.dynamic_cost(f"T[len({text})]")
        return form.format(text, args[1])

    return write


def _contains(writer: Writer, args: list[str]) -> str:
    text, part = writer.named(args[0]), writer.named(args[1])
    writer.dynamic_cost(f"T[len({text})] * T[len({part})]")
    return f"({part} in {text})"


def _join(writer: Writer, args: list[str]) -> str:
    left, right = writer.named(args[0]), writer.named(args[1])
    writer.dynamic_cost(f"T[len({left}) + len({right})]")
    writer.check_limit()
    return f"({left} + {right})"


def _relations(suffix: str, make: Callable[[str], Template]) -> dict[str, Template]:
    names = (("less", "<"), ("less_equals", "<="), ("greater", ">"), ("greater_equals", ">="))
    return {f"{name}_{suffix}": make(operator) for name, operator in names}


def _ordered(operator: str) -> Template:
    return _inline(f"({{0}} {operator} {{1}})")


TEMPLATES: Mapping[str, Template] = {
    **_relations("int64", _ordered),
    **_relations("uint64", _ordered),
    **_relations("bool", _ordered),
    **_relations("timestamp", _ordered),
    **_relations("duration", _ordered),
    **_relations("string", _texts),
    **_relations("bytes", _texts),
    "add_int64": _checked("+"),
    "subtract_int64": _checked("-"),
    "multiply_int64": _checked("*"),
    "add_double": _inline("({0} + {1})"),
    "subtract_double": _inline("({0} - {1})"),
    "multiply_double": _inline("({0} * {1})"),
    "add_string": _join,
    "add_bytes": _join,
    "logical_not": _inline("(not {0})"),
    "starts_with_string": _walk("{0}.startswith({1})"),
    "ends_with_string": _walk("{0}.endswith({1})"),
    "contains_string": _contains,
    "string_to_string": _inline("{0}"),
    "int64_to_string": _inline("str({0})"),
    **{
        f"{name}": _inline("len({0})")
        for kind in ("bytes", "list", "map", "string")
        for name in (f"size_{kind}", f"{kind}_size")
    },
}
