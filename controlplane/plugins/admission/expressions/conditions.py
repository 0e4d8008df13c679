"""Match conditions: whether a request is one that a webhook or policy wants to hear of.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/matchconditions/matcher.go``.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from controlplane.apis.admissionregistration.expressions import Compiled
from controlplane.apiserver.admission.metrics import CONDITION_ERRORS, CONDITION_SECONDS
from controlplane.plugins.admission.expressions.evaluation import CONDITIONS_BUDGET, Budget, Evaluation, OutOfBudget

__all__ = ["Conditions", "conditions_hold"]


class Conditions(NamedTuple):
    """The conditions of one webhook or policy. ``labels``: its name, kind (``webhook``, ``policy``) and type, for
    metrics."""

    compiled: Sequence[Compiled]
    fail_closed: bool
    labels: tuple[str, str, str]


async def conditions_hold(conditions: Conditions, evaluation: Evaluation, operation: str) -> tuple[bool, str]:
    """Whether all hold; one that does not decides, whatever errors others have. The second value is the error, if there
    is one and it is not to be ignored."""
    if not conditions.compiled:
        return True, ""
    labels = (*conditions.labels, operation)
    began = perf_counter()
    try:
        errors, holds = await _evaluate(conditions.compiled, evaluation)
    finally:
        CONDITION_SECONDS.labels_cached(labels).observe(perf_counter() - began)
    if errors:
        CONDITION_ERRORS.labels_cached(labels).inc(len(errors))
    if not holds or not errors:
        return holds, ""
    if not conditions.fail_closed:
        return False, ""
    distinct = list(dict.fromkeys(errors))
    return False, distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


async def _evaluate(compiled: Sequence[Compiled], evaluation: Evaluation) -> tuple[list[str], bool]:
    errors: list[str] = []
    holds = True
    budget = Budget(CONDITIONS_BUDGET)
    try:
        for condition in compiled:
            value, error = await evaluation.value(condition, budget)
            if error:
                errors.append(error)
            elif value is False:
                holds = False
    except OutOfBudget as error:
        return [str(error)], True
    return errors, holds
