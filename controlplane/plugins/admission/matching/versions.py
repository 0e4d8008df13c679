"""A request's objects in the version that a webhook or policy wants to see.

Source: kubernetes/apiserver ``pkg/admission/conversion.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GVR, Obj
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.apimachinery.status import internal_error
from controlplane.apiserver.admission.api import Attributes
from controlplane.apiserver.endpoints.body import decode_applied
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.plugins.admission.matching.rules import Match
from controlplane.storage.errors import StorageError

__all__ = ["Versions"]


class Versions:
    """One request's objects, converted as they are asked for. ``changed``: the new object was replaced in the version
    that was asked for last, and ``give_back`` is to be called at the end."""

    __slots__ = ("_attributes", "_made", "_match", "_tables", "changed")

    def __init__(self, attributes: Attributes, tables: TableHolder) -> None:
        self._attributes, self._tables = attributes, tables
        self._match = Match(attributes.resource, attributes.kind)
        self._made: dict[GVR, tuple[Obj | None, Obj | None]] = {}
        self.changed = False

    async def at(self, match: Match) -> tuple[Obj | None, Obj | None]:
        """The new and the old object in a version; neither is to be changed.

        Raises:
            APIError: they cannot be converted.
        """
        if match.resource != self._match.resource:
            await self.give_back()
            self._match = match
        made = self._made.get(match.resource)
        if made is None:
            attributes = self._attributes
            made = self._made[match.resource] = (
                await self._converted(attributes.obj, attributes.resource, match),
                await self._converted(attributes.old, attributes.resource, match),
            )
        return made

    async def replace(self, obj: Obj) -> Obj:
        """Put another new object in place of that in the version asked for last, once it has the form of its kind.

        Raises:
            APIError: 500: it has not.
        """
        match, served = self._match, self._served(self._match.resource)
        given = (obj.get("apiVersion"), obj.get("kind"))
        if given != (match.kind.api_version, match.kind.kind):
            raise internal_error(
                f'no kind "{given[1]}" of version "{given[0]}" may come out of admission, only "{match.kind.kind}" of '
                f'"{match.kind.api_version}"'
            )
        self.settle(obj, served)
        _, old = self._made[match.resource]
        self._made = {match.resource: (obj, old)}
        self.changed = True
        return obj

    def settle(self, obj: Obj, served: Served) -> None:
        """Bring a changed object into its kind's form, with defaults, in place.

        Raises:
            APIError: 500: a value is of a wrong type.
        """
        if self._match.kind != served.gvk:
            return  # a subresource of another kind: its registry looks at it
        try:
            decode_applied(obj, served)
        except DecodeError as error:
            raise internal_error(str(error)) from error

    async def give_back(self) -> None:
        """Put what has been changed into the request's own object."""
        if not self.changed:
            return
        self.changed = False
        obj, _ = self._made[self._match.resource]
        own = self._attributes.obj
        assert obj is not None
        assert own is not None
        form = Match(self._attributes.resource, self._attributes.kind)
        converted = await self._converted(obj, self._match.resource, form)
        assert converted is not None
        if converted is not own:
            replaced = dict(converted)
            own.clear()
            own.update(replaced)
        if self._match.resource == self._attributes.resource:
            self._made[self._match.resource] = (own, self._attributes.old)

    async def _converted(self, obj: Obj | None, source: GVR, target: Match) -> Obj | None:
        if obj is None or source == target.resource:
            return obj
        served = self._served(source)
        wanted = target.kind.api_version
        if served.resource.convert is not None:
            return served.resource.convert(obj, wanted)
        if served.resource.native or obj.get("kind") != served.gvk.kind:
            return {**obj, "apiVersion": wanted}
        try:
            return await served.storage.converted(obj, target.resource.version)
        except StorageError as error:
            raise internal_error(str(error)) from error

    def _served(self, resource: GVR) -> Served:
        served = self._tables.current.routes.get(resource)
        if served is None:
            raise internal_error(f"unable to convert to {resource}: unknown kind")
        return served
