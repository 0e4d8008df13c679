"""What it costs that roles decide: a decision, and a GET with it against the same without."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.base.tls.issue import issue_client, new_key
from controlplane.plugins.authorization.bootstrap.selection import bootstrap_policy
from controlplane.plugins.authorization.rbac.authorizer import RBACAuthorizer
from controlplane.plugins.authorization.rbac.index import KINDS, RoleIndex
from tests.bench.harness import post_many, run_load
from tests.bench.report import Row
from tests.mirrors import opened
from tests.processes import Plane, sample_plane
from tests.unit.plugins.authorization.objects import binding, group, role, store

__all__ = ["access"]

SECONDS = 4.0
PATH = "/api/v1/namespaces/default/configmaps/fill-1"
READER = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
USER = UserInfo(name="bench", groups=("bench", "system:authenticated"))
OTHERS = 200


def access() -> Iterator[Row]:
    """A decision once warm and the first of its kind; GET by a user whom a role allows it, of one whom nobody asks."""
    warm_us, cold_us = asyncio.run(_decisions())
    yield Row(
        name="decision by roles, warm", value=warm_us, target=5.0, unit="us", at_most=True, scales=True, detail={}
    )
    yield Row(
        name="decision by roles, the first of its kind",
        value=cold_us,
        target=50.0,
        unit="us",
        at_most=True,
        scales=True,
        detail={"bindings": OTHERS + len(bootstrap_policy().bindings)},
    )
    with ExitStack() as stack:
        planes: list[tuple[Plane, dict[str, object]]] = []
        for flags in ((), ("--authorization-mode=AlwaysAllow",)):
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            plane = stack.enter_context(sample_plane(directory, flags=flags))
            post_many(plane.target, "default", 1)
            planes.append((plane, _as_user(plane, directory)))
        runs = []
        for _ in range(3):
            with_roles, without = (
                run_load(
                    {**options, "op": "get", "path": PATH, "connections": 32, "seconds": SECONDS}, plane.process.pid
                )
                for plane, options in planes
            )
            assert not with_roles["bad"], with_roles
            runs.append((with_roles["rate"] / without["rate"], with_roles["cpu_us"], without["cpu_us"]))
    ratio, with_us, without_us = sorted(runs)[1]
    yield Row(
        name="GET 1 KB with roles, of the same without",
        value=ratio,
        target=0.8,
        unit="x",
        detail={"cpu_us": with_us, "without_cpu_us": without_us},
    )


def _as_user(plane: Plane, directory: Path) -> dict[str, object]:
    """Options of a load as a user whom a role in the namespace allows to read; the role is made."""
    for kind, body in (("roles", role("reader", READER, namespace="default")), ("rolebindings", _binding())):
        answer = plane.request("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/{kind}", body)
        assert answer.status == 201, answer.body
    certs = plane.directory / "certs"
    key = new_key()
    ca = (certs / "client-ca.crt").read_bytes(), (certs / "client-ca.key").read_bytes()
    cert_file, key_file = directory / "bench.crt", directory / "bench.key"
    key_file.write_bytes(key)
    cert_file.write_bytes(issue_client(key, ca, (USER.name, ["bench"]), time.time()))
    return {**plane.target.options(), "cert": str(cert_file), "key": str(key_file)}


def _binding() -> dict[str, object]:
    return binding("reader", "reader", group("bench"), namespace="default")


async def _decisions() -> tuple[float, float]:
    """Microseconds of a decision: one made before, and one of a kind not asked before."""
    async with opened() as (mirror, _):
        policy = bootstrap_policy()
        for obj in (*(r.as_object() for r in policy.roles), *(b.as_object() for b in policy.bindings)):
            await store(mirror, obj)
        await store(mirror, role("reader", READER, namespace="default"))
        await store(mirror, _binding())
        for number in range(OTHERS):
            await store(mirror, binding(f"other-{number}", "view", group(f"team-{number}"), namespace="default"))
        index = RoleIndex(mirror, frozenset(kind.gr for kind in KINDS))
        authorizer = RBACAuthorizer(index)

        def asks(name: str, resource: str = "configmaps") -> Attributes:
            return Attributes(USER, "get", version="v1", resource=resource, namespace="default", name=name)

        assert (await authorizer.authorize(asks("a")))[0] is Decision.ALLOW
        warm = [asks(f"name-{number}") for number in range(20_000)]
        cold = [asks("a", f"resource-{number}") for number in range(5_000)]
        results = []
        for questions in (warm, cold):
            best = float("inf")
            for _ in range(3):
                if questions is cold:
                    index.decisions().clear()
                began = time.perf_counter()
                for question in questions:
                    await authorizer.authorize(question)
                best = min(best, (time.perf_counter() - began) / len(questions))
            results.append(best * 1e6)
        index.close()
    return results[0], results[1]
