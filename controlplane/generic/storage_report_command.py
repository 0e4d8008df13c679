"""``storage-report``: what a store holds, by version and encryption key, as its server counts it or from the raw store.

A running server is asked (``--kubeconfig``; the path is authorized like any other that is no resource). A store that
nobody serves is read as it is (``--store``, ``--etcd-servers``), with the keys of ``--encryption-provider-config``.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from controlplane.apimachinery.identity import GroupResource, Obj
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.options import StorageOptions, store_url
from controlplane.apiserver.registry.stored_forms import report_of
from controlplane.base.options import OptionGroup, group, option
from controlplane.client.errors import ClientError
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.results import object_of, raise_for_status
from controlplane.generic.command import REFUSED, UNUSABLE, load_options
from controlplane.generic.raw_store import STORED_KINDS, raw_store
from controlplane.storage.census import count_store
from controlplane.storage.errors import StorageError
from controlplane.storagemigration.proof import REPORT_PATH

__all__ = ["ReportOptions", "storage_report_command", "text_of_report"]

USAGE = """\
storage-report [flags]       how many objects the store holds of each resource, by version and encryption key: as the
                             server counts it (--kubeconfig), or from a store that is not served (--store). What would
                             be written otherwise now is marked
"""


class ReportOptions(OptionGroup):
    """Whom to ask."""

    kubeconfig: str = option("", flag="kubeconfig", description="file that says which API server, and as whom")
    context: str = option("", flag="context", description="the context in it; empty is its current one")
    output: Literal["text", "json"] = option("text", flag="output", short="o", description="form of the answer")
    storage: StorageOptions = group(StorageOptions)


def storage_report_command(argv: Sequence[str], *, program: str) -> int:
    """Print the report; returns the exit status."""
    loaded = load_options(ReportOptions, argv, program=program, usage=USAGE)
    if isinstance(loaded, int):
        return loaded
    options = loaded.options
    store = store_url(options.storage, default="")
    if bool(options.kubeconfig) == bool(store):
        problem = "exclude each other" if store else "one must be given"
        print(f"{program}: --kubeconfig, --store: {problem}", file=sys.stderr)  # noqa: T201
        return REFUSED
    try:
        report = asyncio.run(_of_store(options.storage, store) if store else _of_server(options))
    except (APIError, ClientError, StorageError) as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    print(json.dumps(report, indent=2) + "\n" if options.output == "json" else text_of_report(report), end="")  # noqa: T201
    return 0


async def _of_server(options: ReportOptions) -> Obj:
    config = await asyncio.to_thread(load_kubeconfig, Path(options.kubeconfig), context=options.context)
    async with HTTPClient(config, user_agent="controlplane/storage-report") as client:
        response = await client.request("GET", REPORT_PATH)
        raise_for_status(response, "GET")
        return object_of(response)


async def _of_store(options: StorageOptions, url: str) -> Obj:
    """Of built-in kinds it can be told what would be stored now; others are not served by anybody."""
    async with raw_store(options, url) as raw:
        return report_of(await count_store(*raw), STORED_KINDS)


def text_of_report(report: Obj) -> str:
    """For people: a line for each form."""
    rows = [("RESOURCE", "VERSION", "KEY", "OBJECTS", "")]
    for resource in report["resources"]:
        name = str(GroupResource(resource["group"], resource["resource"]))
        for form in resource["forms"]:
            version, note = form["version"], ""
            if not version:
                note = "cannot be read"
            elif form["current"] is None:
                note = "not served"
            elif version != resource["storageVersion"]:
                note = f"would be stored as {resource['storageVersion']} now"
            elif not form["current"]:
                note = "would be stored under another key now, or in another layout"
            rows.append((name, version or "unreadable", form["key"] or "-", str(form["objects"]), note))
    widths = [max(len(row[at]) for row in rows) for at in range(4)]
    lines = ["  ".join([*(row[at].ljust(width) for at, width in enumerate(widths)), row[4]]) for row in rows]
    return "\n".join([f"revision {report['revision']}", *(line.rstrip() for line in lines)]) + "\n"
