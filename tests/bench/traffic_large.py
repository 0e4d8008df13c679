"""Traffic of long objects, as a process of its own; one JSON line says what was done.

    python -m tests.bench.traffic_large objects '{"host": …, "port": …}' PARTS
    python -m tests.bench.traffic_large definitions '{"host": …, "port": …}' COUNT

``objects``: a ConfigMap of ``PARTS`` keys and a custom resource with a list of as many items (70 and 230 bytes each)
are created, replaced, patched, applied twice, read as a table and deleted. ``definitions``: the longest published
CustomResourceDefinitions are created, patched and applied.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import uvloop

from tests.bench.load import APPLY_PATCH, JSON, MERGE_PATCH, Connection, Load
from tests.bench.traffic import DEFINITIONS
from tests.crds import published_crds

__all__ = ["change_long_definitions", "change_long_objects"]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GROUP = "stretch.example.com"

Obj = dict[str, Any]


def config_map(parts: int) -> Obj:
    data = {f"key-{number}": "v" * 50 for number in range(parts)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "long"}, "data": data}


def custom_object(parts: int) -> Obj:
    rules = [
        {
            "name": f"rule-{number}",
            "hosts": [f"h{host}.example.com" for host in range(5)],
            "match": {"a": "b", "c": "d"},
        }
        for number in range(parts)
    ]
    return {"apiVersion": f"{GROUP}/v1", "kind": "Long", "metadata": {"name": "long"}, "spec": {"rules": rules}}


def definition() -> Obj:
    text: Obj = {"type": "string", "maxLength": 200}
    rule = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": text,
            "port": {"type": "integer", "default": 80},
            "hosts": {"type": "array", "items": text},
            "match": {"type": "object", "additionalProperties": text},
        },
    }
    rules = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": rule,
    }
    spec = {"type": "object", "properties": {"rules": rules}}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"longs.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "longs", "singular": "long", "kind": "Long"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


class Client:
    """One connection; each call must succeed. ``operations``: how many have."""

    def __init__(self, load: Load) -> None:
        self._load, self.operations = load, 0
        self._connection: Connection | None = None

    async def send(self, line: str, content_type: str, value: Obj) -> None:
        if self._connection is None:
            loop = asyncio.get_running_loop()
            _, self._connection = await loop.create_connection(
                Connection, self._load.host, self._load.port, ssl=self._load.context()
            )
        status = await self._connection.send(self._load.sending(line, content_type, value))
        assert status < 300, (line, status)
        self.operations += 1


async def change_long_objects(load: Load, parts: int) -> Obj:
    client = Client(load)
    await client.send(f"POST {DEFINITIONS}", JSON, definition())
    for collection, obj in (
        ("/api/v1/namespaces/default/configmaps", config_map(parts)),
        (f"/apis/{GROUP}/v1/namespaces/default/longs", custom_object(parts)),
    ):
        one, applied = f"{collection}/long", f"{collection}/long?fieldManager=bench&force=true"
        await client.send(f"POST {collection}", JSON, obj)
        await client.send(f"PATCH {one}", MERGE_PATCH, {"metadata": {"labels": {"a": "b"}}})
        await client.send(f"PATCH {applied}", APPLY_PATCH, obj)
        await client.send(f"PATCH {applied}", APPLY_PATCH, {**obj, "metadata": {"name": "long", "labels": {"a": "c"}}})
        if "data" in obj:  # what is no native kind must name the state that it replaces
            await client.send(f"PUT {one}", JSON, {**obj, "data": {**obj["data"], "more": "x"}})
        load.accept = TABLE
        await client.send(f"GET {collection}", JSON, {})
        load.accept = "application/json"
        await client.send(f"DELETE {one}", JSON, {})
    return {"operations": client.operations}


async def change_long_definitions(load: Load, count: int) -> Obj:
    client = Client(load)
    longest = sorted(published_crds(), key=lambda crd: len(json.dumps(crd)), reverse=True)[:count]
    for crd in longest:
        one = f"{DEFINITIONS}/{crd['metadata']['name']}"
        await client.send(f"POST {DEFINITIONS}", JSON, crd)
        await client.send(f"PATCH {one}", MERGE_PATCH, {"metadata": {"labels": {"a": "b"}}})
        await client.send(f"PATCH {one}?fieldManager=bench&force=true", APPLY_PATCH, crd)
    return {"operations": client.operations}


def main() -> None:
    load, count = Load(**json.loads(sys.argv[2])), int(sys.argv[3])
    work = change_long_objects if sys.argv[1] == "objects" else change_long_definitions
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(work(load, count))), flush=True)


if __name__ == "__main__":
    main()
