"""Peers that say what no server should: whoever asks them stays as it is, and so do its clients."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from controlplane.testing.planes import Plane
from tests.aio import run
from tests.integration.peerproxy.fleet import AGGREGATED, admin_tls, eventually, fleet, impatient, json_of
from tests.integration.peerproxy.impostor import GHOSTS, Impostor, answer, discovery, impostor

LEGACY = "/apis/lies.example.org/v1"
OPENAPI = f"/openapi/v3{LEGACY}"


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """Discovery with one part of it replaced."""
    document = discovery()
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


VERSION = ("items", 0, "versions", 0)
RESOURCE = (*VERSION, "resources", 0)
NOT_DISCOVERY: dict[str, Any] = {
    "an object for a name": changed("items", 0, "metadata", "name", to={"a": 1}),
    "verbs that are a number": changed(*RESOURCE, "verbs", to=5),
    "verbs that are lists": changed(*RESOURCE, "verbs", to=[["get"]]),
    "a kind that is text": changed(*RESOURCE, "responseKind", to="Ghost"),
    "resources that are null": changed(*VERSION, "resources", to=[None]),
    "a version that is a path": changed(*VERSION, "version", to="v1/a"),
    "a list of groups of another form": {"kind": "APIGroupList", "groups": []},
}


def test_what_is_no_discovery_ends_nobody_and_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes), impostor(made) as liar:
            a = planes["a"]
            before = await json_of(impatient(a), "/apis", AGGREGATED)
            for what, document in NOT_DISCOVERY.items():
                caplog.clear()
                liar.says["/apis"] = answer(200, document)
                await liar.start_again()

                async def named() -> bool:
                    return any("/apis: " in str(record.__dict__) for record in caplog.records)

                assert await eventually(named), what
                assert not liar.knows(a), what
                assert await json_of(impatient(a), "/apis", AGGREGATED) == before, what
            unknown = [
                (await impatient(a).request("GET", path)) for path in (GHOSTS, LEGACY, LEGACY.rpartition("/")[0])
            ]
            assert [response.status for response in unknown] == [503] * 3, "it may serve anything"
            assert all(("Retry-After", "1") in response.headers for response in unknown)
            liar.says["/apis"] = answer(200, discovery())
            await liar.start_again()
            await known(liar, a)
            assert (await impatient(a).request("GET", GHOSTS)).status == 200

    run(main())


async def known(liar: Impostor, plane: Plane) -> None:
    async def shown() -> bool:
        return liar.knows(plane)

    assert await eventually(shown)


NOT_OPENAPI: dict[str, dict[str, Any]] = {
    "a root of another form": {"/openapi/v3": {"paths": ["a"]}},
    "a path that is text": {OPENAPI: {"paths": {f"{LEGACY}/ghosts": "text"}}},
    "definitions without names": {
        OPENAPI: {"paths": {f"{LEGACY}/ghosts": {"$ref": "#/definitions/A"}}, "definitions": ["A"]}
    },
}


def test_what_is_no_openapi_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes), impostor(made) as liar:
            a = planes["a"]
            root = {"paths": {LEGACY.removeprefix("/"): {"serverRelativeURL": f"{OPENAPI}?hash=ABC"}}}
            good: dict[str, Any] = {"/openapi/v2": {"paths": {}}, "/openapi/v3": root, OPENAPI: {"paths": {}}}
            for what, said in NOT_OPENAPI.items():
                caplog.clear()
                liar.says |= {path: answer(200, document) for path, document in (good | said).items()}
                await liar.start_again()

                async def named() -> bool:
                    return any("OpenAPI of a peer cannot be had" in record.getMessage() for record in caplog.records)

                assert await eventually(named), what
                await known(liar, a)
                assert LEGACY.removeprefix("/") not in (await json_of(impatient(a), "/openapi/v3"))["paths"], what

    run(main())


EVIL = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"


def test_a_client_gets_one_answer_to_one_request(tmp_path: Path) -> None:
    """Whatever a peer says: what is behind an answer would be the answer to somebody's next request."""

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes), impostor(made) as liar:
            a = planes["a"]
            await liar.start_again()
            await known(liar, a)
            reader, writer = await asyncio.open_connection("127.0.0.1", a.running.port, ssl=admin_tls(a))
            for said, status in (
                (answer(304, EVIL, "Date: now"), b"503"),
                (answer(204, EVIL, "Date: now"), b"503"),
                (b"HTTP/1.1 100 Continue\r\n\r\n" * 5000 + answer(200, {}), b"503"),
                (answer(200, {}, "A: \udcff"), b"200"),
                (answer(200, {}, "A: \udcff"), b"200"),
            ):
                liar.ghosts = said
                for path, wanted in ((GHOSTS, status), ("/version", b"200")):
                    writer.write(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                    async with asyncio.timeout(5):
                        head = await reader.readuntil(b"\r\n\r\n")
                        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
                        await reader.readexactly(int(length or 0))
                    assert head.split(b" ")[1] == wanted, (said[:40], path)
            writer.close()

    run(main())


def test_who_asks_for_another_protocol_is_not_told_that_he_is_unknown(tmp_path: Path) -> None:
    """It is the server that he has asked whom the other one does not believe."""

    async def main() -> None:
        async with fleet(tmp_path, "a") as (made, planes), impostor(made) as liar:
            a = planes["a"]
            await liar.start_again()
            await known(liar, a)
            liar.ghosts = answer(401, {})
            for headers in ({}, {"Connection": "Upgrade", "Upgrade": "websocket"}):
                assert (await impatient(a).request("GET", GHOSTS, headers=headers)).status == 503

    run(main())
