"""Identities and their texts."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.identity import GVK, GVR, GroupResource, GroupVersion, Key


@pytest.mark.parametrize(("text", "expected"), [("v1", ("", "v1")), ("apps/v1", ("apps", "v1")), ("", ("", ""))])
def test_group_versions_read_back(text: str, expected: tuple[str, str]) -> None:
    gv = GroupVersion.parse(text)
    assert gv == expected
    assert str(gv) == text


def test_more_than_one_slash_is_refused() -> None:
    with pytest.raises(ValueError, match="unexpected GroupVersion string: a/b/c"):
        GroupVersion.parse("a/b/c")


def test_texts() -> None:
    assert GVK("apps", "v1", "Thing").api_version == "apps/v1"
    assert GVK("", "v1", "Thing").api_version == "v1"
    assert GVK("apps", "v1", "Thing").gv == GVR("apps", "v1", "things").gv == GroupVersion("apps", "v1")
    assert GVR("apps", "v1", "things").gr == GroupResource("apps", "things")
    assert str(GroupResource("", "pods")) == "pods"
    assert (str(Key("ns", "a")), str(Key("", "a"))) == ("ns/a", "a")
