"""Webhooks of admission for tests: their configurations, their answers."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from controlplane.apimachinery.identity import Obj
from tests.integration.plane import Plane, config_in, running_plane
from tests.webhook_server import Answer, Webhook, running_webhook

__all__ = ["CONFIG_MAPS", "RULE", "allowed", "answering", "configured", "denied", "hook", "hooked_plane", "patched"]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
_GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


def _review(asked: Obj, response: Obj) -> web.Response:
    answer = {
        "apiVersion": asked["apiVersion"],
        "kind": "AdmissionReview",
        "response": {"uid": asked["request"]["uid"], **response},
    }
    return web.json_response(answer)


def answering(respond: Callable[[Obj], Obj]) -> Answer:
    """Answer each review with what ``respond`` makes of its request."""
    return lambda asked: _review(asked, respond(asked["request"]))


def allowed(**more: Any) -> Answer:
    return answering(lambda _request: {"allowed": True, **more})


def denied(**status: Any) -> Answer:
    return answering(lambda _request: {"allowed": False, **({"status": status} if status else {})})


def patched(*operations: Obj) -> Answer:
    patch = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return allowed(patch=patch, patchType="JSONPatch")


def hook(webhook: Webhook, name: str = "h.example.com", **given: Any) -> Obj:
    """One webhook of a configuration."""
    return {
        "name": name,
        "clientConfig": {"url": webhook.url, "caBundle": webhook.ca_bundle},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **given,
    }


async def configured(plane: Plane, kind: str, *hooks: Obj, name: str = "hooks.example.com") -> None:
    """Store a configuration; ``kind``: Mutating or Validating."""
    path = f"{_GROUP}/{kind.lower()}webhookconfigurations"
    body = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": list(hooks),
    }
    status, answer = await plane.call("POST", path, body)
    assert status == 201, answer


@asynccontextmanager
async def hooked_plane(directory: Path, answer: Answer) -> AsyncIterator[tuple[Plane, Webhook]]:
    """A plane without controllers, and a webhook that nobody has configured yet."""
    config = config_in(directory)
    config.run_controllers = False
    async with running_webhook(directory, answer) as webhook, running_plane(directory, config) as plane:
        yield plane, webhook
