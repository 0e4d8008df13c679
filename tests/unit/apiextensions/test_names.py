"""Which names a definition gets, on any replica."""

from __future__ import annotations

import pytest

from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.structure import structure_of
from controlplane.apiextensions.names import decide
from controlplane.apimachinery.identity import Obj
from tests.custom_resources import definition

OLD_SCHEMA: Obj = {"type": "object", "properties": {"a": {"description": "no type"}}}
NOW = "2026-01-01T00:00:00Z"


def stored(
    plural: str, revision: int, *, accepted: Obj | None = None, names: Obj | None = None, group: str = "example.com"
) -> Definition:
    obj = definition(plural, names=names, group=group)
    obj["spec"]["names"].setdefault("singular", plural[:-1])
    obj["spec"]["names"].setdefault("listKind", plural[:-1].capitalize() + "List")
    obj["status"] = {"conditions": None, "acceptedNames": accepted or {"plural": "", "kind": ""}}
    return Definition(obj, create_revision=revision, mod_revision=revision)


def settled(one: Definition, *others: Definition) -> Definition:
    """The definition with the status that is decided for it."""
    status = decide(one, others, lambda: NOW)
    head = {**one.head, "status": {**one.head["status"], **(status or {})}}
    return Definition(head, create_revision=one.create_revision, mod_revision=one.mod_revision + 1)


def outcome(one: Definition) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in one.head["status"]["conditions"]}


ACCEPTED = {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}


def test_free_names_are_accepted_and_the_definition_established_at_once() -> None:
    done = settled(stored("foos", 5, names={"shortNames": ["f"], "categories": ["all"]}))
    assert outcome(done) == ACCEPTED
    assert done.accepted == done.names
    assert decide(done, (), lambda: NOW) is None


@pytest.mark.parametrize(
    ("schema", "status", "text"),
    [
        pytest.param(
            {"type": "object"},
            "True",
            "spec.preserveUnknownFields: Invalid value: true: must be false",
            id="kept fields",
        ),
        pytest.param(
            OLD_SCHEMA,
            "True",
            "[spec.preserveUnknownFields: Invalid value: true: must be false, spec.versions[0].schema.openAPIV3Schema."
            "properties[a].type: Required value: must not be empty for specified object fields]",
            id="no type",
        ),
        pytest.param(
            {"type": "object", "id": "x"},
            "Unknown",
            "failed to check validation schema for version v1: OpenAPIV3Schema 'id' is not supported",
            id="unsupported",
        ),
    ],
)
def test_schemas_that_are_not_structural_are_told(schema: Obj, status: str, text: str) -> None:
    obj = stored("foos", 5).head
    obj["spec"]["preserveUnknownFields"] = True
    obj["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    old = Definition(obj, create_revision=5, mod_revision=5, structure=structure_of(obj["spec"]))
    done = settled(old)
    told = done.head["status"]["conditions"][-1]
    assert (told["type"], told["status"], told["message"]) == ("NonStructuralSchema", status, text)
    assert "NonStructuralSchema" not in outcome(settled(done))  # as in a definition that has been put right


@pytest.mark.parametrize(
    ("names", "reason", "text"),
    [
        pytest.param({"singular": "foo"}, "SingularConflict", '"foo" is already in use', id="singular"),
        pytest.param({"shortNames": ["x", "foos"]}, "ShortNamesConflict", '"foos" is already in use', id="short name"),
        pytest.param({"kind": "Foo"}, "KindConflict", '"Foo" is already in use', id="kind"),
        pytest.param({"listKind": "FooList"}, "ListKindConflict", '"FooList" is already in use', id="list kind"),
    ],
)
def test_a_name_that_is_held_is_refused_and_the_others_are_given(names: Obj, reason: str, text: str) -> None:
    holder = settled(stored("foos", 5))
    late = settled(stored("bars", 6, names=names), holder)
    assert outcome(late) == {"NamesAccepted": ("False", reason), "Established": ("False", "NotAccepted")}
    assert late.head["status"]["conditions"][0]["message"] == text
    refused = next(iter(names))
    assert late.accepted.get(refused) != names[refused]
    assert late.accepted["plural"] == "bars"


def test_of_two_that_nobody_has_decided_the_first_created_wins_whoever_decides() -> None:
    early, late = stored("foos", 5, names={"shortNames": ["x"]}), stored("bars", 6, names={"shortNames": ["x"]})
    assert outcome(settled(early, late)) == ACCEPTED
    assert outcome(settled(late, early))["NamesAccepted"] == ("False", "ShortNamesConflict")


def test_who_holds_a_name_keeps_it_from_one_created_earlier() -> None:
    early = stored("foos", 5, names={"shortNames": ["x"]})
    holder = settled(stored("bars", 6, names={"shortNames": ["x"]}))
    assert outcome(settled(early, holder))["NamesAccepted"] == ("False", "ShortNamesConflict")


def test_freed_names_are_given_to_those_who_wait() -> None:
    holder = settled(stored("foos", 5, names={"shortNames": ["x"]}))
    waiting = settled(stored("bars", 6, names={"shortNames": ["x"]}), holder)
    assert outcome(settled(waiting)) == ACCEPTED


def test_an_established_definition_stays_so_when_a_new_name_is_refused() -> None:
    holder = settled(stored("foos", 5, names={"shortNames": ["x"]}))
    mine = settled(stored("bars", 6))
    mine.spec["names"]["shortNames"] = ["x"]
    assert outcome(settled(mine, holder)) == {
        "NamesAccepted": ("False", "ShortNamesConflict"),
        "Established": ("True", "InitialNamesAccepted"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("https://example.com/pull/1", ("True", "ApprovedAnnotation"), id="a URL"),
        pytest.param("unapproved, a test", ("False", "UnapprovedAnnotation"), id="unapproved"),
        pytest.param("", ("False", "MissingAnnotation"), id="nothing"),
        pytest.param("yes", ("False", "InvalidAnnotation"), id="something else"),
    ],
)
def test_protected_groups_say_whether_they_were_approved(text: str, expected: tuple[str, str]) -> None:
    one = stored("foos", 5, group="things.k8s.io")
    one.head["metadata"]["annotations"] = {"api-approved.kubernetes.io": text}
    assert outcome(settled(one))["KubernetesAPIApprovalPolicyConformant"] == expected


def test_conditions_that_somebody_took_away_are_not_told_again() -> None:
    done = settled(stored("foos", 5))
    wiped = {**done.head, "status": {**done.head["status"], "conditions": None}}
    assert decide(Definition(wiped, create_revision=5, mod_revision=9), (), lambda: NOW) is None


def test_who_is_not_established_for_a_reason_stays_so_when_names_conflict() -> None:
    holder = settled(stored("foos", 5, names={"shortNames": ["f"]}))
    late = stored("bars", 6, names={"shortNames": ["f"]})
    why = {"type": "Established", "status": "False", "reason": "InvalidCABundle", "message": "bad"}
    head = {**late.head, "status": {**late.head["status"], "conditions": [why]}}
    told = outcome(settled(Definition(head, create_revision=6, mod_revision=7), holder))
    assert told == {"Established": ("False", "InvalidCABundle"), "NamesAccepted": ("False", "ShortNamesConflict")}
