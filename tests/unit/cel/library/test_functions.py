"""Every function of Kubernetes' libraries, called from expressions: values, errors and counted costs."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.cel.environment import Environment, FieldDeclaration
from controlplane.cel.errors import CompileError, EvalError
from controlplane.cel.library.encoders import ENCODERS
from controlplane.cel.library.jsonpatch import JSON_PATCH, PATCH_FIELDS, JSONPatch
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.library.maths import MATH
from controlplane.cel.program import compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import DYN, STRING, Type, list_of
from controlplane.cel.values import UInt, Value

KUBERNETES = Environment(
    (STANDARD, *libraries(), JSON_PATCH),
    variables={"x": DYN, "texts": list_of(STRING)},
    homogeneous_literals=False,
)
ALL = Environment((STANDARD, *libraries(), MATH, ENCODERS))


def evaluate(expression: str, environment: Environment = KUBERNETES, **variables: Any) -> Any:
    values = {"x": None, "texts": []} | variables
    program = compile_expression(expression, environment)
    return program.evaluate({name: values[name] for name in environment.variables})


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("'tacocat'.charAt(3)", "o"),
        ("'taco'.charAt(4)", ""),
        ("'\u00fc\U0001f600x'.charAt(1)", "\U0001f600"),
        ("'tacocat'.indexOf('ac')", 1),
        ("'tacocat'.indexOf('a', 3)", 5),
        ("'tacocat'.indexOf('a', 30)", -1),
        ("'tacocat'.indexOf('')", 0),
        ("'\u00fc\U0001f600x'.indexOf('x')", 2),
        ("'tacocat'.lastIndexOf('at')", 5),
        ("'tacocat'.lastIndexOf('a', 4)", 1),
        ("'tacocat'.lastIndexOf('a', 30)", -1),
        ("'tacocat'.lastIndexOf('')", 7),
        ("'tacocat'.lastIndexOf('cat', 5)", 4),
        ("'TacoC\u00c6t'.lowerAscii()", "tacoc\u00c6t"),
        ("'TacoC\u00e6t'.upperAscii()", "TACOC\u00e6T"),
        ("'hello hello'.replace('he', 'we')", "wello wello"),
        ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
        ("'hello hello'.replace('he', 'we', 0)", "hello hello"),
        ("'hello hello'.replace('he', 'we', -1)", "wello wello"),
        ("'abc'.replace('', '_')", "_a_b_c_"),
        ("'abc'.replace('', '_', 2)", "_a_bc"),
        ("'a,b,c'.split(',')", ["a", "b", "c"]),
        ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
        ("'a,b,c'.split(',', 1)", ["a,b,c"]),
        ("'a,b,c'.split(',', 0)", []),
        ("'a,b,c'.split(',', -1)", ["a", "b", "c"]),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("''.split('')", []),
        ("''.split(',')", [""]),
        ("'tacocat'.substring(4)", "cat"),
        ("'tacocat'.substring(0, 4)", "taco"),
        ("'tacocat'.substring(7)", ""),
        ("' \\f\\n\\r\\t\\v\\u0085\\u00a0\\u1680\\u2000\\u3000text\\u2028 '.trim()", "text"),
        ("'\\u001ctext'.trim()", "\x1ctext"),
        ("['x', 'y'].join()", "xy"),
        ("['x', 'y'].join('-')", "x-y"),
        ("texts.join(',')", ""),
        (r"""strings.quote("first\nsecond \"x\" \\ \a\b\f\r\t\v")""", r'"first\nsecond \"x\" \\ \a\b\f\r\t\v"'),
        ("'abc 123 456'.find('[0-9]+')", "123"),
        ("'abc'.find('[0-9]+')", ""),
        ("'\u00fcber 7'.find('[a-z]+')", "ber"),
        ("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
        ("'123 abc 456'.findAll('[0-9]+', 1)", ["123"]),
        ("'123 abc 456'.findAll('[0-9]+', 0)", []),
        ("'123 abc 456'.findAll('[0-9]*')", ["123", "", "", "", "", "456"]),
        ("'\u00fcx'.findAll('')", ["", "", ""]),
        ("'abc'.findAll(x)", ["abc"]),
    ],
)
def test_strings(expression: str, value: Any) -> None:
    assert evaluate(expression, x="[a-z]+") == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'taco'.charAt(5)", "index out of range: 5"),
        ("'taco'.charAt(-1)", "index out of range: -1"),
        ("'taco'.indexOf('a', -1)", "index out of range: -1"),
        ("'taco'.lastIndexOf('a', -1)", "index out of range: -1"),
        ("'taco'.substring(5)", "index out of range: 5"),
        ("'taco'.substring(3, 2)", "invalid substring range. start: 3, end: 2"),
        ("'taco'.substring(1, 5)", "index out of range: 5"),
        ("'taco'.substring(-1, 2)", "index out of range: -1"),
        ("x.join(',')", "join: invalid input: 1"),
        ("'a'.find(texts[0])", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("'a'.findAll(texts[0])", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("[1, 2].slice(-1, 1)", "cannot slice(-1, 1), negative indexes not supported"),
        ("[1, 2].slice(2, 1)", "cannot slice(2, 1), start index must be less than or equal to end index"),
        ("[1, 2].slice(1, 3)", "cannot slice(1, 3), list is length 2"),
        ("[[1]].flatten(-1)", "level must be non-negative"),
        ("[x[0], 'a'].sort()", "list elements must have the same type"),
        ("[dyn([1])].sort()", "list elements must be comparable"),
        ("[1].filter(i, i > 1).min()", "min called on empty list"),
        ("[1].filter(i, i > 1).max()", "max called on empty list"),
        ("[9223372036854775807, 1, -1].sum()", "integer overflow"),
        ("[18446744073709551615u, 1u].sum()", "unsigned integer overflow"),
        ("quantity('10Mm')", "unable to parse quantity's suffix"),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("semver('1.0')", "No Major.Minor.Patch elements found"),
        ("semver('1.0-rc', true)", "short version cannot contain PreRelease/Build meta data"),
        ("url('../x')", 'URL parse error during conversion from string: parse "../x": invalid URI for request'),
        (
            "ip('1.2.3')",
            'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
        ),
        (
            "cidr('1.2.3.4')",
            (
                "network address parse error during conversion from string: network address parse error during "
                "conversion from string: netip.ParsePrefix(\"1.2.3.4\"): no '/'"
            ),
        ),
        ("cidr('10.0.0.0/8').containsIP('x')", "no such overload"),
        (
            "cidr('10.0.0.0/8').containsCIDR('x')",
            (
                "network address parse error during conversion from string: network address parse error during "
                "conversion from string: netip.ParsePrefix(\"x\"): no '/'"
            ),
        ),
        (
            "{'a': 1}.transformMapEntry(k, v, {'b': v}).b + {'b': 1, 'c': 2}.transformMapEntry(k, v, {'b': v}).b",
            "insert failed: key b already exists",
        ),
    ],
)
def test_errors(expression: str, message: str) -> None:
    with pytest.raises(EvalError) as caught:
        evaluate(expression, x=[1], texts=["("])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("[1, 2, 2].isSorted() && ['a', 'b'].isSorted() && [false, true].isSorted()", True),
        ("[2.0, 1.0].isSorted()", False),
        ("[duration('1s'), duration('2s')].isSorted() && [b'a', b'b'].isSorted()", True),
        ("[1, 3].sum()", 4),
        ("[1u, 3u].sum() == 4u", True),
        ("[1.5, 3.0].sum()", 4.5),
        ("[duration('1m'), duration('1s')].sum() == duration('61s')", True),
        ("[1].filter(i, i > 1).sum()", 0),
        ("[3, 1, 2].min()", 1),
        ("['a', 'c', 'b'].max()", "c"),
        ("[timestamp('2026-01-01T00:00:00Z'), timestamp('2025-01-01T00:00:00Z')].min().getFullYear()", 2025),
        ("[1, 2, 2, 3].indexOf(2)", 1),
        ("[1, 2, 2, 3].lastIndexOf(2)", 2),
        ("[[1], [2]].indexOf([2])", 1),
        ("[1.0].indexOf(1.1)", -1),
        ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
        ("[1, 2].slice(2, 2)", []),
        ("[[1], [2, 3], []].flatten()", [1, 2, 3]),
        ("[1, [2, [3, [4]]]].flatten(2)", [1, 2, 3, [4]]),
        ("[1, [2, [3, [4]]]].flatten(0)", [1, [2, [3, [4]]]]),
        ("[3, 1, 2].sort()", [1, 2, 3]),
        ("['b', 'a'].sort()", ["a", "b"]),
        ("[{'n': 2}, {'n': 1}].sortBy(i, i.n).map(i, i.n)", [1, 2]),
        ("texts.sortBy(t, size(t))", ["a", "cc", "bbb"]),
        ("lists.range(3)", [0, 1, 2]),
        ("lists.range(-1)", []),
        ("[1, 2].reverse()", [2, 1]),
        ("[1, 2, 1, 3, 2].distinct()", [1, 2, 3]),
        ("[dyn(1), 1.0, 1u, '1', true, null, null, [1], [1.0]].distinct().size()", 5),
        ("[double('NaN'), double('NaN')].distinct().size()", 2),
        ("[1, 2].first().value() + [1, 2].last().value()", 3),
        ("sets.contains([1, 2, 3], [2.0, 3u])", True),
        ("sets.contains([1], [1, 2])", False),
        ("sets.contains([dyn(1)], [true])", False),
        ("sets.contains([{'a': [dyn(1)]}], [{'a': [dyn(1.0)]}])", True),
        ("sets.equivalent([1, 1, 2], [2, 1])", True),
        ("sets.equivalent([1], [1, 2])", False),
        ("sets.intersects([1, 2], [2, 3])", True),
        ("sets.intersects([double('NaN')], [double('NaN')])", False),
    ],
)
def test_lists_and_sets(expression: str, value: Any) -> None:
    assert evaluate(expression, texts=["bbb", "a", "cc"]) == value


@pytest.mark.parametrize(
    "expression",
    [
        "string(ip('2001:DB8::1')) == '2001:db8::1'",
        "ip('10.0.0.1') == ip('10.0.0.1') && ip('10.0.0.1') != ip('10.0.0.2')",
        "type(ip('::1')) == net.IP && ip('::1').family() == 6",
        "ip.isCanonical('127.0.0.1') && !ip.isCanonical('2001:DB8::68')",
        "isIP('::1') && !isIP('::1%eth0') && !isIP('1.2.3.4/8')",
        "ip('0.0.0.0').isUnspecified() && ip('127.0.0.1').isLoopback() && ip('ff02::1').isLinkLocalMulticast()",
        "ip('fe80::1').isLinkLocalUnicast() && ip('192.168.0.1').isGlobalUnicast()",
        "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
        "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) && cidr('::/0').containsCIDR('::1/128')",
        "cidr('192.168.0.1/24').masked() == cidr('192.168.0.0/24') && cidr('::1/128').prefixLength() == 128",
        "cidr('192.168.0.1/24').ip() == ip('192.168.0.1') && string(cidr('10.0.0.0/8')) == '10.0.0.0/8'",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && type(cidr('::/0')) == net.CIDR",
        "url('https://example.com:80/a?k=1&k=2').getHost() == 'example.com:80'",
        "url('https://example.com:80/a b').getEscapedPath() == '/a%20b' && url('/p').getScheme() == ''",
        "url('https://[::1]:80/').getHostname() == '::1' && url('https://h').getPort() == ''",
        "url('https://h/?k=1&k=2').getQuery() == {'k': ['1', '2']}",
        "isURL('https://h') && !isURL('h') && url('HTTP://h') == url('http://h')",
        "quantity('50k').add(20) == quantity('50020') && quantity('50k').sub(quantity('20k')) == quantity('30k')",
        "quantity('50k').add(20).sub(quantity('100k')).sub(-50000).asInteger() == 20",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').isLessThan(quantity('50Mi'))",
        "quantity('150Mi').isGreaterThan(quantity('100Mi')) && sign(quantity('-1')) == -1 && sign(quantity('0')) == 0",
        "isQuantity('1.3Gi') && !isQuantity('200K') && !quantity('9999999999999999999999G').isInteger()",
        "quantity('50.703k').asApproximateFloat() == 50703.0 && type(quantity('1')) == kubernetes.Quantity",
        "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
        "semver('1.0.0').isLessThan(semver('1.2.3')) && semver('1.0.1').isGreaterThan(semver('1.0.1-rc'))",
        "semver('v01.01', true) == semver('1.1.0') && semver('1.0.0').compareTo(semver('1.0.0+b')) == 0",
        "isSemver('1.2.3-beta.1+build.1') && !isSemver('v1.0.0') && isSemver('v1.0', true)",
        "!format.dns1123Label().validate('my-name').hasValue()",
        "format.dns1123Label().validate('Bad Name').value()[0].startsWith('a lowercase RFC 1123 label must')",
        "format.named('uuid').value() == format.uuid() && !format.named('other').hasValue()",
        "!format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
        "format.uuid().validate('x').value() == ['does not match the UUID format']",
        "format.uri().validate('x').value() == ['parse \"x\": invalid URI for request']",
        "format.byte().validate('aGVsbG8').value() == ['invalid base64']",
        "!format.byte().validate('aGVsbG8=').hasValue()",
        "format.date().validate('2026-02-30').value() == ['invalid date']",
        "format.datetime().validate('2026-01-32T00:00:00Z').value() == ['invalid datetime']",
        "!format.qualifiedName().validate('apiextensions.k8s.io/v1beta1').hasValue()",
        "!format.dns1123LabelPrefix().validate('my-prefix-').hasValue()",
        "!format.labelValue().validate('').hasValue()",
        "!format.dns1035LabelPrefix().validate('a-').hasValue() && format.dns1035Label().validate('1').hasValue()",
        "!format.dns1123SubdomainPrefix().validate('my.sub.').hasValue() == false",
        "!format.dns1123Subdomain().validate('example.com').hasValue()",
        "jsonpatch.escapeKey('a/b~c') == 'a~1b~0c'",
        "[1, 2].all(i, v, v == i + 1) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "[3, 4].transformList(i, v, i > 0, v) == [4] && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
    ],
)
def test_values_of_libraries(expression: str) -> None:
    assert evaluate(expression) is True


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("isIP(cidr('10.0.0.0/8'))", "found no matching overload for 'isIP' applied to '(net.CIDR)'"),
        ("isQuantity([1])", "found no matching overload for 'isQuantity' applied to '(list(int))'"),
        ("ip('1.2.3.4').add(1)", "found no matching overload for 'add' applied to 'net.IP.(int)'"),
        ("'a'.reverse()", "found no matching overload for 'reverse' applied to 'string.()'"),
        (
            "1.sortBy(i, i)",
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
        ),
        ("[1].sortBy(1, 1)", "argument is not an identifier"),
        ("math.greatest(1, 2)", "undeclared reference to 'greatest' (in container '')"),
        ("base64.encode(b'')", "undeclared reference to 'encode' (in container '')"),
    ],
)
def test_what_kubernetes_refuses_while_compiling(expression: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(expression, KUBERNETES)
    assert message in [issue.message for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("'%s %d'.format(['a', 1])", ""),
        ("'%s'.format([[1, 'a', {'b': 1.5, 'c': null}]])", ""),
        ("'%f %e %x'.format(['NaN', 1.5, 'a'])", ""),
        ("'%d'.format([dyn('a')])", ""),
        ("'a'.format([])", ""),
        (
            "'%d'.format(['a'])",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("'%b'.format([1.5])", "only integers and bools can be formatted as binary, was given double"),
        ("'%s'.format([[quantity('1')]])", "lists, types, durations, and timestamps, was given kubernetes.Quantity"),
        ("'%s'.format([{'a': duration('1s'), 'b': ip('::1')}])", "durations, and timestamps, was given net.IP"),
        ("'%a'.format([1])", 'could not parse formatting clause: unrecognized formatting clause "a"'),
        ("'%d %d'.format([1])", "index 1 out of range"),
        ("'%d'.format([1, 2])", "too many arguments supplied to string.format (expected 1, got 2)"),
    ],
)
def test_literal_formats_are_looked_at_while_compiling(expression: str, message: str) -> None:
    environment = Environment((STANDARD, *libraries()))
    if not message:
        compile_expression(expression, environment)
        return
    with pytest.raises(CompileError) as caught:
        compile_expression(expression, environment)
    assert message in caught.value.issues[0].message


@pytest.mark.parametrize(
    ("version", "expression", "known"),
    [
        ((1, 28), "'%d'.format([1])", False),
        ((1, 29), "'%d'.format([1])", True),
        ((1, 28), "sets.contains([1], [1])", False),
        ((1, 29), "ip('::1')", False),
        ((1, 30), "ip('::1')", True),
        ((1, 30), "format.date()", False),
        ((1, 31), "[1].all(i, v, v > i)", False),
        ((1, 32), "[1].all(i, v, v > i)", True),
        ((1, 32), "isSemver('1.0.0')", False),
        ((1, 33), "[2, 1].sort()", False),
        ((1, 34), "[2, 1].sort()", True),
        ((1, 27), "quantity('1')", False),
        ((1, 27), "optional.of(1)", False),
        ((1, 25), "'a'.lowerAscii() == url('http://a').getHost() || [1].sum() == 1", True),
    ],
)
def test_libraries_come_with_versions(version: tuple[int, int], expression: str, *, known: bool) -> None:
    environment = Environment((STANDARD, *libraries(version)))
    try:
        compile_expression(expression, environment)
    except CompileError:
        assert not known
    else:
        assert known


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("math.greatest(1, 3, 2)", 3),
        ("math.least([1.5, -2.0])", -2.0),
        ("math.greatest(1, 2u) == 2u", True),
        ("math.ceil(1.2) + math.floor(-1.2) + math.trunc(-1.8)", -1.0),
        ("math.round(-1.5)", -2.0),
        ("math.round(0.49999999999999994)", 0.0),
        ("math.isNaN(0.0 / 0.0) && math.isInf(1.0 / 0.0) && math.isFinite(1.0)", True),
        ("math.abs(-3) + math.sign(-7)", 2),
        ("math.sqrt(9)", 3.0),
        ("math.bitAnd(12, 10) + math.bitOr(12, 10) + math.bitXor(12, 10) + math.bitNot(0)", 8 + 14 + 6 - 1),
        ("math.bitShiftLeft(1, 63)", -(2**63)),
        ("math.bitShiftRight(-1, 63)", 1),
        ("math.bitShiftRight(-1, 64)", 0),
        ("math.bitNot(0u)", UInt(2**64 - 1)),
        ("base64.encode(b'hello')", "aGVsbG8="),
        ("base64.decode('aGVsbG8')", b"hello"),
        ("base64.decode('aGVsbG8=')", b"hello"),
    ],
)
def test_libraries_beyond_kubernetes(expression: str, value: Any) -> None:
    found = evaluate(expression, ALL)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["aGVsbG8===", "a", "aG_", "aG=VsbG8"])
def test_what_is_no_base64(text: str) -> None:
    with pytest.raises(EvalError, match=r"^illegal base64 data at input byte"):
        evaluate(f"base64.decode('{text}')", ALL)


def test_overflow_of_absolute_values_and_shifts_back() -> None:
    with pytest.raises(EvalError, match=r"^integer overflow$"):
        evaluate("math.abs(-9223372036854775807 - 1)", ALL)
    with pytest.raises(EvalError, match=r"^math\.bitShiftLeft\(\) negative offset: -1$"):
        evaluate("math.bitShiftLeft(1, -1)", ALL)


class _Patches:
    """Declares JSON patches, as mutations do."""

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        found = PATCH_FIELDS.get(field)
        return None if found is None or type_name != "JSONPatch" else FieldDeclaration(field, found)

    def type(self, name: str) -> Type | None:
        return JSONPatch.cel_type if name == "JSONPatch" else None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        assert type_name == "JSONPatch"
        return JSONPatch(fields)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("{p}.op", "add"),
        ("{p}.from", ""),
        ("has({p}.op)", True),
        ("has({p}.from) || has({p}.value)", False),
        ("{p}.?from.hasValue()", False),
        ("{p}.?path.orValue('')", "/a~1b"),
        ("JSONPatch{{op: 'test', path: '/a', value: {{'b': [1, null]}}}}.value.b[0]", 1),
        ("[{p}, {p}].map(p, p.path).size()", 2),
        ("dyn({p}).op", "add"),
        ("{p} == {p} && {p} != JSONPatch{{op: 'add'}}", True),
        ("{p}.value == 1 || {p}.op == 'add'", True),
    ],
)
def test_json_patches_are_objects(expression: str, value: Any) -> None:
    environment = KUBERNETES.extend({}, _Patches())
    source = expression.format(p="JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b')}")
    assert evaluate(source, environment) == value
    assert compile_expression(source, environment).plan.run(1000, None, [])[0] == value


def test_a_json_patch_has_no_other_fields() -> None:
    environment = KUBERNETES.extend({}, _Patches())
    with pytest.raises(CompileError, match="undefined field 'values'"):
        compile_expression("JSONPatch{values: 1}", environment)
    with pytest.raises(EvalError, match="no such key: value"):
        evaluate("JSONPatch{op: 'remove'}.value", environment)
