"""Conversion by a webhook on a whole plane: two versions whose fields differ, over real TLS."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from controlplane.apimachinery.identity import Obj
from controlplane.client.webhook.resolver import Endpoint
from tests.aio import run
from tests.custom_resources import DEFINITIONS_PATH, definition
from tests.integration.plane import Plane, config_in, running_plane
from tests.webhook_server import Webhook, running_webhook

V1 = "/apis/example.com/v1/namespaces/default/foos"
V2 = "/apis/example.com/v2/namespaces/default/foos"
MERGE = {"Content-Type": "application/merge-patch+json"}


def convert(obj: Obj, wanted: str) -> Obj:
    """v1 has ``spec.n``, v2 ``spec.count``; what else there is stays."""
    spec = dict(obj.get("spec") or {})
    old, new = ("n", "count") if wanted.endswith("v2") else ("count", "n")
    if old in spec:
        spec[new] = spec.pop(old)
    return {**obj, "apiVersion": wanted, "spec": spec}


def answer(review: Obj, **response: Any) -> Obj:
    request = review["request"]
    objects = [convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
    given = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}, **response}
    return {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": given}


def converting(review: Obj) -> web.Response:
    return web.json_response(answer(review))


def two_versions(client_config: Obj, *, reviews: tuple[str, ...] = ("v1",), storage: str = "v1") -> Obj:
    """A definition with both versions, converted by a webhook."""

    def version(name: str, field: str) -> Obj:
        properties = {field: {"type": "integer"}, "kept": {"type": "string", "default": f"by {name}"}}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        return {
            "name": name,
            "served": True,
            "storage": name == storage,
            "schema": {"openAPIV3Schema": schema},
            "selectableFields": [{"jsonPath": f".spec.{field}"}],
        }

    crd = definition()
    crd["spec"]["versions"] = [version("v1", "n"), version("v2", "count")]
    webhook = {"conversionReviewVersions": list(reviews), "clientConfig": client_config}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return crd


def foo(name: str, version: str, **spec: Any) -> Obj:
    return {"apiVersion": f"example.com/{version}", "kind": "Foo", "metadata": {"name": name}, "spec": spec}


async def made(plane: Plane, path: str, obj: Obj) -> Obj:
    status, body = await plane.call("POST", path, obj)
    assert status == 201, body
    return body  # type: ignore[no-any-return]  # JSON


async def read(plane: Plane, path: str) -> Obj:
    status, body = await plane.call("GET", path)
    assert status == 200, str(body)
    return body  # type: ignore[no-any-return]  # JSON


def alone(directory: Path) -> AbstractAsyncContextManager[Plane]:
    """A plane without controllers: they watch all resources too, and the tests count who is asked for what."""
    config = config_in(directory)
    config.run_controllers = False
    return running_plane(directory, config)


@asynccontextmanager
async def plane_with_webhook(directory: Path, **options: Any) -> AsyncIterator[tuple[Plane, Webhook]]:
    """A plane, and a webhook that converts for its definition."""
    async with running_webhook(directory, converting) as webhook, alone(directory) as plane:
        config = {"url": webhook.url, "caBundle": webhook.ca_bundle}
        await made(plane, DEFINITIONS_PATH, two_versions(config, **options))
        yield plane, webhook


async def use_storage(plane: Plane, version: str) -> None:
    crd = await read(plane, f"{DEFINITIONS_PATH}/foos.example.com")
    for one in crd["spec"]["versions"]:
        one["storage"] = one["name"] == version
    status, body = await plane.call("PUT", f"{DEFINITIONS_PATH}/foos.example.com", crd)
    assert status == 200, str(body)


def specs(listed: Obj) -> dict[str, Obj]:
    return {item["metadata"]["name"]: item["spec"] for item in listed["items"]}


@pytest.mark.parametrize("reviews", [("v1",), ("v2", "v1beta1", "v1")], ids=["v1", "v1beta1"])
def test_each_version_has_its_own_form(tmp_path: Path, reviews: tuple[str, ...]) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path, reviews=reviews) as (plane, webhook):
            old = await made(plane, V1, foo("a", "v1", n=1))
            new = await made(plane, V2, foo("b", "v2", count=2, unknown=3))
            assert old["spec"] == {"n": 1, "kept": "by v1"}
            assert new["spec"] == {"count": 2, "kept": "by v2"}
            assert new["apiVersion"] == "example.com/v2"
            assert {review["apiVersion"] for review in webhook.asked} == {
                "apiextensions.k8s.io/v1" if reviews == ("v1",) else "apiextensions.k8s.io/v1beta1"
            }
            assert (await read(plane, f"{V1}/b"))["spec"] == {"n": 2, "kept": "by v2"}
            assert (await read(plane, f"{V2}/a"))["spec"] == {"count": 1, "kept": "by v1"}
            status, patched = await plane.call("PATCH", f"{V2}/a", {"spec": {"count": 5}}, headers=MERGE)
            assert (status, patched["spec"], patched["metadata"]["generation"]) == (
                200,
                {"count": 5, "kept": "by v1"},
                2,
            )
            assert (await read(plane, f"{V1}/a"))["spec"]["n"] == 5
            status, deleted = await plane.call("DELETE", f"{V2}/a")
            assert (status, deleted["status"]) == (200, "Success")

    run(main())


def test_lists_of_mixed_storage_are_converted_in_one_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            for i in range(20):
                await made(plane, V1, foo(f"a{i:02}", "v1", n=i))
            await use_storage(plane, "v2")
            for i in range(20):
                await made(plane, V2, foo(f"b{i:02}", "v2", count=i))
            assert webhook.asked == []
            listed = specs(await read(plane, V2))
            assert listed == {
                **{f"a{i:02}": {"count": i, "kept": "by v1"} for i in range(20)},
                **{f"b{i:02}": {"count": i, "kept": "by v2"} for i in range(20)},
            }
            assert [len(review["request"]["objects"]) for review in webhook.asked] == [20]
            assert len(specs(await read(plane, V1))) == 40
            assert list(specs(await read(plane, f"{V1}?fieldSelector=spec.n=7"))) == ["a07", "b07"]
            assert list(specs(await read(plane, f"{V2}?labelSelector=x"))) == []
            page = await read(plane, f"{V1}?limit=30")
            rest = await read(plane, f"{V1}?limit=30&continue={page['metadata']['continue']}")
            assert len(page["items"]) + len(rest["items"]) == 40
            assert [len(review["request"]["objects"]) for review in webhook.asked] == [20, 20]  # asked once an object

    run(main())


def test_readers_of_the_same_wait_for_one_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            for i in range(3):
                await made(plane, V1, foo(f"a{i}", "v1", n=i))
            opened = asyncio.Event()

            async def late(review: Obj) -> web.Response:
                await opened.wait()
                return converting(review)

            webhook.answer = late
            reading = [asyncio.ensure_future(read(plane, V2)) for _ in range(10)]
            await webhook.was_asked.wait()
            impatient = asyncio.ensure_future(read(plane, V2))
            await asyncio.sleep(0.02)
            impatient.cancel()  # who gives up does not take it from the others
            opened.set()
            assert all(len(listed["items"]) == 3 for listed in await asyncio.gather(*reading))
            assert len(webhook.asked) == 1

    run(main())


async def events(plane: Plane, path: str, enough: Callable[[list[Obj]], bool]) -> list[Obj]:
    """What a watch brings until it is enough."""
    seen: list[Obj] = []
    async with plane.http.get(plane.running.url + path, ssl=plane.admin_tls) as watch:
        assert watch.status == 200
        async for line in watch.content:
            seen.append(json.loads(line))
            if enough(seen):
                return seen
    return seen


def test_watches_in_both_versions_see_every_change_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            await made(plane, V1, foo("first", "v1", n=-1))

            async def slowly(review: Obj) -> web.Response:
                await asyncio.sleep(0.003)
                return converting(review)

            webhook.answer = slowly

            def enough(seen: list[Obj]) -> bool:
                return bool(seen[-1]["type"] == "DELETED")

            watching = [asyncio.ensure_future(events(plane, f"{path}?watch=1", enough)) for path in (V1, V2, V2)]
            selected = asyncio.ensure_future(
                events(plane, f"{V2}?watch=1&fieldSelector=spec.count=3", lambda seen: seen[-1]["type"] == "DELETED")
            )
            for i in range(10):
                path, version, field = (V1, "v1", "n") if i % 2 else (V2, "v2", "count")
                await made(plane, path, foo(f"a{i}", version, **{field: i}))
            await plane.call("PATCH", f"{V1}/a3", {"spec": {"n": 30}}, headers=MERGE)
            await made(plane, V1, foo("last", "v1", n=99))
            assert (await plane.call("DELETE", f"{V1}/last"))[0] == 200
            in_v1, in_v2, again = await asyncio.gather(*watching)
            assert in_v2 == again
            assert [event["type"] for event in in_v1] == ["ADDED"] * 11 + ["MODIFIED", "ADDED", "DELETED"]
            revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in in_v1]
            assert revisions == sorted(revisions)
            assert [int(event["object"]["metadata"]["resourceVersion"]) for event in in_v2] == revisions
            assert [event["object"]["spec"]["n"] for event in in_v1] == [
                event["object"]["spec"]["count"] for event in in_v2
            ]
            assert [event["object"]["apiVersion"] for event in in_v2] == ["example.com/v2"] * len(in_v2)
            came, left = await selected
            assert (came["type"], came["object"]["spec"]["count"]) == ("ADDED", 3)
            assert (left["type"], left["object"]["metadata"]["name"]) == ("DELETED", "a3")

    run(main())


def test_while_the_webhook_is_down_only_what_needs_it_fails(tmp_path: Path) -> None:
    async def main() -> None:
        async with alone(tmp_path) as plane:
            async with running_webhook(tmp_path, converting) as webhook:
                config = {"url": webhook.url, "caBundle": webhook.ca_bundle}
                await made(plane, DEFINITIONS_PATH, two_versions(config))
                await made(plane, V1, foo("a", "v1", n=1))
            failed = f'failed: Post "{webhook.url}?timeout=30s": dial tcp localhost:{webhook.port}: connect: '
            status, body = await plane.call("GET", f"{V2}/a")
            assert (status, body.get("reason")) == (500, None)
            assert body["message"].startswith(f"conversion webhook for example.com/v1, Kind=Foo {failed}")
            assert (await plane.call("GET", V2))[0] == 500
            status, body = await plane.call("POST", V2, foo("b", "v2", count=2))
            assert status == 500
            assert body["message"].startswith(f"conversion webhook for example.com/v2, Kind=Foo {failed}")
            assert (await plane.call("PATCH", f"{V2}/a", {"spec": {"count": 2}}, headers=MERGE))[0] == 500
            (event,) = await events(plane, f"{V2}?watch=1", bool)
            assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
            assert "conversion webhook" in event["object"]["message"]
            assert specs(await read(plane, V1)) == {"a": {"n": 1, "kept": "by v1"}}  # what is stored is served
            await made(plane, V1, foo("c", "v1", n=3))

    run(main())


def test_a_watch_ends_with_an_error_at_what_cannot_be_converted_and_loses_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            revision = (await made(plane, V1, foo("a", "v1", n=1)))["metadata"]["resourceVersion"]

            def refusing(review: Obj) -> web.Response:
                if any(obj["metadata"]["name"] == "bad" for obj in review["request"]["objects"]):
                    return web.json_response(answer(review, result={"status": "Failed", "message": "no n"}))
                return converting(review)

            webhook.answer = refusing
            watching = asyncio.ensure_future(
                events(plane, f"{V2}?watch=1&resourceVersion={revision}", lambda _seen: False)
            )
            await made(plane, V1, foo("b", "v1", n=2))
            await webhook.was_asked.wait()
            await made(plane, V1, foo("bad", "v1", n=3))
            good, error = await watching
            assert (good["object"]["metadata"]["name"], error["type"]) == ("b", "ERROR")
            assert error["object"]["message"] == "conversion webhook for example.com/v1, Kind=Foo failed: no n"
            webhook.answer = converting
            resumed = good["object"]["metadata"]["resourceVersion"]
            (missed,) = await events(plane, f"{V2}?watch=1&resourceVersion={resumed}", bool)
            assert (missed["type"], missed["object"]["spec"]["count"]) == ("ADDED", 3)

    run(main())


def with_objects(change: Callable[[Obj], Any]) -> Callable[[Obj], web.Response]:
    """A webhook that converts, and spoils each object."""

    def spoiling(review: Obj) -> web.Response:
        given = answer(review)
        for obj in given["response"]["convertedObjects"]:
            change(obj)
        return web.json_response(given)

    return spoiling


OF = "conversion webhook for example.com/v1, Kind=Foo"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param(
            lambda _r: web.Response(status=500, text="x"), f'{OF} failed: an error on the server ("x")', id="500"
        ),
        pytest.param(lambda _r: web.Response(text="x"), f"{OF} failed: ", id="not JSON"),
        pytest.param(
            lambda r: web.json_response({**answer(r), "apiVersion": "v1"}),
            f"{OF} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /v1, ",
            id="another kind",
        ),
        pytest.param(
            lambda r: web.json_response({**answer(r), "response": None}),
            f"{OF} failed: no response provided",
            id="no response",
        ),
        pytest.param(
            lambda r: web.json_response(answer(r, uid="x")), f"{OF} failed: expected response.uid=", id="another uid"
        ),
        pytest.param(
            lambda r: web.json_response(answer(r, result={"status": "Failure"})),
            f"{OF} failed: response.result.status was 'Failure', not 'Success'",
            id="failure without a text",
        ),
        pytest.param(
            lambda r: web.json_response(answer(r, convertedObjects=[])),
            f"{OF} returned 0 objects, expected 1",
            id="too few",
        ),
        pytest.param(
            with_objects(lambda obj: obj.update(apiVersion="example.com/v1")),
            f"{OF} returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received "
            "example.com/v1)",
            id="not converted",
        ),
        pytest.param(
            with_objects(lambda obj: obj.update(kind="Bar")),
            f"{OF} returned invalid object at index 0: invalid kind (expected Foo, received Bar)",
            id="kind",
        ),
        pytest.param(
            with_objects(lambda obj: obj["metadata"].update(name="b")),
            f"{OF} returned invalid object: must have the same name: a != b",
            id="name",
        ),
        pytest.param(
            with_objects(lambda obj: obj["metadata"].update(uid="b")),
            f"{OF} returned invalid object: must have the same UID: ",
            id="uid",
        ),
        pytest.param(
            with_objects(lambda obj: obj["metadata"].update(labels={"a": 1})),
            f"{OF} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
            id="labels of another type",
        ),
        pytest.param(
            with_objects(lambda obj: obj["metadata"].update(labels={"a b": "c"})),
            f'{OF} returned invalid metadata: metadata.labels: Invalid value: "a b": ',
            id="bad labels",
        ),
        pytest.param(
            with_objects(lambda obj: obj.update(metadata=[])),
            f"{OF} returned invalid object: must have the same name: a != ",
            id="metadata that is none",
        ),
    ],
)
def test_an_answer_that_cannot_be_used_is_refused(
    tmp_path: Path, wrong: Callable[[Obj], web.Response], said: str
) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            await made(plane, V1, foo("a", "v1", n=1))
            webhook.answer = wrong
            status, body = await plane.call("GET", f"{V2}/a")
            assert status == 500
            assert body["message"].startswith(said)
            webhook.answer = converting
            assert (await read(plane, f"{V2}/a"))["spec"] == {"count": 1, "kept": "by v1"}

    run(main())


def test_a_webhook_may_change_labels_and_annotations_and_nothing_else_of_the_metadata(tmp_path: Path) -> None:
    def change(obj: Obj) -> None:
        obj["metadata"].update(labels={"made": "here"}, annotations={}, generation=99, finalizers=["x/y"])

    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            before = await made(plane, V1, foo("a", "v1", n=1))
            webhook.answer = with_objects(change)
            after = await read(plane, f"{V2}/a")
            assert after["metadata"]["labels"] == {"made": "here"}
            assert "finalizers" not in after["metadata"]
            for key in ("generation", "uid", "creationTimestamp", "resourceVersion"):
                assert after["metadata"][key] == before["metadata"][key]
            assert list(specs(await read(plane, f"{V2}?labelSelector=made=here"))) == ["a"]
            assert list(specs(await read(plane, f"{V1}?labelSelector=made=here"))) == []

    run(main())


def test_a_webhook_named_as_a_service_is_found_by_the_resolver(tmp_path: Path) -> None:
    class Resolver:
        port = 0

        async def resolve(self, namespace: str, name: str, port: int) -> Endpoint:
            assert (namespace, name, port) == ("ns", "hook", 443)
            return Endpoint("127.0.0.1", self.port)

    async def main() -> None:
        config, resolver = config_in(tmp_path), Resolver()
        config.service_resolver = resolver
        async with (
            running_webhook(tmp_path, converting, names=("hook.ns.svc",)) as webhook,
            running_plane(tmp_path, config) as plane,
        ):
            resolver.port = webhook.port
            service = {"namespace": "ns", "name": "hook", "path": "/convert"}
            await made(plane, DEFINITIONS_PATH, two_versions({"service": service, "caBundle": webhook.ca_bundle}))
            await made(plane, V2, foo("a", "v2", count=1))
            assert (await read(plane, f"{V1}/a"))["spec"]["n"] == 1

    run(main())


def test_a_changed_definition_and_its_old_watchers_do_not_take_conversions_from_each_other(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_with_webhook(tmp_path) as (plane, webhook):
            for i in range(20):
                await made(plane, V1, foo(f"a{i:02}", "v1", n=i))
            released = asyncio.Event()

            async def late(review: Obj) -> web.Response:
                await released.wait()
                return converting(review)

            webhook.answer = late
            before = asyncio.ensure_future(read(plane, V2))  # by the definition as it is now
            await webhook.was_asked.wait()
            await use_storage(plane, "v2")
            after = [asyncio.ensure_future(read(plane, V2)) for _ in range(5)]
            await asyncio.sleep(0.05)
            released.set()
            for listed in await asyncio.gather(before, *after):
                assert {spec["count"] for spec in specs(listed).values()} == set(range(20))

    run(main())
