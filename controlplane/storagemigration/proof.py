"""What the store holds of a resource, as the server counts it: the proof that a migration has left nothing behind.

A server that has no such report (it is not one of ours, or does not let us read it) gives none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource
from controlplane.client.api import APIClient
from controlplane.client.results import object_of, raise_for_status

__all__ = ["REPORT_PATH", "StoredForm", "left_behind", "stored_forms", "text_of"]

REPORT_PATH = "/debug/storage/report"
"""Where the server counts what is stored (``?group=…&resource=…``: of one resource)."""

_NO_REPORT = frozenset({403, 404})


class StoredForm(NamedTuple):
    """So many objects are stored in one version (``""``: it cannot be read) under one key (``""``: none). ``current``:
    as they would be written now, None if nobody serves them."""

    version: str
    key: str
    objects: int
    current: bool | None


async def stored_forms(client: APIClient, gr: GroupResource) -> list[StoredForm] | None:
    """How the objects of a resource are stored, None if the server does not say.

    Raises:
        APIError, ClientError.
    """
    query = [("group", gr.group), ("resource", gr.resource)]
    response = await client.request("GET", REPORT_PATH, query=query)
    if response.status in _NO_REPORT:
        return None
    raise_for_status(response, "GET")
    return [
        StoredForm(form["version"], form["key"], form["objects"], form["current"])
        for resource in object_of(response)["resources"]
        for form in resource["forms"]
    ]


def left_behind(forms: Sequence[StoredForm]) -> list[StoredForm]:
    """Those that are not as they would be written now."""
    return [form for form in forms if form.current is False]


def text_of(forms: Sequence[StoredForm]) -> str:
    """For people: ``20000 as v1 under key1``."""
    return ", ".join(_one(form) for form in forms) or "nothing"


def _one(form: StoredForm) -> str:
    version = f"as {form.version}" if form.version else "unreadable"
    return f"{form.objects} {version}" + (f" under key {form.key}" if form.key else "")
