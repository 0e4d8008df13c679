"""Admission: policy that sees every write before it is stored, and what a plugin is.

A plugin is one ``AdmissionPlugin`` value (its name, whether it is on by default, how it is built) and what building it
gives: ``Hooks``, one function for the mutating phase and one for the validating phase, either may be missing. Knows
nothing of requests, stores or particular kinds.

Order on a create or update: mutate hooks (in the chain's order) -> system metadata and validation by the registry ->
validate hooks. On a delete both phases see the object that goes.

Source: behaviour of kubernetes/apiserver ``pkg/admission``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from controlplane.apimachinery.identity import GVK, GVR, Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.base.clock import Clock
from controlplane.storage.api import Storage

__all__ = ["ALL_OPERATIONS", "AdmissionPlugin", "Attributes", "Guard", "Hook", "Hooks", "Operation", "PluginServices"]


class Operation(Enum):
    """What a request does to the object, as admission policies name it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


ALL_OPERATIONS = frozenset(Operation)


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write, as plugins see it.

    ``obj`` is the new object (None on delete), which mutate hooks may change in place; ``old`` is what is stored (None
    on create), never changed. ``name`` is ``""`` on a create whose name is yet to be generated. ``namespace`` is the
    request's; for the resource ``namespaces`` it is the namespace's own name. ``options`` are the request's
    CreateOptions, UpdateOptions or DeleteOptions. ``warn`` adds a warning to the response.
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


Hook = Callable[[Attributes], Awaitable[None]]
"""Accepts by returning, refuses by raising an APIError."""


Guard = Callable[[Attributes, str], Awaitable[None]]
"""A check of one kind's creates and updates that belongs to the kind and that nobody can turn off: after the mutating
phase, before validation. Takes the request's name too (``""`` on a POST). Refuses by raising an APIError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What one built plugin does: nothing is called for operations it does not name."""

    operations: frozenset[Operation]
    mutate: Hook | None = None
    validate: Hook | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginServices:
    """What plugins are built from. ``storage_of`` finds the storage of a served resource by group and plural, None if
    the resource is not served now; it is asked at each use, since the table changes."""

    storage_of: Callable[[str, str], Storage | None]
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPlugin:
    """A plugin that can be turned on. ``requires`` names the resources (``plural`` or ``plural.group``) without which
    it has nothing to go by."""

    name: str
    default_on: bool
    build: Callable[[PluginServices], Hooks]
    requires: tuple[str, ...] = field(default=())
