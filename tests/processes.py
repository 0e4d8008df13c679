"""Start the sample as a process of its own and find what is needed to talk to it."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = [
    "NO_CONTROLLERS",
    "Answer",
    "Plane",
    "Target",
    "binary",
    "cpu_seconds",
    "free_port",
    "resident_mb",
    "sample_plane",
]


def binary(name: str) -> str | None:
    """A program that came with the development packages, else the machine's; None if there is none."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


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
class Answer:
    """One complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Plane:
    """A running sample control plane."""

    target: Target
    process: subprocess.Popen[bytes]
    kubeconfig: Path
    directory: Path
    ready_seconds: float

    def connect(self, *, anonymous: bool = False, timeout: float = 30) -> http.client.HTTPSConnection:
        """A connection as the admin, or without a certificate."""
        context = ssl.create_default_context(cafile=self.target.ca)
        if not anonymous:
            context.load_cert_chain(self.target.cert, self.target.key)
        return http.client.HTTPSConnection(self.target.host, self.target.port, timeout=timeout, context=context)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        anonymous: bool = False,
    ) -> Answer:
        """One request on a connection of its own; a mapping is sent as JSON."""
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        kind = {"Content-Type": "application/json"} if sent is not None else {}
        with contextlib.closing(self.connect(anonymous=anonymous)) as connection:
            connection.request(
                method, path, body=sent, headers={"Accept": "application/json", **kind, **(headers or {})}
            )
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())

    def kill(self) -> None:
        """kill -9, and wait for the process to be gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


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


NO_CONTROLLERS = ("--controllers.enabled=false",)
"""Flags for a plane whose namespaces hold what the test makes and nothing else."""


@contextlib.contextmanager
def sample_plane(
    directory: Path,
    *,
    store: str = "",
    flags: tuple[str, ...] = (),
    port: int = 0,
    code: Path | None = None,
    module: str = "sample_controlplane",
) -> Iterator[Plane]:
    """Run the sample, or another program with its options, until the block ends.

    ``store``: a store URL, by default SQLite in ``directory``; ``port``: the one to listen on, by default any that is
    free; ``code``: the checkout whose code runs, by default this one; ``module``: the program.
    """
    port = port or free_port()
    kubeconfig = directory / "admin.conf"
    with (directory / "log.txt").open("ab") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                module,
                f"--secure-port={port}",
                f"--cert-dir={directory / 'certs'}",
                f"--store={store or f'sqlite:{directory}/store.db'}",
                f"--write-kubeconfig={kubeconfig}",
                *flags,
            ],
            stdout=log,
            stderr=log,
            cwd=code,
            env=_environment(code),
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


def _environment(code: Path | None) -> dict[str, str]:
    """Ours, without what would keep compiled code from being kept; ``code`` comes before what is installed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if code is not None:
        environment["PYTHONPATH"] = f"{code}{os.pathsep}{code / 'sample-controlplane'}"
    return environment


def names_port(kubeconfig: Path, port: int) -> bool:
    """Whether the kubeconfig is this start's: it is written once the port is listened on, over one of an earlier."""
    return kubeconfig.exists() and f":{port}\n" in kubeconfig.read_text()


def wait_ready(process: subprocess.Popen[bytes], port: int, kubeconfig: Path, begin: float, log: Path) -> float:
    """Poll /readyz (anonymous) until 200; seconds since ``begin``."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while time.perf_counter() - begin < 60:
        if process.poll() is not None:
            raise RuntimeError(f"the sample ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=2, context=context)
        with contextlib.suppress(OSError), contextlib.closing(connection):
            connection.request("GET", "/readyz")
            with contextlib.closing(connection.getresponse()) as answer:
                if answer.status == 200 and names_port(kubeconfig, port):
                    return time.perf_counter() - begin
        time.sleep(0.005)
    raise TimeoutError(log.read_text()[-3000:])
