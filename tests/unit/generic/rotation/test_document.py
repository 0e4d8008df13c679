"""What each step of a rotation makes of a configuration."""

from __future__ import annotations

import base64
from typing import Any

from controlplane.generic.rotation.document import (
    OldKey,
    Place,
    is_taken,
    new_key_added,
    new_key_first,
    old_keys,
    old_keys_removed,
    place_of,
    rotated,
)
from tests.encrypted import IDENTITY, keys, rule

KMS: dict[str, Any] = {"kms": {"name": "vault"}}


def document(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"resources": list(rules)}


def names(changed: dict[str, Any]) -> list[list[str]]:
    """The keys' names of each provider that has keys."""
    return [
        [key["name"] for key in content.get("keys", [])]
        for one in changed["resources"]
        for provider in one["providers"]
        for content in provider.values()
        if content.get("keys")
    ]


def test_a_rotation_from_one_key_to_another() -> None:
    begin = document(
        rule(keys("aescbc", old=bytes(32), older=bytes(32)), IDENTITY), rule(keys("secretbox", old=bytes(32)))
    )
    assert rotated(begin) == ["aescbc", "secretbox"]
    assert place_of(begin, "new") is Place.ABSENT
    added = new_key_added(begin, "new")
    assert names(added) == [["old", "new", "older"], ["old", "new"]]
    assert place_of(added, "new") is Place.BEHIND
    assert new_key_added(added, "new") == added, "there once, it is not made again"
    secrets = {key["secret"] for one in added["resources"] for key in next(iter(one["providers"][0].values()))["keys"]}
    assert {len(base64.b64decode(secret)) for secret in secrets} == {32}
    assert len(secrets) == 3, "each rule has a secret of its own"
    first = new_key_first(added, "new")
    assert names(first) == [["new", "old", "older"], ["new", "old"]]
    assert place_of(first, "new") is Place.FIRST
    assert old_keys(first, "new") == [OldKey("aescbc", "old"), OldKey("aescbc", "older"), OldKey("secretbox", "old")]
    assert OldKey("aescbc", "old").prefix == b"k8s:enc:aescbc:v1:old:"
    alone = old_keys_removed(first, old_keys(first, "new"))
    assert names(alone) == [["new"], ["new"]]
    assert place_of(alone, "new") is Place.ALONE
    assert alone["resources"][0]["providers"][1] == IDENTITY, "what reads plain objects stays"
    assert names(begin) == [["old", "older"], ["old"]], "documents are not changed in place"


def test_rules_that_do_not_write_by_a_key_of_the_file_are_left_alone() -> None:
    mixed = document(rule(IDENTITY, keys("aescbc", old=bytes(32))), rule(KMS), rule(keys("aesgcm", old=bytes(32))))
    assert rotated(mixed) == ["aesgcm"]
    assert names(new_key_added(mixed, "new")) == [["old"], ["old", "new"]]
    assert rotated(document(rule(IDENTITY), rule(KMS))) == []


def test_a_rotation_is_as_far_as_its_last_rule() -> None:
    uneven = document(
        rule(keys("aescbc", new=bytes(32), old=bytes(32))), rule(keys("aesgcm", old=bytes(32), new=bytes(32)))
    )
    assert place_of(uneven, "new") is Place.BEHIND


def test_a_name_is_taken_if_any_provider_has_it() -> None:
    some = document(rule(keys("aescbc", a=bytes(32)), keys("aescbc", b=bytes(32))), rule(KMS), rule(IDENTITY))
    assert [is_taken(some, name) for name in ("a", "b", "c")] == [True, True, False]
