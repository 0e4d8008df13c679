"""Rules on values: what they say of a violation, of changes, and when the budget ends.

The texts are upstream's (kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/cel/validation.go``).
"""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apiextensions.rules.evaluation import DefaultRules, SchemaRules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.schema_defaults import default_errors
from controlplane.apimachinery.validation.field import invalid, required


def rules(schema: Obj, *given: str | Obj) -> SchemaRules:
    """Rules on the field ``v`` of an object."""
    entries = [{"rule": rule} if isinstance(rule, str) else rule for rule in given]
    inner = {**schema, "x-kubernetes-validations": entries}
    return SchemaRules({"type": "object", "properties": {"v": inner}})


def judged(schema: Obj, value: Any, *given: str | Obj, old: Any = ...) -> list[str]:
    before = None if old is ... else {"v": old}
    return [str(error) for error in rules(schema, *given).errors({"v": value}, before)]


INT: Obj = {"type": "integer"}
TEXT: Obj = {"type": "string"}
OBJECT: Obj = {"type": "object", "properties": {"a": INT, "b": INT, "s": TEXT}}


def test_a_violation_shows_a_scalar_and_its_message() -> None:
    assert judged(INT, 3, "self > 5") == ["v: Invalid value: 3: failed rule: self > 5"]
    assert judged(TEXT, "x", {"rule": "self != 'x'", "message": " no x "}) == ['v: Invalid value: "x": no x']
    assert judged(OBJECT, {"a": 1}, "self.a > 1") == ["v: Invalid value: failed rule: self.a > 1"]


def test_reasons_and_field_paths() -> None:
    def one(reason: str) -> list[str]:
        rule = {"rule": "self.a > 1", "message": "m", "reason": reason, "fieldPath": ".a"}
        return judged(OBJECT, {"a": 1}, rule)

    assert one("FieldValueInvalid") == ["v.a: Invalid value: m"]
    assert one("FieldValueForbidden") == ["v.a: Forbidden: m"]
    assert one("FieldValueRequired") == ["v.a: Required value: m"]
    assert one("FieldValueDuplicate") == ["v.a: Duplicate value"]


def test_a_field_path_into_a_map_is_in_brackets() -> None:
    inner: Obj = {"type": "object", "additionalProperties": INT}
    schema = {"type": "object", "properties": {"m": inner}}
    assert judged(schema, {}, {"rule": "false", "fieldPath": ".m['x.y']"})[0].startswith("v.m[x.y]: ")
    assert judged(inner, {}, {"rule": "false", "fieldPath": "['x\\'y']"})[0].startswith("v.[x'y]: ")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        pytest.param("'a is ' + string(self.a)", "a is 1", id="a text"),
        pytest.param("' '", "failed rule: self.a > 1", id="empty"),
        pytest.param("'x\\ny'", "failed rule: self.a > 1", id="two lines"),
        pytest.param("string(self.a / 0)", "failed rule: self.a > 1", id="an error"),
        pytest.param("self.s + self.s", "failed rule: self.a > 1", id="too long"),
    ],
)
def test_message_expressions(expression: str, message: str) -> None:
    rule = {"rule": "self.a > 1", "messageExpression": expression}
    assert judged(OBJECT, {"a": 1, "s": "x" * 3000}, rule) == [f"v: Invalid value: {message}"]


def test_messages_know_the_old_value_where_rules_do() -> None:
    """Upstream gives them the plain one, whatever ``optionalOldSelf`` says, and none where no rule asks for it."""
    message = {"messageExpression": "'was ' + string(oldSelf)"}
    assert judged(INT, 3, {"rule": "self == oldSelf", **message}, old=2) == ["v: Invalid value: 3: was 2"]
    assert judged(INT, 3, {"rule": "self > 5", **message}, old=2) == ["v: Invalid value: 3: failed rule: self > 5"]
    assert judged(INT, 3, {"rule": "self > 5", **message}, "self != oldSelf", old=2) == ["v: Invalid value: 3: was 2"]
    optional = {"rule": "self == oldSelf.orValue(0)", "optionalOldSelf": True}
    failed = ["v: Invalid value: 3: failed rule: self == oldSelf.orValue(0)"]
    assert judged(INT, 3, {**optional, "messageExpression": "string(oldSelf.orValue(0))"}, old=2) == failed


