"""Whether a request's object and namespace are selected.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/predicates/namespace`` and ``object``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.selectors.labels import LabelSelector
from controlplane.apiserver.admission.api import Attributes, Operation
from controlplane.apiserver.registry.translate import translate
from controlplane.storage.api import ANY, CONSISTENT, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["Namespaces", "selects_namespace", "selects_object"]

_NAMESPACES = GroupResource("", "namespaces")
_REMEMBERED = 1024


class Namespaces:
    """The namespaces, from memory; one that memory does not know is looked for in the store."""

    def __init__(self, storage_of: Callable[[str, str], Storage | None]) -> None:
        self._storage_of = storage_of
        self._known: OrderedDict[str, tuple[int, Obj]] = OrderedDict()

    async def get(self, name: str) -> Obj | None:
        """A namespace, not to be changed; None if this server keeps none.

        Raises:
            APIError: there is no such namespace.
        """
        storage = self._storage_of(_NAMESPACES.group, _NAMESPACES.resource)
        if storage is None:
            return None
        try:
            try:
                entry = await storage.get(Key("", name), ANY)
            except KeyNotFound:
                entry = await storage.get(Key("", name), CONSISTENT)
            known = self._known.get(name)
            if known is not None and known[0] == entry.mod_revision:
                return known[1]
            obj = await storage.decode(entry, "v1")
        except StorageError as error:
            raise translate(error, _NAMESPACES, name, "get") from error
        self._known[name] = (entry.mod_revision, obj)
        self._known.move_to_end(name)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return obj


def _labels(obj: Obj | None) -> dict[str, str]:
    labels: dict[str, str] = ((obj or {}).get("metadata") or {}).get("labels") or {}
    return labels


def selects_object(selector: LabelSelector, attributes: Attributes) -> bool:
    """Whether the new or the old object is selected."""
    if selector.empty:
        return True
    return any(obj is not None and selector.matches(_labels(obj)) for obj in (attributes.obj, attributes.old))


async def selects_namespace(selector: LabelSelector, attributes: Attributes, namespaces: Namespaces) -> bool:
    """Whether the object's namespace is selected; what is in none always is, and a namespace goes by its own labels.

    Raises:
        APIError: there is no such namespace.
    """
    is_namespace = attributes.resource.resource == "namespaces"
    if selector.empty or (not attributes.namespace and not is_namespace):
        return True
    if is_namespace and not attributes.subresource and attributes.operation in (Operation.CREATE, Operation.UPDATE):
        return selector.matches(_labels(attributes.obj))
    return selector.matches(_labels(await namespaces.get(attributes.namespace)))
