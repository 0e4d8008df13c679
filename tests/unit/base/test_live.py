"""A mapping that others follow."""

from __future__ import annotations

from controlplane.base.live import LiveMapping


def test_followers_hear_of_what_changes_and_of_nothing_else() -> None:
    mapping, heard = LiveMapping({"a": "1"}), list[dict[str, str]]()
    stop = mapping.follow(lambda: heard.append(dict(mapping)))
    mapping.set("a", "1")
    assert heard == []
    mapping.set("b", "2")
    mapping.set("a", None)
    mapping.set("c", None)
    assert heard == [{"a": "1", "b": "2"}, {"b": "2"}]
    stop()
    mapping.set("a", "3")
    assert len(heard) == 2
    assert (len(mapping), list(mapping), mapping["a"]) == (2, ["b", "a"], "3")
