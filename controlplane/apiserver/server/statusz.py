"""``/statusz``: what runs here, since when, and where else to look; text for people, an object for those who name it.

Text is what is sent without an Accept header, or where the first acceptable clause is ``text/plain`` or a wildcard.
JSON and YAML are sent to clients who name the kind: ``application/json;g=config.k8s.io;v=v1beta1;as=Statusz``.

Source: kubernetes/apiserver ``pkg/server/statusz`` (release-1.36): lines, fields, negotiation.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.meta import format_time
from controlplane.apimachinery.status import not_acceptable
from controlplane.apiserver.filters.plain import PLAIN_TEXT
from controlplane.apiserver.server.routes import Route
from controlplane.apiserver.server.version import VersionInfo
from controlplane.base.metrics.process import start_seconds
from controlplane.client.encoding import encode
from controlplane.client.negotiation import JSON, YAML, Answer, Conversion, clauses
from controlplane.client.request import Request, Response

__all__ = ["statusz_route"]

_GROUP, _KIND, _COMPONENT, _TEXT = "config.k8s.io", "Statusz", "apiserver", "text/plain"
_DEPRECATED = {"v1beta1": False, "v1alpha1": True}
_DEPRECATION = '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."'
_DELIMITERS = (":", ": ", "=", " ")
"""One is drawn for each answer, so that nobody parses the text."""
_NOT_FOR_DEBUGGING = frozenset({"apis", "api", "openid", "openapi", ".well-known"})


def statusz_route(version: VersionInfo, paths: Callable[[], Iterable[str]]) -> Route:
    """The route; ``paths`` are those that ``/`` lists."""

    async def handle(request: Request) -> Response:
        status = _status(version, paths())
        answer = _negotiate(request.headers.get("Accept", ""))
        if answer is None:
            return Response(200, _text(status).encode(), content_type=PLAIN_TEXT)
        assert answer.conversion is not None
        named = answer.conversion.version
        obj: Obj = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/{named}",
            "metadata": {"name": _COMPONENT},
            "startTime": format_time(datetime.fromtimestamp(status["startTime"], UTC)),
            **{name: value for name, value in status.items() if name != "startTime"},
        }
        headers = [("Warning", _DEPRECATION)] if _DEPRECATED[named] else []
        return Response(200, encode(request, obj, answer), content_type=answer.media_type, headers=headers)

    return Route("/statusz", handle)


def _negotiate(accept: str) -> Answer | None:
    """The form of the object, or None for text. Raises APIError: 406."""
    if not accept.strip():
        return None
    for clause in clauses(accept):
        parameters = clause.parameters
        if parameters.get("stream") or parameters.get("sv"):
            continue
        converts = bool(parameters.keys() & {"as", "g", "v"})
        kind = Conversion(parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
        known = (kind.group, kind.kind) == (_GROUP, _KIND) and kind.version in _DEPRECATED
        for media_type in (JSON, YAML):
            if known and clause.matches(media_type):
                return Answer(media_type, kind, parameters.get("pretty") == "1")
        if not converts and clause.matches(_TEXT):
            return None
    raise not_acceptable(f"only the following media types are accepted: {JSON}, {YAML}, {_TEXT}")


def _status(version: VersionInfo, paths: Iterable[str]) -> Obj:
    began = start_seconds()
    folders = {path.split("/")[1] for path in paths}
    return {
        "startTime": began,
        "uptimeSeconds": max(0, int(time.time() - began)),
        "goVersion": version.runtime,
        "binaryVersion": version.release.removeprefix("v"),
        "emulationVersion": f"{version.major}.{version.minor}",
        "paths": [f"/{folder}" for folder in sorted(folders - _NOT_FOR_DEBUGGING) if folder],
    }


def _text(status: Obj) -> str:
    to = secrets.choice(_DELIMITERS)
    minutes, seconds = divmod(status["uptimeSeconds"], 60)
    hours, minutes = divmod(minutes, 60)
    started = datetime.fromtimestamp(status["startTime"], UTC)
    return f"""
{_COMPONENT} statusz
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.

Started{to} {started:%a %b %e %H:%M:%S UTC %Y}
Up{to} {hours} hr {minutes:02d} min {seconds:02d} sec
Go version{to} {status["goVersion"]}
Binary version{to} {status["binaryVersion"]}
Emulation version{to} {status["emulationVersion"]}
Paths{to} {" ".join(status["paths"])}
"""
