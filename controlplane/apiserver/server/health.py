"""``/healthz``, ``/livez`` and ``/readyz``, with each check under its own path.

A check is a function that says at once what is wrong, or nothing; what takes time is found out in the background and
remembered, or asked when the check is. Bodies never say why a check failed (the paths are open to anybody); the log
does.

Source: texts of kubernetes/apiserver ``pkg/server/healthz``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from controlplane.apiserver.filters.plain import PLAIN_TEXT, plain_error
from controlplane.apiserver.server.metrics import HEALTH_CHECK, HEALTH_CHECKS
from controlplane.base import logs
from controlplane.client.request import Request, Response

__all__ = ["LOG", "PING", "HealthCheck", "HealthEndpoint", "delayed"]

log = logs.get(__name__)

_NO_SNIFF = ("X-Content-Type-Options", "nosniff")


class HealthCheck(NamedTuple):
    """One check. ``probe`` returns what is wrong, or None; it neither blocks nor raises. ``group``: a name by which
    several checks are excluded together. ``ask``: find out anew what ``probe`` tells after it, where that is a question
    of a moment; it ends within seconds and does not raise."""

    name: str
    probe: Callable[[], str | None]
    group: str = ""
    ask: Callable[[], Awaitable[None]] | None = None


PING = HealthCheck("ping", lambda: None)

LOG = HealthCheck("log", lambda: None)
"""Logging that blocks. Ours is written by the loop itself, so whoever gets an answer has seen that it does not."""


def delayed(check: HealthCheck, in_grace: Callable[[], bool]) -> HealthCheck:
    """The check, taken as passed while ``in_grace()``."""
    return check._replace(probe=lambda: None if in_grace() else check.probe())


class HealthEndpoint:
    """One of the three endpoints. ``on_healthy`` is called when it passes for the first time."""

    def __init__(
        self, name: str, checks: Sequence[HealthCheck], *, on_healthy: Callable[[], None] | None = None
    ) -> None:
        names = [check.name for check in checks]
        doubles = sorted({n for n in names if names.count(n) > 1})
        if doubles:
            raise ValueError(f"health checks of /{name} occur twice: {', '.join(doubles)}")
        self._name, self._checks, self._on_healthy = name, tuple(checks), on_healthy

    @property
    def paths(self) -> list[str]:
        """The endpoint and its checks, as ``/`` lists them."""
        return [f"/{self._name}", *(f"/{self._name}/{check.name}" for check in self._checks)]

    async def handle(self, request: Request) -> Response:
        """All checks: ``verbose`` lists them, ``exclude=NAME`` leaves one or a group out."""
        excluded = set(request.query.get("exclude", ()))
        unmatched = set(excluded)
        lines: list[str] = []
        failed: dict[str, str] = {}
        for check in self._checks:
            if check.name in excluded:
                unmatched.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok")
            elif check.group and check.group in excluded:
                unmatched.discard(check.group)
                lines.append(f"[+]{check.name} excluded with {check.group}: ok")
            elif (why := await self._probe(check)) is not None:
                failed[check.name] = why
                lines.append(f"[-]{check.name} failed: reason withheld")
            else:
                lines.append(f"[+]{check.name} ok")
        if unmatched:
            names = ", ".join(f'"{name}"' for name in sorted(unmatched))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            log.info("health check failed", endpoint=self._name, failed=failed)
            return plain_error(500, "\n".join([*lines, f"{self._name} check failed"]))
        if self._on_healthy is not None:
            on_healthy, self._on_healthy = self._on_healthy, None
            on_healthy()
        text = "ok"
        if "verbose" in request.query:
            text = "\n".join([*lines, f"{self._name} check passed", ""])
        return Response(200, text.encode(), content_type=PLAIN_TEXT, headers=[_NO_SNIFF])

    async def handle_one(self, request: Request) -> Response:
        """One check, by the last part of the path."""
        name = request.path.removeprefix(f"/{self._name}/")
        for check in self._checks:
            if check.name == name:
                why = await _asked(check)
                if why is None:
                    return Response(200, b"ok", content_type=PLAIN_TEXT)
                return plain_error(500, f"internal server error: {why}")
        return plain_error(404, "404 page not found")

    async def _probe(self, check: HealthCheck) -> str | None:
        why = await _asked(check)
        outcome = "success" if why is None else "error"
        HEALTH_CHECKS.labels_cached((check.name, self._name, outcome)).inc()
        HEALTH_CHECK.labels_cached((check.name, self._name)).set(1 if why is None else 0)
        return why


async def _asked(check: HealthCheck) -> str | None:
    if check.ask is not None:
        await check.ask()
    return check.probe()
