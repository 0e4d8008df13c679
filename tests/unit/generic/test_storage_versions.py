"""What a server reports of the forms in which it stores its resources."""

from __future__ import annotations

from pathlib import Path

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.storage_versions import ServerForm
from controlplane.apis.apiserverinternal.storageversions import STORAGE_VERSIONS
from controlplane.generic.config import Config
from controlplane.generic.declare import Version, declare
from controlplane.generic.identity import identity_of
from controlplane.generic.storage_versions import reports_of, storage_forms
from controlplane.testing.planes import plane_config

SCHEMA: Obj = {"type": "object"}
EVENTS, NEW_EVENTS = GroupResource("", "events"), GroupResource("events.k8s.io", "events")


def config(tmp_path: Path) -> Config:
    made = plane_config(tmp_path)
    several = [
        Version(name="v2", schema=SCHEMA),
        Version(name="v1", schema=SCHEMA),
        Version(name="v1alpha1", schema=SCHEMA, served=False),
    ]
    made.declared.append(declare("Widget", group="example.org", versions=several, storage_version="v1"))
    return made


def test_kinds_declared_in_python_are_reported_in_all_their_versions(tmp_path: Path) -> None:
    form = storage_forms(config(tmp_path).complete()).forms[GroupResource("example.org", "widgets")]
    assert form.encoding == "example.org/v1"
    assert sorted(form.served) == ["example.org/v1", "example.org/v2"]
    assert set(form.decodable) >= {"example.org/v1", "example.org/v2"}


def test_built_in_kinds_and_definitions(tmp_path: Path) -> None:
    forms, alike = storage_forms(config(tmp_path).complete())
    assert forms[GroupResource("", "secrets")] == ServerForm("v1", ("v1",), ("v1",))
    assert forms[EVENTS] == ServerForm("v1", ("v1", "events.k8s.io/v1"), ("v1",))
    assert alike == {NEW_EVENTS: EVENTS}
    definitions = forms[GroupResource("apiextensions.k8s.io", "customresourcedefinitions")]
    assert definitions.encoding == "apiextensions.k8s.io/v1beta1"
    assert definitions.served == ("apiextensions.k8s.io/v1",)
    assert GroupResource("authentication.k8s.io", "tokenreviews") not in forms


def test_nothing_is_reported_unless_it_is_asked_for(tmp_path: Path) -> None:
    off = config(tmp_path).complete()
    assert reports_of(off, identity_of(off, 1)) is None
    asked = config(tmp_path)
    asked.resources.append(STORAGE_VERSIONS)
    on = asked.complete()
    reports = reports_of(on, identity_of(on, 1))
    assert reports is not None
    assert reports.pending(GroupResource("", "secrets")) == "<nil>"
    assert reports.pending(NEW_EVENTS) == "<nil>", "as the objects that it shares"
    assert reports.pending(GroupResource("authentication.k8s.io", "tokenreviews")) is None
    asked.resources = [kind for kind in asked.resources if kind.plural != "leases"]
    without_leases = asked.complete()
    assert reports_of(without_leases, identity_of(without_leases, 1)) is None, "nobody could tell whether it lives"
