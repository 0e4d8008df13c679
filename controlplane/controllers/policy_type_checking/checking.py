"""Checking a policy's expressions against the types of what it is for.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/validating/typechecking.go``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GVK, GroupVersion, Obj
from controlplane.apimachinery.schema.rules.declarations import Declared, SchemaTypes, declare
from controlplane.apis.admissionregistration.expressions import Compiler
from controlplane.cel.environment import FieldDeclaration
from controlplane.cel.types import DYN, Type
from controlplane.cel.values import Value
from controlplane.controllers.policy_type_checking.schemas import Schemas

__all__ = ["expression_warnings"]

_MOST_KINDS = 10
"""Of one rule, after which the rest of a policy is left alone; upstream's number."""


class _Kind(NamedTuple):
    gvk: GVK
    declared: Declared


class _TwoTypes:
    """The types of objects and of parameters."""

    def __init__(self, declared: Sequence[Declared]) -> None:
        self._all = [SchemaTypes(one) for one in declared]

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        for types in self._all:
            found = types.field(type_name, field)
            if found is not None:
                return found
        return None

    def type(self, name: str) -> Type | None:
        """None: expressions cannot name them."""
        del name
        return None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """Never called."""
        raise TypeError(f"{type_name} cannot be constructed: {sorted(fields)}")


async def expression_warnings(policy: Obj, schemas: Schemas) -> list[Obj]:
    """What is wrong with a policy's expressions, as its status says it."""
    spec = policy.get("spec") or {}
    kinds = [kind for gvk in await _kinds(spec, schemas) if (kind := await _declared(gvk, schemas)) is not None]
    params, params_declared = spec.get("paramKind"), None
    if params is not None:
        gv = GroupVersion.parse(params.get("apiVersion") or "")
        found = await _declared(GVK(gv.group, gv.version, params.get("kind") or ""), schemas)
        params_declared = found.declared if found is not None else None
    warnings = []
    compilers = [(kind.gvk, _compiler(spec, kind.declared, params_declared)) for kind in kinds]
    for place, source in _expressions(spec):
        wrong = [(gvk, problem) for gvk, one in compilers if (problem := one.check(source))]
        await asyncio.sleep(0)  # each takes a millisecond or more
        if wrong:
            texts = [f"{gvk.group}/{gvk.version}, Kind={gvk.kind}: {problem}\n" for gvk, problem in wrong]
            warnings.append({"fieldRef": place, "warning": "\n".join(texts)})
    return warnings


def _expressions(spec: Obj) -> Iterator[tuple[str, str]]:
    for i, validation in enumerate(spec.get("validations") or ()):
        yield f"spec.validations[{i}].expression", validation["expression"]
        if validation.get("messageExpression"):
            yield f"spec.validations[{i}].messageExpression", validation["messageExpression"]


def _compiler(spec: Obj, objects: Declared, params: Declared | None) -> Compiler:
    declared = [objects] if params is None else [objects, params]
    compiler = Compiler(
        params=spec.get("paramKind") is not None,
        variables=True,
        object_type=objects.type,
        params_type=DYN if params is None else params.type,
        types=_TwoTypes(declared),
    )
    for variable in spec.get("variables") or ():
        compiler.add_variable(variable["name"], variable["expression"])
    return compiler


async def _declared(gvk: GVK, schemas: Schemas) -> _Kind | None:
    schema = await schemas.schema(gvk)
    declared = None if schema is None else declare(schema, is_root=True, name=f"{gvk.group}/{gvk.version}.{gvk.kind}")
    return None if declared is None else _Kind(gvk, declared)


async def _kinds(spec: Obj, schemas: Schemas) -> list[GVK]:
    """The kinds that a policy names; rules with a wildcard in their groups or versions name none."""
    found: set[GVK] = set()
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
        if any("*" in name for name in (*groups, *versions)):
            continue
        plurals = sorted(name for name in rule.get("resources") or () if "*" not in name and "/" not in name)
        count = 0
        for group in sorted(groups):
            for version in sorted(versions):
                for plural in plurals:
                    for gvk in await schemas.kinds(GroupVersion(group, version), plural):
                        found.add(gvk)
                        count += 1
                        if count == _MOST_KINDS:
                            return sorted(found)
    return sorted(found)
