"""A resource: a schema plus a strategy, as one immutable value.

Built-in kinds, custom resources and kinds declared in Python all become a ``Resource``; validation, defaulting,
tables, discovery and storage are each written once over it. A kind is one file in ``apis/`` that builds one of these
and is named in one tuple.

Hooks are plain functions of objects. ``obj`` is the new object and may be changed in place by ``prepare_*`` and
``default``; ``old`` is what is stored and is never changed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Protocol

from controlplane.apimachinery.codec.protobuf.message import Message
from controlplane.apimachinery.duration import human_age
from controlplane.apimachinery.identity import GVK, GVR, GroupResource, Obj
from controlplane.apimachinery.patch.projected_fields import ProjectedField
from controlplane.apimachinery.schema.decode import ObjectDecoder
from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import FieldError
from controlplane.base.values import dataclass

__all__ = [
    "STANDARD_VERBS",
    "Column",
    "DeferredVersion",
    "Projection",
    "Resource",
    "ResourceVersion",
    "Strategy",
    "Subresource",
    "object_attributes",
    "storage_version_hash",
]

STANDARD_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def _nothing(_obj: Obj) -> None:
    return None


def _nothing_update(_obj: Obj, _old: Obj) -> None:
    return None


def _no_errors(_obj: Obj) -> list[FieldError]:
    return []


def _no_errors_update(_obj: Obj, _old: Obj) -> list[FieldError]:
    return []


def _no_warnings(_obj: Obj) -> Sequence[str]:
    return ()


def _false(_obj: Obj) -> bool:
    return False


def object_attributes(obj: Obj) -> Mapping[str, str]:
    """The selectable fields every resource has: ``metadata.name`` and, if namespaced, ``metadata.namespace``."""
    meta = obj["metadata"]
    namespace = meta.get("namespace")
    if namespace:
        return {"metadata.name": meta["name"], "metadata.namespace": namespace}
    return {"metadata.name": meta["name"]}


def storage_version_hash(gvk: GVK) -> str:
    """Base64 of the first 8 bytes of the SHA-256 of ``group/version/kind`` (kubernetes/apiserver's discovery)."""
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What one resource does beyond the generic rules. Every hook has a default that does nothing.

    Order on create: ``default`` -> ``prepare_for_create`` -> ``validate``, then the generic rules for metadata ->
    ``canonicalize``; on update ``default`` -> ``prepare_for_update`` -> the generic rules, then ``validate_update`` ->
    ``canonicalize``. Both sequences of checks are ``validation.strategy.creation_errors`` and ``update_errors``.

    ``validate`` and ``validate_update`` check the whole object, its metadata included (``validation.metadata``). They
    return a list; or, where that takes long, an iterator that gives None where there may be a break.
    ``checks_metadata``: both run ``validate_object_meta`` and the latter ``validate_object_meta_update``, so that the
    generic rules, which ask for less, can find nothing where they find nothing, and are spared.
    ``warnings`` are those of a new object, and of a changed one if there are no ``update_warnings``.
    ``validate_name``: returns problems with ``metadata.name`` (second argument: it is a generateName prefix); for those
    who need the rule of the name alone.
    ``held``: something other than ``metadata.finalizers`` keeps a deleted object (a namespace's ``spec.finalizers``).
    ``own_preconditions``: the kind compares the preconditions of a deletion itself, and says in its own words that they
    do not hold.
    ``has_dependents``: objects may depend on it, so that a deletion may ask the garbage collector to wait or to orphan.
    ``marks_first``: a deletion that finds the object held marks it alone, whatever it says of dependents.
    ``begin_deletion``: change the object when its deletion begins and it is held (a namespace turns Terminating).
    ``reset_fields``: dotted paths of what ``prepare_for_create`` and ``prepare_for_update`` reset, so that nobody can
    own it through this path (``status``, where there is a status subresource).
    ``load``: what is missing to work on an object of which these bytes (a body) say something, and takes long to make:
    schemas, rules, modules. None if nothing is; else a function that makes it, which is called in a thread.
    ``returns_deleted``: a deletion is answered with the object that is gone, not with a Status.
    ``record_user``: write who creates the object into it, after mutating admission (a certificate request's requester).
    """

    default: Callable[[Obj], None] = _nothing
    prepare_for_create: Callable[[Obj], None] = _nothing
    prepare_for_update: Callable[[Obj, Obj], None] = _nothing_update
    validate: Callable[[Obj], Iterable[FieldError | None]] = _no_errors
    validate_update: Callable[[Obj, Obj], Iterable[FieldError | None]] = _no_errors_update
    checks_metadata: bool = False
    canonicalize: Callable[[Obj], None] = _nothing
    warnings: Callable[[Obj], Sequence[str]] = _no_warnings
    update_warnings: Callable[[Obj, Obj], Sequence[str]] | None = None
    validate_name: Callable[[str, bool], Sequence[str]] | None = None
    held: Callable[[Obj], bool] = _false
    own_preconditions: bool = False
    has_dependents: bool = True
    marks_first: bool = False
    begin_deletion: Callable[[Obj], None] = _nothing
    reset_fields: tuple[str, ...] = ()
    record_user: Callable[[Obj, UserInfo], None] | None = None
    load: Callable[[bytes], Callable[[], None] | None] | None = None
    returns_deleted: bool = False
    create_on_update: bool = False
    unconditional_update: bool = True
    ttl_seconds: Callable[[Obj], int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """A part of an object with a path of its own (``status``, ``finalize``): get, patch or update of the same object.

    ``strategy.prepare_for_update`` decides which fields may change: it resets all others from ``old``.
    ``projection``: it is of another kind than its object. ``request``: it takes objects of this kind, answers them and
    keeps nothing (a TokenRequest); its only verb is create.
    """

    name: str
    strategy: Strategy = field(default_factory=Strategy)
    verbs: tuple[str, ...] = ("get", "patch", "update")
    projection: Projection | None = None
    request: Resource | None = None

    @property
    def kind(self) -> Resource | None:
        """What its objects are, if they are of another kind than the object it belongs to."""
        return self.projection.resource if self.projection is not None else self.request


class Projection(Protocol):
    """A subresource that shows another kind than its object's, made from it: a Scale.

    ``resource`` describes that kind: one version, with its schema and defaults. ``field``: the one field that it sets.
    """

    @property
    def resource(self) -> Resource: ...

    @property
    def field(self) -> ProjectedField: ...

    def show(self, obj: Obj) -> Obj:
        """What is shown of an object.

        Raises:
            APIError: it cannot be made from this one.
        """

    def show_for_change(self, obj: Obj) -> Obj:
        """What is shown of an object that is to be changed, or was. It may say that something is missing in a way of
        its own, which ``merge`` knows. Raises as ``show``."""

    def merge(self, shown: Obj, obj: Obj) -> Obj:
        """The object changed by what its subresource is to be; ``obj`` is not changed.

        Raises:
            APIError: it cannot be so.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table. ``cell`` gives the JSON value from an object.

    ``priority`` 0 is always shown, 1 with ``-o wide``. ``age``: the cell's value is a time, shown as how long ago it
    was.
    """

    name: str
    cell: Callable[[Obj], Any]
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0
    age: bool = False

    def value(self, obj: Obj, now: datetime) -> Any:
        """What the cell shows at the time ``now`` (aware)."""
        value = self.cell(obj)
        return human_age(value, now) if self.age and value is not None else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceVersion:
    """One served version. ``schema`` is an OpenAPI v3 structural schema (a JSON object, as in a CRD) of the whole
    object; ``apiVersion``, ``kind`` and ``metadata`` need not be described. ``message`` describes its protobuf form, if
    clients send one.

    ``make_decoder``: what checks and normalises the objects that clients send, if it is not a ``Decoder`` of the
    schema; called when the first one comes.
    """

    name: str
    schema: Obj
    served: bool = True
    columns: tuple[Column, ...] = ()
    deprecation_warning: str = ""
    message: Message | None = None
    make_decoder: Callable[[], ObjectDecoder] | None = None


class DeferredVersion(ResourceVersion):
    """A version whose schema is kept as text and parsed each time it is asked for: whoever needs it keeps what he makes
    of it. A schema in memory takes ten times its text."""

    __slots__ = ("_load_schema",)
    _load_schema: Callable[[], Obj]

    def __init__(
        self,
        *,
        name: str,
        load_schema: Callable[[], Obj],
        served: bool = True,
        columns: tuple[Column, ...] = (),
        deprecation_warning: str = "",
        make_decoder: Callable[[], ObjectDecoder] | None = None,
    ) -> None:
        for attribute, value in (
            ("name", name),
            ("served", served),
            ("columns", columns),
            ("deprecation_warning", deprecation_warning),
            ("message", None),
            ("make_decoder", make_decoder),
            ("_load_schema", load_schema),
        ):
            object.__setattr__(self, attribute, value)

    @property
    def schema(self) -> Obj:
        return self._load_schema()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource of one group, in all its versions.

    ``key_prefix``: where its objects are kept, below the store's prefix, without slashes at either end: ``configmaps``
    for kube-apiserver's native resources, ``group/plural`` for all others.
    ``stored_group``: the group in whose form (and ``storage_version``) objects are stored, if it is not the resource's
    own: another resource has the same objects under the same ``key_prefix`` (events). ``storage_gvk``: as what they are
    stored, worked out. ``convert`` gives an object (its
    apiVersion says its form) in the form of another apiVersion; it may share parts.
    ``other_forms``: the schemas, by apiVersion, of the forms in which that other resource serves them.
    ``owned_form``: an object in another apiVersion, to tell what its owners own there; a ValueError says why not. None:
    ``convert``, and without that its versions differ by name alone. ``fetch_form``: the same where it takes a request
    to somebody; raises StorageError.
    ``attributes``: the selectable fields of an object; ``field_labels``: their names (the allowed field selectors).
    ``stored``: objects are kept. If not, those that are created are answered and forgotten (reviews).
    ``volatile``: churns so much that its history has a ring budget of its own (events, leases).
    ``native``: a compiled-in kind: stored with its kind first, and without kind and apiVersion in the items of lists. A
    custom resource (False) is stored with its apiVersion first and keeps both in lists.
    ``generation``: a digest of everything that shapes stored bytes into served ones; encoded bytes of another
    generation are not reused. ``schema_digest``: of the schema of its version, if the resource has one version that is
    served; empty: ``generation`` stands for it.
    """

    group: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    versions: tuple[ResourceVersion, ...]
    storage_version: str
    key_prefix: str
    list_kind: str = ""
    stored_group: str | None = None
    convert: Callable[[Obj, str], Obj] | None = None
    other_forms: Mapping[str, Obj] = field(default_factory=dict)
    owned_form: Callable[[Obj, str], Obj] | None = None
    fetch_form: Callable[[Obj, str], Awaitable[Obj]] | None = None
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = STANDARD_VERBS
    strategy: Strategy = field(default_factory=Strategy)
    subresources: tuple[Subresource, ...] = ()
    attributes: Callable[[Obj], Mapping[str, str]] = object_attributes
    field_labels: tuple[str, ...] = ("metadata.name", "metadata.namespace")
    stored: bool = True
    volatile: bool = False
    native: bool = True
    generation: str = "1"
    schema_digest: str = ""
    storage_gvk: GVK = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not self.list_kind:
            object.__setattr__(self, "list_kind", self.kind + "List")
        if self.stored_group is None and self.storage_version not in {v.name for v in self.versions}:
            raise ValueError(f"{self.gr}: storage version {self.storage_version!r} is not one of its versions")
        group = self.group if self.stored_group is None else self.stored_group
        object.__setattr__(self, "storage_gvk", GVK(group, self.storage_version, self.kind))

    @property
    def gr(self) -> GroupResource:
        return GroupResource(self.group, self.plural)

    def gvk(self, version: str) -> GVK:
        return GVK(self.group, version, self.kind)

    def gvr(self, version: str) -> GVR:
        return GVR(self.group, version, self.plural)

    def version(self, name: str) -> ResourceVersion | None:
        """The served version of this name, or None."""
        return next((v for v in self.versions if v.name == name and v.served), None)

    def storage_version_hash(self) -> str:
        """What discovery tells clients about the stored form: the same on all servers that store it alike."""
        return storage_version_hash(self.storage_gvk)

    def subresource(self, name: str) -> Subresource | None:
        return next((s for s in self.subresources if s.name == name), None)
