"""Values, errors and costs of expressions: by compiled code, and step by step."""

from __future__ import annotations

import pytest

from controlplane.cel.errors import CostExceeded, EvalError
from controlplane.cel.program import compile_expression
from controlplane.cel.values import Duration, Timestamp, UInt
from tests.unit.cel.environments import ENVIRONMENT, VALUES

LIMIT = 1_000_000

VALUES_TABLE: list[tuple[str, object]] = [
    ("1 + 2 * 3", 7),
    ("-7 / 2", -3),
    ("-7 % 3", -1),
    ("7u % 3u", UInt(1)),
    ("1.0 / 0.0", float("inf")),
    ("9223372036854775807 + 0", 2**63 - 1),
    ("1 < 1.5 && 2u >= 2", True),
    ("dyn(1) == 1.0 && dyn(1u) == 1", True),
    ("dyn(true) == 1", False),
    ("[dyn(1)] == [dyn(true)]", False),
    ("dyn('1') != 1", True),
    ("'b' > 'a' && b'b' > b'a' && true > false", True),
    ("a in numbers || 3 in numbers", True),
    ("'two' in m && !('three' in m)", True),
    ("dyn(true) in [dyn(1)]", False),
    ("[dyn(2), dyn('a'), dyn(1)].isSorted()", True),
    ("[dyn(2), dyn(1), dyn(null)].isSorted()", False),
    ("[dyn(2), dyn(1.5), dyn('a'), dyn(3u)].max()", UInt(3)),
    ("[dyn(2), dyn(1.5), dyn('a'), dyn(3u)].min()", 1.5),
    ("words[1] + s", "cdhello"),
    ("m['one'] + m.two", 3),
    ("[1, 2][dyn(1.0)]", 2),
    ("{1: 'x'}[dyn(1u)]", "x"),
    ("size('\u00e9\U0001f600') == 2 && size(b'\\xc3\\xa9') == 2", True),
    ("has(o.name) && !has(o.nope) && has(o.nothing)", True),
    ("o.items.map(i, i.name)", ["p", "q"]),
    ("o.items.filter(i, i.name == 'q').size()", 1),
    ("numbers.map(n, n > 1, n * 10)", [30, 20]),
    ("numbers.exists_one(n, n == 3) && !numbers.exists_one(n, n > 1)", True),
    ("m.all(k, m[k] > 0) && m.exists(k, k == 'two')", True),
    ("words.all(i, w, w.size() == 2 && i < 3)", True),
    ("words.transformList(i, w, i > 0, w + string(i))", ["cd1", "ef2"]),
    ("m.transformMap(k, v, v * 2)", {"one": 2, "two": 4}),
    ("m.transformMapEntry(k, v, {string(v): k})", {"1": "one", "2": "two"}),
    ("cel.bind(y, a * 2, y + y)", 28),
    ("o.?name.orValue('none') + o.?nope.orValue('none')", "nnone"),
    ("o.?nope.?deeper.hasValue() || o.?items[0].hasValue()", True),
    ("words[?1].value() + words[?9].orValue('!')", "cd!"),
    ("optional.of(3).optMap(v, v + 1).value()", 4),
    ("optional.none().optMap(v, v + 1).hasValue()", False),
    ("optional.ofNonZeroValue('').or(optional.of('z')).value()", "z"),
    ("[?words[?9], ?words[?0]] == ['ab'] && {?'k': words[?0], ?'z': words[?9]} == {'k': 'ab'}", True),
    ("string(1) + string(2.5) + string(true) + string(3u) + string(b'x')", "12.5true3ux".replace("ux", "x")),
    ("int('-12') + int(3.99) + int(5u)", -4),
    ("double('1e3') + double(2)", 1002.0),
    ("bool('t') && !bool('FALSE')", True),
    ("bytes('\u00e9') == b'\\303\\251'", True),
    ("duration('1h30m') - duration('90s')", Duration(5310 * 10**9)),
    ("string(duration('-1.5s'))", "-1.5s"),
    ("timestamp('2024-02-29T00:00:00Z') + duration('24h')", Timestamp(1709251200 * 10**9)),
    ("string(timestamp('2024-02-29T01:00:00.5+02:00'))", "2024-02-29T01:00:00.5+02:00"),
    ("string(timestamp('2024-02-29T01:00:00-02:30') + duration('1h'))", "2024-02-29T02:00:00-02:30"),
    ("timestamp('2024-02-29T01:00:00+02:00').getHours()", 1),
    ("timestamp('2024-02-29T01:00:00+02:00').getHours('UTC')", 23),
    ("timestamp('2024-02-29T01:00:00+02:00') == timestamp('2024-02-28T23:00:00Z')", True),
    ("timestamp('9999-12-31T23:30:00Z').getHours('') == 23", True),
    ("timestamp('9999-12-31T23:30:00+01:00').getFullYear()", 9999),
    ("timestamp('2024-02-29T23:30:00Z').getDayOfMonth('+01:00')", 0),
    ("timestamp('2024-02-29T12:00:00Z').getDayOfWeek()", 4),
    ("timestamp('2024-07-01T12:00:00Z').getHours('America/New_York')", 8),
    ("duration('3661s').getMinutes()", 61),
    ("type(1) == int && type('') == string && type([]) == list && type(type(1)) == type", True),
    ("b ? s : empty", "hello"),
    ('r\'a\\b\' + """c""" == \'a\\\\bc\'', True),
    ("0x1F == 31 && 1e2 == 100.0", True),
    ("'hello'.matches('^h.*o$') && !'hello'.matches('^x')", True),
    ("!!b && --a == 7", True),
]


