"""Every decision is explained by its origin, as text and as JSON, without starting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controlplane.base.options import load
from controlplane.generic.config import config_of
from controlplane.generic.explain import Decision, Explanation, explain, explain_command
from controlplane.generic.options import GenericOptions


def explained(*argv: str, environ: dict[str, str] | None = None) -> Explanation:
    loaded = load(GenericOptions, argv, environ=environ or {})
    return explain(loaded, config_of(loaded.options).complete())


def decision(decisions: tuple[Decision, ...], name: str) -> Decision:
    return next(one for one in decisions if one.name == name)


def test_origins_of_kinds(tmp_path: Path) -> None:
    file = tmp_path / "plane.yaml"
    file.write_text("resources:\n  leases: false\n")
    found = explained(
        f"--config={file}",
        "--no-resources.secrets",
        "--runtime-config=v1/configmaps=false",
        environ={"CONTROLPLANE_RESOURCES__ROLES": "false"},
    ).resources
    why = {one.name: (one.on, one.why) for one in found}
    assert why["secrets"] == (False, "--no-resources.secrets, false")
    assert why["configmaps"] == (False, "--runtime-config, v1/configmaps=false")
    assert why["roles.rbac.authorization.k8s.io"] == (False, "CONTROLPLANE_RESOURCES__ROLES, false")
    assert why["leases.coordination.k8s.io"][0] is False
    assert "plane.yaml:2: resources.leases" in why["leases.coordination.k8s.io"][1]
    assert why["namespaces"] == (True, "by default")


def test_what_follows() -> None:
    found = explained("--resources.namespaces=false", "--store=memory:")
    assert decision(found.resources, "configmaps").why == "needs resources.namespaces, which is off"
    assert (
        decision(found.controllers, "root-ca-certificate-publisher").why == "needs resources.namespaces, which is off"
    )
    assert decision(found.controllers, "garbage-collector") == Decision(
        name="garbage-collector", on=True, what="here", why="by default"
    )


def test_where_controllers_run() -> None:
    shared = explained("--etcd-servers=127.0.0.1:2379", "--client-ca-file=ca.crt")
    assert decision(shared.controllers, "garbage-collector").what == "where the leader is"
    assert decision(shared.controllers, "system-namespaces").what == "in every server"
    assert decision(shared.controllers, "certificate-signing").why == "this process has no key to sign with"
    elsewhere = explained("--controllers.enabled=false")
    assert decision(elsewhere.controllers, "garbage-collector") == Decision(
        name="garbage-collector", on=False, what="", why="--controllers.enabled, false: for another process to run"
    )


def test_admission_plugins() -> None:
    found = explained(
        "--disable-admission-plugins=ResourceQuota", "--admission.always-deny", "--resources.secrets=false"
    )
    why = {one.name: (one.on, one.why) for one in found.admission}
    assert why["ResourceQuota"] == (False, "--disable-admission-plugins, ResourceQuota")
    assert why["AlwaysDeny"] == (True, "--admission.always-deny, true")
    assert why["NamespaceLifecycle"] == (True, "by default")
    assert found.authorization == ("RBAC",)


@pytest.mark.parametrize(
    ("argv", "lease", "record"),
    [
        pytest.param((), (True, "by default"), (False, "no other server can be on this store"), id="embedded"),
        pytest.param(("--store=etcd:h:1",), (True, "by default"), (True, "by default"), id="shared"),
        pytest.param(
            ("--store=etcd:h:1", "--resources.leases=false", "--no-identity.peer-record"),
            (False, "needs resources.leases, which is off"),
            (False, "--no-identity.peer-record, false"),
            id="off",
        ),
        pytest.param(
            ("--store=etcd:h:1", "--feature-gates=APIServerIdentity=false"),
            (False, "--feature-gates, APIServerIdentity=false"),
            (True, "by default"),
            id="the gate",
        ),
    ],
)
def test_identity(argv: tuple[str, ...], lease: tuple[bool, str], record: tuple[bool, str]) -> None:
    found = explained(*argv).identity
    assert [(one.name, (one.on, one.why)) for one in found] == [("lease", lease), ("peer record", record)]


def test_what_a_gate_switches() -> None:
    name = "storageversions.internal.apiserver.k8s.io"
    on = decision(explained("--feature-gates=StorageVersionAPI=true").resources, name)
    assert (on.on, on.why) == (True, "--feature-gates, StorageVersionAPI=true")
    off = explained()
    assert (decision(off.resources, name).on, decision(off.resources, name).why) == (False, "by default")
    collects = decision(off.controllers, "storage-version-garbage-collection")
    assert (collects.on, collects.why) == (False, "needs resources.storageversions, which is off")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain_command(GenericOptions, ["--resources.secrets=false", "--output", "json"], program="p") == 0
    found = json.loads(capsys.readouterr().out)
    assert {"name": "secrets", "on": False, "what": "", "why": "--resources.secrets, false"} in found["resources"]
    assert ["--resources.secrets=false", "--resources.secrets"] in found["settings"]
    assert explain_command(GenericOptions, ["--resources.secrets=false"], program="p") == 0
    assert "off  (--resources.secrets, false)" in capsys.readouterr().out
    assert explain_command(GenericOptions, ["-o=xml"], program="p") == 2
    assert "must be one of text, json" in capsys.readouterr().err
    assert explain_command(GenericOptions, ["--resources.secretz=false"], program="p") == 2
