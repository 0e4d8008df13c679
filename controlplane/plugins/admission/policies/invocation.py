"""What both kinds of policies have in common: the values their expressions see, and their match conditions.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apis.admissionregistration.expressions import Compiled, Compiler
from controlplane.apiserver.admission.api import Attributes
from controlplane.plugins.admission.expressions.conditions import Conditions
from controlplane.plugins.admission.expressions.evaluation import Evaluation, Permissions
from controlplane.plugins.admission.expressions.requests import admission_request, namespace_object
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.matching.selection import Namespaces

__all__ = ["Frame", "compiled_conditions", "compiled_variables", "namespace_of", "new_compiler"]


def new_compiler(spec: Obj) -> Compiler:
    """What compiles the expressions of a policy."""
    return Compiler(params=spec.get("paramKind") is not None, variables=True)


def compiled_variables(spec: Obj, compiler: Compiler) -> list[tuple[str, Compiled]]:
    """A policy's variables, which ``compiler`` knows from then on."""
    given = spec.get("variables") or ()
    return [(variable["name"], compiler.add_variable(variable["name"], variable["expression"])) for variable in given]


def compiled_conditions(spec: Obj, compiler: Compiler, *, name: str) -> Conditions:
    """A policy's match conditions."""
    given = spec.get("matchConditions") or ()
    compiled = [compiler.condition(condition["expression"]) for condition in given]
    return Conditions(compiled, spec.get("failurePolicy") != "Ignore", (name, "policy", "validate"))


async def namespace_of(attributes: Attributes, namespaces: Namespaces) -> Obj | None:
    """The namespace that expressions see: none for what is in none, and for namespaces themselves.

    Raises:
        APIError: there is no such namespace.
    """
    kind = attributes.kind
    if not attributes.namespace or (kind.group, kind.version, kind.kind) == ("", "v1", "Namespace"):
        return None
    return namespace_object(await namespaces.get(attributes.namespace))


class Frame(NamedTuple):
    """What is the same for all expressions of one policy, binding and parameter. ``objects``: new and old."""

    attributes: Attributes
    match: Match
    objects: tuple[Obj | None, Obj | None]
    namespace: Obj | None
    parameter: Obj | None
    permissions: Permissions

    def evaluation(self, variables: Sequence[tuple[str, Compiled]]) -> Evaluation:
        """The values that expressions see."""
        new, old = self.objects
        values = {
            "object": new,
            "oldObject": old,
            "request": admission_request(self.attributes, self.match),
            "namespaceObject": self.namespace,
            "params": self.parameter,
        }
        return Evaluation(values, self.permissions, self.attributes, variables=variables)
