"""Which changes of a quota ask for a count."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import Key, Obj
from controlplane.controllers.resource_quota.controller import _asked

Q = Key("ns", "q")


def quota(hard: str, used: str = "0") -> Obj:
    spec, status = {"hard": {"count/configmaps": hard}}, {"used": {"count/configmaps": used}}
    return {"metadata": {"namespace": "ns", "name": "q"}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        pytest.param(None, quota("3"), (Q,), id="new"),
        pytest.param(quota("3"), quota("4"), (Q,), id="asks for something else"),
        pytest.param(quota("3"), quota("3", used="1"), (), id="admission has charged it (issue 10)"),
        pytest.param(quota("3"), None, (Q,), id="gone"),
    ],
)
def test_a_quota_is_counted_when_it_asks_for_something_else(
    old: Obj | None, new: Obj | None, asked: tuple[Key, ...]
) -> None:
    assert _asked(old, new) == asked
