"""The quantity library: Kubernetes' amounts in expressions.

Upstream's ``add`` and ``sub`` changed a receiver that was longer than 64 bits (mended in 1.37); here they never do.

Source: kubernetes/apiserver ``pkg/cel/library/quantity.go``, costs of its ``cost.go``.
"""

from __future__ import annotations

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.amount import Amount, parse_amount
from controlplane.cel.library.costs import nominal, scanned, scanning
from controlplane.cel.types import BOOL, DOUBLE, INT, STRING, Type
from controlplane.cel.values import Value

__all__ = ["QUANTITY"]

_QUANTITY = Amount.cel_type


def _quantity(text: str) -> Amount:
    try:
        return parse_amount(text)
    except ValueError as error:
        raise EvalError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_amount(text)
    except ValueError:
        return False
    return True


def _as_integer(amount: Amount) -> int:
    value = amount.int64
    if value is None:
        raise EvalError("cannot convert value to integer")
    return value


def _add(amount: Amount, other: Amount | int) -> Amount:
    return amount + (other if isinstance(other, Amount) else Amount(other))


def _sub(amount: Amount, other: Amount | int) -> Amount:
    return amount - (other if isinstance(other, Amount) else Amount(other))


def _method(id_: str, params: tuple[Type, ...], result: Type, impl: object) -> Overload:
    assert callable(impl)

    def called(*arguments: Value) -> Value:
        return impl(*arguments)

    return Overload(id_, (_QUANTITY, *params), result, called, member=True, estimate=nominal)


QUANTITY = Library(
    (
        Function(
            "quantity",
            (Overload("string_to_quantity", (STRING,), _QUANTITY, _quantity, cost=scanned(), estimate=scanning()),),
        ),
        Function(
            "isQuantity",
            (Overload("is_quantity_string", (STRING,), BOOL, _is_quantity, cost=scanned(), estimate=scanning()),),
        ),
        Function("sign", (Overload("quantity_sign", (_QUANTITY,), INT, lambda amount: amount.sign, estimate=nominal),)),
        Function(
            "isGreaterThan",
            (_method("quantity_is_greater_than", (_QUANTITY,), BOOL, lambda amount, other: amount > other),),
        ),
        Function(
            "isLessThan", (_method("quantity_is_less_than", (_QUANTITY,), BOOL, lambda amount, other: amount < other),)
        ),
        Function("compareTo", (_method("quantity_compare_to", (_QUANTITY,), INT, Amount.compare),)),
        Function("asApproximateFloat", (_method("quantity_get_float", (), DOUBLE, lambda amount: amount.approximate),)),
        Function("asInteger", (_method("quantity_get_int", (), INT, _as_integer),)),
        Function("isInteger", (_method("quantity_is_integer", (), BOOL, lambda amount: amount.int64 is not None),)),
        Function(
            "add",
            (
                _method("quantity_add", (_QUANTITY,), _QUANTITY, _add),
                _method("quantity_add_int", (INT,), _QUANTITY, _add),
            ),
        ),
        Function(
            "sub",
            (
                _method("quantity_sub", (_QUANTITY,), _QUANTITY, _sub),
                _method("quantity_sub_int", (INT,), _QUANTITY, _sub),
            ),
        ),
    ),
    types={"kubernetes.Quantity": _QUANTITY},
)
