"""Publishes in every namespace what the server's certificate is verified with, and mends what others make of it.

Source: behaviour of kubernetes ``pkg/controller/certificates/rootcacertpublisher`` (its annotation is what clients
compare, so its text is upstream's).
"""

from __future__ import annotations

import time

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.status import APIError
from controlplane.base import metrics
from controlplane.client.resources import ResourceClient
from controlplane.controllers.core import CONFIGMAPS, NAMESPACES, name_of_change, namespace_of_change
from controlplane.controllers.creation import create_unless_ending
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Controller, Watch
from controlplane.reconcile.informer import Informer

__all__ = ["DESCRIPTOR", "ROOT_CA_CONFIGMAP"]

NAME = "root-ca-certificate-publisher"
ACCOUNT = "root-ca-cert-publisher"
ROOT_CA_CONFIGMAP = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)

SYNCS = metrics.counter(
    "root_ca_cert_publisher_sync_total",
    "Number of namespace syncs happened in root ca cert publisher.",
    labels=("code",),
)
SYNC_SECONDS = metrics.histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    "Number of namespace syncs happened in root ca cert publisher.",
    buckets=tuple(0.001 * 2**power for power in range(15)),
    labels=("code",),
)


class RootCA:
    """``reconcile`` works on one namespace, by its name."""

    def __init__(self, configmaps: ResourceClient, namespaces: Informer, published: Informer, ca_pem: bytes) -> None:
        self._configmaps, self._namespaces, self._published = configmaps, namespaces.store, published.store
        self._data = {"ca.crt": ca_pem.decode(errors="replace")}  # comments may be in any encoding

    async def reconcile(self, namespace: str) -> None:
        """Make the ConfigMap, or make it right."""
        began, code = time.perf_counter(), "200"
        try:
            await self._publish(namespace)
        except APIError as e:
            code = str(e.code)
            raise
        finally:
            SYNCS.labels_cached((code,)).inc()
            SYNC_SECONDS.labels_cached((code,)).observe(time.perf_counter() - began)

    async def _publish(self, namespace: str) -> None:
        found = self._namespaces.get(Key("", namespace))
        if found is None or meta.is_being_deleted(found):
            return
        published = self._published.get(Key(namespace, ROOT_CA_CONFIGMAP))
        if published is None:
            await create_unless_ending(
                self._configmaps,
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {
                        "namespace": namespace,
                        "name": ROOT_CA_CONFIGMAP,
                        "annotations": {DESCRIPTION: DESCRIPTION_TEXT},
                    },
                    "data": self._data,
                },
            )
            return
        annotations = meta.annotations(published)
        if published.get("data") == self._data and annotations.get(DESCRIPTION):
            return
        metadata = {**published["metadata"], "annotations": {**annotations, DESCRIPTION: DESCRIPTION_TEXT}}
        await self._configmaps.update({**published, "metadata": metadata, "data": self._data})


def build(context: ControllerContext) -> Controller[str]:
    """The controller, watching namespaces and the ConfigMaps of that name."""
    namespaces = context.informers.get(NAMESPACES, namespaced=False, metadata_only=True)
    published = context.informers.get(CONFIGMAPS, namespaced=True, field_selector=f"metadata.name={ROOT_CA_CONFIGMAP}")
    client = ResourceClient(context.client_for(NAME), CONFIGMAPS, namespaced=True)
    return Controller(
        NAME,
        watches=[Watch(namespaces, name_of_change), Watch(published, namespace_of_change)],
        reconcile=RootCA(client, namespaces, published, context.keys.root_ca_pem).reconcile,
        clock=context.clock,
    )


DESCRIPTOR = ControllerDescriptor(
    name=NAME,
    build=build,
    needs=(NAMESPACES.gr, CONFIGMAPS.gr),
    usable=lambda keys: bool(keys.root_ca_pem),
    account=ACCOUNT,
    rules=(
        PolicyRule(("create", "update"), ("",), ("configmaps",)),
        PolicyRule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)),
    ),
)
