"""One plane for many requests that nobody sane would make, and what every answer to them must be.

No exception but the API's own gets out of a handler, every answer is JSON of the kind it says, and none takes long. No
answer is a server's error, except where Kubernetes answers so itself (``KNOWN_SERVER_ERRORS``).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hypothesis import Phase, settings

from controlplane.base.runner import runner
from tests.unit.apiserver.plane import Answer, Plane, running_plane

__all__ = ["LONG", "NAMES", "NAMESPACE", "SECONDS", "Fuzzed", "check_status", "counted", "fuzzed_plane"]

LONG = bool(os.environ.get("CONTROLPLANE_TEST_LONG"))
NAMESPACE = "ns"
NAMES = ("a", "b", "held")
"""Objects that there are of each stored kind, as far as requests have left them."""
SECONDS = 10.0
"""Longer than any answer takes, on a machine that does much else."""

KNOWN_SERVER_ERRORS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        # errors without a meaning of their own become 500: kubernetes/apiserver pkg/endpoints/handlers/responsewriters
        r'strconv\.ParseUint: parsing ".*": (invalid syntax|value out of range)',
        r'resourceVersion: Invalid value: ".*": strconv\.ParseUint: .*',
        r"resourceVersion should not be set on objects to be created",
        # pkg/util/managedfields: an apply that does not fit its type
        r"failed to create typed (patch|live) object .*",
        r"failed to convert new object .* to proper version: .*",
        # pkg/util/strategicpatch: all but a few of its errors
        r"unknown patch type: .*",
        r"expected a (\[\]interface \{\}|map\[string\]interface \{\}), but received a .*",
        r"map: .* does not contain declared merge key: .*",
        r"The order in patch list:.*",
        r"list element types are not identical: .*",
        r"merging an object in json but data type is not struct, instead is: map",
        r"unable to find api field in struct \w* for the json field .*",
        r"expected slice or array type, but got: struct",
        r"cannot merge lists without merge key for .*",
        r"merging lists cannot yet be specified in the patch",
    )
)
_CODE_504 = re.compile(r"Timeout: Too large resource version: \d+, current: \d+")


def counted(long: int, *, phases: Sequence[Phase] = tuple(Phase)) -> settings:
    """How many examples: ``long`` in the long run, a two-hundredth of them, at least 25, in the short one."""
    return settings(max_examples=long if LONG else max(25, long // 200), phases=phases)


def _check_answer(answer: Answer) -> None:
    """What holds of every answer to a request that is no watch."""
    check_status(answer.status, json.loads(answer.raw) if answer.raw else None)


def check_status(code: int, body: Any) -> None:
    """An answer's code and its body, decoded, go together, and it is no error of the server's own making."""
    if code < 400:
        return
    assert isinstance(body, dict), body
    assert (body["kind"], body["status"], body["code"]) == ("Status", "Failure", code), body
    if code == 504:
        assert _CODE_504.fullmatch(body["message"]), body
    elif code >= 500:
        assert any(known.fullmatch(body["message"]) for known in KNOWN_SERVER_ERRORS), body


class Fuzzed:
    """A running plane, called from outside of its loop."""

    def __init__(self, plane: Plane, runner: asyncio.Runner) -> None:
        self.plane, self._runner = plane, runner

    def call(self, method: str, url: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Make a request, and check its answer."""

        async def bounded() -> Answer:
            async with asyncio.timeout(SECONDS):
                return await self.plane.call(method, url, body, headers=headers)

        answer = self._runner.run(bounded())
        if answer.response.content_type == "application/json":
            _check_answer(answer)
        return answer


@contextmanager
def fuzzed_plane() -> Iterator[Fuzzed]:
    """A plane with a namespace, alive for many examples."""
    with runner() as used:
        context = running_plane()
        plane = used.run(context.__aenter__())
        try:
            used.run(plane.namespace(NAMESPACE))
            yield Fuzzed(plane, used)
        finally:
            used.run(context.__aexit__(None, None, None))
