"""What objects get from the registry."""

from __future__ import annotations

from uuid import RFC_4122, UUID

from controlplane.apiserver.registry.settings import RegistrySettings


def test_uids_are_random_uuids_of_version_4() -> None:
    new_uid = RegistrySettings().new_uid
    uids = [new_uid() for _ in range(500)]
    assert len(set(uids)) == 500
    for text in uids:
        uid = UUID(text)
        assert (str(uid), uid.version, uid.variant) == (text, 4, RFC_4122)
    ones = [sum(UUID(text).int >> bit & 1 for text in uids) for bit in range(128)]
    fixed = {*range(62, 64), *range(76, 80)}
    assert all(150 < count < 350 for bit, count in enumerate(ones) if bit not in fixed)
