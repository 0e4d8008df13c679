"""The server of docs/aggregation.md, as a process of its own, used by clients who do not know of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from controlplane.generic.config import Config
from controlplane.testing.planes import ThreadedPlane, plane_in_thread
from tests.integration.aggregator.planes import Services, api_service, configure_main
from tests.processes import binary, free_port

GROUP = "factory.example.org"
DOCUMENT = Path(__file__).parents[3] / "docs" / "aggregation.md"
MARKED = re.compile(
    r"<!-- run by tests/integration/aggregator/test_documented.py -->\n```python\n(.*?)\n```", re.DOTALL
)


@contextmanager
def documented(directory: Path) -> Iterator[ThreadedPlane]:
    """The main server in this process, the documented one beside it."""
    services = Services("widgets", "shop")

    def configure(config: Config) -> None:
        configure_main(config, directory, services)

    (program,) = MARKED.findall(DOCUMENT.read_text())
    (directory / "widgets.py").write_text(program + "\n")
    assert len([line for line in program.splitlines() if line.strip() and not line.startswith(("from", "import"))]) < 32
    with plane_in_thread(directory, configure=configure) as main:
        services.port = free_port()
        command = [sys.executable, "widgets.py", str(main.kubeconfig), str(services.port)]
        with subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline().startswith("serving https://")
                yield main
            finally:
                process.kill()


@pytest.mark.kubectl
def test_kubectl_and_the_python_client_use_it_as_any_other(tmp_path: Path) -> None:
    client = pytest.importorskip("kubernetes")
    program = binary("kubectl") or pytest.skip("no kubectl")

    def kubectl(*arguments: str, stdin: str = "") -> str:
        cache = tmp_path / "cache"
        command = [program, f"--kubeconfig={tmp_path / 'admin.conf'}", f"--cache-dir={cache}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    with documented(tmp_path):
        bundle = (tmp_path / "widgets-server" / "serving-ca.crt").read_bytes()
        service = api_service(bundle, namespace="shop", name="widgets")
        kubectl("apply", "-f", "-", stdin=yaml.safe_dump(service))
        kubectl("wait", "--for=condition=Available", f"apiservice/v1.{GROUP}", "--timeout=20s")
        assert "shop/widgets" in kubectl("get", "apiservices", f"v1.{GROUP}")
        widget = {"apiVersion": f"{GROUP}/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"color": "red"}}
        kubectl("create", "-f", "-", stdin=json.dumps(widget))
        assert "one" in kubectl("get", "widgets")
        kubectl("patch", "widget", "one", "--type=merge", "-p", '{"spec":{"color":"blue"}}')
        assert kubectl("get", "widget", "one", "-o", "jsonpath={.spec.color}") == "blue"
        api_client = client.config.new_client_from_config(str(tmp_path / "admin.conf"))
        with api_client:
            widgets = client.client.CustomObjectsApi(api_client)
            where = (GROUP, "v1", "default", "widgets")
            watch = client.watch.Watch()
            seen = [
                (event["type"], event["object"]["metadata"]["name"])
                for event in watch.stream(widgets.list_namespaced_custom_object, *where, timeout_seconds=1)
            ]
            assert seen == [("ADDED", "one")]
            two = {**widget, "metadata": {"name": "two"}}
            widgets.create_namespaced_custom_object(*where, two)
            widgets.patch_namespaced_custom_object(*where, "two", {"spec": {"color": "green"}})
            listed = widgets.list_namespaced_custom_object(*where)["items"]
            assert [(one["metadata"]["name"], one["spec"]["color"]) for one in listed] == [
                ("one", "blue"),
                ("two", "green"),
            ]
            widgets.delete_namespaced_custom_object(*where, "two")
        kubectl("delete", "widget", "one")
        assert json.loads(kubectl("get", "widgets", "-o", "json"))["items"] == []