def test_errors_name_the_rule() -> None:
    assert judged(OBJECT, {"a": 1}, "self.b > 1") == [
        'v: Invalid value: "object": no such key: b evaluating rule: self.b > 1'
    ]
    assert judged({"x-kubernetes-int-or-string": True}, "1", "self > 1") == [
        (
            "v: Invalid value: \"\": 'no such overload': call arguments did not match a supported operator, function "
            "or macro signature for rule: self > 1"
        )
    ]


def test_what_costs_too_much_ends_the_evaluation() -> None:
    schema = {"type": "array", "items": INT}
    rule = "self.all(x, self.all(y, x + y >= 0))"
    assert judged(schema, list(range(1000)), rule, "false") == [
        (
            "v: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation "
            f"rules will be run due to call cost exceeds limit for rule: {rule}"
        )
    ]


def test_the_budget_of_an_object_ends_the_evaluation() -> None:
    schema = {"type": "array", "items": INT}
    found = judged(schema, list(range(350)), *["self.all(x, self.all(y, x + y >= 0))"] * 13)
    why = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert found == [f'v: Invalid value: "array": {why}']


def test_null_is_not_judged_and_counts_as_absent() -> None:
    nullable = {"type": "object", "properties": {"n": {"type": "string", "nullable": True}}}
    assert judged({**INT, "nullable": True}, None, "self > 1") == []
    assert judged(nullable, {"n": None}, "!has(self.n)") == []
    assert "no such key: n" in judged(nullable, {"n": None}, "self.n == 'x'")[0]


def test_transition_rules_run_where_there_was_a_value() -> None:
    assert judged(INT, 3, "self >= oldSelf") == []
    assert judged(INT, 3, "self >= oldSelf", old=3) == []
    assert judged(INT, 3, "self >= oldSelf", old=4) == ["v: Invalid value: 3: failed rule: self >= oldSelf"]
    assert judged({**INT, "nullable": True}, 3, "self == oldSelf", old=None) == []  # null is no old value


def test_an_optional_old_value_is_none_on_create() -> None:
    rule = {"rule": "!oldSelf.hasValue() || oldSelf.value() < self", "optionalOldSelf": True}
    assert judged(INT, 3, rule) == []
    assert judged(INT, 3, rule, old=2) == []
    assert len(judged(INT, 3, rule, old=3)) == 1


@pytest.mark.parametrize(
    ("expression", "old", "message"),
    [
        ("oldSelf.orValue(0) > 1 ? 'optional' : 'small'", 2, "given"),
        ("oldSelf.?a.hasValue() ? 'optional' : 'none'", 2, "given"),
        ("string(self)", 2, "1"),
        ("string(self)", None, "1"),
        ("self > 5 ? string(oldSelf.value()) : 'not read'", None, "not read"),
        ("'had ' + string(oldSelf.hasValue())", None, "given"),
    ],
)
def test_a_message_sees_the_bare_old_value(expression: str, old: int | None, message: str) -> None:
    rule = {"rule": "oldSelf.hasValue() && false", "message": "given", "optionalOldSelf": True}
    given = rules({"type": "integer"}, {**rule, "messageExpression": expression})
    (error,) = given.errors({"v": 1}, None if old is None else {"v": old})
    assert str(error) == f"v: Invalid value: 1: {message}"


