"""Informers shared by all controllers of a process: one for each (resource, namespace, selectors, form)."""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.identity import GVR
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient
from controlplane.reconcile.informer import Informer

__all__ = ["InformerSet"]


class _What(NamedTuple):
    gvr: GVR
    namespace: str
    label_selector: str
    field_selector: str
    metadata_only: bool


class InformerSet:
    """Makes each informer once, reading as one client. Whoever runs the set runs what ``all`` gives."""

    def __init__(self, client: APIClient, *, clock: Clock | None = None) -> None:
        self._client = client
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._informers: dict[_What, Informer] = {}

    def get(
        self,
        gvr: GVR,
        *,
        namespaced: bool,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> Informer:
        """The informer for this, made on first asking."""
        what = _What(gvr, namespace, label_selector, field_selector, metadata_only)
        informer = self._informers.get(what)
        if informer is None:
            informer = self._informers[what] = Informer(
                ResourceClient(self._client, gvr, namespaced=namespaced),
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
                clock=self._clock,
            )
        return informer

    def all(self) -> list[Informer]:
        """All informers made so far, in order of their making."""
        return list(self._informers.values())
