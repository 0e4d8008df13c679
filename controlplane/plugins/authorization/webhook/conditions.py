"""Match conditions: in CEL, whether a webhook is asked at all. Imported only where there is one.

Source: kubernetes/apiserver ``pkg/authorization/cel`` (types and texts).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from time import perf_counter

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.authorization.rules import aggregated
from controlplane.cel.environment import Environment, FieldDeclaration
from controlplane.cel.errors import CompileError, CostExceeded, EvalError
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.program import Program, ProgramError, compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.types import BOOL, STRING, Type, list_of, map_of, object_type
from controlplane.cel.values import Value
from controlplane.plugins.authorization.webhook import metrics
from controlplane.plugins.authorization.webhook.review import ReviewFailed

__all__ = ["Conditions", "condition_problem"]

COST_LIMIT = 2_500_000
"""Of one evaluation, as of an admission webhook's conditions."""

_SPEC, _RESOURCE, _PATH, _SELECTORS, _REQUIREMENT = (
    f"kubernetes.{name}"
    for name in (
        "SubjectAccessReviewSpec",
        "ResourceAttributes",
        "NonResourceAttributes",
        "SelectorAttributes",
        "SelectorRequirement",
    )
)
_TYPES: dict[str, dict[str, Type]] = {
    _SPEC: {
        "resourceAttributes": object_type(_RESOURCE),
        "nonResourceAttributes": object_type(_PATH),
        "user": STRING,
        "groups": list_of(STRING),
        "extra": map_of(STRING, list_of(STRING)),
        "uid": STRING,
    },
    _RESOURCE: {
        **dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name"), STRING),
        "fieldSelector": object_type(_SELECTORS),
        "labelSelector": object_type(_SELECTORS),
    },
    _PATH: {"path": STRING, "verb": STRING},
    _SELECTORS: {"rawSelector": STRING, "requirements": list_of(object_type(_REQUIREMENT))},
    _REQUIREMENT: {"key": STRING, "operator": STRING, "values": list_of(STRING)},
}


class _Types:
    """See ``Provider``: the type of ``request``."""

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        declared = _TYPES.get(type_name, {}).get(field)
        return FieldDeclaration(field, declared) if declared is not None else None

    def type(self, name: str) -> Type | None:
        return object_type(name) if name in _TYPES else None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        del type_name
        return fields


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment([STANDARD, *libraries()], variables={"request": object_type(_SPEC)}, provider=_Types())


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Program:
    return compile_expression(expression, _environment())


def condition_problem(expression: str) -> str:
    """What is wrong with an expression; ``""``: nothing."""
    try:
        program = _compiled(expression)
    except CompileError as error:
        return f"compilation failed: {error}"
    except ProgramError as error:
        return f"program instantiation failed: {error}"
    return "" if program.type == BOOL else f"must evaluate to bool but got {program.type}"


class Conditions:
    """The conditions of the authorizer ``name``, which are valid."""

    def __init__(self, expressions: Sequence[str], name: str) -> None:
        self._programs = [_compiled(expression) for expression in expressions]
        self._labels = ("Webhook", name)

    def match(self, spec: Obj) -> bool:
        """Whether a review of this spec is to be sent: False if any condition is false.

        Raises:
            ReviewFailed: none is false, and some cannot be evaluated.
        """
        began, errors = perf_counter(), []
        request = _complete(spec)
        try:
            for program in self._programs:
                try:
                    if program.run(COST_LIMIT, request)[0] is not True:
                        metrics.EXCLUSIONS.labels_cached(self._labels).inc()
                        return False
                except (EvalError, CostExceeded) as error:
                    errors.append(f"cel evaluation error: expression '{program.source}' resulted in error: {error}")
        finally:
            metrics.MATCHING.labels_cached(self._labels).observe(perf_counter() - began)
            if errors:
                metrics.MATCH_ERRORS.labels_cached(self._labels).inc()
        if errors:
            raise ReviewFailed(aggregated(errors))
        return True


def _complete(spec: Obj) -> Obj:
    """The spec as expressions see it: all texts are there, if they are empty too."""
    request: Obj = {
        "user": spec.get("user", ""),
        "groups": spec.get("groups", []),
        "uid": spec.get("uid", ""),
        "extra": spec.get("extra", {}),
    }
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        texts = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
        selectors = {name: resource[name] for name in ("fieldSelector", "labelSelector") if name in resource}
        request["resourceAttributes"] = {**{name: resource.get(name, "") for name in texts}, **selectors}
    if path is not None:
        request["nonResourceAttributes"] = {name: path.get(name, "") for name in ("path", "verb")}
    return request
