import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.endpoints.options import (
    ListOptions,
    WriteOptions,
    delete_options_from_body,
    delete_options_from_query,
    list_options,
    write_options,
)
from controlplane.apiserver.registry.deletion import DeleteRequest
from controlplane.client.request import Query


def test_a_write_without_options_warns_of_unknown_fields() -> None:
    assert write_options(Query(), "CreateOptions") == WriteOptions(field_validation="Warn")


def test_malformed_parameters_are_passed_over() -> None:
    query = Query.parse("limit=%zz&limit=5&a;b=c&continue=1;x&watch=%4&dryRun=%41ll&timeoutSeconds")
    assert query == {"limit": ["5"], "dryRun": ["All"], "timeoutSeconds": [""]}


def test_options_of_a_write_are_read() -> None:
    query = Query.parse("dryRun=All&fieldManager=me&fieldValidation=Strict")
    assert write_options(query, "UpdateOptions") == WriteOptions(
        dry_run=True, field_manager="me", field_validation="Strict"
    )


@pytest.mark.parametrize(
    ("query", "kind", "message"),
    [
        pytest.param(
            "fieldManager=" + "m" * 129,
            "CreateOptions",
            "fieldManager: Too long: may not be more than 128 bytes",
            id="a long name",
        ),
        pytest.param(
            "dryRun=None",
            "PatchOptions",
            'dryRun: Unsupported value: ["None"]: supported values: "All"',
            id="a dry run of a kind there is not",
        ),
        pytest.param(
            "fieldValidation=Some",
            "CreateOptions",
            'fieldValidation: Unsupported value: "Some": supported values: "", "Ignore", "Strict", "Warn"',
            id="a field validation there is not",
        ),
        pytest.param(
            "force=true", "PatchOptions", "force: Forbidden: may not be specified for non-apply patch", id="force"
        ),
    ],
)
def test_bad_options_of_a_write_are_422_of_the_options(query: str, kind: str, message: str) -> None:
    with pytest.raises(APIError) as refused:
        write_options(Query.parse(query), kind)
    assert refused.value.code == 422
    assert refused.value.message == f'{kind}.meta.k8s.io "" is invalid: {message}'


def test_a_control_character_in_the_field_manager_is_named_with_its_place() -> None:
    with pytest.raises(APIError) as refused:
        write_options(Query.parse("fieldManager=a%07b"), "CreateOptions")
    assert refused.value.message.endswith("invalid character U+0007 (at position 1)")


def test_options_of_a_list_are_read() -> None:
    query = Query.parse("labelSelector=a&fieldSelector=b&limit=5&continue=c&timeoutSeconds=9&allowWatchBookmarks=1")
    assert list_options(query) == ListOptions(
        label_selector="a",
        field_selector="b",
        limit=5,
        continue_token="c",
        timeout_seconds=9,
        allow_bookmarks=True,
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax', id="a limit that is no number"),
        pytest.param("watch=1&timeoutSeconds=", 'strconv.ParseInt: parsing "": invalid syntax', id="an empty timeout"),
        pytest.param("limit=9223372036854775808", "value out of range", id="a limit that is too large"),
    ],
)
def test_numbers_that_are_none_are_400(query: str, message: str) -> None:
    with pytest.raises(APIError) as refused:
        list_options(Query.parse(query))
    assert refused.value.code == 400
    assert message in refused.value.message


FORBIDDEN = "resourceVersionMatch: Forbidden: "
UNSUPPORTED = "resourceVersionMatch: Unsupported value: "


@pytest.mark.parametrize(
    ("query", "problems"),
    [
        pytest.param(
            "resourceVersionMatch=Exact",
            [FORBIDDEN + "resourceVersionMatch is forbidden unless resourceVersion is provided"],
            id="a match without a version",
        ),
        pytest.param(
            "resourceVersionMatch=Exact&continue=c",
            [
                FORBIDDEN + "resourceVersionMatch is forbidden unless resourceVersion is provided",
                FORBIDDEN + "resourceVersionMatch is forbidden when continue is provided",
            ],
            id="a match with a continue",
        ),
        pytest.param(
            "resourceVersionMatch=Sometime&resourceVersion=1",
            [UNSUPPORTED + '"Sometime": supported values: "Exact", "NotOlderThan", ""'],
            id="a match there is not",
        ),
        pytest.param(
            "resourceVersionMatch=Exact&resourceVersion=0",
            [FORBIDDEN + 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
            id="exactly any",
        ),
        pytest.param(
            "sendInitialEvents=true",
            ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
            id="initial events of a list",
        ),
        pytest.param(
            "watch=1&sendInitialEvents=false",
            [FORBIDDEN + "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
            id="initial events without a match",
        ),
        pytest.param(
            "watch=1&resourceVersionMatch=NotOlderThan",
            [FORBIDDEN + "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"],
            id="a match without initial events",
        ),
        pytest.param(
            "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
            [
                FORBIDDEN + "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                UNSUPPORTED + '"Exact": supported values: "NotOlderThan"',
            ],
            id="an exact watch",
        ),
    ],
)
def test_options_of_a_list_that_contradict_are_422(query: str, problems: list[str]) -> None:
    with pytest.raises(APIError) as refused:
        list_options(Query.parse(query))
    assert refused.value.code == 422
    joined = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
    assert refused.value.message == f'ListOptions.meta.k8s.io "" is invalid: {joined}'


def test_delete_options_are_read_from_the_query() -> None:
    query = Query.parse("dryRun=All&gracePeriodSeconds=-3&propagationPolicy=Orphan")
    assert delete_options_from_query(query) == DeleteRequest(
        dry_run=True, grace_period_seconds=1, propagation_policy="Orphan"
    )


def test_delete_options_are_read_from_the_body_and_unknown_members_ignored() -> None:
    body = {
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "orphanDependents": False,
        "gracePeriodSeconds": 0,
        "nope": 1,
    }
    assert delete_options_from_body(body) == DeleteRequest(
        uid="u", resource_version="7", orphan_dependents=False, grace_period_seconds=0
    )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param({"gracePeriodSeconds": "soon"}, 400, id="a grace period that is no number"),
        pytest.param({"gracePeriodSeconds": True}, 400, id="a grace period that is a boolean"),
        pytest.param({"kind": "Pod"}, 400, id="another kind"),
        pytest.param({"dryRun": [1]}, 400, id="a dry run that is no text"),
        pytest.param({"propagationPolicy": "orphan"}, 422, id="a policy there is not"),
        pytest.param({"orphanDependents": False, "propagationPolicy": "Orphan"}, 422, id="both"),
    ],
)
def test_bad_delete_options_are_refused(body: dict[str, object], code: int) -> None:
    with pytest.raises(APIError) as refused:
        delete_options_from_body(body)
    assert refused.value.code == code
