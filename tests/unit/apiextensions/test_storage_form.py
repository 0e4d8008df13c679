"""Definitions in the store have kube-apiserver's v1beta1 form."""

from __future__ import annotations

import pytest

from controlplane.apiextensions.definition.storage_form import StorageForm, fold, unfold
from controlplane.apimachinery.codec.json import dumps, loads
from controlplane.apimachinery.identity import Obj
from tests.custom_resources import definition, real_definitions


def two_versions(**second: object) -> Obj:
    spec: Obj = definition()["spec"]
    first = spec["versions"][0]
    return {**spec, "versions": [first, {**first, "name": "v2", "storage": False, **second}]}


def test_what_versions_have_alike_is_said_once() -> None:
    spec = two_versions()
    folded = fold(spec)
    assert folded["validation"] == spec["versions"][0]["schema"]
    assert folded["versions"] == [
        {"name": "v1", "served": True, "storage": True},
        {"name": "v2", "served": True, "storage": False},
    ]
    assert (folded["version"], folded["preserveUnknownFields"]) == ("v1", False)


def test_what_they_have_not_alike_stays_with_them() -> None:
    folded = fold(two_versions(schema={"openAPIV3Schema": {"type": "object"}}))
    assert "validation" not in folded
    assert all("schema" in version for version in folded["versions"])


@pytest.mark.parametrize("shared", [True, False])
def test_columns_have_another_spelling(shared: bool) -> None:
    columns = [{"name": "A", "type": "string", "jsonPath": ".a"}]
    spec = two_versions(additionalPrinterColumns=columns)
    if shared:
        spec["versions"][0]["additionalPrinterColumns"] = columns
    holder = fold(spec) if shared else fold(spec)["versions"][1]
    assert holder["additionalPrinterColumns"] == [{"name": "A", "type": "string", "JSONPath": ".a"}]
    assert unfold(fold(spec)) == spec


def test_a_webhook_is_unpacked() -> None:
    client = {"url": "https://example.com"}
    spec = {
        **definition()["spec"],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}},
    }
    assert fold(spec)["conversion"] == {
        "strategy": "Webhook",
        "webhookClientConfig": client,
        "conversionReviewVersions": ["v1"],
    }
    assert unfold(fold(spec)) == spec


def test_old_definitions_without_a_list_of_versions_and_those_that_keep_unknown_fields() -> None:
    old = {"group": "example.com", "version": "v1", "names": {}, "scope": "Cluster", "preserveUnknownFields": True}
    assert unfold(old)["versions"] == [{"name": "v1", "served": True, "storage": True}]
    assert unfold(old)["preserveUnknownFields"] is True


def test_bytes_of_the_store_become_those_that_are_served() -> None:
    obj = {**definition(), "status": {"storedVersions": ["v1"]}}
    form = StorageForm()
    stored = dumps({**form.to_storage(obj), "apiVersion": "apiextensions.k8s.io/v1beta1"})
    assert loads(form.convert(stored, "apiextensions.k8s.io/v1beta1", "apiextensions.k8s.io/v1")) == obj


def test_real_definitions_come_back_as_they_were() -> None:
    for crd in real_definitions("kcc"):
        spec = {key: value for key, value in crd["spec"].items() if value is not False}
        assert unfold(fold(spec)) == spec
