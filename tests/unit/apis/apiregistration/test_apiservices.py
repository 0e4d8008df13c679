"""API services, as the recorded reference answers have them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apis.apiregistration.apiservices import API_SERVICES
from tests.unit.apis.kinds import Kind

KIND = Kind(API_SERVICES)
NAME = {"name": "v1.example.com"}
LOCAL = {"group": "example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10}
LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def test_a_local_one_is_available_at_once() -> None:
    obj = KIND.created(metadata=NAME, spec=LOCAL)
    assert obj["status"]["conditions"] == [
        {
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "Local APIServices are always available",
            "reason": "Local",
            "status": "True",
            "type": "Available",
        }
    ]
    assert KIND.row(obj) == {"Name": "v1.example.com", "Service": "Local", "Available": "True", "Age": "60s"}
    changed, errors = KIND.changed(obj, metadata=NAME, spec={**LOCAL, "versionPriority": 11}, status={})
    assert (changed["status"], errors) == (obj["status"], [])


def remote(**service: Any) -> Obj:
    return {**LOCAL, "service": {"namespace": "n", "name": "s", **service}}


def test_a_remote_one_waits_to_be_found_available() -> None:
    obj = KIND.created(metadata=NAME, spec=remote())
    assert obj["status"] == {}
    assert obj["spec"]["service"]["port"] == 443
    assert (KIND.row(obj)["Service"], KIND.row(obj)["Available"]) == ("n/s", "Unknown")
    conditions = [{"type": "Available", "status": "False", "reason": "Gone"}]
    changed, errors = KIND.changed(
        obj, subresource="status", metadata=NAME, spec=LOCAL, status={"conditions": conditions}
    )
    assert (changed["spec"], errors) == (obj["spec"], [])
    assert KIND.row(changed)["Available"] == "False (Gone)"
    conditions[0]["status"] = "Maybe"
    assert KIND.changed(obj, subresource="status", metadata=NAME, status={"conditions": conditions})[1] == [
        'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"'
    ]


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        (
            {},
            [
                'metadata.name: Invalid value: "v1.example.com": must be `spec.version+"."+spec.group`: "."',
                "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
                f'spec.version: Invalid value: "": {LABEL}',
                "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
            ],
        ),
        (
            {**LOCAL, "groupPriorityMinimum": 20001, "versionPriority": 1001},
            [
                "spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 1001: must be positive and less than 1000",
            ],
        ),
        (
            {**LOCAL, "insecureSkipTLSVerify": True, "caBundle": "eA=="},
            [
                'spec.caBundle: Invalid value: "1 bytes": local APIServices may not have a caBundle',
                "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
            ],
        ),
        (
            {**remote(namespace="", name="", port=0), "insecureSkipTLSVerify": True, "caBundle": "eA=="},
            [
                "spec.service.namespace: Required value",
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
            ],
        ),
    ],
)
def test_create(spec: Obj, errors: list[str]) -> None:
    assert KIND.refused(metadata=NAME, spec=spec) == errors


def test_the_core_group_has_no_name() -> None:
    assert KIND.refused(metadata={"name": "v1."}, spec={**LOCAL, "group": ""}) == []


def test_flags() -> None:
    assert not API_SERVICES.strategy.unconditional_update
    assert not API_SERVICES.strategy.create_on_update
    assert API_SERVICES.key_prefix == "apiregistration.k8s.io/apiservices"
