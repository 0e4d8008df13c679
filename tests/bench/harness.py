"""Start what is measured: the sample as a process of its own, the bare baseline, and load clients."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = [
    "Plane",
    "Target",
    "bare_server",
    "cpu_seconds",
    "free_port",
    "post_many",
    "resident_mb",
    "run_load",
    "sample_plane",
]


@dataclass(frozen=True)
class Target:
    """Where to send load: address and client files."""

    host: str
    port: int
    ca: str = ""
    cert: str = ""
    key: str = ""

    def options(self) -> dict[str, Any]:
        return {"host": self.host, "port": self.port, "ca": self.ca, "cert": self.cert, "key": self.key}


@dataclass(frozen=True)
class Plane:
    """A running sample control plane."""

    target: Target
    process: subprocess.Popen[bytes]
    kubeconfig: Path
    directory: Path
    ready_seconds: float


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB (10**6 bytes)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(pid)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def target_of(kubeconfig: Path) -> Target:
    """Read a kubeconfig with embedded data; write its parts beside it, since ssl wants files."""
    conf = yaml.safe_load(kubeconfig.read_text())
    cluster, user = conf["clusters"][0]["cluster"], conf["users"][0]["user"]
    parts = {}
    for name, source, field in (
        ("ca", cluster, "certificate-authority"),
        ("cert", user, "client-certificate"),
        ("key", user, "client-key"),
    ):
        if field in source:
            parts[name] = source[field]
            continue
        file = kubeconfig.with_suffix("." + name)
        file.write_bytes(base64.b64decode(source[field + "-data"]))
        file.chmod(0o600)
        parts[name] = str(file)
    host, port = cluster["server"].removeprefix("https://").rsplit(":", 1)
    return Target(host, int(port), **parts)


@contextlib.contextmanager
def sample_plane(directory: Path, *, store: str = "", flags: tuple[str, ...] = ()) -> Iterator[Plane]:
    """Run the sample until the block ends. ``store``: a store URL, by default SQLite in ``directory``."""
    port = free_port()
    kubeconfig = directory / "admin.conf"
    with (directory / "log.txt").open("ab") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "sample_controlplane",
                f"--secure-port={port}",
                f"--cert-dir={directory / 'certs'}",
                f"--store={store or f'sqlite:{directory}/store.db'}",
                f"--write-kubeconfig={kubeconfig}",
                *flags,
            ],
            stdout=log,
            stderr=log,
        )
        try:
            ready = wait_ready(process, port, kubeconfig, begin, directory / "log.txt")
            yield Plane(target_of(kubeconfig), process, kubeconfig, directory, ready)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_ready(process: subprocess.Popen[bytes], port: int, kubeconfig: Path, begin: float, log: Path) -> float:
    """Poll /readyz (anonymous) until 200; seconds since ``begin``."""
    import http.client
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while time.perf_counter() - begin < 60:
        if process.poll() is not None:
            raise RuntimeError(f"the sample ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        with contextlib.suppress(OSError):
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=context)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200 and kubeconfig.exists():
                return time.perf_counter() - begin
        time.sleep(0.005)
    raise TimeoutError(log.read_text()[-3000:])


@contextlib.contextmanager
def bare_server(directory: Path, body: bytes, cert: str, key: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """The baseline serving ``body``; yields its port and process."""
    file = directory / "body.json"
    file.write_bytes(body)
    options = json.dumps({"port": 0, "cert": cert, "key": key, "body_file": str(file)})
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.bare", options], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["port"], process
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def run_load(options: dict[str, Any], server_pid: int = 0) -> dict[str, Any]:
    """One load run in a process of its own; with ``server_pid`` adds the server's CPU microseconds an operation."""
    before = cpu_seconds(server_pid) if server_pid else 0.0
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", json.dumps(options)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    if server_pid:
        total = result["operations"] * (1 + options.get("warm_seconds", 1.0) / result["seconds"])
        result["cpu_us"] = round((cpu_seconds(server_pid) - before) / max(1, total) * 1e6, 1)
    return result


def post_many(target: Target, namespace: str, count: int, *, size: int = 1000, prefix: str = "fill") -> None:
    """Create ``count`` ConfigMaps over a few connections."""
    import asyncio

    import uvloop

    from tests.bench.load import Connection, Load

    load = Load(
        path=f"/api/v1/namespaces/{namespace}/configmaps", op="create", size=size, prefix=prefix, **target.options()
    )

    async def fill() -> None:
        loop = asyncio.get_running_loop()
        context = load.context()
        left = iter(range(count))

        async def one() -> None:
            _, connection = await loop.create_connection(Connection, target.host, target.port, ssl=context)
            for _ in left:
                status = await connection.send(load.request())
                assert status == 201, status
            connection.transport.close()

        await asyncio.gather(*(one() for _ in range(16)))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(fill())
