"""Google's C++ implementation agrees with our strings, math and base64 libraries on generated calls."""

from __future__ import annotations

import math
import os
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext.ext_encoders import ExtEncoders  # type: ignore[import-untyped]
from cel_expr_python.ext.ext_math import ExtMath  # type: ignore[import-untyped]
from cel_expr_python.ext.ext_strings import ExtStrings  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.cel.environment import Environment
from controlplane.cel.errors import EvalError
from controlplane.cel.library.encoders import ENCODERS
from controlplane.cel.library.maths import MATH
from controlplane.cel.library.strings import strings
from controlplane.cel.program import ProgramError, compile_expression
from controlplane.cel.standard.library import STANDARD

EXAMPLES = 5000 if os.environ.get("CONTROLPLANE_TEST_LONG") else 200
OURS = Environment((STANDARD, strings(4), MATH, ENCODERS))
THEIRS = cel.NewEnv(extensions=[ExtStrings(), ExtMath(), ExtEncoders()])
FAILED = "error"

_TEXT = st.text(alphabet="abAB ,\u00e4\U0001f600", max_size=6).map(lambda text: f"'{text}'")
_PART = st.text(alphabet="ab,", max_size=2).map(lambda text: f"'{text}'")
_INT = st.integers(-2, 8).map(str)
_LONG = st.one_of(st.integers(-(2**62), 2**62), st.integers(-5, 5)).map(lambda number: f"({number})")
_DOUBLE = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: f"({number!r})"),
    st.sampled_from(["0.5", "(-0.5)", "2.5", "(0.0 / 0.0)", "(1.0 / 0.0)"]),
)


def _call(form: str, *arguments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*arguments).map(lambda given_: form.format(*given_))


_STRINGS = st.one_of(
    _call("{0}.charAt({1})", _TEXT, _INT),
    _call("{0}.indexOf({1})", _TEXT, _PART),
    _call("{0}.lastIndexOf({1})", _TEXT, _PART),
    _call("{0}.lowerAscii()", _TEXT),
    _call("{0}.upperAscii()", _TEXT),
    _call("{0}.reverse()", _TEXT),
    _call("{0}.trim()", _TEXT),
    _call("{0}.replace({1}, {2})", _TEXT, _PART, _PART),
    _call("{0}.replace({1}, {2}, {3})", _TEXT, _PART, _PART, _INT),
    _call("{0}.split({1})", _TEXT, _PART),
    _call("{0}.split({1}, {2})", _TEXT, _PART, _INT),
    _call("{0}.substring({1})", _TEXT, _INT),
    _call("({0} + 'xy').substring({1}, {2})", _TEXT, _INT, st.integers(-1, 1).map(str)),  # C++ refuses its length
    _call("[{0}, {1}].join({2})", _TEXT, _TEXT, _PART),
    _call("strings.quote({0})", _TEXT),
    _call("base64.encode(bytes({0}))", _TEXT),
    _call("string(base64.decode(base64.encode(bytes({0}))))", _TEXT),
)
_NUMBERS = st.one_of(
    *(_call(f"math.{name}({{0}})", _DOUBLE) for name in ("ceil", "floor", "trunc", "round", "abs", "sign", "isNaN")),
    *(_call(f"math.{name}({{0}})", _LONG) for name in ("abs", "sign", "bitNot")),
    *(_call(f"math.{name}({{0}}, {{1}})", _LONG, _LONG) for name in ("bitAnd", "bitOr", "bitXor")),
    *(_call(f"math.{name}({{0}}, {{1}}, {{2}})", _LONG, _LONG, _LONG) for name in ("greatest", "least")),
    *(_call(f"math.{name}({{0}}, {{1}})", _DOUBLE, _LONG) for name in ("greatest", "least")),
    *(
        _call(f"math.{name}({{0}}, {{1}})", _LONG, st.integers(-1, 70).map(str))
        for name in ("bitShiftLeft", "bitShiftRight")
    ),
)


def _ours(expression: str) -> Any:
    try:
        return compile_expression(expression, OURS).evaluate({})
    except (EvalError, ProgramError):
        return FAILED


def _theirs(expression: str) -> Any:
    value = THEIRS.compile(expression).eval(data={})
    return FAILED if value.type() == cel.Type.ERROR else value.plain_value()


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float) and math.isnan(ours):
        return math.isnan(theirs)
    return bool(ours == theirs) and (type(ours) is type(theirs) or isinstance(ours, int | float))


@settings(max_examples=EXAMPLES, deadline=None)
@given(_STRINGS)
def test_strings(expression: str) -> None:
    if expression.startswith("''.split(''"):
        return  # nothing in Go, one empty text in C++
    assert _same(_ours(expression), _theirs(expression)), (expression, _ours(expression), _theirs(expression))


@settings(max_examples=EXAMPLES, deadline=None)
@given(_NUMBERS)
def test_math(expression: str) -> None:
    assert _same(_ours(expression), _theirs(expression)), (expression, _ours(expression), _theirs(expression))
