"""docs/mixed-versions.md as a new user follows it: the sample's own flags, kubectl, nothing else."""

from __future__ import annotations

import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.etcd_fixture import etcd_server
from tests.integration.peerproxy.processes import soon
from tests.processes import NO_CONTROLLERS, Plane, binary, sample_plane

SECRETS = "/api/v1/namespaces/default/secrets"


def kubectl(plane: Plane, *arguments: str) -> str:
    program = binary("kubectl")
    if program is None:
        pytest.skip("no kubectl binary")
    command = [program, f"--kubeconfig={plane.kubeconfig}", f"--cache-dir={plane.directory / 'cache'}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.etcd
@pytest.mark.kubectl
def test_one_flag_lets_servers_answer_for_each_other(tmp_path: Path) -> None:
    """Of the two one does not serve secrets, which are in the core group: every kubectl command works all the same."""
    with ExitStack() as stack:
        store = f"etcd:{stack.enter_context(etcd_server('local'))}"
        planes = []
        for name, flags in (("whole", ()), ("part", ("--resources.secrets=false",))):
            (tmp_path / name).mkdir()
            given = (f"--cert-dir={tmp_path / 'keys'}", "--peer-proxy", *NO_CONTROLLERS, *flags)
            planes.append(stack.enter_context(sample_plane(tmp_path / name, store=store, flags=given)))
        part = planes[1]
        soon(part, SECRETS, 200)
        assert "secrets" in kubectl(part, "api-resources", "--output=name")
        kubectl(part, "create", "secret", "generic", "one", "--from-literal=a=b")
        assert kubectl(part, "get", "secret", "one", "--output=jsonpath={.data.a}") == "Yg=="
        assert "Secret" in kubectl(part, "explain", "secret")
        kubectl(part, "delete", "secret", "one")
        assert kubectl(part, "get", "secrets", "--output=name") == ""
