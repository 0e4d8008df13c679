import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.registry.deletion import DeleteRequest, finalizers_after, mark_deleting

NOW = "2026-11-30T09:00:00Z"


@pytest.mark.parametrize(
    ("finalizers", "request_", "expected"),
    [
        pytest.param([], DeleteRequest(), [], id="nothing asked"),
        pytest.param([], DeleteRequest(propagation_policy="Orphan"), ["orphan"], id="orphan"),
        pytest.param([], DeleteRequest(propagation_policy="Foreground"), ["foregroundDeletion"], id="foreground"),
        pytest.param([], DeleteRequest(orphan_dependents=True), ["orphan"], id="orphan, the old way"),
        pytest.param(["orphan"], DeleteRequest(orphan_dependents=False), [], id="not orphan, the old way"),
        pytest.param(["orphan"], DeleteRequest(), ["orphan"], id="what is there stays"),
        pytest.param(["orphan", "x.io/f"], DeleteRequest(propagation_policy="Background"), ["x.io/f"], id="background"),
        pytest.param(
            ["orphan", "x.io/f"],
            DeleteRequest(propagation_policy="Foreground"),
            ["x.io/f", "foregroundDeletion"],
            id="one policy replaces the other",
        ),
        pytest.param(["orphan", "x.io/f"], DeleteRequest(), ["orphan", "x.io/f"], id="the order is kept"),
    ],
)
def test_a_policy_sets_the_garbage_collectors_finalizer(
    finalizers: list[str], request_: DeleteRequest, expected: list[str]
) -> None:
    assert finalizers_after(request_, {"finalizers": finalizers}, garbage_collection=True) == expected


def test_without_a_garbage_collector_no_finalizer_is_set_that_nobody_would_remove() -> None:
    request = DeleteRequest(propagation_policy="Orphan")
    assert finalizers_after(request, {"finalizers": ["x.io/f"]}, garbage_collection=False) == ["x.io/f"]


def test_what_has_no_dependents_waits_for_no_garbage_collector() -> None:
    request = DeleteRequest(propagation_policy="Foreground")
    meta = {"finalizers": ["orphan", "x.io/f"]}
    assert finalizers_after(request, meta, garbage_collection=True, has_dependents=False) == ["x.io/f"]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param({}, {"deletionTimestamp": NOW}, id="the first time"),
        pytest.param({"generation": 3}, {"generation": 4, "deletionTimestamp": NOW}, id="raises the generation"),
        pytest.param(
            {"generation": 3, "deletionTimestamp": "2026-11-30T08:00:00Z"},
            {"generation": 3, "deletionTimestamp": "2026-11-30T08:00:00Z"},
            id="but only once",
        ),
        pytest.param(
            {"deletionTimestamp": "2026-11-30T10:00:00Z"},
            {"deletionTimestamp": NOW},
            id="a time to come is brought forward",
        ),
    ],
)
def test_marking(meta: Obj, expected: Obj) -> None:
    mark_deleting(meta, NOW)
    assert meta == expected
