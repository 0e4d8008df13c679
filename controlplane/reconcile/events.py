"""Events: what a controller tells the people who look at an object.

One Event a (object, type, reason, message): said again within ten minutes, its count goes up instead. An event that
cannot be written is logged and forgotten; nothing waits for it.

Source: the fields that kubernetes/client-go ``tools/record`` writes.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import NamedTuple

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVR, Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock, SystemClock, rfc3339
from controlplane.client.api import APIClient
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient

__all__ = ["EventRecorder", "reference_to"]

EVENTS = GVR("", "v1", "events")

_REMEMBERED = 1024
_AGAIN_SECONDS = 600.0

log = logs.get(__name__)


class _Said(NamedTuple):
    key: Key
    times: int
    at: float


def reference_to(obj: Obj) -> Obj:
    """An object as an Event's ``involvedObject``."""
    return {
        "kind": meta.kind(obj),
        "apiVersion": meta.api_version(obj),
        "name": meta.name(obj),
        **{
            field: value
            for field, value in (
                ("namespace", meta.namespace(obj)),
                ("uid", meta.uid(obj)),
                ("resourceVersion", meta.resource_version(obj)),
            )
            if value
        },
    }


class EventRecorder:
    """Writes events as ``component``, through the component's own client."""

    def __init__(self, client: APIClient, component: str, *, clock: Clock | None = None) -> None:
        self._events = ResourceClient(client, EVENTS, namespaced=True)
        self._component = component
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._said: OrderedDict[tuple[str, ...], _Said] = OrderedDict()

    async def event(self, involved: Obj, *, reason: str, message: str, type: str = "Normal") -> None:  # noqa: A002
        """Say something about an object (``reference_to``); ``type`` is Normal or Warning."""
        namespace = involved.get("namespace") or "default"
        what = (involved.get("uid", ""), namespace, involved["name"], type, reason, message)
        now = self._clock.now()
        said = self._said.pop(what, None)
        try:
            if said is not None and now - said.at < _AGAIN_SECONDS:
                said = said._replace(times=said.times + 1, at=now)
                await self._events.patch(said.key, {"count": said.times, "lastTimestamp": rfc3339(now)})
            else:
                said = _Said(Key(namespace, f"{involved['name']}.{secrets.token_hex(8)}"), 1, now)
                await self._events.create(self._new(said, involved, type, reason, message))
        except (APIError, ClientError) as e:
            log.warning("event not written", component=self._component, reason=reason, message=message, error=e)
            return
        self._said[what] = said
        if len(self._said) > _REMEMBERED:
            self._said.popitem(last=False)

    def _new(self, said: _Said, involved: Obj, kind: str, reason: str, message: str) -> Obj:
        time = rfc3339(said.at)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": said.key.namespace, "name": said.key.name},
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "type": kind,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "eventTime": None,
        }
