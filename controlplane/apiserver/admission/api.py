"""Admission: policy that sees every write before it is stored, and what a plugin's hooks are.

A hook is a function for the mutating phase or for the validating phase; ``Hooks`` are one plugin's. Knows nothing of
requests, stores or particular kinds, nor how plugins are built (``plugins.admission.api``).

Order on a create or update: mutate hooks (in the chain's order; all of them once more if one of them asks for it) ->
system metadata and validation by the registry -> validate hooks. On a delete both phases see the object that goes.

Source: behaviour of kubernetes/apiserver ``pkg/admission``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from enum import Enum
from typing import Any

from controlplane.apimachinery.identity import GVK, GVR, Obj
from controlplane.apimachinery.status import APIError, forbidden
from controlplane.apimachinery.user import UserInfo
from controlplane.base.values import dataclass

__all__ = ["ALL_OPERATIONS", "Attributes", "Guard", "Hook", "Hooks", "Operation", "Reinvocation", "refused"]


class Operation(Enum):
    """What a request does to the object, as admission policies name it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = object.__hash__  # members are compared by identity; Enum's own is a call in Python for each look-up


ALL_OPERATIONS = frozenset(Operation)


@dataclass(slots=True)
class Reinvocation:
    """The mutating phase of one attempt. ``wanted``: a hook has changed the object, so those before it may want to see
    it again; ``second``: this is that time. ``values``: what plugins remember from the first time to the second, by
    their names."""

    wanted: bool = False
    second: bool = False
    values: dict[str, Any] = field(default_factory=dict)


def _unnoted(_key: str, _value: str) -> None:
    """Nobody keeps audit annotations."""


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write, as plugins see it.

    ``obj`` is the new object (None on delete), which mutate hooks may change in place; ``old`` is what is stored (None
    on create), never changed. ``name`` is ``""`` on a create whose name is yet to be generated, and for each object of
    a deleted collection. ``namespace`` is the request's; for the resource ``namespaces`` it is the namespace's own
    name. ``kind`` is the object's, which for some subresources is not the resource's. ``options`` are the request's
    CreateOptions, UpdateOptions or DeleteOptions. ``warn`` adds a warning to the response, ``annotate`` an annotation
    (key, value) to the audit event.
    """

    operation: Operation
    kind: GVK
    resource: GVR
    subresource: str
    namespace: str
    name: str
    obj: Obj | None
    old: Obj | None
    user: UserInfo
    dry_run: bool
    options: Mapping[str, Any]
    warn: Callable[[str], None]
    annotate: Callable[[str, str], None] = _unnoted
    reinvocation: Reinvocation = field(default_factory=Reinvocation)


Hook = Callable[[Attributes], Awaitable[None]]
"""Accepts by returning, refuses by raising an APIError."""


Guard = Callable[[Attributes, str], Awaitable[None]]
"""A check of one kind's creates and updates that belongs to the kind and that nobody can turn off: after the mutating
phase, before validation. Takes the request's name too (``""`` on a POST). Refuses by raising an APIError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What one built plugin does: nothing is called for operations it does not name.

    ``wants``: whether it has anything to do with an operation on a resource and subresource now (None: with all). The
    answer is kept until the plugin says that it may have changed (``Chain.outdate``), so that a plugin without anything
    configured costs nothing. ``passes``: whether the mutate hook would accept an operation on whatever object as it is,
    by what is known without waiting; takes the request's namespace (``""``: it has none). It is asked before the hook,
    which if so needs not be called; only where no other hook mutates. ``close``: stop what it has begun.
    """

    operations: frozenset[Operation]
    mutate: Hook | None = None
    validate: Hook | None = None
    wants: Callable[[Operation, GVR, str], bool] | None = None
    passes: Callable[[Operation, str], bool] | None = None
    close: Callable[[], None] | None = None


def refused(attributes: Attributes, why: str) -> APIError:
    """The usual refusal: 403, naming the object as well as it can be named."""
    name = attributes.name
    if not name:
        meta = (attributes.obj or {}).get("metadata") or {}
        name = meta.get("name") or meta.get("generateName") or "Unknown"
    return forbidden(attributes.resource.gr, name, why)
