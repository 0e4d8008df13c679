from __future__ import annotations

from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV2SpecValidator, OpenAPIV30SpecValidator

from controlplane.apimachinery.resource import Resource
from controlplane.apis.builtin import BUILTIN
from tests.unit.apiserver.openapi.published import WIDGETS, get_json, references

RESOURCES = (*BUILTIN, WIDGETS)
ROOT = get_json("/openapi/v3", *RESOURCES)["paths"]
ACTIONS = {
    "create": "post",
    "delete": "delete",
    "deletecollection": "deletecollection",
    "get": "get",
    "list": "list",
    "patch": "patch",
    "update": "put",
}


@pytest.fixture(scope="module")
def swagger() -> Any:
    return get_json("/openapi/v2", *RESOURCES)


def document(key: str) -> Any:
    return get_json(f"/openapi/v3/{key}", *RESOURCES)


def test_the_root_names_the_document_of_each_version_group_and_root() -> None:
    groups = {f"apis/{resource.group}" if resource.group else "api": resource.versions for resource in RESOURCES}
    versions = {f"{group}/{one.name}" for group, several in groups.items() for one in several if one.served}
    assert list(ROOT) == sorted({"apis", "version", *groups, *versions})


@pytest.mark.parametrize("key", ROOT)
def test_documents_are_valid_openapi_3(key: str) -> None:
    published = document(key)
    assert [str(error) for error in OpenAPIV30SpecValidator(published).iter_errors()] == []
    known = {f"#/components/schemas/{name}" for name in published["components"]["schemas"]}
    assert set(references(published)) <= known


def test_the_whole_is_valid_swagger_2(swagger: Any) -> None:
    assert [str(error) for error in OpenAPIV2SpecValidator(swagger).iter_errors()] == []
    known = {f"#/definitions/{name}" for name in swagger["definitions"]}
    known |= {f"#/parameters/{name}" for name in swagger["parameters"]}
    assert set(references(swagger)) <= known
    assert {f"#/parameters/{name}" for name in swagger["parameters"]} <= set(references(swagger))


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: str(resource.gr))
def test_every_verb_of_every_resource_is_published_in_both(resource: Resource, swagger: Any) -> None:
    version = resource.versions[0].name
    own = {"group": resource.group, "version": version, "kind": resource.kind}
    key = f"apis/{resource.group}/{version}" if resource.group else f"api/{version}"
    root = f"/{key}/namespaces/{{namespace}}" if resource.namespaced else f"/{key}"
    collection = f"{root}/{resource.plural}"
    wanted = {
        (collection if verb in {"list", "create", "deletecollection"} else f"{collection}/{{name}}", ACTIONS[verb])
        for verb in resource.verbs
        if verb != "watch"
    }
    wanted |= {
        (f"{collection}/{{name}}/{subresource.name}", ACTIONS[verb])
        for subresource in resource.subresources
        for verb in subresource.verbs
    }
    kinds = {  # of what a subresource takes that nobody stores, it is that one's kind
        f"{collection}/{{name}}/{subresource.name}": subresource.request.storage_gvk._asdict()
        for subresource in resource.subresources
        if subresource.request is not None
    }
    for published in (document(key), swagger):
        found = {
            (path, operation["x-kubernetes-action"])
            for path, item in published["paths"].items()
            for method, operation in item.items()
            if method != "parameters" and operation.get("x-kubernetes-group-version-kind") == kinds.get(path, own)
        }
        assert wanted <= found


def test_operation_ids_are_unique(swagger: Any) -> None:
    ids = [
        operation["operationId"]
        for item in swagger["paths"].values()
        for method, operation in item.items()
        if method != "parameters"
    ]
    assert len(ids) == len(set(ids)) > 30


def test_an_operation_says_what_it_takes_and_gives() -> None:
    item = document("api/v1")["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
    assert [(p["name"], p["in"], p.get("required", False)) for p in item["parameters"]] == [
        ("name", "path", True),
        ("namespace", "path", True),
        ("pretty", "query", False),
    ]
    patch = item["patch"]
    assert patch["operationId"] == "patchCoreV1NamespacedConfigMap"
    assert patch["tags"] == ["core_v1"]
    assert [p["name"] for p in patch["parameters"]] == ["dryRun", "fieldManager", "fieldValidation", "force"]
    assert sorted(patch["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
    ]
    assert sorted(patch["responses"]) == ["200", "201", "401"]
    answer = patch["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/io.k8s.api.core.v1.ConfigMap"}
    assert patch["x-kubernetes-group-version-kind"] == {"group": "", "kind": "ConfigMap", "version": "v1"}


def test_a_native_kind_is_published_with_its_types_by_name() -> None:
    schemas = document("apis/coordination.k8s.io/v1")["components"]["schemas"]
    lease = schemas["io.k8s.api.coordination.v1.Lease"]
    assert lease["x-kubernetes-group-version-kind"] == [
        {"group": "coordination.k8s.io", "kind": "Lease", "version": "v1"}
    ]
    assert lease["properties"]["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert lease["properties"]["spec"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.coordination.v1.LeaseSpec"}],
        "default": {},
    }
    renew_time = schemas["io.k8s.api.coordination.v1.LeaseSpec"]["properties"]["renewTime"]
    assert renew_time["allOf"] == [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime"}]
    assert "io.k8s.api.coordination.v1.LeaseList" in schemas


def test_lists_keep_how_they_are_merged() -> None:
    schemas = document("api/v1")["components"]["schemas"]
    conditions = schemas["io.k8s.api.core.v1.NamespaceStatus"]["properties"]["conditions"]
    assert (conditions["x-kubernetes-list-type"], conditions["x-kubernetes-list-map-keys"]) == ("map", ["type"])


def test_marks_for_the_decoder_are_not_published(swagger: Any) -> None:
    assert "x-controlplane" not in str(document("api/v1"))
    assert "x-controlplane" not in str(swagger)


def test_old_clients_find_what_they_look_for_in_operations_of_swagger(swagger: Any) -> None:
    operation = swagger["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"]
    assert {"dryRun", "fieldValidation"} <= {parameter.get("name") for parameter in operation["parameters"]}
    assert {"$ref": "#/parameters/fieldManager"} in operation["parameters"]
