"""The JSON that values of expressions become in patches."""

from __future__ import annotations

import pytest

from controlplane.apis.admissionregistration.patch_values import json_of
from controlplane.cel.errors import EvalError
from controlplane.cel.program import compile_expression
from tests.unit.cel.environments import ENVIRONMENT, VALUES


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("{'a': [dyn(1), dyn(b'x'), dyn(null)]}", {"a": [1, "eA==", None]}),
        ("[duration('90s')]", ["90s"]),
        ("optional.of('x')", "x"),
        ("[9007199254740991, -9007199254740992]", [9007199254740991, "-9007199254740992"]),
    ],
)
def test_values_become_json(expression: str, expected: object) -> None:
    value = compile_expression(expression, ENVIRONMENT).evaluate(VALUES)
    assert json_of(value, in_doubles=True) == expected


def test_integers_stay_what_they_are_in_an_applied_configuration() -> None:
    assert json_of([2**53]) == [2**53]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("type(1)", "type conversion not supported for 'type'"),
        ("[quantity('1')]", "type conversion error from 'Quantity' to '*structpb.Value'"),
        ("format.named('uuid').value()", "type conversion error from 'Format' to '*structpb.Value'"),
        ("ip('10.0.0.1')", "type conversion error from 'IP' to '*structpb.Value'"),
        ("optional.none()", "optional.none() dereference"),
    ],
)
def test_what_has_no_json_is_an_error_in_the_words_of_go(expression: str, text: str) -> None:
    value = compile_expression(expression, ENVIRONMENT).evaluate(VALUES)
    with pytest.raises(EvalError) as caught:
        json_of(value, in_doubles=True)
    assert str(caught.value) == text
