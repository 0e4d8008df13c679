"""The expressions of webhooks and policies: what they can name, of which types, and what is wrong with them.

A policy's variables are fields of ``variables``, each known to those after it.

Source: kubernetes/apiserver ``pkg/admission/plugin/cel`` (compile.go, composition.go) and ``pkg/cel/mutation``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apis.admissionregistration.patch_values import PatchTypes
from controlplane.cel.environment import Environment, FieldDeclaration, Provider
from controlplane.cel.errors import CompileError
from controlplane.cel.library.jsonpatch import JSON_PATCH
from controlplane.cel.library.kubernetes import libraries
from controlplane.cel.program import Program, ProgramError, compile_expression
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.timestamps import parse_timestamp
from controlplane.cel.types import (
    BOOL,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_type,
)
from controlplane.cel.values import Value

__all__ = ["Compiled", "Compiler", "lazy_read"]

_BOOL, _TEXT, _TEXT_OR_NULL = (BOOL,), (STRING,), (STRING, NULL)
_OBJECT, _PATCHES = (object_type("Object"),), (list_of(object_type("JSONPatch")),)

_VARIABLES = object_type("kubernetes.variables")
_AUTHORIZER = object_type("kubernetes.authorization.Authorizer")
_RESOURCE_CHECK = object_type("kubernetes.authorization.ResourceCheck")


def _time(text: Value) -> Value:
    return parse_timestamp(text) if isinstance(text, str) else text


def _fields(**types: Type) -> dict[str, FieldDeclaration]:
    return {name: FieldDeclaration(name, type_, _time if type_ is TIMESTAMP else None) for name, type_ in types.items()}


_TEXTS = list_of(STRING)
_OBJECTS: Mapping[str, Mapping[str, FieldDeclaration]] = {
    "kubernetes.GroupVersionKind": _fields(group=STRING, version=STRING, kind=STRING),
    "kubernetes.GroupVersionResource": _fields(group=STRING, version=STRING, resource=STRING),
    "kubernetes.UserInfo": _fields(username=STRING, uid=STRING, groups=_TEXTS, extra=map_of(STRING, _TEXTS)),
    "kubernetes.AdmissionRequest": _fields(
        kind=object_type("kubernetes.GroupVersionKind"),
        resource=object_type("kubernetes.GroupVersionResource"),
        subResource=STRING,
        requestKind=object_type("kubernetes.GroupVersionKind"),
        requestResource=object_type("kubernetes.GroupVersionResource"),
        requestSubResource=STRING,
        name=STRING,
        namespace=STRING,
        operation=STRING,
        userInfo=object_type("kubernetes.UserInfo"),
        dryRun=BOOL,
        options=DYN,
    ),
    "kubernetes.NamespaceSpec": _fields(finalizers=_TEXTS),
    "kubernetes.NamespaceCondition": _fields(
        status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING, reason=STRING
    ),
    "kubernetes.NamespaceStatus": _fields(
        conditions=list_of(object_type("kubernetes.NamespaceCondition")), phase=STRING
    ),
    "kubernetes.NamespaceMetadata": _fields(
        name=STRING,
        generateName=STRING,
        namespace=STRING,
        labels=map_of(STRING, STRING),
        annotations=map_of(STRING, STRING),
        UID=STRING,
        creationTimestamp=TIMESTAMP,
        deletionGracePeriodSeconds=INT,
        deletionTimestamp=TIMESTAMP,
        generation=INT,
        resourceVersion=STRING,
        finalizers=_TEXTS,
    ),
    "kubernetes.Namespace": _fields(
        metadata=object_type("kubernetes.NamespaceMetadata"),
        spec=object_type("kubernetes.NamespaceSpec"),
        status=object_type("kubernetes.NamespaceStatus"),
    ),
}


def lazy_read(thunk: Value) -> Value:
    """The value of a variable, which is held as a function until it is first used."""
    return thunk()


class _Types:
    """The declared types of one policy: ``variables`` grows as its variables are compiled. ``more``: the types of
    objects, where they are known."""

    def __init__(self, more: Provider | None) -> None:
        self.variables: dict[str, FieldDeclaration] = {}
        self._more = more

    def field(self, type_name: str, field: str) -> FieldDeclaration | None:
        if type_name == _VARIABLES.name:
            return self.variables.get(field)
        known = _OBJECTS.get(type_name)
        if known is not None:
            return known.get(field)
        return self._more.field(type_name, field) if self._more is not None else None

    def type(self, name: str) -> Type | None:
        """Nobody constructs these."""
        del name
        return None

    def construct(self, type_name: str, fields: dict[str, Value]) -> Value:
        """Never called."""
        raise TypeError(f"{type_name} cannot be constructed: {sorted(fields)}")


class Compiled(NamedTuple):
    """One expression: ``program``, or, if it is wrong, ``error``. ``source``: as it was given."""

    source: str
    program: Program | None
    error: str = ""

    def errors(self, path: str) -> list[FieldError]:
        """What is wrong with it, as a problem of its field."""
        return [invalid(path, self.source, self.error)] if self.error else []


@lru_cache(maxsize=2)
def _base(*, patches: bool) -> Environment:
    return Environment([STANDARD, *libraries(), *((JSON_PATCH,) if patches else ())])


class Compiler:
    """Compiles the expressions of one policy or webhook.

    Args:
        params: whether it has parameters. ``variables``: whether it has variables (those of match conditions, which are
            compiled alone, are not known when a policy is checked).
        object_type, params_type, types: what is known of the objects' types, and who knows it; DYN: nothing.
    """

    def __init__(
        self,
        *,
        params: bool = False,
        variables: bool = False,
        object_type: Type = DYN,
        params_type: Type = DYN,
        types: Provider | None = None,
    ) -> None:
        self._types = _Types(types)
        self._environment: Callable[[bool, bool], Environment] = cache(
            lambda authorizer, patches: self._make(
                _declared(object_type, params_type if params else None, authorizer=authorizer, variables=variables),
                patches=patches,
            )
        )

    def add_variable(self, name: str, source: str) -> Compiled:
        """Compile a variable; it is known from now on, of any type if it is wrong."""
        compiled = self._compiled(source, ())
        found = DYN if compiled.program is None else _declarable(compiled.program.type)
        self._types.variables[name] = FieldDeclaration(name, found, lazy_read)
        return compiled

    def condition(self, source: str) -> Compiled:
        """Compile what gives a boolean: a validation, a match condition."""
        return self._compiled(source, _BOOL)

    def message(self, source: str) -> Compiled:
        """Compile what gives a message, and may not ask for permissions."""
        return self._compiled(source, _TEXT, authorizer=False)

    def annotation(self, source: str) -> Compiled:
        """Compile what gives the value of an audit annotation, or null for none."""
        return self._compiled(source, _TEXT_OR_NULL)

    def mutation(self, source: str, *, applies: bool) -> Compiled:
        """Compile what gives an object to be applied, or else the operations of a JSON patch."""
        return self._compiled(source, _OBJECT if applies else _PATCHES, patches=True)

    def _compiled(
        self, source: str, allowed: Sequence[Type], *, authorizer: bool = True, patches: bool = False
    ) -> Compiled:
        """``allowed``: the types that it may be of; none: any."""
        try:
            program = compile_expression(source, self._environment(authorizer, patches))
        except CompileError as error:
            return Compiled(source, None, f"compilation failed: {error}")
        except ProgramError as error:
            return Compiled(source, None, f"program instantiation failed: {error}")
        if allowed and program.type not in allowed:
            given = _go_text(program.type)
            if len(allowed) == 1:
                return Compiled(source, None, f"must evaluate to {_go_text(allowed[0])} but got {given}")
            listed = " ".join(map(_go_text, allowed))
            return Compiled(source, None, f"must evaluate to one of [{listed}] but got {given}")
        return Compiled(source, program)

    def check(self, source: str) -> str:
        """What is wrong with an expression's types; ``""`` if nothing is."""
        try:
            compile_expression(source, self._environment(True, False))
        except CompileError as error:
            return str(error)
        except ProgramError:
            return ""  # its types are right
        return ""

    def _make(self, variables: Mapping[str, Type], *, patches: bool) -> Environment:
        provider: Provider = PatchTypes(self._types) if patches else self._types
        return _base(patches=patches).extend(variables, provider)


def _declared(object_type_: Type, params: Type | None, *, authorizer: bool, variables: bool) -> dict[str, Type]:
    declared = {
        "object": object_type_,
        "oldObject": object_type_,
        "namespaceObject": object_type("kubernetes.Namespace"),
        "request": object_type("kubernetes.AdmissionRequest"),
    }
    if params is not None:
        declared["params"] = params
    if authorizer:
        declared["authorizer"] = _AUTHORIZER
        declared["authorizer.requestResource"] = _RESOURCE_CHECK
    if variables:
        declared["variables"] = _VARIABLES
    return declared


def _declarable(found: Type) -> Type:
    """The type of a variable, as others see it: of objects nothing is known."""
    if found.kind == "list":
        return list_of(_declarable(found.params[0]))
    if found.kind == "map":
        return map_of(_declarable(found.params[0]), _declarable(found.params[1]))
    return DYN if found.kind in ("object", "opaque", "type", "param", "error") else found


def _go_text(found: Type) -> str:
    """A type as Go prints it, which differs from what is in the messages of the checker."""
    if found is NULL or found.kind == "null_type":
        return "null_type"
    if found.params:
        return f"{found.name}({', '.join(map(_go_text, found.params))})"
    return found.name
