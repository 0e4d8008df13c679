"""What can be done with one resource, by path: verbs, parameters, bodies and answers, whatever the dialect.

Source: kubernetes/apiserver ``pkg/endpoints/installer.go`` for native kinds, and for custom ones
kubernetes/apiextensions-apiserver ``pkg/controller/openapi/builder``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from controlplane.apimachinery.identity import GVK
from controlplane.apimachinery.resource import Subresource
from controlplane.apiserver.openapi import parameters
from controlplane.apiserver.openapi.names import META, kind_name, operation_names
from controlplane.apiserver.openapi.shared import SCALE
from controlplane.apiserver.registry.table import Served
from controlplane.base.values import dataclass
from controlplane.client.negotiation import APPLY_PATCH, JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, YAML

__all__ = ["Body", "Operation", "PathOperations", "resource_operations"]

_MEDIA = (JSON, YAML)
_STREAMED = (*_MEDIA, f"{JSON};stream=watch")
_NATIVE_PATCHES = (APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH)
_CUSTOM_PATCHES = (APPLY_PATCH, JSON_PATCH, MERGE_PATCH)
_SCALE_KIND = GVK("autoscaling", "v1", "Scale")

OK, CREATED, ACCEPTED = (200, "OK"), (201, "Created"), (202, "Accepted")
_STATUS, _PATCH, _DELETE, _EVENT = (META + name for name in ("Status", "Patch", "DeleteOptions", "WatchEvent"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a request carries: the name of its definition, and in which media types."""

    definition: str
    media_types: tuple[str, ...] = _MEDIA
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. ``parameters``: by name, besides those of the path. ``answers``: status and its text;
    each has a body of the definition ``answer``. ``action`` and ``gvk`` are published for clients to look up."""

    method: str
    id: str
    tag: str
    description: str
    answer: str
    parameters: tuple[str, ...] = ()
    answers: tuple[tuple[int, str], ...] = (OK,)
    produces: tuple[str, ...] = _MEDIA
    body: Body | None = None
    action: str = ""
    gvk: GVK | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOperations:
    """All operations of a path, with the parameters that it has in its text. ``named``: the kind of the object whose
    ``{name}`` is in the path, or ``""``."""

    path: str
    operations: list[Operation] = field(default_factory=list)
    namespaced: bool = False
    named: str = ""


def resource_operations(served: Served) -> list[PathOperations]:
    """All paths of a resource and its subresources."""
    return [path for path in _Paths(served).all() if path.operations]


class _About(NamedTuple):
    """What operations are about: the object, or one of its subresources. ``suffix``: at the end of their ids."""

    definition: str
    gvk: GVK
    text: str
    suffix: str = ""


class _Paths:
    """Puts the paths of one resource together."""

    def __init__(self, served: Served) -> None:
        self._resource, self._gvk, self._verbs = served.resource, served.gvk, frozenset(served.resource.verbs)
        group, version, kind = served.gvk
        self._native, self._namespaced = served.resource.native, served.resource.namespaced
        self._root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        self._list = kind_name(GVK(group, version, served.resource.list_kind), native=self._native)
        self._object = _About(kind_name(served.gvk, native=self._native), served.gvk, f"an object of kind {kind}")
        self._patches = _NATIVE_PATCHES if self._native else _CUSTOM_PATCHES

    def all(self) -> Iterator[PathOperations]:
        plural = self._resource.plural
        collection = f"namespaces/{{namespace}}/{plural}" if self._namespaced else plural
        item = f"{collection}/{{name}}"
        yield self._collection(f"{self._root}/{collection}")
        yield self._item(f"{self._root}/{item}")
        for subresource in sorted(self._resource.subresources, key=lambda s: s.name):
            yield self._subresource(f"{self._root}/{item}/{subresource.name}", subresource)
        if self._namespaced:
            yield self._everywhere(f"{self._root}/{plural}")
        if self._native:
            yield self._watched(f"{self._root}/watch/{collection}", "List")
            yield self._watched(f"{self._root}/watch/{item}", "")
            if self._namespaced:
                yield self._watched(f"{self._root}/watch/{plural}", "ListForAllNamespaces", everywhere=True)

    def _collection(self, path: str) -> PathOperations:
        found = PathOperations(path=path, namespaced=self._namespaced)
        if "list" in self._verbs:
            found.operations.append(self._listing(" of a namespace" if self._namespaced else ""))
        if "create" in self._verbs:
            found.operations.append(self._create(self._object))
        if "deletecollection" in self._verbs:
            found.operations.append(
                self._operation(
                    "DELETE",
                    "deletecollection",
                    "deletecollection",
                    f"Delete all objects of kind {self._gvk.kind} that are selected.",
                    answer=_STATUS,
                    query=tuple(sorted({*parameters.SELECT, *parameters.DELETE})),
                    body=Body(definition=_DELETE, required=False),
                )
            )
        return found

    def _item(self, path: str) -> PathOperations:
        found = PathOperations(path=path, namespaced=self._namespaced, named=self._gvk.kind)
        found.operations.extend(self._parts(self._object, self._verbs))
        if "delete" in self._verbs:
            found.operations.append(
                self._operation(
                    "DELETE",
                    "delete",
                    "delete",
                    f"Delete {self._object.text}.",
                    answer=self._object.definition if self._resource.strategy.returns_deleted else _STATUS,
                    query=parameters.DELETE,
                    answers=(OK, ACCEPTED),
                    body=Body(definition=_DELETE, required=False),
                )
            )
        return found

    def _subresource(self, path: str, subresource: Subresource) -> PathOperations:
        found = PathOperations(path=path, namespaced=self._namespaced, named=self._gvk.kind)
        name, verbs = subresource.name, frozenset(subresource.verbs)
        definition, gvk = self._object.definition, self._gvk
        if name == "scale":
            definition = SCALE
            gvk = _SCALE_KIND if self._native else gvk  # of custom resources upstream names the object's kind
        elif subresource.request is not None:
            gvk = subresource.request.storage_gvk
            definition = kind_name(gvk, native=self._native)
        about = _About(definition, gvk, f"{name} of {self._object.text}", name.capitalize())
        if "create" in verbs:
            found.operations.append(self._create(about))
        found.operations.extend(self._parts(about, verbs))
        return found

    def _everywhere(self, path: str) -> PathOperations:
        found = PathOperations(path=path)
        if "list" in self._verbs:
            found.operations.append(self._listing(" of all namespaces", suffix="ForAllNamespaces", everywhere=True))
        return found

    def _watched(self, path: str, suffix: str, *, everywhere: bool = False) -> PathOperations:
        """The paths under ``watch/``, which are older than the parameter of that name."""
        named = "" if suffix else self._gvk.kind
        found = PathOperations(path=path, namespaced=self._namespaced and not everywhere, named=named)
        if {"list", "watch"} <= self._verbs:
            found.operations.append(
                self._operation(
                    "GET",
                    "watchlist" if suffix else "watch",
                    "watch",
                    f"Watch objects of kind {self._gvk.kind}. Deprecated: list with the parameter watch instead.",
                    suffix=suffix,
                    everywhere=everywhere,
                    answer=_EVENT,
                    query=parameters.LIST,
                    produces=_STREAMED,
                )
            )
        return found

    def _listing(self, where: str, *, suffix: str = "", everywhere: bool = False) -> Operation:
        return self._operation(
            "GET",
            "list",
            "list",
            f"List the objects of kind {self._gvk.kind}{where}, or watch them.",
            suffix=suffix,
            everywhere=everywhere,
            answer=self._list,
            query=parameters.LIST,
            produces=_STREAMED,
        )

    def _create(self, about: _About) -> Operation:
        return self._operation(
            "POST",
            "post",
            "create",
            f"Create {about.text}.",
            suffix=about.suffix,
            answer=about.definition,
            query=parameters.CREATE,
            answers=(OK, CREATED, ACCEPTED),
            body=Body(definition=about.definition),
            gvk=about.gvk,
        )

    def _parts(self, about: _About, verbs: frozenset[str]) -> Iterator[Operation]:
        """What is done alike with an object and with its subresources."""
        if "get" in verbs:
            yield self._operation(
                "GET",
                "get",
                "read",
                f"Read {about.text}.",
                suffix=about.suffix,
                answer=about.definition,
                query=() if self._native else parameters.GET_CUSTOM,
                gvk=about.gvk,
            )
        if "update" in verbs:
            yield self._operation(
                "PUT",
                "put",
                "replace",
                f"Replace {about.text}.",
                suffix=about.suffix,
                answer=about.definition,
                query=parameters.UPDATE,
                answers=(OK, CREATED),
                body=Body(definition=about.definition),
                gvk=about.gvk,
            )
        if "patch" in verbs:
            yield self._operation(
                "PATCH",
                "patch",
                "patch",
                f"Change parts of {about.text}.",
                suffix=about.suffix,
                answer=about.definition,
                query=parameters.PATCH,
                answers=(OK, CREATED),
                body=Body(definition=_PATCH, media_types=self._patches),
                gvk=about.gvk,
            )

    def _operation(
        self,
        method: str,
        action: str,
        verb: str,
        description: str,
        *,
        answer: str,
        suffix: str = "",
        everywhere: bool = False,
        query: tuple[str, ...] = (),
        answers: tuple[tuple[int, str], ...] = (OK,),
        produces: tuple[str, ...] = _MEDIA,
        body: Body | None = None,
        gvk: GVK | None = None,
    ) -> Operation:
        scope = "Namespaced" if self._namespaced and not everywhere else ""
        rest = f"{scope}{self._gvk.kind}{suffix}"
        operation_id, tag = operation_names(verb, rest, self._gvk.group, self._gvk.version)
        return Operation(
            method=method,
            id=operation_id,
            tag=tag,
            description=description,
            answer=answer,
            parameters=query,
            answers=answers,
            produces=produces,
            body=body,
            action=action,
            gvk=gvk or self._gvk,
        )
