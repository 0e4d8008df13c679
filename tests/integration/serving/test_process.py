"""The sample as a process: its command line, its signals, its exit statuses."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

from tests.processes import sample_plane


def sample(*arguments: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sample_controlplane", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=directory,
    )


def test_help_and_version(tmp_path: Path) -> None:
    shown = sample("--help", directory=tmp_path)
    assert shown.returncode == 0
    for text in ("store backup", "--secure-port", "--etcd-servers", "Secure serving flags:", ".sample-controlplane"):
        assert text in shown.stdout
    version = sample("--version", directory=tmp_path)
    assert version.returncode == 0
    assert version.stdout.startswith("sample-controlplane ")
    assert "v1.36" in version.stdout
    assert list(tmp_path.iterdir()) == [], "nothing is made"


def test_store_commands(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/store.db"
    assert sample("store", "check", url, directory=tmp_path).returncode == 1
    with sample_plane(tmp_path):
        assert sample("store", "backup", url, "copy.db", directory=tmp_path).returncode == 0
    checked = sample("store", "check", url, directory=tmp_path)
    assert checked.returncode == 0
    assert "clean" in checked.stdout
    restored = sample("store", "restore", "copy.db", "sqlite:other.db", directory=tmp_path)
    assert restored.returncode == 0
    assert sample("store", "check", "sqlite:other.db", directory=tmp_path).returncode == 0
    assert sample("store", "nonsense", directory=tmp_path).returncode == 2


def test_told_to_stop_it_ends_in_order(tmp_path: Path) -> None:
    with sample_plane(tmp_path) as plane:
        plane.process.send_signal(signal.SIGTERM)
        assert plane.process.wait(20) == 0
    log = (tmp_path / "log.txt").read_text()
    assert f"sample-controlplane: serving https://127.0.0.1:{plane.target.port}; kubeconfig: {plane.kubeconfig}" in log
    assert "shutting down" in log


def test_it_outlives_those_who_read_what_it_prints(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "sample_controlplane", "--secure-port=0", "--cert-dir=.", "--store=memory:"]
    with open(tmp_path / "log.txt", "w") as log:
        process = subprocess.Popen(command, stdout=writing, stderr=log, cwd=tmp_path)
    os.close(writing)
    try:
        deadline = time.monotonic() + 30
        while not (serving := '"serving"' in (tmp_path / "log.txt").read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert serving
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def test_told_twice_it_ends_at_once(tmp_path: Path) -> None:
    with sample_plane(tmp_path, flags=("--shutdown-delay-duration=60s",)) as plane:
        plane.process.send_signal(signal.SIGINT)
        assert plane.request("GET", "/livez").status == 200
        plane.process.send_signal(signal.SIGINT)
        assert plane.process.wait(20) == 1


def test_told_to_stop_while_it_starts_it_ends(tmp_path: Path) -> None:
    """A store that takes connections and says nothing holds the start up for a long time."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"--store=etcd:127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "sample_controlplane", "--secure-port=0", "--cert-dir=.", store]
        with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as process:
            accepted, _ = silent.accept()
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=20)
            accepted.close()
    assert process.returncode == 0, said
    assert "told to stop before it served" in said
    assert "Traceback" not in said


def test_silent_clients_do_not_keep_others_out(tmp_path: Path) -> None:
    """More connections that never begin their handshake than are shaken at a time."""
    with sample_plane(tmp_path) as plane:
        silent = [socket.create_connection(("127.0.0.1", plane.target.port)) for _ in range(50)]
        try:
            assert plane.request("GET", "/livez").status == 200
        finally:
            for connection in silent:
                connection.close()


def test_plain_http_is_refused_and_counted(tmp_path: Path) -> None:
    with sample_plane(tmp_path) as plane:
        with socket.create_connection(("127.0.0.1", plane.target.port)) as plain:
            plain.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            plain.settimeout(10)
            assert not plain.recv(100).startswith(b"HTTP")
        page = plane.request("GET", "/metrics").body.decode()
        line = next(line for line in page.splitlines() if line.startswith("apiserver_tls_handshake_errors_total "))
        assert float(line.split()[1]) >= 1


def test_http_1_1_is_what_is_spoken(tmp_path: Path) -> None:
    with sample_plane(tmp_path) as plane:
        context = ssl.create_default_context(cafile=plane.target.ca)
        context.set_alpn_protocols(["h2", "http/1.1"])
        with socket.create_connection(("127.0.0.1", plane.target.port)) as raw:
            with context.wrap_socket(raw, server_hostname="localhost") as connection:
                assert connection.selected_alpn_protocol() == "http/1.1"
                assert connection.version() == "TLSv1.3"
