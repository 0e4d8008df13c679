"""The mutations of a mutating policy: an object to be applied, or a JSON patch.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/mutating/patch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import apply_json_patch
from controlplane.apimachinery.patch.structured.check import check_type
from controlplane.apimachinery.patch.structured.errors import TypeMismatch
from controlplane.apimachinery.patch.structured.merge import merge
from controlplane.apimachinery.patch.structured.types import Type, object_type
from controlplane.apis.admissionregistration.expressions import Compiled
from controlplane.apis.admissionregistration.patch_values import ObjectValue, json_of, misplaced
from controlplane.apiserver.registry.table import Served
from controlplane.cel.errors import EvalError
from controlplane.cel.library.jsonpatch import JSONPatch
from controlplane.plugins.admission.expressions.conditions import Conditions
from controlplane.plugins.admission.expressions.evaluation import Budget, Evaluation, OutOfBudget
from controlplane.plugins.admission.policies.index import Policy
from controlplane.plugins.admission.policies.invocation import (
    compiled_conditions,
    compiled_variables,
    new_compiler,
)

__all__ = ["Mutation", "MutationFailed", "Mutations", "compile_mutations", "mutated"]


class MutationFailed(Exception):
    """A mutation has no outcome; the text is upstream's."""


class Mutation(NamedTuple):
    """One mutation. ``applies``: it gives an object to be applied, else a list of operations."""

    compiled: Compiled
    applies: bool


class Mutations(NamedTuple):
    """A policy's expressions. ``reinvoked``: it wants to see the object again when others have changed it."""

    variables: Sequence[tuple[str, Compiled]]
    conditions: Conditions
    mutations: Sequence[Mutation]
    reinvoked: bool


def compile_mutations(policy: Policy[Mutations]) -> Mutations:
    """Make a policy's expressions ready."""
    spec = policy.spec
    compiler = new_compiler(spec)
    variables = compiled_variables(spec, compiler)
    mutations = []
    for given in spec.get("mutations") or ():
        applies = given.get("patchType") == "ApplyConfiguration"
        source = (given.get("applyConfiguration" if applies else "jsonPatch") or {}).get("expression") or ""
        mutations.append(Mutation(compiler.mutation(source, applies=applies), applies))
    return Mutations(
        variables,
        compiled_conditions(spec, compiler, name=policy.name),
        mutations,
        spec.get("reinvocationPolicy") == "IfNeeded",
    )


async def mutated(mutation: Mutation, evaluation: Evaluation, obj: Obj, served: Served) -> Obj | None:
    """What a mutation makes of an object, which is not changed; None, if a test in it says that nothing is to be done.

    Raises:
        MutationFailed.
    """
    compiled = mutation.compiled
    if compiled.program is None:
        raise MutationFailed(compiled.error)
    try:
        value, error = await evaluation.value(compiled, Budget())
    except OutOfBudget as out:
        raise MutationFailed(str(out)) from out
    if error:
        raise MutationFailed(error)
    try:
        return _applied(value, obj, served) if mutation.applies else _patched(value, obj)
    except EvalError as failure:
        raise MutationFailed(str(failure)) from failure


def _patched(value: Any, obj: Obj) -> Obj | None:
    operations = [_operation(patch) for patch in value]
    try:
        return deepcopy(apply_json_patch(deepcopy(obj), operations))
    except PatchNotApplicable as error:
        if str(error).endswith("test failed"):
            return None
        raise MutationFailed(f"JSON Patch: {error}") from error
    except (MalformedPatch, TooManyOperations) as error:
        raise MutationFailed(f"JSON Patch: {error}") from error


_NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON"


def _operation(patch: Any) -> Obj:
    if not isinstance(patch, JSONPatch):
        raise MutationFailed("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    operation: Obj = {"op": patch["op"], "path": patch["path"]}
    if "from" in patch:
        operation["from"] = patch["from"]
    if "value" in patch:
        given = patch["value"]
        if isinstance(given, ObjectValue):
            _check_places(given)
        try:
            operation["value"] = json_of(given, in_doubles=True)
        except EvalError as error:
            raise MutationFailed(f"{_NO_JSON}: {error}") from error
    return operation


def _check_places(value: ObjectValue) -> None:
    if problems := misplaced(value):
        raise MutationFailed("type mismatch: " + "\n".join(problems))


def _applied(value: Any, obj: Obj, served: Served) -> Obj:
    if not isinstance(value, ObjectValue):
        raise MutationFailed("unsupported return type from ApplyConfiguration expression")
    _check_places(value)
    patch = {**json_of(value), "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    type_ = _type_of(served)
    try:
        check_type(patch, type_)
    except TypeMismatch as error:
        raise MutationFailed(
            f"error applying patch: failed to convert patch object to typed object: {error}"
        ) from error
    if atomic := list(_atomic(patch, type_, "")):
        why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
        raise MutationFailed(f"error applying patch: invalid ApplyConfiguration: {why}")
    try:
        check_type(obj, type_, allow_duplicates=True)
    except TypeMismatch as error:
        why = f"failed to convert original object to typed object: {error}"
        raise MutationFailed(f"error applying patch: {why}") from error
    try:
        made: Obj = deepcopy(merge(obj, patch, type_))
    except ValueError as error:
        raise MutationFailed(f"error applying patch: failed to merge patch: {error}") from error
    return made


def _type_of(served: Served) -> Type:
    """The type that objects of a kind are merged by."""
    known: Type | None = served.memo.get("mutated type")
    if known is None:
        known = served.memo["mutated type"] = object_type(served.version.schema)
    return known


def _atomic(value: Any, type_: Type, path: str) -> Iterator[str]:
    """Where a value has what is owned whole."""
    if isinstance(value, dict) and type_.map is not None:
        if type_.map.atomic:
            yield path
        for name, inner in value.items():
            field = type_.map.field(name) if type_.map.declares(name) or name in type_.map.known else None
            if field is not None:
                yield from _atomic(inner, field, f"{path}.{name}")
    elif isinstance(value, list) and type_.list is not None:
        if not type_.list.associative:
            yield path
        for index, item in enumerate(value):
            yield from _atomic(item, type_.list.element, f"{path}[{index}]")
