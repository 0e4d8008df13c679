"""What rules can cost at most, as upstream reckons it: rules are accepted or refused by these figures.

Source of the figures: kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/cel/compilation_test.go``.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.apiextensions.rules.compiled import compile_rules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.rules.declarations import declare

Make = Callable[[int | None], Obj]
LIMITS = {"array": "maxItems", "object": "maxProperties", "string": "maxLength"}


def limited(schema: Obj, most: int | None) -> Obj:
    return schema if most is None else {**schema, LIMITS[schema["type"]]: most}


def scalar(kind: str) -> Obj:
    if kind == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    if kind in ("duration", "date", "date-time", "byte"):
        return {"type": "string", "format": kind}
    return {"type": kind}


def array(item: str | Obj) -> Make:
    items = scalar(item) if isinstance(item, str) else item
    return lambda most: limited({"type": "array", "items": items}, most)


def mapping(value: str | Obj) -> Make:
    values = scalar(value) if isinstance(value, str) else value
    return lambda most: limited({"type": "object", "additionalProperties": values}, most)


def text(kind: str = "string", **more: object) -> Make:
    return lambda most: limited({**scalar(kind), **more}, most)


def texts(most: int | None) -> Obj:
    return limited({"type": "array", "items": limited({"type": "string"}, most)}, most)


def nested_texts(most: int | None) -> Obj:
    return limited({"type": "object", "additionalProperties": limited({"type": "string"}, most)}, most)


def replacing(most: int | None) -> Obj:
    properties = {
        "str": limited({"type": "string"}, most),
        "before": {"type": "string", "maxLength": 2},
        "after": {"type": "string", "maxLength": 4},
    }
    return {"type": "object", "properties": properties}


def splitting(most: int | None) -> Obj:
    part = limited({"type": "string"}, most)
    return {"type": "object", "properties": {"str": part, "separator": part}}


def int_or_string(most: int | None) -> Obj:
    return {"x-kubernetes-int-or-string": True} | ({} if most is None else {"maxLength": most})


def with_port(_most: int | None) -> Obj:
    """Costs of asking for types go by the size of ``self``, which objects have none of."""
    at = {"type": "string", "format": "date-time"}
    return {"type": "object", "properties": {"port": {"x-kubernetes-int-or-string": True}, "at": at}}


REQUIRED = {
    "type": "object",
    "required": ["required"],
    "properties": {"required": {"type": "string"}, "optional": {"type": "string"}},
}


def nested(most: int | None) -> Obj:
    inner = limited({"type": "object", "additionalProperties": limited(REQUIRED, most)}, most)
    return limited({"type": "array", "items": inner}, most)


CASES: list[tuple[Make, str, int | None, int, int]] = [
    (array("number"), "self.all(x, true)", 4718591, 10, 32),
    (array("string"), "self.all(x, true)", 3145727, 20, 62),
    (array("boolean"), "self.all(x, true)", 1887437, 5, 17),
    (array({"type": "array", "items": {"type": "number"}}), "self.all(x, true)", 3145727, 100, 302),
    (mapping("number"), "self.all(x, true)", 1348169, 10, 32),
    (mapping("string"), "self.all(x, true)", 1179647, 3, 11),
    (mapping("boolean"), "self.all(x, true)", 943718, 100, 302),
    (text(), "self.contains('test')", 314574, 10, 5),
    (text(), "self.startsWith('test')", 2, 15, 2),
    (text(), "self.endsWith('test')", 2, 30, 2),
    (text(), "size(self + 'hello') > size('hello')", 314578, 4, 7),
    (array("number"), "self[1] == 0.0", 2, 5000, 2),
    (array("string"), "self[1] == self[1]", 314577, 8, 314577),
    (array("number"), "self.all(x, self.all(y, true))", None, 10, 352),
    (array("number"), "self.all(x, self.all(y, self.all(z, true)))", None, 10, 3552),
    (text(), 'self.matches("x")', 314574, 50, 22),
    (text(), '"".matches("(((((((((())))))))))[0-9]")', 7, 10, 7),
    (text(), 'self.matches("")', 1, 100, 1),
    (nested_texts, "self.all(x, x.contains(self[x]))", 2752507, 10, 72),
    (array("number"), "self[3] == 0.0", 2, 0, 2),
    (mapping("number"), 'self["x"] == 0.0', 2, 0, 2),
    (text(), 'self == "x"', 2, 0, 1),
    (text("byte"), 'self == b"x"', 2, 0, 1),
    (array("number"), "self.all(x, x == 0.0)", 6291454, 3 * 1024 * 2048, 25165826),
    (nested, 'self.all(x, x["y"].required == "z")', 7340027, 10, 72),
    (array("int-or-string"), "self.all(x, true)", 4718591, 10, 32),
    (array("int-or-string"), "self[0] == 5", 3, 10, 3),
    (array("boolean"), "self[0] == false", 2, 25, 2),
    (array({"type": "array", "items": {"type": "number"}}), "self[0][0] == -1.0", 3, 51, 3),
    (array("duration"), "self.all(x, true)", 2359295, 5, 17),
    (array("duration"), "self[0].getHours() == 2", 4, 525, 4),
    (array("date"), "self.all(x, true)", 725936, 15, 47),
    (array("date-time"), "self.all(x, true)", 428963, 25, 77),
    (array("date-time"), "self[2].getMinutes() == 45", 4, 99, 4),
    (mapping("int-or-string"), "self.all(x, true)", 1348169, 15, 47),
    (mapping("duration"), "self.all(x, true)", 1048577, 5, 17),
    (mapping("date"), "self.all(x, true)", 524288, 10, 32),
    (mapping("date-time"), "self.all(x, true)", 349526, 25, 77),
    (text(), "self.find('[0-9]+') == ''", 629147, 10, 11),
    (texts, "self.join(' ') == 'aa bb'", 329853068905, 10, 43),
    (texts, "self.isSorted() == true", 329854432052, 10, 52),
    (replacing, "self.str.replace(self.before, self.after) == 'does not matter'", 629154, 4, 12),
    (splitting, "self.str.split(self.separator) == []", 629160, 10, 22),
    (text(), "self.lowerAscii() == 'lower!'", 314575, 10, 6),
    (mapping("integer"), "oldSelf.size() == self.size()", 5, 10, 5),
    (mapping("date-time"), 'self["a"] == self["b"]', 8, 7, 8),
    (mapping("duration"), 'self["c"] == self["d"]', 8, 42, 8),
    (text(enum=["A", "B", "C", "LongValue"]), "self.contains('A')", 2, 1000, 401),
    (int_or_string, "isQuantity(self)", 314574, 20, 9),
    (with_port, "type(self.port) == int", 4, 10, 4),
    (with_port, "type(self.port) == int ? self.port == 1 : self.port == '25%'", 7, 10, 7),
    (with_port, "type(self.port) != null_type", 4, 10, 4),
    (with_port, "type(self.at) == google.protobuf.Timestamp", 4, 10, 4),
    (with_port, "type(self) == type(self)", None, 10, 1844674407370955268),
    (array("integer"), "self.flatten(0) == []", 22, 10, 22),
]


def estimate(schema: Obj, rule: str) -> int:
    declared = declare({**schema, "x-kubernetes-validations": [{"rule": rule}]})
    assert declared is not None
    (compiled,) = compile_rules(declared)
    assert not compiled.error, compiled.error
    return compiled.most


@pytest.mark.parametrize(("make", "rule", "unlimited", "most", "limited_cost"), CASES, ids=[case[1] for case in CASES])
def test_costs_are_those_that_upstream_reckons(
    make: Make, rule: str, unlimited: int | None, most: int, limited_cost: int
) -> None:
    if unlimited is None:
        assert estimate(make(None), rule) > 1_000_000_000
    else:
        assert estimate(make(None), rule) == unlimited
    assert estimate(make(most), rule) == limited_cost
