"""Hostile clients against the sample as a process: its memory stays bounded, and others are served meanwhile."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.processes import NO_CONTROLLERS, Plane, resident_mb, sample_plane

pytestmark = pytest.mark.alone

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
LIMIT = 3 * 1024 * 1024
CONNECTIONS = 2000 if os.environ.get("CONTROLPLANE_TEST_LONG") else 500
GROWTH_MB = 60
"""More than one large body and its parts, less than what any of these attacks would keep if nothing bounded it."""


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    with sample_plane(tmp_path_factory.mktemp("hostile"), flags=NO_CONTROLLERS) as running:
        yield running


@contextlib.contextmanager
def served_and_bounded(plane: Plane, growth_mb: float = GROWTH_MB) -> Iterator[None]:
    """Inside, others are served at the end; afterwards the server has kept no more than ``growth_mb``."""
    before = resident_mb(plane.process.pid)
    yield
    begin = time.monotonic()
    assert plane.request("GET", "/api/v1/namespaces/default").status == 200
    assert time.monotonic() - begin < 10
    assert resident_mb(plane.process.pid) - before < growth_mb


def raw(plane: Plane, *, certified: bool = True) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=plane.target.ca)
    if certified:
        context.load_cert_chain(plane.target.cert, plane.target.key)
    plain = socket.create_connection((plane.target.host, plane.target.port), timeout=30)
    return context.wrap_socket(plain, server_hostname=plane.target.host)


def answer(connection: ssl.SSLSocket) -> bytes:
    """What comes until the server closes, or a second passes; an answer may be cut off by a reset."""
    connection.settimeout(1)
    found = b""
    with contextlib.suppress(TimeoutError, ConnectionError, ssl.SSLError):
        while piece := connection.recv(65536):
            found += piece
    return found


def deep_json(depth: int) -> bytes:
    return b'{"metadata":{"name":"x"},"data":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"


def laughs() -> bytes:
    lines = ["a0: &a0 lol"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(["apiVersion: v1", "kind: ConfigMap", "metadata: {name: x}", *lines]).encode()


@pytest.mark.parametrize(
    ("body", "content_type", "statuses"),
    [
        (lambda: b'{"data":{"a":"' + b"x" * LIMIT + b'"}}', "application/json", {413}),
        (lambda: deep_json(100_000), "application/json", {400, 413}),
        (lambda: b"[" * 1_000_000, "application/json", {400}),
        (laughs, "application/yaml", {400, 413, 422}),
        (lambda: b"- " * 500_000, "application/yaml", {400, 413}),
        (lambda: b"\xff" * 1_000_000, "application/json", {400}),
        (lambda: b"k8s\x00" + b"\x0a\xff\xff\xff\xff\x0f", "application/vnd.kubernetes.protobuf", {400}),
    ],
    ids=["oversized", "deep", "unclosed", "laughs", "nested-yaml", "not-text", "long-length"],
)
def test_bodies(plane: Plane, body: Callable[[], bytes], content_type: str, statuses: set[int]) -> None:
    with served_and_bounded(plane):
        for _ in range(3):
            refused = plane.request("POST", CONFIGMAPS, body(), headers={"Content-Type": content_type})
            assert refused.status in statuses, refused.body[:300]
            assert refused.json()["kind"] == "Status"
            assert len(refused.body) < 100_000


def test_a_compressed_bomb_is_not_expanded(plane: Plane) -> None:
    bomb = gzip.compress(b"0" * 200_000_000)
    assert len(bomb) < LIMIT
    with served_and_bounded(plane):
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        assert plane.request("POST", CONFIGMAPS, bomb, headers=headers).status in (400, 415)


def test_floods_of_headers_are_refused(plane: Plane) -> None:
    with served_and_bounded(plane):
        for flood in (
            b"".join(b"X-%d: y\r\n" % n for n in range(50_000)),
            b"X-Long: " + b"y" * 5_000_000 + b"\r\n",
        ):
            with raw(plane) as connection:
                with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
                    connection.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n" + flood + b"\r\n")
                assert b" 200 " not in answer(connection)[:64]


def test_idle_connections_cost_little_and_keep_nobody_out(plane: Plane) -> None:
    with contextlib.ExitStack() as stack, served_and_bounded(plane, growth_mb=CONNECTIONS * 0.06 + GROWTH_MB):
        for number in range(CONNECTIONS):
            if number % 4:
                plain = socket.create_connection((plane.target.host, plane.target.port), timeout=30)
                stack.callback(plain.close)  # never begins its handshake
            else:
                stack.enter_context(raw(plane, certified=False))


def test_slow_senders_keep_nobody_out(plane: Plane) -> None:
    """Heads and bodies that come a byte at a time, or end in the middle."""
    with contextlib.ExitStack() as stack, served_and_bounded(plane):
        slow = [stack.enter_context(raw(plane)) for _ in range(40)]
        for connection in slow[:20]:
            connection.sendall(b"GET /api/v1/namesp")
        head = f"POST {CONFIGMAPS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        for connection in slow[20:]:
            connection.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + b'{"metadata":')
        for piece in (b"a", b"c", b"e"):
            for connection in slow[:20]:
                connection.sendall(piece)
            assert plane.request("GET", "/livez").status == 200


def test_watches_whose_clients_do_not_read_are_closed_or_bounded(plane: Plane) -> None:
    """Half-closed and unread watches, while 20 MB of changes go by."""
    name = "watched"
    payload = {"metadata": {"name": name}, "data": {"payload": "x" * 200_000}}
    assert plane.request("POST", CONFIGMAPS, payload).status == 201
    with contextlib.ExitStack() as stack, served_and_bounded(plane, growth_mb=120):
        for number in range(20):
            watch = stack.enter_context(raw(plane))
            watch.sendall(f"GET {CONFIGMAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            if number % 2:
                watch.shutdown(socket.SHUT_WR)
        for number in range(100):
            patch = json.dumps({"data": {"n": str(number)}}).encode()
            headers = {"Content-Type": "application/merge-patch+json"}
            assert plane.request("PATCH", f"{CONFIGMAPS}/{name}", patch, headers=headers).status == 200


def test_nothing_of_all_this_was_stored(plane: Plane, tmp_path: Path) -> None:
    names = [item["metadata"]["name"] for item in plane.request("GET", CONFIGMAPS).json()["items"]]
    assert set(names) <= {"watched"}
    log = (plane.directory / "log.txt").read_text()
    assert "Traceback" not in log, log[-2000:]
    assert len(log) < 5_000_000, f"the log of it all is kept short ({tmp_path})"


WATCHES, FROM_ONE_ADDRESS = 3, 30


def test_watches_of_a_user_and_connections_from_an_address_have_limits(tmp_path: Path) -> None:
    limits = (f"--max-watches-per-user={WATCHES}", f"--max-connections-per-address={FROM_ONE_ADDRESS}")
    with sample_plane(tmp_path, flags=(*NO_CONTROLLERS, *limits)) as plane, contextlib.ExitStack() as stack:
        token = reader_token(plane)

        def watch() -> ssl.SSLSocket:
            opened = stack.enter_context(raw(plane, certified=False))
            head = f"GET {CONFIGMAPS}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
            opened.sendall(head.encode())
            return opened

        open_watches = [watch() for _ in range(WATCHES)]
        for one in open_watches:
            assert one.recv(15) == b"HTTP/1.1 200 OK"
        refused = answer(watch())
        assert refused.startswith(b"HTTP/1.1 429 ")
        assert b"Retry-After: 1\r\n" in refused
        assert b"has 3 watches open, and may have no more" in refused
        assert plane.request("GET", "/api", headers={"Authorization": f"Bearer {token}"}, anonymous=True).status == 200
        open_watches.pop().close()
        deadline = time.monotonic() + 5
        while not (again := watch()).recv(15).endswith(b"200 OK"):
            assert time.monotonic() < deadline
            again.close()

        while (told := connect_and_ask(stack, plane)).startswith(b"HTTP/1.1 200"):
            pass
        assert told.startswith(b"HTTP/1.1 429 ")
        assert b"Too many connections, please try again later." in told
        open_watches.pop().close()
        while not connect_and_ask(stack, plane).startswith(b"HTTP/1.1 200"):
            assert time.monotonic() < deadline + 5


def test_connections_of_a_user_have_a_limit(tmp_path: Path) -> None:
    flags = (*NO_CONTROLLERS, "--max-connections-per-user=3")
    with sample_plane(tmp_path, flags=flags) as plane, contextlib.ExitStack() as stack:
        head = f"GET /api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {reader_token(plane)}\r\n\r\n".encode()

        def ask(connection: ssl.SSLSocket) -> bytes:
            connection.sendall(head)
            return connection.recv(65536)

        def asked() -> tuple[ssl.SSLSocket, bytes]:
            connection = stack.enter_context(raw(plane, certified=False))
            return connection, ask(connection)

        held = [asked() for _ in range(3)]
        assert all(said.startswith(b"HTTP/1.1 200 ") for _, said in held)
        connection, said = asked()
        assert said.startswith(b"HTTP/1.1 429 ")
        assert b"Retry-After: 1\r\n" in said
        assert connection.recv(1) == b"", "the connection ends with it"
        assert ask(held[0][0]).startswith(b"HTTP/1.1 200 "), "those that are there go on"
        assert plane.request("GET", "/api").status == 200, "and others are served"
        held.pop()[0].close()
        deadline = time.monotonic() + 5
        while not asked()[1].startswith(b"HTTP/1.1 200 "):
            assert time.monotonic() < deadline


def connect_and_ask(stack: contextlib.ExitStack, plane: Plane) -> bytes:
    """Open one more connection, which stays open, and ask for something small on it."""
    connection = stack.enter_context(raw(plane))
    connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    return connection.recv(65536)


def reader_token(plane: Plane) -> str:
    """Of a service account that may read configmaps."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    assert plane.request("POST", accounts, {"metadata": {"name": "reader"}}).status == 201
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:aggregate-to-view"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert plane.request("POST", bindings, binding).status == 201
    given = plane.request("POST", f"{accounts}/reader/token", {})
    assert given.status == 201
    return str(given.json()["status"]["token"])
