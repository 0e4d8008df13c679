from typing import Any

from controlplane.apiserver.discovery.merging import MergedBefore, merged_groups

Obj = dict[str, Any]


def resource(name: str, *verbs: str, **fields: Any) -> Obj:
    return {
        "resource": name,
        "responseKind": {"kind": name.title()},
        "scope": "Namespaced",
        "verbs": [*verbs],
        **fields,
    }


def version(name: str, *resources: Obj, freshness: str = "Current") -> Obj:
    return {"version": name, "resources": [*resources], "freshness": freshness}


def group(name: str, *versions: Obj) -> Obj:
    return {"metadata": {"name": name} if name else {}, "versions": [*versions]}


def names(groups: list[Obj]) -> list[str]:
    return [
        f"{one['metadata'].get('name', '')}/{v['version']}/{r['resource']}"
        for one in groups
        for v in one["versions"]
        for r in v["resources"]
    ]


def test_what_servers_agree_on_is_the_firsts_own() -> None:
    mine, theirs = (
        group("apps", version("v1", resource("a", "get"))),
        group("apps", version("v1", resource("a", "get"))),
    )
    merged = merged_groups([[mine], [theirs]])
    assert merged[0] is mine


def test_groups_versions_and_resources_of_all_are_shown() -> None:
    first = [group("a", version("v1", resource("x", "get"), resource("z", "get"))), group("c", version("v1"))]
    second = [
        group("a", version("v1", resource("y", "get")), version("v1beta1", resource("x", "get"))),
        group("b", version("v1", resource("b", "get"))),
    ]
    merged = merged_groups([first, second])
    assert [one["metadata"]["name"] for one in merged] == ["a", "b", "c"]
    assert names(merged) == ["a/v1/x", "a/v1/y", "a/v1/z", "a/v1beta1/x", "b/v1/b"]


def test_verbs_and_subresources_add_up_and_the_first_servers_kind_counts() -> None:
    status = {"subresource": "status", "responseKind": {"kind": "A"}, "verbs": ["get"]}
    scale = {"subresource": "scale", "responseKind": {"kind": "Scale"}, "verbs": ["get"]}
    first = resource("a", "list", "get", subresources=[status])
    second = {**resource("a", "watch", "get", subresources=[scale]), "responseKind": {"kind": "Other"}}
    [merged] = merged_groups([[group("g", version("v1", first))], [group("g", version("v1", second))]])
    [entry] = merged["versions"][0]["resources"]
    assert entry["verbs"] == ["get", "list", "watch"]
    assert [one["subresource"] for one in entry["subresources"]] == ["scale", "status"]
    assert entry["responseKind"] == {"kind": "A"}
    assert first["verbs"] == ["list", "get"], "what was given is not changed"


def test_a_version_is_stale_only_where_nobody_is_sure_of_it() -> None:
    stale, fresh = version("v1", resource("a", "get"), freshness="Stale"), version("v1", resource("b", "get"))
    [both] = merged_groups([[group("g", stale)], [group("g", fresh)]])
    [alone] = merged_groups([[group("g", stale)], []])
    assert (both["versions"][0]["freshness"], alone["versions"][0]["freshness"]) == ("Current", "Stale")


def test_three_servers_agree_whoever_of_them_asks() -> None:
    lists = [
        [group("g", version("v2", resource("b", "get")), version("v1"))],
        [group("g", version("v3"), version("v2", resource("c", "get")))],
        [group("g", version("v2", resource("a", "get")))],
    ]
    [merged] = merged_groups(lists)
    assert [one["version"] for one in merged["versions"]] == ["v3", "v2", "v1"]
    assert names([merged]) == ["g/v2/a", "g/v2/b", "g/v2/c"]


def test_what_was_merged_of_the_very_same_entries_is_kept() -> None:
    mine, theirs = group("a", version("v1", resource("x"))), group("a", version("v1", resource("y")))
    gone = group("b", version("v1", resource("z")))
    before: MergedBefore = {}
    first = merged_groups([[mine, gone], [theirs]], before)
    assert set(before) == {"a", "b"}
    again = merged_groups([[mine], [theirs]], before)
    assert again[0] is first[0]
    assert set(before) == {"a"}
    changed = group("a", version("v1", resource("y"), resource("z")))
    assert merged_groups([[mine], [changed]], before) == merged_groups([[mine], [changed]])
