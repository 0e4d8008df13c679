# ruff: noqa: E501  # one row a line: wrapped, the tables cannot be read
"""What a definition may say: each rule's cause, path and words."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from controlplane.apiextensions.definition.resource import DEFINITIONS
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import Decoder
from controlplane.apimachinery.validation.strategy import creation_errors
from controlplane.apimachinery.validation.strategy import update_errors as update_errors_of
from tests.custom_resources import definition, real_definitions

ROOT = "spec.validation.openAPIV3Schema"
A = f"{ROOT}.properties[a]"


def decoded(crd: Obj) -> Obj:
    obj = copy.deepcopy(crd)
    assert Decoder("CustomResourceDefinition", DEFINITIONS.versions[0].schema).decode(obj) == []
    DEFINITIONS.strategy.default(obj)
    return obj


def errors(crd: Obj) -> list[str]:
    """What is wrong with a new definition."""
    obj = decoded(crd)
    DEFINITIONS.strategy.prepare_for_create(obj)
    return [str(error) for error in creation_errors(DEFINITIONS, obj)]


def with_schema(schema: Obj) -> Obj:
    crd = definition()
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return crd


def with_field(schema: Obj) -> Obj:
    return with_schema({"type": "object", "properties": {"a": schema}})


def with_spec(**fields: Any) -> Obj:
    crd = definition()
    crd["spec"].update(fields)
    return crd


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"description": "x"}, f"{A}.type: Required value: must not be empty for specified object fields", id="no type"),
        pytest.param({"type": "array"}, f"{A}.items: Required value: must be specified", id="no items"),
        pytest.param({"type": "array", "items": {}}, f"{A}.items.type: Required value: must not be empty for specified array items", id="items without a type"),
        pytest.param({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, f"{A}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic", id="unique items"),
        pytest.param({"type": "object", "$ref": "#/x"}, f"{A}.$ref: Forbidden: $ref is not supported", id="a reference"),
        pytest.param({"type": "string", "id": "x"}, f"{A}.id: Forbidden: id is not supported", id="an id"),
        pytest.param({"type": "array", "items": [{"type": "string"}]}, f"{A}.items: Forbidden: items must be a schema object and not an array", id="a list of items"),
        pytest.param({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}, f"{A}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive", id="fields and other fields"),
        pytest.param({"type": "string", "pattern": "["}, f'{A}.pattern: Invalid value: "[": must be a valid regular expression, but isn\'t: error parsing regexp: missing closing ]: `[`', id="no pattern"),
        pytest.param({"type": "string", "default": 1}, f'{A}.default: Invalid value: "integer":  in body must be of type string: "integer"', id="a default of another type"),
        pytest.param({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"b": "x", "c": 1}}, f'{A}.default: Invalid value: {{"b":"x","c":1}}: must not have unknown fields', id="a default with unknown fields"),
        pytest.param({"type": "string", "anyOf": [{"type": "string"}]}, f"{A}.anyOf[0].type: Forbidden: must be empty to be structural", id="a type in a junctor"),
        pytest.param({"type": "string", "x-kubernetes-list-type": "set"}, f'{A}.type: Invalid value: "string": must be array if x-kubernetes-list-type is specified', id="a list type of no list"),
        pytest.param({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}, f'{A}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"', id="a list type that there is not"),
        pytest.param({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True, "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a b": "c"}}}}}}, f"{A}.properties[metadata].properties[labels].default: Invalid value: {{\"a b\":\"c\"}}: must result in valid metadata: metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')", id="labels by default that are none"),
        pytest.param({"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"}, f"{A}.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map", id="a map without keys"),
        pytest.param({"type": "array", "items": {"type": "object", "properties": {"k": {"type": "string"}}}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}, f"{A}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property", id="a key that may be missing"),
        pytest.param({"type": "object", "x-kubernetes-embedded-resource": True}, f"{A}.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields", id="an embedded object without fields"),
        pytest.param({"type": "string", "x-kubernetes-validations": [{"rule": " "}]}, f"{A}.x-kubernetes-validations[0].rule: Required value: rule is not specified", id="an empty rule"),
    ],
)  # fmt: skip
def test_schemas(schema: Obj, expected: str) -> None:
    assert errors(with_field(schema)) == [expected]


@pytest.mark.parametrize(
    ("crd", "expected"),
    [
        pytest.param(with_schema({"type": "string"}), [f'{ROOT}.type: Invalid value: "string": must be object at the root'], id="root type"),
        pytest.param(with_schema({"type": "object", "nullable": True}), [f"{ROOT}.nullable: Forbidden: nullable cannot be true at the root"], id="null at the root"),
        pytest.param(with_spec(scope="Everywhere"), ['spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"'], id="scope"),
        pytest.param(with_spec(preserveUnknownFields=True), ["spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"], id="unknown fields kept"),
        pytest.param(definition(names={"kind": "a_b"}), None, id="kind"),
        pytest.param(definition(names={"kind": "Foo", "listKind": "Foo"}), ['spec.names.listKind: Invalid value: "Foo": kind and listKind may not be the same'], id="list kind"),
        pytest.param(definition(group="example"), ['spec.group: Invalid value: "example": should be a domain with at least one dot'], id="group"),
        pytest.param(definition(version={"additionalPrinterColumns": [{"name": "N", "type": "bogus", "jsonPath": ".a"}]}), ['spec.additionalPrinterColumns[0].type: Invalid value: "bogus": must be one of boolean,date,integer,number,string'], id="column type"),
        pytest.param(definition(version={"additionalPrinterColumns": [{"name": "N", "type": "date", "format": "date-time", "jsonPath": ".a"}]}), [], id="column format"),
        pytest.param(definition(version={"additionalPrinterColumns": [{"name": "N", "type": "string", "format": "uuid", "jsonPath": ".a"}]}), ['spec.additionalPrinterColumns[0].format: Invalid value: "uuid": must be one of byte,date,date-time,double,float,int32,int64,password'], id="no column format"),
        pytest.param(definition(version={"subresources": {"scale": {"specReplicasPath": ".x", "statusReplicasPath": ".status.x"}}}), ['spec.subresources.scale.specReplicasPath: Invalid value: ".x": should be a json path under .spec'], id="scale path"),
        pytest.param(definition(version={"selectableFields": [{"jsonPath": ".spec.zz"}]}), ['spec.selectableFields[0].jsonPath: Invalid value: ".spec.zz": is an invalid path: does not refer to a valid field'], id="selectable field"),
        pytest.param(definition(version={"deprecationWarning": "x"}), ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'], id="deprecation"),
        pytest.param(with_spec(conversion={"strategy": "Webhook"}), ["spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook", "spec.conversion.conversionReviewVersions: Required value"], id="webhook"),
    ],
)  # fmt: skip
def test_definitions(crd: Obj, expected: list[str] | None) -> None:
    found = errors(crd)
    assert found == expected if expected is not None else found


def test_the_name_is_made_of_plural_and_group() -> None:
    crd = definition()
    crd["metadata"]["name"] = "bars.example.com"
    assert errors(crd) == ['metadata.name: Invalid value: "bars.example.com": must be spec.names.plural+"."+spec.group']


def test_real_definitions_are_valid() -> None:
    for crd in real_definitions("gateway-api"):
        assert errors(crd) == [], crd["metadata"]["name"]


def updated(change: Obj, *, established: bool) -> list[str]:
    old = decoded(definition())
    DEFINITIONS.strategy.prepare_for_create(old)
    old["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    if established:
        old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    new = copy.deepcopy(old)
    for path, value in change.items():
        *parents, last = path.split(".")
        inner = new["spec"]
        for name in parents:
            inner = inner[name]
        inner[last] = value
    DEFINITIONS.strategy.prepare_for_update(new, old)
    assert new["metadata"]["generation"] == 2
    return [error.field for error in update_errors_of(DEFINITIONS, new, old)]


@pytest.mark.parametrize(
    ("change", "established", "fields"),
    [
        pytest.param({"scope": "Cluster"}, True, ["spec.scope"], id="scope of an established one"),
        pytest.param({"scope": "Cluster"}, False, [], id="scope before"),
        pytest.param({"names.kind": "Bar"}, True, ["spec.names.kind"], id="kind of an established one"),
        pytest.param({"names.plural": "bars"}, False, ["spec.names.plural"], id="plural"),
        pytest.param({"group": "example.org"}, False, ["spec.group"], id="group"),
        pytest.param({"names.shortNames": ["f"]}, True, [], id="short names"),
    ],
)
def test_what_an_update_may_change(change: Obj, established: bool, fields: list[str]) -> None:
    assert updated(change, established=established) == fields


def test_a_storage_version_is_remembered_until_it_is_taken_from_the_status() -> None:
    old = decoded(definition())
    DEFINITIONS.strategy.prepare_for_create(old)
    old["metadata"]["resourceVersion"] = "1"
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["name"] = "v2"
    DEFINITIONS.strategy.prepare_for_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    (error,) = update_errors_of(DEFINITIONS, new, old)
    assert (error.field, error.value) == ("status.storedVersions[0]", "v1")


def test_warnings() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "true"}]}
    crd = with_field({"type": "string", "format": "bogus", **rule})
    new = decoded(crd)
    assert DEFINITIONS.strategy.warnings(new) == ['unrecognized format "bogus"']
    again = DEFINITIONS.strategy.update_warnings
    assert again is not None
    assert again(new, new) == []


def with_webhook(**client_config: Any) -> Obj:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client_config}
    return with_spec(conversion={"strategy": "Webhook", "webhook": webhook})


_AT = "spec.conversion.webhookClientConfig"


@pytest.mark.parametrize(
    ("client_config", "expected"),
    [
        pytest.param({}, [f"{_AT}: Required value: exactly one of url or service is required"], id="neither"),
        pytest.param(
            {"url": "http://u:p@/x?a#b"},
            [
                (
                    f"{_AT}.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: "
                    "https://host[/path]"
                ),
                f'{_AT}.url: Invalid value: "": host must be specified; desired format: https://host[/path]',
                f'{_AT}.url: Invalid value: "u:p": user information is not permitted in the URL',
                f'{_AT}.url: Invalid value: "b": fragments are not permitted in the URL',
                f'{_AT}.url: Invalid value: "a": query parameters are not permitted in the URL',
            ],
            id="a URL with all that it may not have",
        ),
        pytest.param(
            {"service": {"name": "", "namespace": "n", "port": 0, "path": "a//B"}},
            [
                f"{_AT}.service.namespace: Required value",  # upstream confuses the two
                f"{_AT}.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                f"{_AT}.service.path: Invalid value: \"a//B\": must start with a '/'",
                f'{_AT}.service.path: Invalid value: "a//B": segment[0] may not be empty',
            ],
            id="a service",
        ),
    ],
)
def test_where_a_webhook_is(client_config: Obj, expected: list[str]) -> None:
    found = errors(with_webhook(**client_config))
    assert found[: len(expected)] == expected


def update_errors(old: Obj, new: Obj) -> list[str]:
    """What is wrong with a change of an established definition."""
    old, new = decoded(old), decoded(new)
    established = [{"type": "Established", "status": "True"}]
    old["status"] = new["status"] = {"conditions": established, "storedVersions": ["v1"]}
    for obj in (old, new):
        obj["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return [str(error) for error in update_errors_of(DEFINITIONS, new, old)]


def test_a_bundle_that_cannot_be_read_may_stay_but_not_come() -> None:
    bad, also_bad = base64.b64encode(b"nonsense").decode(), base64.b64encode(b"rubbish").decode()
    without, having = with_webhook(url="https://a"), with_webhook(url="https://a", caBundle=bad)
    text = "unable to load root certificates: unable to parse bytes as PEM block"
    assert errors(having) == []
    assert update_errors(without, having) == [f'{_AT}.caBundle: Invalid value: "{bad}": {text}']
    assert update_errors(having, with_webhook(url="https://b", caBundle=also_bad)) == []


def test_defaults_with_unknown_fields_may_stay_but_not_come() -> None:
    def with_default(default: Obj, **more: Any) -> Obj:
        inner = {"type": "object", "properties": {"b": {"type": "string"}}, "default": default}
        return with_schema({"type": "object", "properties": {"a": inner}, **more})

    clean, dirty = with_default({"b": "x"}), with_default({"b": "x", "c": 1})
    assert update_errors(clean, dirty) == [
        f'{A}.default: Invalid value: {{"b":"x","c":1}}: must not have unknown fields'
    ]
    assert update_errors(dirty, with_default({"b": "x", "c": 1}, description="new")) == []


def test_a_bound_of_zero_is_a_keyword_too() -> None:
    crd = with_schema({"type": "object", "maxProperties": 0})
    crd["spec"]["versions"][0]["subresources"] = {"status": {}}
    (error,) = errors(crd)
    assert "fields are allowed at the root of the schema if the status subresource is enabled" in error
    root = {"type": "object", "properties": {"metadata": {"type": "object", "minProperties": 0}}}
    (error,) = errors(with_schema(root))
    assert "must not specify anything other than name and generateName" in error


def with_rules(schema: Obj, *given: str) -> Obj:
    return {**schema, "x-kubernetes-validations": [{"rule": rule} for rule in given]}


def test_rules_are_judged_beside_other_faults_but_not_around_them() -> None:
    bad = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}
    ruled = with_rules({"type": "string"}, "self == 1")
    fields = {"bad": with_rules(bad, "self == 1"), "good": ruled}
    found = errors(with_schema(with_rules({"type": "object", "properties": fields}, "self.bad == 1")))
    assert [error.partition(": ")[0] for error in found] == [
        f"{ROOT}.properties[bad].x-kubernetes-list-type",
        f"{ROOT}.properties[good].x-kubernetes-validations[0].rule",
    ]


def test_defaults_keep_the_rules_of_their_schema() -> None:
    (error,) = errors(with_field(with_rules({"type": "integer", "default": 1}, "self > 1")))
    assert error == f"{A}.default: Invalid value: 1: failed rule: self > 1"
    inner = {"type": "object", "properties": {"b": with_rules({"type": "integer"}, "self > 1")}, "default": {"b": 1}}
    assert errors(with_field(inner)) == [f"{A}.default.b: Invalid value: 1: failed rule: self > 1"]
    assert errors(with_field(with_rules({"type": "integer", "default": 2}, "self > 1", "self == oldSelf"))) == []
    changed = with_rules({"type": "integer", "default": 2}, "self < oldSelf")  # it is its own old value, too
    assert errors(with_field(changed)) == [f"{A}.default: Invalid value: 2: failed rule: self < oldSelf"]


def test_rules_of_a_schema_that_has_not_changed_are_not_looked_at_again() -> None:
    def with_rule(rule: str, **more: Any) -> Obj:
        inner = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": [{"rule": rule}]}
        return with_schema({"type": "object", "properties": {"a": inner}, **more})

    costly = "self.all(x, self.all(y, x == y))"
    assert len(errors(with_rule(costly))) == 3
    assert update_errors(with_rule(costly), with_rule(costly)) == []
    assert len(update_errors(with_rule(costly), with_rule(costly, description="new"))) == 3
    assert len(update_errors(with_rule("true"), with_rule(costly))) == 3
    two = with_rule(costly)
    two["spec"]["versions"].append({**copy.deepcopy(two["spec"]["versions"][0]), "name": "v9", "storage": False})
    apart = copy.deepcopy(two)
    apart["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["description"] = "new"
    assert {error.partition(".schema")[0] for error in update_errors(two, apart)} == {"spec.versions[1]"}


def test_kinds_by_default_make_a_kind() -> None:
    def embedded(kind: str) -> list[str]:
        fields = {"kind": {"type": "string", "default": kind}}
        return errors(with_field({"type": "object", "x-kubernetes-embedded-resource": True, "properties": fields}))

    assert embedded("Pod") == []
    (error,) = embedded("%")
    assert error.startswith(f'{A}.properties[kind].default: Invalid value: "%": must result in valid metadata: kind: ')
