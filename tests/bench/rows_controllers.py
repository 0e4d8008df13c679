"""Deleting a namespace of 1,000 objects and a foreground cascade of 1,000, with ConfigMaps and with custom resources.

The whole sample runs as a process, on an embedded store; what is measured is from the DELETE until a watch of the
object that goes last says that it is gone.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.resources import Propagation, ResourceClient
from tests.bench.report import Row
from tests.processes import Plane, sample_plane

__all__ = ["deletions"]

COUNT = 1000
NAMESPACES = GVR("", "v1", "namespaces")
CONFIGMAPS = GVR("", "v1", "configmaps")
CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")
GADGETS = GVR("bench.example.com", "v1", "gadgets")


def deletions() -> Iterator[Row]:
    """Both, of both."""
    with tempfile.TemporaryDirectory() as directory, sample_plane(Path(directory)) as plane:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            yield from runner.run(_measure(plane))


async def _measure(plane: Plane) -> list[Row]:
    async with HTTPClient(load_kubeconfig(plane.directory / "admin.conf")) as client:
        await ResourceClient(client, CRDS, namespaced=False).create(_definition())
        rows = []
        for gvr in (CONFIGMAPS, GADGETS):
            seconds = await _namespace(client, gvr)
            rows.append(_row(f"delete a namespace of {COUNT} {gvr.resource}", seconds, 1.3))
            seconds = await _cascade(client, gvr)
            rows.append(_row(f"foreground cascade of {COUNT} {gvr.resource}", seconds, 2.2))
        return rows


def _row(name: str, seconds: float, target: float) -> Row:
    return Row(name=name, value=seconds, target=target, unit="s", at_most=True, scales=True)


async def _namespace(client: HTTPClient, gvr: GVR) -> float:
    namespaces = ResourceClient(client, NAMESPACES, namespaced=False)
    name = f"full-of-{gvr.resource}"
    await namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    await _fill(client, gvr, name)
    return await _until_gone(namespaces, Key("", name), None)


async def _cascade(client: HTTPClient, gvr: GVR) -> float:
    resource = ResourceClient(client, gvr, namespaced=True)
    owner = await resource.create(_object(gvr, "default", "owner"))
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": "owner",
        "uid": meta.uid(owner),
        "blockOwnerDeletion": True,
    }
    await _fill(client, gvr, "default", ownerReferences=[reference])
    return await _until_gone(resource, Key("default", "owner"), Propagation.FOREGROUND)


async def _fill(client: HTTPClient, gvr: GVR, namespace: str, **metadata: object) -> None:
    resource = ResourceClient(client, gvr, namespaced=True)
    left = iter(range(COUNT))

    async def some() -> None:
        for number in left:
            await resource.create(_object(gvr, namespace, f"n{number}", **metadata))

    await asyncio.gather(*(some() for _ in range(16)))


async def _until_gone(resource: ResourceClient, key: Key, propagation: Propagation | None) -> float:
    selector = f"metadata.name={key.name}"
    listed = await resource.list(key.namespace, field_selector=selector)
    async with resource.watch(
        key.namespace, field_selector=selector, resource_version=listed.resource_version
    ) as events:
        begin = time.perf_counter()
        await resource.delete(key, propagation=propagation)
        async for event in events:
            if event.type == "DELETED":
                return time.perf_counter() - begin
    raise RuntimeError(f"the watch of {key} ended before it was gone")


def _object(gvr: GVR, namespace: str, name: str, **metadata: object) -> Obj:
    kind = "ConfigMap" if gvr == CONFIGMAPS else "Gadget"
    payload = json.dumps({"payload": "x" * 900})
    body: Obj = {"data": {"payload": payload}} if gvr == CONFIGMAPS else {"spec": {"payload": payload}}
    return {
        "apiVersion": str(gvr.gv),
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name, **metadata},
        **body,
    }


def _definition() -> Obj:
    spec = {"type": "object", "properties": {"payload": {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.bench.example.com"},
        "spec": {
            "group": "bench.example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
