"""Kinds declared in Python: from a pydantic model or a schema, served like any other, without a CRD object.

    class Spec(BaseModel):
        color: str = "red"

    class Widget(BaseModel):
        spec: Spec

    config.declared.append(declare("Widget", group="factory.example.org", versions=Version(name="v1", schema=Widget)))

Everything that a definition of a custom resource can say is checked and done by the same code: structural schemas with
defaults, pruning and CEL rules, status, scale, selectable fields. Beside it there is what only Python can say: hooks of
the strategy, cells of columns, conversion functions. Objects are stored as those of a custom resource, so one may
become the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from pydantic import BaseModel

from controlplane.apiextensions.custom.columns import columns_of
from controlplane.apiextensions.custom.python_conversion import Functions, PythonConversion
from controlplane.apiextensions.custom.resource import CustomResources, plain_resources
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.validation.definition import definition_errors
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column, DeferredVersion, Resource, Strategy
from controlplane.apimachinery.validation.field import FieldError
from controlplane.generic.model_schema import schema_of_model

__all__ = ["DeclarationError", "Functions", "Scale", "Version", "declare"]


class DeclarationError(ValueError):
    """A kind cannot be as it is declared; the message has a line for each problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version. ``schema``: a pydantic model of the whole object, or a structural schema of it.

    ``columns``: of its table, after the name (none: its age). ``functions``: how its objects become those of the
    storage version and back, where they differ in more than the version's name. ``selectable``: JSON paths of fields
    that field selectors may use.
    """

    name: str
    schema: type[BaseModel] | Obj
    columns: tuple[Column, ...] = ()
    functions: Functions | None = None
    selectable: tuple[str, ...] = ()
    served: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A scale subresource: JSON paths of the replicas wanted and there, and of the selector as text."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    label_selector: str = ""


def declare(
    kind: str,
    *,
    group: str,
    versions: Version | Sequence[Version],
    storage_version: str = "",
    plural: str = "",
    namespaced: bool = True,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    status: bool = True,
    scale: Scale | None = None,
    strategy: Strategy | None = None,
) -> CustomResources:
    """Declare a kind, for ``Config.declared``.

    Args:
        group: a domain with at least one dot.
        storage_version: the version that is stored; by default the first. plural: by default the kind in lower case
            and an s.
        status: the status has a path of its own, and only that path changes it.
        strategy: hooks beside what the schema says, called after it, with objects of the version of the request; what
            it sets besides hooks counts instead.

    Raises:
        DeclarationError: by the rules for definitions of custom resources. UnsupportedModel: a model says what a
            schema cannot.
    """
    several = (versions,) if isinstance(versions, Version) else tuple(versions)
    if not several:
        raise DeclarationError(f"{kind}: versions: there must be one")
    schemas = {v.name: v.schema if isinstance(v.schema, dict) else schema_of_model(v.schema) for v in several}
    stored = storage_version or several[0].name
    names = {
        "plural": plural or f"{kind.lower()}s",
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": list(short_names),
        "categories": list(categories),
    }
    subresources: Obj = {**({"status": {}} if status else {}), **({"scale": _scale(scale)} if scale else {})}
    described: Obj = {
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": names,
            "conversion": {"strategy": "None"},
            "versions": [
                {
                    "name": v.name,
                    "served": v.served,
                    "storage": v.name == stored,
                    "schema": {"openAPIV3Schema": schemas[v.name]},
                    "subresources": subresources,
                    "selectableFields": [{"jsonPath": path} for path in v.selectable],
                }
                for v in several
            ],
        },
        "status": {"acceptedNames": names, "storedVersions": [stored]},
    }
    problems = [str(error) for error in definition_errors(described) if error is not None]
    if problems:
        raise DeclarationError("\n".join(f"{kind}: {problem}" for problem in problems))
    described["metadata"]["uid"] = hashlib.sha256(dumps(described)).hexdigest()
    made, compiled = plain_resources(Definition(described, create_revision=0, mod_revision=0), schemas.__getitem__)
    functions = {v.name: v.functions for v in several if v.functions is not None}
    if functions:
        conversion = PythonConversion(compiled, group, stored, functions)
        made = made._replace(
            versions=tuple(replace(resource, owned_form=conversion.form) for resource in made.versions),
            conversion=conversion,
        )
    columns = {v.name: v.columns for v in several if v.columns}
    digests = {name: hashlib.sha256(dumps(schema)).hexdigest() for name, schema in schemas.items()}
    served = [v.name for v in several if v.served]
    return made._replace(
        versions=tuple(
            replace(_with(resource, columns, strategy), schema_digest=digests[name])
            for name, resource in zip(served, made.versions, strict=True)
        ),
        stored=_with(made.stored, columns, strategy),
    )


def _scale(scale: Scale) -> Obj:
    paths = {"specReplicasPath": scale.spec_replicas, "statusReplicasPath": scale.status_replicas}
    return {**paths, **({"labelSelectorPath": scale.label_selector} if scale.label_selector else {})}


def _with(resource: Resource, columns: dict[str, tuple[Column, ...]], hooks: Strategy | None) -> Resource:
    """A resource with columns and hooks that only Python can say."""
    name_column = columns_of(())[0]
    versions = tuple(
        DeferredVersion(
            name=version.name,
            load_schema=lambda version=version: version.schema,  # type: ignore[misc]  # bound now
            served=version.served,
            columns=(name_column, *columns[version.name]),
            make_decoder=version.make_decoder,
        )
        if version.name in columns
        else version
        for version in resource.versions
    )
    strategy = resource.strategy if hooks is None else _hooked(resource.strategy, hooks)
    return replace(resource, versions=versions, strategy=strategy)


_UNSET = Strategy()
_CHANGING = ("default", "prepare_for_create", "prepare_for_update")
_CHECKING = ("validate", "validate_update")


def _hooked(base: Strategy, hooks: Strategy) -> Strategy:
    """``base``, then ``hooks``."""
    changes: dict[str, Any] = {}
    for field in fields(Strategy):
        given = getattr(hooks, field.name)
        if given == getattr(_UNSET, field.name):
            continue
        if field.name in _CHANGING:
            changes[field.name] = _after(getattr(base, field.name), given)
        elif field.name in _CHECKING:
            changes[field.name] = _checks(getattr(base, field.name), given)
        elif field.name == "warnings":
            changes[field.name] = _both(base.warnings, given)
        elif field.name == "update_warnings":
            changes[field.name] = _both(base.update_warnings, given) if base.update_warnings is not None else given
        else:
            changes[field.name] = given
    return replace(base, **changes)


def _after(first: Any, then: Any) -> Any:
    def run(*objects: Obj) -> None:
        first(*objects)
        then(*objects)

    return run


def _checks(first: Any, then: Any) -> Any:
    """As an iterator: either may have breaks in what it finds."""

    def check(*objects: Obj) -> Iterator[FieldError | None]:
        yield from first(*objects)
        yield from then(*objects)

    return check


def _both(first: Any, then: Any) -> Any:
    def find(*objects: Obj) -> list[Any]:
        return [*first(*objects), *then(*objects)]

    return find
