"""Values as response bodies, in the form that was agreed on, indented for people."""

from __future__ import annotations

from typing import Any

import orjson

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.codec.protobuf.envelope import enclose
from controlplane.apimachinery.codec.protobuf.meta import SHARED
from controlplane.client.negotiation import PROTOBUF, YAML, Answer
from controlplane.client.request import Request, Response

__all__ = ["encode", "respond_value", "wants_pretty"]

_HUMAN_AGENTS = ("curl", "Wget", "Mozilla/5.0")
_FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})


def wants_pretty(request: Request) -> bool:
    """Whether JSON is to be indented for a person: asked for by ``pretty``, or the client is one that people use.

    Source: kubernetes/apiserver ``pkg/endpoints/handlers/negotiation`` (isPrettyPrint).
    """
    if "pretty" in request.query_string:
        given = request.query.first("pretty")
        if given:
            return given not in _FALSE
    agent = request.headers.get("User-Agent")
    return agent is not None and agent.startswith(_HUMAN_AGENTS)


def encode(request: Request, value: Any, answer: Answer, *, ready: bytes | None = None) -> bytes:
    """A value as JSON, YAML or, if it is of a kind that all servers share, protobuf; ``ready`` is its compact JSON, if
    there is one already."""
    if answer.media_type == PROTOBUF:
        return enclose(value, SHARED[value.get("apiVersion", ""), value["kind"]])
    if answer.media_type == YAML:
        from controlplane.apimachinery.codec import yaml  # late: a twelfth of all imports, and few ask for it

        return yaml.dumps(value)
    if answer.pretty or wants_pretty(request):
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    return ready if ready is not None else dumps(value)


def respond_value(request: Request, value: Any, answer: Answer, code: int = 200) -> Response:
    """Answer with something that has no other form, such as a Status or a discovery document."""
    return Response(code, encode(request, value, answer), content_type=answer.media_type)
