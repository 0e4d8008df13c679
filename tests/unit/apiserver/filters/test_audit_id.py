"""Audit-Id: new, or the client's own."""

from __future__ import annotations

import uuid

import pytest

from controlplane.apiserver.filters.audit_id import audit_ids, with_audit_id
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, header, request


def test_new_ids_are_uuids_of_their_own() -> None:
    ids = [uuid.UUID(new()) for new in (audit_ids(), audit_ids()) for _ in range(100)]
    assert len(set(ids)) == 200
    assert {one.version for one in ids} == {4}
    assert {one.variant for one in ids} == {uuid.RFC_4122}


@pytest.mark.parametrize(("sent", "kept"), [("from-the-client", True), ("", False), ("x" * 2000, False)])
def test_id_of_the_client_is_echoed(sent: str, kept: bool) -> None:
    made = request(headers={"Audit-ID": sent} if sent else {})

    async def scenario() -> str:
        return header(await with_audit_id(answering())(made), "Audit-Id")

    answer = run(scenario())
    assert (answer == sent) is kept
    assert answer == made.audit_id
    assert kept or uuid.UUID(answer).version == 4
