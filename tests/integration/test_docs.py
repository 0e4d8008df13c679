"""The documents do what they say: every marked snippet is run, every option is in the reference."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.processes import Target, free_port, target_of

ROOT = Path(__file__).parents[2]
MARKED = re.compile(r"<!-- run by tests/integration/test_docs.py -->\n```python\n(.*?)\n```", re.DOTALL)


def snippets(document: str, count: int) -> list[str]:
    found: list[str] = MARKED.findall((ROOT / document).read_text())
    assert len(found) == count, f"marked snippets of {document}"
    return found


def snippet(document: str) -> str:
    return snippets(document, 1)[0]


def test_the_readmes_ten_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet("README.md")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "{'color': 'red'}" in done.stdout
    assert "https://127.0.0.1:" in done.stdout


def test_the_composed_control_plane(tmp_path: Path) -> None:
    """The program of docs/compose.md, its own kind, its own option and its own flag's refusal."""
    program = tmp_path / "factory.py"
    program.write_text(snippet("docs/compose.md"))
    lines = [line for line in program.read_text().splitlines() if line.strip() and not line.startswith("from ")]
    assert len(lines) <= 40
    helped = subprocess.run([sys.executable, str(program), "--help"], capture_output=True, text=True, check=True)
    assert "--widgets.colors" in helped.stdout
    port = free_port()
    with subprocess.Popen(
        [sys.executable, str(program), f"--secure-port={port}"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            kubeconfig = tmp_path / ".controlplane" / "admin.conf"
            wait_for(kubeconfig, process)
            path = f"https://127.0.0.1:{port}/apis/factory.example.org/v1/namespaces/default/widgets"
            target = target_of(kubeconfig)
            made = curl(target.ca, target.cert, target.key, path, {"metadata": {"name": "w"}, "spec": {"color": "red"}})
            assert made["spec"] == {"color": "red"}
            assert made["kind"] == "Widget"
        finally:
            process.terminate()
            process.communicate(timeout=20)


def test_the_control_plane_of_kinds_of_ones_own(tmp_path: Path) -> None:
    """docs/own-kinds.md: its kind is served and painted by its controller; secrets and roles are gone."""
    program = tmp_path / "factory.py"
    program.write_text(snippet("docs/own-kinds.md"))
    lines = [line for line in program.read_text().splitlines() if line.strip() and not line.startswith("from ")]
    assert len(lines) <= 40
    port = free_port()
    with subprocess.Popen(
        [sys.executable, str(program), f"--secure-port={port}"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(tmp_path / ".controlplane" / "admin.conf", process)
            target = target_of(tmp_path / ".controlplane" / "admin.conf")
            root = f"https://127.0.0.1:{port}/apis"
            path = f"{root}/factory.example.org/v1/namespaces/default/widgets"
            made = curl(target.ca, target.cert, target.key, path, {"metadata": {"name": "w"}, "spec": {"coats": 3}})
            assert made["spec"] == {"color": "red", "coats": 3}
            end = time.monotonic() + 30
            while (found := get(target, f"{path}/w"))[1].get("status") != {"coats": 3}:
                assert time.monotonic() < end, found
                time.sleep(0.05)
            assert get(target, f"https://127.0.0.1:{port}/api/v1/namespaces/default/secrets")[0] == 404
            assert get(target, f"{root}/rbac.authorization.k8s.io/v1")[0] == 404
        finally:
            process.terminate()
            _, logged = process.communicate(timeout=20)
    assert [line for line in logged.splitlines() if line.startswith("E")] == []


def test_the_operators_test(tmp_path: Path) -> None:
    """docs/testing-operators.md: pytest runs its test on its operator, with the fixture of the installed plugin."""
    pytest.importorskip("kopf", reason="no kopf (PyPI: kopf)")
    operator, test = snippets("docs/testing-operators.md", 2)
    (tmp_path / "painter.py").write_text(operator + "\n")
    (tmp_path / "test_painter.py").write_text(test + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def wait_for(file: Path, process: subprocess.Popen[str]) -> None:
    """Until a program that has been started has written a file."""
    end = time.monotonic() + 30
    while not file.exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.05)


def get(target: Target, url: str) -> tuple[int, dict[str, Any]]:
    """Status and object."""
    context = ssl.create_default_context(cafile=target.ca)
    context.load_cert_chain(target.cert, target.key)
    with contextlib.closing(
        http.client.HTTPSConnection(target.host, target.port, context=context, timeout=20)
    ) as connection:
        connection.request("GET", urlsplit(url).path, headers={"Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        return answer.status, json.loads(body) if answer.status == 200 else {}


def curl(ca: str, cert: str, key: str, url: str, body: dict[str, object]) -> dict[str, object]:
    parts = urlsplit(url)
    context = ssl.create_default_context(cafile=ca)
    context.load_cert_chain(cert, key)
    connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, context=context, timeout=20)
    try:
        made: dict[str, object] = {}
        for _ in range(200):  # the namespace "default" is made by a loop just after the start
            body = {"apiVersion": "factory.example.org/v1", "kind": "Widget", **body}
            connection.request("POST", parts.path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            made = json.loads(answer.read())
            if answer.status == 201:
                return made
            assert answer.status in (403, 404), made
            time.sleep(0.05)
    finally:
        connection.close()
    pytest.fail(f"not created: {made}")


def test_the_rehearsed_upgrade(tmp_path: Path) -> None:
    """docs/rehearsing-upgrades.md: pytest runs its test."""
    (tmp_path / "test_upgrade.py").write_text(snippet("docs/rehearsing-upgrades.md"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "test_upgrade.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "walls.example.org: " in done.stdout


def test_reference_pages_are_current(tmp_path: Path) -> None:
    """`make docs` would change nothing."""
    done = subprocess.run(
        [sys.executable, "docs/generate.py", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    for page in sorted(tmp_path.iterdir()):
        assert page.read_text() == (ROOT / "docs" / "reference" / page.name).read_text(), (
            f"run `make docs`: {page.name}"
        )


def test_every_guarantee_names_a_test_that_exists() -> None:
    """docs/watch-contract.md: each row's last column is FILE::TEST."""
    rows = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs" / "watch-contract.md").read_text())
    assert len(rows) >= 12
    for file, name in rows:
        assert re.search(rf"def {name}\b", (ROOT / file).read_text()), f"{file} has no {name}"


@pytest.mark.parametrize(
    "document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda p: p.name
)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.name}: {target}"
