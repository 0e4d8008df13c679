"""Expressions made at random: well typed, and made so that values collide, overflow, and fail every so often."""

from __future__ import annotations

import random
from collections.abc import Callable

__all__ = ["VARIABLES", "expression"]

VARIABLES: dict[str, object] = {
    "i": 7,
    "j": -3,
    "d": 2.5,
    "s": "hello",
    "t": "",
    "b": True,
    "li": [3, 1, 2],
    "ls": ["ab", "hello", ""],
    "m": {"a": 1, "b": -2},
    "o": {"name": "x", "size": 4, "tags": ["p", "q"], "deep": {"flag": False}},
}
"""Values of the variables. ``o`` is a map of anything, the others are typed."""

_LEAVES: dict[str, tuple[str, ...]] = {
    "int": ("i", "j", "0", "1", "2", "-1", "9223372036854775807", "li[1]", "m['a']", "m.b", "size(s)", "int(o.size)"),
    "uint": ("0u", "1u", "7u", "18446744073709551615u"),
    "double": ("d", "0.0", "1.5", "-2.25", "1e10"),
    "string": ("s", "t", "'a'", "'hello'", "'\\u00e9t\\u00e9'", "ls[0]", "string(o.name)"),
    "bool": ("b", "true", "false", "has(o.name)", "has(o.nope)", "has(m.a)"),
    "list": ("li", "li.filter(x, x > 5)", "[1, 2]", "[i, j]"),
    "dyn": ("o.name", "o.size", "o.deep.flag", "o.nope", "dyn(1)", "dyn('a')", "dyn(1.0)", "dyn(1u)", "dyn([1])"),
    "bytes": ("b'ab'", "b''", "bytes(s)"),
    "duration": ("duration('1h')", "duration('-90s')", "duration('0s')"),
    "timestamp": ("timestamp('2024-02-29T12:30:45.678Z')", "timestamp('1969-12-31T23:59:59Z')"),
}


def expression(chance: random.Random, wanted: str = "", depth: int = 4) -> str:
    """An expression of a type (any, if none is said)."""
    kind = wanted or chance.choice(("bool", "bool", "int", "string", "double", "list", "uint"))
    if depth <= 0 or chance.random() < 0.1:
        return chance.choice(_LEAVES[kind])

    def inner(of: str) -> str:
        return expression(chance, of, depth - 1)

    return chance.choice(_FORMS[kind])(chance, inner)


Inner = Callable[[str], str]


def _operator(kind: str, *operators: str) -> Callable[[random.Random, Inner], str]:
    return lambda chance, inner: f"({inner(kind)} {chance.choice(operators)} {inner(kind)})"


def _form(template: str, *kinds: str) -> Callable[[random.Random, Inner], str]:
    return lambda chance, inner: template.format(*[inner(kind) for kind in kinds])


def _same(template: str) -> Callable[[random.Random, Inner], str]:
    def make(chance: random.Random, inner: Inner) -> str:
        kind = chance.choice(("int", "string", "bool", "double", "list", "dyn", "uint", "bytes"))
        return template.format(inner(kind), inner(kind))

    return make


_CONDITIONAL = {kind: _form("({0} ? {1} : {2})", "bool", kind, kind) for kind in _LEAVES}

_FORMS: dict[str, tuple[Callable[[random.Random, Inner], str], ...]] = {
    "bool": (
        _operator("bool", "&&", "||"),
        _operator("bool", "&&", "||"),
        _form("!({0})", "bool"),
        _same("({0} == {1})"),
        _same("({0} != {1})"),
        _operator("int", "<", "<=", ">", ">="),
        _operator("string", "<", ">="),
        _operator("double", "<", "<="),
        _operator("uint", "<", ">"),
        _operator("timestamp", "<", ">="),
        _operator("duration", "<", ">="),
        _form("({0} < {1})", "dyn", "int"),
        _form("{0}.startsWith({1})", "string", "string"),
        _form("{0}.contains({1})", "string", "string"),
        _form("{0}.endsWith({1})", "string", "string"),
        _form("{0}.matches('^[a-z]+$')", "string"),
        _form("({0} in {1})", "int", "list"),
        _form("({0} in ['a', 'hello'])", "string"),
        _form("({0} in m)", "string"),
        _form("{0}.all(x, x > {1})", "list", "int"),
        _form("{0}.exists(x, 6 / x == {1})", "list", "int"),
        _form("{0}.exists_one(x, x == {1})", "list", "int"),
        _form("ls.all(x, x.size() < {0} || {1})", "int", "bool"),
        _form("m.exists(k, m[k] == {0})", "int"),
        _CONDITIONAL["bool"],
    ),
    "int": (
        _operator("int", "+", "-", "*", "/", "%"),
        _operator("int", "+", "-", "*"),
        _form("-({0})", "int"),
        _form("size({0})", "string"),
        _form("{0}.size()", "list"),
        _form("{0}[{1}]", "list", "int"),
        _form("m[{0}]", "string"),
        _form("int({0})", "double"),
        _form("int({0})", "uint"),
        _form("int(string({0}))", "int"),
        _form("{0}.getHours()", "timestamp"),
        _form("{0}.getSeconds()", "duration"),
        _form("{0}.getDayOfYear()", "timestamp"),
        _CONDITIONAL["int"],
    ),
    "uint": (_operator("uint", "+", "-", "*", "/", "%"), _form("uint({0})", "int"), _CONDITIONAL["uint"]),
    "double": (
        _operator("double", "+", "-", "*", "/"),
        _form("-({0})", "double"),
        _form("double({0})", "int"),
        _CONDITIONAL["double"],
    ),
    "string": (
        _operator("string", "+"),
        _form("string({0})", "int"),
        _form("string({0})", "bool"),
        _form("ls[{0}]", "int"),
        _form("string({0})", "bytes"),
        _CONDITIONAL["string"],
    ),
    "list": (
        _operator("list", "+"),
        _form("{0}.map(x, x + {1})", "list", "int"),
        _form("{0}.filter(x, x > {1})", "list", "int"),
        _form("{0}.map(x, x > {1}, x * 2)", "list", "int"),
        _form("[{0}, {1}]", "int", "int"),
        _CONDITIONAL["list"],
    ),
    "dyn": (_form("dyn({0})", "int"), _form("dyn({0})", "string"), _form("dyn({0})", "double")),
    "bytes": (_form("bytes({0})", "string"), _operator("bytes", "+")),
    "duration": (_operator("duration", "+", "-"), _form("({0} - {1})", "timestamp", "timestamp")),
    "timestamp": (_form("({0} + {1})", "timestamp", "duration"), _form("({0} - {1})", "timestamp", "duration")),
}
