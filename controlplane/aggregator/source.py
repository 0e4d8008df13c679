"""API services as a source of the resource table: those that name a service become versions that others serve, in the
step that applies them.

Source: the role of kubernetes/kube-aggregator ``pkg/apiserver/apiservice_controller.go`` and ``apiserver.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from controlplane.aggregator.autoregister import APISERVICES
from controlplane.aggregator.proxy import Proxy
from controlplane.aggregator.registration import Registration, read_registration
from controlplane.aggregator.transport import BackendTransport
from controlplane.apimachinery.identity import GroupVersion
from controlplane.apis.apiregistration.apiservices import API_SERVICES
from controlplane.apiserver.registry.remote import RemoteVersion
from controlplane.apiserver.registry.sources import SourceServices
from controlplane.base import logs
from controlplane.client.request import Request
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.ring import Change

__all__ = ["APIServiceSource"]

log = logs.get(__name__)

Changed = Callable[[str], None]


class APIServiceSource:
    """See ``registry.sources.Source`` and ``storage.cache.mirror.Observer``. ``registrations``: by name.

    ``changed`` hears the name of each API service that has changed, after the table shows it.
    """

    settles = frozenset({API_SERVICES.gr})

    def __init__(self, services: SourceServices, transport: BackendTransport, proxy: Proxy, changed: Changed) -> None:
        self._mirror, self._tables = services.mirror, services.tables
        self._transport, self._proxy, self._tell = transport, proxy, changed
        self._prefix = self._mirror.prefix + API_SERVICES.key_prefix.encode() + b"/"
        self._dirty: dict[str, Entry | None] = {}
        self._remotes: dict[GroupVersion, RemoteVersion] = {}
        self.registrations: dict[str, Registration] = {}
        self._stop = self._mirror.observe(API_SERVICES, self)

    # Of the mirror's steps.

    def changed(self, change: Change) -> None:
        self._dirty[change.key[len(self._prefix) :].decode()] = change.entry

    def replaced(self) -> None:
        present = {entry.key[len(self._prefix) :].decode(): entry for entry in self._mirror.entries(API_SERVICES)}
        self._dirty = {**dict.fromkeys(self.registrations), **present}

    def step(self) -> None:
        if not self._dirty:
            return
        dirty, self._dirty = self._dirty, {}
        before = dict(self._remotes)
        for name, entry in dirty.items():
            self._apply(name, entry)
        if before != self._remotes:
            self._transport.forget(frozenset(r.backend for r in self.registrations.values() if r.backend is not None))
            self._swap()
        for name in dirty:
            self._tell(name)

    # Of sources.

    async def catch_up(self, request: Request) -> bool:
        return await self._mirror.fresh(None)

    async def settled(self) -> None:
        await self._mirror.fresh(None)

    async def close(self) -> None:
        self._stop()

    # Of what is learned from the other servers.

    def remotes(self) -> Mapping[str, Registration]:
        """What others serve, by name."""
        return {name: found for name, found in self.registrations.items() if found.gv in self._remotes}

    def learn(self, name: str, **fields: Any) -> None:
        """What is known of a version from now on: fields of its ``RemoteVersion``. Nothing if it has gone meanwhile."""
        registration = self.registrations.get(name)
        remote = self._remotes.get(registration.gv) if registration is not None else None
        if remote is not None and any(getattr(remote, field) != value for field, value in fields.items()):
            self._remotes[remote.gv] = replace(remote, **fields)
            self._swap()

    def _swap(self) -> None:
        self._tables.swap(self._tables.current.with_remotes(dict(self._remotes)))

    def _apply(self, name: str, entry: Entry | None) -> None:
        old = self.registrations.pop(name, None)
        new = read_registration(entry) if entry is not None else None
        if entry is not None and new is None:
            log.warning("an API service cannot be read", name=name)
        if new is not None:
            self.registrations[name] = new
        if new is None or new.backend is None or new.gv.group == APISERVICES.group:  # API services are our own
            if old is not None:
                self._remotes.pop(old.gv, None)
            return
        known = self._remotes.get(new.gv)
        self._remotes[new.gv] = RemoteVersion(
            gv=new.gv,
            handle=partial(self._proxy.forward, new),
            discovered=known.discovered if known is not None else {"version": new.gv.version, "freshness": "Stale"},
            group_priority=new.group_priority,
            version_priority=new.version_priority,
            openapi_hash=known.openapi_hash if known is not None else "",
            swagger=known.swagger if known is not None else None,
        )
