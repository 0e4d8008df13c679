"""Whether a request's object and namespace are selected.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/predicates/namespace`` and ``object``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.selectors.labels import LabelSelector
from controlplane.apimachinery.selectors.objects import label_selector_of
from controlplane.apimachinery.status import internal_error
from controlplane.apiserver.admission.api import Attributes, Operation
from controlplane.apiserver.registry.translate import translate
from controlplane.storage.api import ANY, CONSISTENT, Storage
from controlplane.storage.errors import KeyNotFound, StorageError

__all__ = ["Namespaces", "Selectors"]

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


class Selectors:
    """The selectors of a webhook or of constraints, parsed when a request first needs them: somebody may have stored
    one that is none, which concerns no other request."""

    __slots__ = ("_given", "_parsed")

    def __init__(self, given: Obj) -> None:
        """``given``: what has a ``namespaceSelector`` and an ``objectSelector``."""
        self._given = given
        self._parsed: tuple[LabelSelector, LabelSelector] | None = None

    async def select(self, attributes: Attributes, namespaces: Namespaces) -> bool:
        """Whether the new or the old object is selected, and the namespace; what is in none always is, and a namespace
        goes by its own labels.

        Raises:
            APIError: there is no such namespace, or one of them is no selector.
        """
        of_objects, of_namespaces = self._parsed or self._parse()
        return _selects_object(of_objects, attributes) and await _selects_namespace(
            of_namespaces, attributes, namespaces
        )

    def _parse(self) -> tuple[LabelSelector, LabelSelector]:
        given = self._given
        try:
            self._parsed = (
                label_selector_of(given.get("objectSelector") or {}),
                label_selector_of(given.get("namespaceSelector") or {}),
            )
        except ValueError as error:
            raise internal_error(str(error)) from error
        return self._parsed


def _selects_object(selector: LabelSelector, attributes: Attributes) -> bool:
    if selector.empty:
        return True
    return any(obj is not None and selector.matches(_labels(obj)) for obj in (attributes.obj, attributes.old))


async def _selects_namespace(selector: LabelSelector, attributes: Attributes, namespaces: Namespaces) -> bool:
    is_namespace = attributes.resource.resource == "namespaces"
    if selector.empty or (not attributes.namespace and not is_namespace):
        return True
    if is_namespace and not attributes.subresource and attributes.operation in (Operation.CREATE, Operation.UPDATE):
        return selector.matches(_labels(attributes.obj))
    return selector.matches(_labels(await namespaces.get(attributes.namespace)))
