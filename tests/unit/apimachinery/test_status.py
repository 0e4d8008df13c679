"""API errors as Status objects."""

from __future__ import annotations

import pytest

from controlplane.apimachinery import status
from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.validation import field

PODS = GroupResource("", "pods")
LEASES = GroupResource("coordination.k8s.io", "leases")


@pytest.mark.parametrize(
    ("error", "code", "reason", "message", "details"),
    [
        (status.bad_request("no"), 400, "BadRequest", "no", None),
        (status.unauthorized(), 401, "Unauthorized", "Unauthorized", None),
        (
            status.forbidden(LEASES, "l", "because"),
            403,
            "Forbidden",
            'leases.coordination.k8s.io "l" is forbidden: because',
            {"name": "l", "group": "coordination.k8s.io", "kind": "leases"},
        ),
        (status.forbidden(PODS, "", "because"), 403, "Forbidden", "pods is forbidden: because", {"kind": "pods"}),
        (status.not_found(PODS, "a"), 404, "NotFound", 'pods "a" not found', {"name": "a", "kind": "pods"}),
        (
            status.already_exists(PODS, "a"),
            409,
            "AlreadyExists",
            'pods "a" already exists',
            {"name": "a", "kind": "pods"},
        ),
        (
            status.conflict(PODS, "a", "why"),
            409,
            "Conflict",
            'Operation cannot be fulfilled on pods "a": why',
            {"name": "a", "kind": "pods"},
        ),
        (
            status.method_not_supported(PODS, "patch"),
            405,
            "MethodNotAllowed",
            'patch is not supported on resources of kind "pods"',
            {"kind": "pods"},
        ),
        (status.not_acceptable("no"), 406, "NotAcceptable", "no", None),
        (status.request_entity_too_large("big"), 413, "RequestEntityTooLarge", "big", None),
        (status.unsupported_media_type("odd"), 415, "UnsupportedMediaType", "odd", None),
        (
            status.internal_error("bug"),
            500,
            "InternalError",
            "Internal error occurred: bug",
            {"causes": [{"message": "bug"}]},
        ),
        (
            status.storage_read_error(PODS, "broken", "a"),
            500,
            "StorageReadError",
            "failed to read one or more pods from the storage: broken",
            {"name": "a", "kind": "pods"},
        ),
        (
            status.server_timeout(PODS, "create"),
            500,
            "ServerTimeout",
            "The create operation against pods could not be completed at this time, please try again.",
            {"kind": "pods", "name": "create"},
        ),
        (status.service_unavailable("later", 1), 503, "ServiceUnavailable", "later", {"retryAfterSeconds": 1}),
        (status.forbidden(GroupResource("", ""), "", "because"), 403, "Forbidden", "forbidden: because", {}),
        (
            status.unknown_resource(),
            404,
            "NotFound",
            "the server could not find the requested resource",
            {},
        ),
        (status.too_many_requests("slow down", 2), 429, "TooManyRequests", "slow down", {"retryAfterSeconds": 2}),
        (
            status.too_large_resource_version(9, 5),
            504,
            "Timeout",
            "Timeout: Too large resource version: 9, current: 5",
            {
                "retryAfterSeconds": 1,
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            },
        ),
    ],
)
def test_statuses(error: APIError, code: int, reason: str, message: str, details: dict[str, object] | None) -> None:
    expected: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    if details is not None:
        expected["details"] = details
    assert error.status() == expected


def test_invalid_lists_every_cause_and_says_each_text_once() -> None:
    twice = field.invalid("a", "x", "why")
    error = status.invalid("apps", "Thing", "t", [twice, twice, field.required("b")])
    assert error.message == 'Thing.apps "t" is invalid: [a: Invalid value: "x": why, b: Required value]'
    assert error.details == {
        "name": "t",
        "group": "apps",
        "kind": "Thing",
        "causes": [
            {"reason": "FieldValueInvalid", "message": 'Invalid value: "x": why', "field": "a"},
            {"reason": "FieldValueInvalid", "message": 'Invalid value: "x": why', "field": "a"},
            {"reason": "FieldValueRequired", "message": "Required value", "field": "b"},
        ],
    }


def test_a_cause_of_the_whole_object_has_no_field() -> None:
    error = status.invalid("", "ConfigMap", "a", [field.too_long("", 5)])
    assert error.message == 'ConfigMap "a" is invalid: : Too long: may not be more than 5 bytes'
    assert error.details["causes"] == [
        {"reason": "FieldValueTooLong", "message": "Too long: may not be more than 5 bytes"}
    ]


def test_an_expired_list_carries_its_token() -> None:
    assert status.expired("old", continue_token="t").status()["metadata"] == {"continue": "t"}


def test_empty_details_that_are_given_are_sent() -> None:
    assert APIError(404, "NotFound", "x", details={}).status()["details"] == {}
    assert "details" not in APIError(404, "NotFound", "x").status()
