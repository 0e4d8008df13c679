"""``why``: what blocks an object's deletion, asked of any server by its kubeconfig."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.status import APIError
from controlplane.base.options import OptionGroup, option
from controlplane.client.errors import ClientError
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.naming import NoSuchResource
from controlplane.controllers.blocking.report import Report, why
from controlplane.generic.command import REFUSED, UNUSABLE, load_options

__all__ = ["WhyOptions", "why_command"]

USAGE = """\
why RESOURCE/NAME [flags]    what blocks the deletion of an object: objects, finalizers, owners, failing discovery, and
                             what the garbage collector would do; nothing is changed. RESOURCE is a plural (with its
                             group, if need be: widgets.example.org) or a kind
"""


class WhyOptions(OptionGroup):
    """How to reach the server, and which namespace."""

    kubeconfig: str = option("", flag="kubeconfig", description="file that says which API server, and as whom")
    context: str = option("", flag="context", description="the context in it; empty is its current one")
    namespace: str = option(
        "", flag="namespace", short="n", description="the object's namespace; empty is the context's"
    )
    output: Literal["text", "json"] = option("text", flag="output", short="o", description="form of the answer")


def why_command(argv: Sequence[str], *, program: str) -> int:
    """Print the report; returns the exit status."""
    name = argv[0] if argv and not argv[0].startswith("-") else ""
    loaded = load_options(WhyOptions, argv[1:] if name else argv, program=program, usage=USAGE)
    if isinstance(loaded, int):
        return loaded
    options = loaded.options
    resource, _, object_name = name.partition("/")
    if not (resource and object_name and options.kubeconfig):
        problem = "--kubeconfig: must be given" if resource and object_name else f"{name!r}: must be RESOURCE/NAME"
        print(f"{program}: {problem}", file=sys.stderr)  # noqa: T201
        return REFUSED
    try:
        report = asyncio.run(_ask(options, resource, object_name))
    except (NoSuchResource, APIError, ClientError) as error:
        print(f"{program}: {error}", file=sys.stderr)  # noqa: T201
        return UNUSABLE
    print(json.dumps(asdict(report), indent=2) + "\n" if options.output == "json" else report.text(), end="")  # noqa: T201
    return 0


async def _ask(options: WhyOptions, resource: str, name: str) -> Report:
    config = await asyncio.to_thread(load_kubeconfig, Path(options.kubeconfig), context=options.context)
    async with HTTPClient(config, user_agent="controlplane/why") as client:
        return await why(client, resource, Key(options.namespace or config.namespace, name))
