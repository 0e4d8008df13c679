"""Which webhooks may be for a request: worked out once for each operation, resource and subresource, until a
configuration or what is served changes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GVR
from controlplane.apimachinery.resource import Resource
from controlplane.apiserver.admission.api import Operation
from controlplane.plugins.admission.api import PluginServices
from controlplane.plugins.admission.following import Followed
from controlplane.plugins.admission.matching.rules import Candidate, equivalents, is_exempt
from controlplane.plugins.admission.webhooks.hooks import Webhook, webhooks_of

__all__ = ["Relevant", "WebhookIndex"]

_REMEMBERED = 4096


class Relevant(NamedTuple):
    """A webhook, and its rules that may be for a request."""

    hook: Webhook
    among: Sequence[Candidate]


class WebhookIndex:
    """The webhooks of one kind of configuration."""

    def __init__(self, services: PluginServices, resource: Resource, *, step: str) -> None:
        self._tables, self._outdate_chain, self._step = services.tables, services.outdate, step
        self._hooks: list[Webhook] | None = None
        self._relevant: dict[tuple[Operation, GVR, str], list[Relevant]] = {}
        self._configurations: Followed | None = None
        self._configurations = Followed(services.mirror, resource, self._configured)
        self._unsubscribe = services.tables.subscribe(lambda _table: self._outdate())

    def relevant(self, operation: Operation, resource: GVR, subresource: str) -> list[Relevant]:
        """The webhooks that may be for a request, in order."""
        place = (operation, resource, subresource)
        found = self._relevant.get(place)
        if found is None:
            if len(self._relevant) >= _REMEMBERED:
                self._relevant.clear()
            found = self._relevant[place] = self._find(*place)
        return found

    def wants(self, operation: Operation, resource: GVR, subresource: str) -> bool:
        """Whether any is."""
        return bool(self.relevant(operation, resource, subresource))

    def close(self) -> None:
        """Follow nothing any more."""
        self._unsubscribe()
        if self._configurations is not None:
            self._configurations.stop()

    def _find(self, operation: Operation, resource: GVR, subresource: str) -> list[Relevant]:
        if not self._configurations or is_exempt(resource):
            return []
        if self._hooks is None:
            self._hooks = list(webhooks_of(self._configurations.sorted(), step=self._step))
        forms = equivalents(self._tables.current, resource, subresource)
        found = [Relevant(hook, hook.candidates(operation, forms, subresource)) for hook in self._hooks]
        return [relevant for relevant in found if relevant.among]

    def _configured(self, _names: Collection[str]) -> None:
        self._hooks = None
        self._outdate()

    def _outdate(self) -> None:
        self._relevant.clear()
        self._outdate_chain()
