"""Kinds declared in Python: served like any other, with hooks, columns, scale and conversion of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field

from controlplane.apimachinery import meta
from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.resource import Column, Strategy
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.client.resources import PatchType, ResourceClient
from controlplane.client.results import object_of
from controlplane.generic.config import Config, ConfigError
from controlplane.generic.declare import DeclarationError, Functions, Scale, Version, declare
from controlplane.testing.planes import Plane, plane_config, running_plane
from tests.aio import run
from tests.integration.composition.absence import traces
from tests.integration.controllers.objects import Objects

GROUP = "zoo.example.org"
V1, V2 = GVR(GROUP, "v1", "animals"), GVR(GROUP, "v2", "animals")


class Spec(BaseModel):
    name: str = Field(max_length=20)
    legs: int = Field(4, ge=0)
    food: list[str] = []


class Status(BaseModel):
    legs: int = 0


class Animal(BaseModel):
    spec: Spec
    status: Status | None = None


class SpecV2(BaseModel):
    title: str = Field(max_length=20)
    legs: int = Field(4, ge=0)
    food: list[str] = []


class AnimalV2(BaseModel):
    spec: SpecV2
    status: Status | None = None


def to_v1(obj: Obj) -> Obj:
    spec = dict(obj["spec"])
    return {**obj, "spec": {**spec, "name": spec.pop("title")}}


def from_v1(obj: Obj) -> Obj:
    spec = dict(obj["spec"])
    return {**obj, "spec": {**spec, "title": spec.pop("name")}}


def say_hungry(obj: Obj) -> list[str]:
    return [] if obj["spec"].get("food") else ["an animal without food is hungry"]


def no_unicorns(obj: Obj) -> list[FieldError]:
    name = obj["spec"].get("name") or obj["spec"].get("title")
    return [invalid("spec", name, "there are no unicorns")] if name == "unicorn" else []


def tame(obj: Obj) -> None:
    obj["metadata"].setdefault("labels", {})["tame"] = "yes"


ANIMALS = declare(
    "Animal",
    group=GROUP,
    versions=[
        Version(
            name="v1",
            schema=Animal,
            columns=(Column(name="Legs", cell=lambda obj: obj["spec"]["legs"], type="integer"),),
            selectable=(".spec.name",),
        ),
        Version(name="v2", schema=AnimalV2, functions=Functions(to_v1, from_v1)),
    ],
    short_names=["an"],
    scale=Scale(spec_replicas=".spec.legs", status_replicas=".status.legs"),
    strategy=Strategy(prepare_for_create=tame, validate=no_unicorns, warnings=say_hungry),
)


def animals(plane: Plane, gvr: GVR = V1) -> ResourceClient:
    return ResourceClient(plane.client(), gvr, namespaced=True)


def animal(name: str, gvr: GVR = V1, /, **spec: Any) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": str(gvr.gv), "kind": "Animal", "metadata": metadata, "spec": spec}


def configure(config: Config) -> None:
    config.declared.append(ANIMALS)


def test_schema_hooks_and_columns(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path, configure=configure) as plane:
            client = animals(plane)
            made = await client.create(animal("cat", name="Cat", unknown=1) | {"status": {"legs": 9}})
            assert made["spec"] == {"name": "Cat", "legs": 4, "food": []}
            assert made["metadata"]["labels"] == {"tame": "yes"}
            assert "status" not in made, "it has a path of its own"
            bad: list[tuple[dict[str, object], str]] = [
                ({"name": "x" * 21}, "may not be more than 20"),
                ({"legs": 2}, "spec.name: Required value"),
                ({"name": "unicorn"}, "no unicorns"),
            ]
            for spec, message in bad:
                with pytest.raises(APIError, match=message) as refused:
                    await client.create(animal("bad", **spec))
                assert refused.value.code == 422
            path = "/apis/zoo.example.org/v1/namespaces/default/animals"
            answer = await plane.client().request("POST", path, body=dumps(animal("dog", name="Dog")))
            assert "an animal without food is hungry" in str(answer.headers)
            table = object_of(
                await plane.client().request(
                    "GET", path, headers={"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
                )
            )
            assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Legs"]
            assert [row["cells"] for row in table["rows"]] == [["cat", 4], ["dog", 4]]
            found = await client.list("default", field_selector="spec.name=Cat")
            assert [meta.name(item) for item in found.items] == ["cat"]
            changed = await client.patch(Key("default", "cat"), {"spec": {"replicas": 3}}, subresource="scale")
            assert (changed["kind"], changed["spec"]) == ("Scale", {"replicas": 3})
            ready = await client.patch(Key("default", "cat"), {"status": {"legs": 3}}, subresource="status")
            assert (ready["spec"]["legs"], ready["status"]) == (3, {"legs": 3})
            applied = await client.patch(
                Key("default", "cow"), animal("cow", name="Cow"), PatchType.APPLY, field_manager="farmer"
            )
            assert applied["metadata"]["managedFields"][0]["manager"] == "farmer"

    run(main())


def test_versions_are_converted_by_functions(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path, configure=configure) as plane:
            first, second = animals(plane), animals(plane, V2)
            await second.create(animal("cat", V2, title="Cat"))
            assert (await first.get(Key("default", "cat")))["spec"]["name"] == "Cat"
            async with second.watch(namespace="default", resource_version="0") as events:
                assert (await anext(events)).object["spec"]["title"] == "Cat"
                await first.patch(Key("default", "cat"), {"spec": {"name": "Tiger"}})
                event = await anext(events)
                while event.type == "BOOKMARK":
                    event = await anext(events)
                assert (event.type, event.object["spec"]["title"]) == ("MODIFIED", "Tiger")
                assert event.object["apiVersion"] == "zoo.example.org/v2"
            listed = await second.list("default")
            assert [item["spec"]["title"] for item in listed.items] == ["Tiger"]

    run(main())


def test_it_is_in_every_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path, configure=configure) as plane:
            seen = [line async for line in traces(plane.client(), [ANIMALS.stored])]
            for begin in ("aggregated discovery has", "discovery has", "OpenAPI v2 has the path", "OpenAPI v3 of"):
                assert any(line.startswith(begin) for line in seen), begin
            o = Objects(plane)
            owner = await animals(plane).create(animal("owner", name="o"))
            await o.make("owned", owner)
            await animals(plane).delete(Key("default", "owner"))
            await o.gone("owned")

    run(main())


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match=re.escape('spec.group: Invalid value: "zoo"')):
        declare("Animal", group="zoo", versions=Version(name="v1", schema=Animal))
    with pytest.raises(DeclarationError, match=re.escape("items.type: Required value")):
        declare("Animal", group=GROUP, versions=Version(name="v1", schema={"type": "object", "items": {}}))
    with pytest.raises(DeclarationError, match="there must be one"):
        declare("Animal", group=GROUP, versions=[])
    config = plane_config(tmp_path)
    config.declared += [ANIMALS, ANIMALS]
    with pytest.raises(ConfigError, match=re.escape("resource named twice: animals.zoo.example.org")):
        config.complete()
