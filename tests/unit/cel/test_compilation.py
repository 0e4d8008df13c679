"""What is refused before it runs, in cel-go's words."""

from __future__ import annotations

import pytest

from controlplane.cel.errors import CompileError
from controlplane.cel.program import ProgramError, compile_expression
from tests.unit.cel.environments import ENVIRONMENT

EXPRESSION = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
ARGUMENTS = EXPRESSION.replace("'(', ", "'(', ')', ")
INDEX = EXPRESSION.replace("'!', ", "'!', '?', ")

ONE_ISSUE = [
    # source, column, what follows "Syntax error: "; by ANTLR's own runtime with the grammar of cel-go
    ("i.", 3, "no viable alternative at input '.'"),
    ("i.[0]", 3, "no viable alternative at input '.['"),
    ("i. .j", 4, "no viable alternative at input '. .'"),
    (".", 2, "no viable alternative at input '.'"),
    ("!-i", 3, "no viable alternative at input '-i'"),
    ("!", 2, f"extraneous input '<EOF>' expecting {EXPRESSION}"),
    ("f(", 3, f"mismatched input '<EOF>' expecting {ARGUMENTS}"),
    ("f(,)", 3, f"extraneous input ',' expecting {ARGUMENTS}"),
    ("f(i,)", 5, f"mismatched input ')' expecting {EXPRESSION}"),
    ("f(i", 4, "missing ')' at '<EOF>'"),
    ("f(i j)", 5, "extraneous input 'j' expecting ')'"),
    ("[f(i", 5, "mismatched input '<EOF>' expecting ')'"),
    ("i ? (s : s", 8, "missing ')' at ':'"),
    ("i ? s s", 7, "missing ':' at 's'"),
    ("i ? s", 6, "mismatched input '<EOF>' expecting ':'"),
    ("[1 2]", 4, "extraneous input '2' expecting {']', ','}"),
    ("[1, 2", 6, "mismatched input '<EOF>' expecting {']', ','}"),
    ("[1,", 4, "missing ']' at '<EOF>'"),
    ("[,,]", 3, "extraneous input ',' expecting ']'"),
    ("i[]", 3, f"mismatched input ']' expecting {INDEX}"),
    ('{"a": 1', 8, "mismatched input '<EOF>' expecting {'}', ','}"),
    ('{"a" 1}', 6, "missing ':' at '1'"),
    ("T{a: 1 b: 2}", 8, "mismatched input 'b' expecting {'}', ','}"),
    ("T{a: 1,", 8, "missing '}' at '<EOF>'"),
]

ISSUES: list[tuple[str, list[tuple[int, int, str]]]] = [
    ("s =", [(1, 3, "Syntax error: token recognition error at: '='")]),
    (
        "a | b",
        [
            (1, 3, "Syntax error: token recognition error at: '| '"),
            (1, 5, "Syntax error: extraneous input 'b' expecting <EOF>"),
        ],
    ),
    (
        "1 + +",
        [
            (1, 5, f"Syntax error: mismatched input '+' expecting {EXPRESSION}"),
            (1, 6, f"Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}"),
        ],
    ),
    (
        "*@s | b",
        [
            (1, 1, f"Syntax error: extraneous input '*' expecting {EXPRESSION}"),
            (1, 2, "Syntax error: token recognition error at: '@'"),
            (1, 5, "Syntax error: token recognition error at: '| '"),
            (1, 7, "Syntax error: extraneous input 'b' expecting <EOF>"),
        ],
    ),
    (
        "in",
        [
            (1, 1, f"Syntax error: mismatched input 'in' expecting {EXPRESSION}"),
            (1, 3, f"Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}"),
        ],
    ),
    (
        "?",
        [
            (1, 1, f"Syntax error: mismatched input '?' expecting {EXPRESSION}"),
            (1, 2, f"Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}"),
        ],
    ),
    (
        "msg{:a}",
        [
            (1, 5, "Syntax error: extraneous input ':' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"),
            (1, 7, "Syntax error: mismatched input '}' expecting ':'"),
        ],
    ),
    ("1 +", [(1, 4, f"Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}")]),
    ("1 + 2\n3 +", [(2, 1, "Syntax error: mismatched input '3' expecting <EOF>")]),
    ("(a", [(1, 3, "Syntax error: missing ')' at '<EOF>'")]),
    ("{a}", [(1, 3, "Syntax error: mismatched input '}' expecting ':'")]),
    ("s.true", [(1, 3, "Syntax error: mismatched input 'true' expecting IDENTIFIER")]),
    (
        "'\\xFh'",
        [
            (1, 1, "Syntax error: token recognition error at: ''\\xFh'"),
            (1, 6, "Syntax error: token recognition error at: '''"),
            (1, 7, f"Syntax error: mismatched input '<EOF>' expecting {EXPRESSION}"),
        ],
    ),
    ("import", [(1, 1, "reserved identifier: import")]),
    ("9223372036854775808", [(1, 1, "invalid int literal")]),
    ("1e999", [(1, 1, "invalid double literal")]),
    ("nope", [(1, 1, "undeclared reference to 'nope' (in container '')")]),
    ("nope(1)", [(1, 5, "undeclared reference to 'nope' (in container '')")]),
    ("s.nope()", [(1, 7, "undeclared reference to 'nope' (in container '')")]),
    ("s.nope", [(1, 2, "type 'string' does not support field selection")]),
    ("a + s", [(1, 3, "found no matching overload for '_+_' applied to '(int, string)'")]),
    ("size(1)", [(1, 5, "found no matching overload for 'size' applied to '(int)'")]),
    ("s.startsWith(1)", [(1, 13, "found no matching overload for 'startsWith' applied to 'string.(int)'")]),
    ("a == s", [(1, 3, "found no matching overload for '_==_' applied to '(int, string)'")]),
    ("a && b", [(1, 1, "expected type 'bool' but found 'int'")]),
    ("a ? 1 : 2", [(1, 3, "found no matching overload for '_?_:_' applied to '(int, int, int)'")]),
    ("[1, 'x']", [(1, 5, "expected type 'int' but found 'string'")]),
    ("{'a': 1, 'b': 'c'}", [(1, 15, "expected type 'int' but found 'string'")]),
    (
        "a.all(x, true)",
        [(1, 1, "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)")],
    ),
    ("words.all(1, true)", [(1, 11, "argument must be a simple name")]),
    ("words.map(1, true)", [(1, 11, "argument is not an identifier")]),
    ("words.all(x, x, true)", [(1, 14, "duplicate variable name: x")]),
    ("has(s)", [(1, 5, "invalid argument to has() macro")]),
    (
        "nope + s.zip",
        [
            (1, 1, "undeclared reference to 'nope' (in container '')"),
            (1, 9, "type 'string' does not support field selection"),
        ],
    ),
    ("duration('x')", [(1, 10, "invalid duration argument")]),
    ("timestamp('x')", [(1, 11, "invalid timestamp argument")]),
    ("timestamp(-62135596801)", [(1, 11, "invalid timestamp argument")]),
    ("s.matches('(')", [(1, 11, "invalid matches argument")]),
    ("(" * 300 + "1" + ")" * 300, [(-1, 0, "expression recursion limit exceeded: 250")]),
    ("1" + "+1" * 300, [(-1, 0, "expression recursion limit exceeded: 250")]),
    ("'" + "x" * 100_000 + "'", [(-1, 0, "expression code point size exceeds limit: size: 100002, limit 100000")]),
]