def test_a_message_reads_the_bare_old_fields() -> None:
    schema: Obj = {"type": "object", "properties": {"a": {"type": "string"}}}
    message = "'was ' + oldSelf.?a.orValue('nothing')"
    rule = {"rule": "!oldSelf.hasValue()", "messageExpression": message, "optionalOldSelf": True}
    given = rules(schema, rule)
    (error,) = given.errors({"v": {"a": "x"}}, {"v": {"a": "y"}})
    assert str(error) == "v: Invalid value: was y"


def test_items_of_map_lists_are_compared_with_those_of_the_same_key() -> None:
    item = {
        "type": "object",
        "properties": {"k": TEXT, "n": INT},
        "required": ["k"],
        "x-kubernetes-validations": [{"rule": "self.n >= oldSelf.n"}],
    }
    schema = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": item}
    old = [{"k": "x", "n": 1}, {"k": "y", "n": 5}]
    assert judged(schema, [{"k": "y", "n": 5}, {"k": "x", "n": 2}, {"k": "z", "n": 0}], old=old) == []
    assert judged(schema, [{"k": "y", "n": 4}], old=old) == ["v[0]: Invalid value: failed rule: self.n >= oldSelf.n"]


def test_what_has_not_changed_may_go_on_breaking_rules() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {**INT, "x-kubernetes-validations": [{"rule": "self > 5"}]}, "b": INT},
    }
    rule = "self.b > 5"
    assert judged(schema, {"a": 1, "b": 1}, rule, old={"a": 1, "b": 1}) == []
    assert judged(schema, {"a": 1, "b": 2}, rule, old={"a": 1, "b": 1}) == ["v: Invalid value: failed rule: self.b > 5"]
    assert len(judged(schema, {"a": 2, "b": 1}, rule, old={"a": 1, "b": 1})) == 2
    assert len(judged(INT, 1, "oldSelf > 5", old=1)) == 1, "a rule about the change is not let off"
    assert rules(INT, "self > 5").let_off({"v": 1}, {"v": 1}) == ["v: Invalid value: 1: failed rule: self > 5"]
    assert rules(INT, "self > 5").let_off({"v": 1}, {"v": 2}) == []


def test_kind_and_version_of_an_object_may_not_go_on_breaking_rules() -> None:
    kind = {"kind": {**TEXT, "x-kubernetes-validations": [{"rule": "self == 'B'"}]}}
    whole = SchemaRules({"type": "object", "properties": {**kind, "v": {"type": "object", "properties": kind}}})
    obj = {"kind": "A", "v": {"kind": "A"}}
    assert [error.field for error in whole.errors(obj, obj)] == ["kind"]
    assert len(whole.let_off(obj, obj)) == 1


def test_rules_deep_in_a_schema_run_at_each_place() -> None:
    schema = {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": {**INT, "x-kubernetes-validations": [{"rule": "self < 5"}]},
        },
    }
    found = judged(schema, [{"x": 1}, {"y": 7, "z": 9}])
    assert found == [
        "v[1][y]: Invalid value: 7: failed rule: self < 5",
        "v[1][z]: Invalid value: 9: failed rule: self < 5",
    ]


def test_sets_and_map_lists_have_no_order() -> None:
    texts = {"type": "array", "items": TEXT}
    pairs = {"type": "object", "properties": {"a": {**texts, "x-kubernetes-list-type": "set"}, "b": texts}}
    assert judged(pairs, {"a": ["x", "y"]}, "self.a == ['y', 'x'] && self.a != ['x']") == []
    assert judged(pairs, {"b": ["x", "y"]}, "self.b != ['y', 'x']") == []
    assert judged(pairs, {"a": ["x", "y"]}, "(self.a + ['y', 'z']).size() == 3") == []
    assert judged(pairs, {"a": ["x", "y"]}, "self == oldSelf", old={"a": ["y", "x"]}) == []


