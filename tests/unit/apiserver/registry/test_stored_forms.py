"""A census beside what is served: the report, and what a build does not know."""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupResource
from controlplane.apis.builtin import BUILTIN
from controlplane.apis.core.events import EVENTS
from controlplane.apiserver.registry.stored_forms import UnknownForm, report_of, unknown_forms
from controlplane.generic.storage_report_command import text_of_report
from controlplane.storage.census import Census, Form
from tests.mirrors import WIDGETS

GONE = GroupResource("example.com", "gone")
CENSUS = Census(
    7,
    {
        WIDGETS.gr: {
            Form("example.org/v1", "", stale=False): 3,
            Form("example.org/v2", "", stale=False): 4,
            Form("example.org/v2", "aescbc:old", stale=True): 5,
            Form("", "aescbc:lost", stale=True): 1,
        },
        GONE: {Form("example.com/v1", "", stale=False): 2},
    },
)


def test_the_report() -> None:
    gone, widgets = report_of(CENSUS, [WIDGETS])["resources"]
    assert gone == {
        "group": "example.com",
        "resource": "gone",
        "served": False,
        "storageVersion": "",
        "objects": 2,
        "forms": [{"version": "v1", "key": "", "objects": 2, "current": None}],
    }
    assert (widgets["served"], widgets["storageVersion"], widgets["objects"]) == (True, "v2", 13)
    assert widgets["forms"] == [
        {"version": "", "key": "aescbc:lost", "objects": 1, "current": False},
        {"version": "v1", "key": "", "objects": 3, "current": False},
        {"version": "v2", "key": "", "objects": 4, "current": True},
        {"version": "v2", "key": "aescbc:old", "objects": 5, "current": False},
    ]


def test_the_report_for_people() -> None:
    assert text_of_report(report_of(CENSUS, [WIDGETS])) == (
        "revision 7\n"
        "RESOURCE             VERSION     KEY          OBJECTS\n"
        "gone.example.com     v1          -            2        not served\n"
        "widgets.example.org  unreadable  aescbc:lost  1        cannot be read\n"
        "widgets.example.org  v1          -            3        would be stored as v2 now\n"
        "widgets.example.org  v2          -            4\n"
        "widgets.example.org  v2          aescbc:old   5        would be stored under another key now, or in another "
        "layout\n"
    )


def test_a_version_that_a_resource_does_not_have_is_unknown() -> None:
    census = Census(1, {WIDGETS.gr: {**CENSUS.forms[WIDGETS.gr], Form("example.org/v1beta1", "", stale=False): 8}})
    assert list(unknown_forms(CENSUS, [WIDGETS])) == []
    assert list(unknown_forms(census, [WIDGETS])) == [UnknownForm(WIDGETS.gr, "example.org/v1beta1", 8)]


def test_resources_that_share_their_objects_know_the_same_forms() -> None:
    census = Census(1, {EVENTS.gr: {Form("v1", "", stale=False): 1, Form("events.k8s.io/v1", "", stale=False): 1}})
    events = [kind for kind in BUILTIN if kind.plural == "events"]
    assert len(events) == 2
    assert list(unknown_forms(census, events)) == []