@pytest.mark.parametrize(("source", "issues"), ISSUES, ids=[row[0][:40] for row in ISSUES])
def test_issues_stand_where_cel_go_puts_them(source: str, issues: list[tuple[int, int, str]]) -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression(source, ENVIRONMENT)
    assert [(issue.line, issue.column + 1, issue.message) for issue in caught.value.issues] == issues


def test_an_error_shows_the_line_and_the_place() -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression("s == '\u00e9' &&\n\tnope", ENVIRONMENT)
    text = "ERROR: <input>:2:2: undeclared reference to 'nope' (in container '')\n |  nope\n | .^"
    assert str(caught.value) == text


def test_wide_characters_have_wide_marks() -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression("'\U0001f601' in nope", ENVIRONMENT)
    assert str(caught.value).splitlines()[-1] == " | .\uff0e.....^"


def test_a_hundred_issues_are_shown_and_the_rest_counted() -> None:
    with pytest.raises(CompileError) as caught:
        compile_expression("[" + ",".join(["nope"] * 120) + "]", ENVIRONMENT)
    assert len(caught.value.issues) == 100
    assert str(caught.value).endswith("\n20 more errors were truncated")


def test_constants_without_a_value_are_refused_even_where_they_would_not_be_evaluated() -> None:
    with pytest.raises(ProgramError, match="type conversion error from 'string' to 'int'"):
        compile_expression("b || int('x') == 1", ENVIRONMENT)


@pytest.mark.parametrize("source", ["'a'.find('[')", "'a'.findAll('[', 2)", "'a'.matches(string('['))"])
def test_patterns_that_are_none_are_refused_before_they_are_used(source: str) -> None:
    with pytest.raises(ProgramError, match=r"^error parsing regexp: missing closing ]: `\[`$"):
        compile_expression(source, ENVIRONMENT)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("[]", "list(dyn)"),
        ("{}", "map(dyn, dyn)"),
        ("[[]] + [[1]]", "list(list(int))"),
        ("words.map(w, [w])", "list(list(string))"),
        ("o.?x", "optional_type(dyn)"),
        ("m.?one", "optional_type(int)"),
        ("b ? o : a", "dyn"),
        ("type(1)", "type(int)"),
        ("int", "type(int)"),
        ("words.transformMap(i, w, w.size())", "map(int, int)"),
        ("optional.of([1]).optMap(l, l.size())", "optional_type(int)"),
        ("duration('1s') + timestamp('2024-01-01T00:00:00Z')", "timestamp"),
        ("cel.bind(y, words, y[0])", "string"),
        ("-1 == -(1)", "bool"),
    ],
)
def test_types_are_inferred(source: str, shown: str) -> None:
    assert str(compile_expression(source, ENVIRONMENT).type) == shown


def test_operators_bind_as_the_language_has_it() -> None:
    for source in ("1 + 2 * 3 == 7 && !false || false", "a > 1 ? true : false ? false : true", "-2 * -3 == 6"):
        assert compile_expression(source, ENVIRONMENT).run(100, 7, *[None] * 10)[0] is True


@pytest.mark.parametrize(("source", "column", "message"), ONE_ISSUE)
def test_one_thing_missing_or_too_much_is_told_as_antlr_does(source: str, column: int, message: str) -> None:
    with pytest.raises(CompileError) as refused:
        compile_expression(source, ENVIRONMENT)
    assert [(issue.column + 1, issue.message) for issue in refused.value.issues] == [
        (column, f"Syntax error: {message}")
    ]