@pytest.mark.parametrize(
    ("schema", "value", "rule"),
    [
        ({"type": "string", "format": "date-time"}, "2024-02-29T01:02:03Z", "self.getFullYear() == 2024"),
        ({"type": "string", "format": "date"}, "2024-02-29", "self < timestamp('2024-03-01T00:00:00Z')"),
        ({"type": "string", "format": "duration"}, "90m", "self > duration('1h')"),
        ({"type": "string", "format": "duration"}, "3 days", "self == duration('72h')"),
        ({"type": "string", "format": "byte"}, "aGk=", "self == b'hi' && size(self) == 2"),
        ({"type": "number"}, 3, "self / 2.0 == 1.5 && type(self) == double"),
        ({"type": "array", "items": {"type": "number"}}, [1, 2], "self.all(x, x / 2.0 < 1.5)"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, {"k": 1}, "self.k == 1.0 && self['k'] < 1.5"),
        ({"x-kubernetes-int-or-string": True}, 5, "type(self) == int && self == 5"),
        ({"x-kubernetes-int-or-string": True}, "5%", "type(self) == string && self.endsWith('%')"),
        (
            {"type": "object", "properties": {"a-b": INT, "a.c": INT}},
            {"a-b": 1, "a.c": 2},
            "self.a__dash__b < self.a__dot__c",
        ),
        (
            {"type": "object", "properties": {"namespace": INT, "x__y": INT}},
            {"namespace": 1, "x__y": 2},
            "self.__namespace__ + self.x__underscores__y == 3",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_values_are_of_the_types_that_the_schema_says(schema: Obj, value: Any, rule: str) -> None:
    assert judged(schema, value, rule) == []
    assert len(judged(schema, value, f"!({rule})")) == 1


def test_the_root_knows_kind_and_name() -> None:
    root = {"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a' && self.kind == 'K'"}]}
    obj = {"kind": "K", "apiVersion": "g/v1", "metadata": {"name": "a"}}
    assert SchemaRules(root).errors(obj) == []
    (error,) = SchemaRules(root).errors({**obj, "metadata": {"name": "b"}})
    assert str(error).startswith("<nil>: Invalid value: failed rule: ")


def test_rules_wait_until_values_have_their_types() -> None:
    checked = rules(INT, "self > 5")
    wrong = [required("w")]
    blocked = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    first, second = checked.complete(wrong, {"v": 1}, None)
    assert first == wrong[0]
    assert str(second) == f"{blocked}correct the existing errors to complete validation"
    assert len(checked.complete([invalid("w", 1, "x")], {"v": 1}, None)) == 2


def test_defaults_share_one_budget() -> None:
    """kubernetes/apiextensions-apiserver ``pkg/apiserver/schema/defaulting/validation.go``: what is left after one goes
    to the next."""
    dear: Obj = {**TEXT, "x-kubernetes-validations": [{"rule": "self.size() + self.size() + self.size() < 100"}]}
    out_of_budget = (
        'd: Invalid value: "string": validation failed due to running out of cost budget, no further validation rules '
        "will be run"
    )

    def told(budget: int, defaults: int) -> list[list[str]]:
        check = DefaultRules(budget)
        return [list(map(str, check.errors(dear, "x", "d", is_root=False))) for _ in range(defaults)]

    enough = next(budget for budget in range(1, 100) if told(budget, 1) == [[]])
    assert told(2 * enough, 2) == [[], []]
    assert told(2 * enough - 1, 2) == [[], [out_of_budget]]


def test_no_default_is_looked_at_once_the_budget_is_gone() -> None:
    failing: Obj = {**TEXT, "default": "x", "x-kubernetes-validations": [{"rule": "self == 'y'"}]}
    schema: Obj = {"type": "object", "properties": {"a": failing, "b": failing, "c": failing}}
    assert len(default_errors(schema, "s", rules=DefaultRules())) == 3
    found = default_errors(schema, "s", rules=DefaultRules(1))
    assert [error.field for error in found] == ["s.properties[a].default"]
