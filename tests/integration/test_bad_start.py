"""What cannot work is refused at the start: one clear message that names what, which value and the remedy."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import free_port, sample_plane


def start(directory: Path, *flags: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the sample, which is expected to refuse."""
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "sample_controlplane",
            f"--secure-port={free_port()}",
            f"--cert-dir={directory / 'certs'}",
            f"--write-kubeconfig={directory / 'admin.conf'}",
            *flags,
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        cwd=directory,
        env={**os.environ, **(env or {})},
    )


def assert_refused(done: subprocess.CompletedProcess[str], *texts: str) -> None:
    said = done.stdout + done.stderr
    assert done.returncode not in (0, None), said
    assert "Traceback" not in said, said
    for text in texts:
        assert text in said


def test_misspelt_flag_names_the_nearest(tmp_path: Path) -> None:
    done = start(tmp_path, "--secure-prot=1")
    assert done.returncode == 2
    assert_refused(done, "--secure-prot", "--secure-port")


def test_all_problems_at_once(tmp_path: Path) -> None:
    done = start(tmp_path, "--bind-address=nowhere", "--request-timeout=soon", "--etcd-servers-overrides=/events#x")
    assert_refused(done, "--bind-address", "nowhere", "--request-timeout", "soon", "--etcd-servers-overrides")


def test_unknown_variable(tmp_path: Path) -> None:
    assert_refused(start(tmp_path, env={"CONTROLPLANE_SECURE_PROT": "1"}), "CONTROLPLANE_SECURE_PROT")


def test_unknown_key_in_the_file(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("securePrt: 1\n")
    assert_refused(start(tmp_path, f"--config={config}"), "securePrt")


def test_unknown_store_scheme(tmp_path: Path) -> None:
    assert_refused(start(tmp_path, "--store=zookeeper:x"), "--store", "zookeeper", "sqlite")


@pytest.mark.parametrize("store", ["memory:x", "sqlite:", "etcd:", "plain.db"])
def test_store_without_or_with_too_much_place(tmp_path: Path, store: str) -> None:
    done = start(tmp_path, f"--store={store}")
    assert done.returncode == 2
    assert_refused(done, "--store", store)


def test_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert_refused(start(tmp_path, f"--secure-port={port}", f"--store=sqlite:{tmp_path}/s.db"), str(port), "in use")


def test_store_folder_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert_refused(start(tmp_path, f"--store=sqlite:{blocked}/store.db"), str(blocked))


def test_store_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"certainly not a database " * 400)
    before = path.read_bytes()
    assert_refused(start(tmp_path, f"--store=sqlite:{path}"), str(path))
    assert path.read_bytes() == before, "nothing is changed"


def test_store_is_cut_off(tmp_path: Path) -> None:
    with sample_plane(tmp_path) as plane:
        for index in range(200):
            body = {
                "kind": "ConfigMap",
                "apiVersion": "v1",
                "metadata": {"name": f"m{index}"},
                "data": {"x": "y" * 999},
            }
            assert plane.request("POST", "/api/v1/namespaces/default/configmaps", body).status == 201
    path = tmp_path / "store.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for side in ("-wal", "-shm"):
        Path(str(path) + side).unlink(missing_ok=True)
    assert_refused(start(tmp_path, f"--store=sqlite:{path}"), str(path))


def test_store_is_held_by_another_process(tmp_path: Path) -> None:
    with sample_plane(tmp_path) as plane:
        other = tmp_path / "other"
        other.mkdir()
        done = start(other, f"--store=sqlite:{tmp_path}/store.db")
        assert_refused(done, f"{tmp_path}/store.db", str(plane.process.pid))
        assert plane.request("GET", "/readyz").status == 200


def test_store_is_full(tmp_path: Path) -> None:
    """Writes fail clearly while the disk is full; nothing acknowledged is lost; it goes on when there is room."""
    mount = tmp_path / "small"
    mount.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        with sample_plane(tmp_path, store=f"sqlite:{mount}/store.db") as plane:
            path = "/api/v1/namespaces/default/configmaps"
            acknowledged, codes = set(), set()
            for index in range(200):
                body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"m{index}"}}
                body["data"] = {"x": "y" * 50_000}
                answer = plane.request("POST", path, body)
                codes.add(answer.status)
                if answer.status == 201:
                    acknowledged.add(f"m{index}")
                elif len(acknowledged) > 3:
                    assert answer.status >= 500
                    assert answer.json()["message"] == "etcdserver: mvcc: database space exceeded"
                    break
            assert codes - {201}, "the disk never filled up"
            assert "database or disk is full: the disk is full; free space" in (tmp_path / "log.txt").read_text()
            listed = {i["metadata"]["name"] for i in plane.request("GET", path + "?resourceVersion=0").json()["items"]}
            assert acknowledged <= listed
            subprocess.run(["mount", "-o", "remount,size=64m", str(mount)], check=True)
            for attempt in range(100):
                body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"again-{attempt}"}}
                if plane.request("POST", path, body).status == 201:
                    break
            else:
                pytest.fail("it did not recover when there was room again")
            listed = {i["metadata"]["name"] for i in plane.request("GET", path).json()["items"]}
            assert acknowledged <= listed
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
        shutil.rmtree(mount, ignore_errors=True)
