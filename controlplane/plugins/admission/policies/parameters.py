"""The parameters of a policy's binding: objects of any kind, by name or by selector.

Source: kubernetes/apiserver ``pkg/admission/plugin/policy/generic/policy_dispatcher.go`` (CollectParams).
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupVersion, Key, Obj
from controlplane.apimachinery.selectors.labels import LabelSelector
from controlplane.apimachinery.selectors.objects import label_selector_of
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.storage.api import ANY, CONSISTENT
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["ParameterError", "Parameters"]


class ParameterError(Exception):
    """The parameters cannot be had; the text is upstream's."""


class _ByLabels:
    """See ``storage.api.Predicate``."""

    name = None
    by_name_only = False

    def __init__(self, selector: LabelSelector) -> None:
        self._selector = selector
        self.signature = str(selector)

    def matches(self, obj: Obj) -> bool:
        return self._selector.matches(obj["metadata"].get("labels") or {})


class Parameters:
    """Finds parameters among what is served."""

    def __init__(self, tables: TableHolder) -> None:
        self._tables = tables

    def served(self, kind: Obj) -> Served | None:
        """What serves a ``paramKind``; None if nothing does."""
        gv = GroupVersion.parse(kind.get("apiVersion") or "")
        group = self._tables.current.group(gv.group)
        version = group.version(gv.version) if group is not None else None
        for served in version.resources.values() if version is not None else ():
            if served.gvk.kind == kind.get("kind") and served.resource.stored:
                return served
        return None

    async def collect(self, kind: Obj | None, reference: Obj | None, namespace: str) -> list[Obj | None]:
        """The parameters of a binding, each for an evaluation of its own; one None, if there are to be none.

        Raises:
            ParameterError.
        """
        if kind is None or reference is None:
            return [None]
        served = self.served(kind)
        if served is None:
            text = f"&ParamKind{{APIVersion:{kind.get('apiVersion')},Kind:{kind.get('kind')},}}"
            raise ParameterError(f"paramKind kind `{text}` not known")
        where = _namespace(served, reference, namespace)
        try:
            found = await _find(served, reference, where)
        except StorageError as error:
            raise ParameterError(str(error)) from error
        if not found and reference.get("parameterNotFoundAction") == "Deny":
            raise ParameterError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return list(found)


def _namespace(served: Served, reference: Obj, namespace: str) -> str:
    given = reference.get("namespace") or ""
    if not served.resource.namespaced:
        if given:
            raise ParameterError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        return ""
    if not given and not namespace:
        raise ParameterError("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
    return given or namespace


async def _find(served: Served, reference: Obj, namespace: str) -> list[Obj]:
    storage, version, name = served.storage, served.version.name, reference.get("name") or ""
    if name:
        key = Key(namespace, name)
        try:
            try:
                entry = await storage.get(key, ANY)
            except KeyNotFound:
                entry = await storage.get(key, CONSISTENT)
        except KeyNotFound:
            return []
        return [await storage.decode(entry, version)]
    selector = label_selector_of(reference.get("selector") or {})
    page = await storage.list(namespace or None, _ByLabels(selector), ANY, version=version)
    return [await storage.decode(entry, version) for entry in page.entries]