@pytest.mark.parametrize(("source", "value"), VALUES_TABLE, ids=[row[0] for row in VALUES_TABLE])
def test_expressions_have_their_values(source: str, value: object) -> None:
    program = compile_expression(source, ENVIRONMENT)
    fast, careful = program.run(LIMIT, *VALUES.values()), program.plan.run(LIMIT, *VALUES.values())
    assert fast == careful
    assert fast[0] == value
    assert type(fast[0]) is type(value)


ERRORS_TABLE: list[tuple[str, str]] = [
    ("9223372036854775807 + 1", "integer overflow"),
    ("-9223372036854775808 / -1", "integer overflow"),
    ("-(-9223372036854775808)", "integer overflow"),
    ("0u - 1u", "unsigned integer overflow"),
    ("a / 0", "division by zero"),
    ("a % 0", "modulus by zero"),
    ("o.nope", "no such key: nope"),
    ("m['three']", "no such key: three"),
    ("words[3]", "index out of bounds: 3"),
    ("words[a - 8]", "index out of bounds: -1"),
    ("int(s)", "type conversion error from 'string' to 'int'"),
    ("timestamp(s)", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
    ("o.name + 1", "no such overload"),
    ("o.name.size() > 0 && o.count && true", "no such overload"),
    ("o.isInteger()", "no such overload: isInteger(map)"),
    ("quantity('1').isLessThan(o)", "no such overload: isLessThan(kubernetes.Quantity, map)"),
    ("o.getHost()", "no such overload: getHost(map)"),
    ("s.find(dyn(2))", "no such overload: find(string, int)"),
    ("semver('1.0.0').compareTo(o)", "no such overload: compareTo(kubernetes.Semver, map)"),
    ("o.items.isSorted()", "no such overload"),
    ("o.items.max()", "no such overload"),
    ("o.items.sum()", "no such overload"),
    ("dyn([1.5]).sum()", "no such overload"),
    ("[dyn(1), dyn(null)].min()", "no such overload"),
    ("optional.none().value()", "optional.none() dereference"),
    ("(x / 0.0 - x / 0.0) < 1.0", "NaN values cannot be ordered"),
    ("timestamp('2024-02-29T00:00:00Z').getHours('Nowhere/No')", "unknown time zone Nowhere/No"),
    ("string(b ? b'\\xff' : data)", "invalid UTF-8 in bytes, cannot convert to string"),
    ("s.matches(empty + '(')", "error parsing regexp: missing closing ): `(`"),
    ("numbers.exists(n, n / 0 == 1)", "division by zero"),
    ("false || a / 0 == 1", "division by zero"),
    ("{dyn(a): 1, dyn(a == a): 2, dyn(1): 3}.size() == 3", "unsupported map with both keys true and 1"),
    ("{dyn(a): 1, dyn(uint(a)): 2}.size() == 2", "unsupported map with both keys 7 and 7"),
]


@pytest.mark.parametrize(("source", "message"), ERRORS_TABLE, ids=[row[0] for row in ERRORS_TABLE])
def test_errors_say_what_cel_go_says(source: str, message: str) -> None:
    program = compile_expression(source, ENVIRONMENT)
    for run in (program.run, program.plan.run):
        with pytest.raises(EvalError) as caught:
            run(LIMIT, *VALUES.values())
        assert str(caught.value) == message


@pytest.mark.parametrize(
    "source",
    [
        "o.nope == 1 || true",
        "true || o.nope == 1",
        "!(o.nope == 1 && false)",
        "!(false && o.nope == 1)",
        "numbers.exists(n, 6 / (n - 1) == 6)",
        "!numbers.all(n, 6 / (n - 1) == 7)",
        "a / 0 == 1 || b || a / 0 == 2",
        "b ? true : a / 0 == 1",
    ],
)
def test_errors_are_absorbed_where_another_term_decides(source: str) -> None:
    assert compile_expression(source, ENVIRONMENT).evaluate(VALUES) is True


COSTS_TABLE: list[tuple[str, int]] = [
    ("'Hello World!' == s", 2),
    ("m['one']", 2),
    ("words[0]", 2),
    ("m['on' + 'e']", 3),
    ("words[3 - 3]", 3),
    ("words[a - 7]", 4),
    ("has(o.name)", 1),
    ("has(o.items.size)", 2),
    ("[1, 2, 3]", 0),
    ("[a]", 11),
    ("{'k': a}", 31),
    ("[1, 2, 3].all(x, true)", 10),
    ("long.matches('[0-9]')", 103),
    ("'123'.matches('[0-9]')", 2),
    ("true || false", 0),
    ("b && b && b && b", 4),
    ("2 in [1, 2, 3]", 0),
    ("a in numbers", 5),
    ("true ? 1 : 2", 0),
    ("b ? a : a", 1),
    ("b ? o.count : o.count", 2),
    ("'12345678901234567890' == '123456789012345678901234567890'", 2),
    ("bytes(long)", 51),
    ("long.contains(long)", 2502),
    ("long.startsWith(s)", 52),
    ("size(s)", 2),
    ("(a > 2 ? words : words).all(y, true)", 12),
    ("numbers + numbers == []", 3),
    ("'abcdefg'.contains(s + s)", 4),
    ("(1 > 2 ? 5 : 3) > 1", 2),
    ("[1, 2, 3, 4, 5].filter(x, x % 2 == 0)", 42),
    ("[1, 2, 3, 4, 5].map(x, x)", 66),
    ("[1, 2, 3, 4, 5].map(x, x).exists(x, x == 5)", 97),
    ("[1, 2, 3, 4, 5].map(x, [x, x]).all(y, y.all(z, z == 1))", 151),
    ("numbers.exists_one(n, n == 1)", 11),
    ("m.all(k, m[k] > 0)", 14),
]
"""As Kubernetes counts: what is constant is evaluated beforehand, and ``has`` costs only what it looks into."""


@pytest.mark.parametrize(("source", "cost"), COSTS_TABLE, ids=[row[0] for row in COSTS_TABLE])
def test_costs_are_counted_as_cel_go_counts_them(source: str, cost: int) -> None:
    program = compile_expression(source, ENVIRONMENT)
    assert program.run(LIMIT, *VALUES.values())[1] == cost
    assert program.plan.run(LIMIT, *VALUES.values())[1] == cost


def test_a_limit_holds_to_the_unit() -> None:
    program = compile_expression("'abcdefg'.contains(s + s)", ENVIRONMENT)
    for run in (program.run, program.plan.run):
        assert run(4, *VALUES.values()) == (False, 4)
        with pytest.raises(CostExceeded, match="operation cancelled: actual cost limit exceeded"):
            run(3, *VALUES.values())


def test_values_that_are_given_are_never_changed() -> None:
    before = repr(VALUES)
    for source in ("numbers.map(n, n + 1)", "m.transformMap(k, v, v)", "numbers + [1]", "o.items.filter(i, true)"):
        compile_expression(source, ENVIRONMENT).evaluate(VALUES)
    assert repr(VALUES) == before
