"""EventRateLimit: how many events a server, namespace, user or source may send.

Off by default, and configured by a Configuration of ``eventratelimit.admission.k8s.io/v1alpha1``; each limit is a
bucket of ``burst`` tokens that fills by ``qps``.

Source: kubernetes ``plugin/pkg/admission/eventratelimit``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from controlplane.apimachinery.identity import GVR
from controlplane.apimachinery.status import too_many_requests
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.plugins.admission.api import AdmissionPlugin, PluginConfigurationError, PluginServices
from controlplane.plugins.admission.reading import Part, read_configuration

__all__ = ["PLUGIN"]

_API_VERSION = "eventratelimit.admission.k8s.io/v1alpha1"
_DEFAULT_BUCKETS = 4096
_EVENT_GROUPS = frozenset({"", "events.k8s.io"})


def _of_source_and_object(attributes: Attributes) -> str:
    event: dict[str, Any] = attributes.obj or {}
    source = event.get("source") or event.get("deprecatedSource") or {}
    involved = event.get("involvedObject") or event.get("regarding") or {}
    parts = [source.get("component"), source.get("host")]
    parts += [involved.get(name) for name in ("kind", "namespace", "name", "uid", "apiVersion")]
    return "".join(part or "" for part in parts)


_KEYS: dict[str, Callable[[Attributes], str]] = {
    "Server": lambda _attributes: "",
    "Namespace": lambda attributes: attributes.namespace,
    "User": lambda attributes: attributes.user.name,
    "SourceAndObject": _of_source_and_object,
}


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class _Limit:
    """One kind of limit: a bucket for each key; the ones not used for longest are forgotten."""

    def __init__(self, part: Part, clock: Clock) -> None:
        self._clock = clock
        self.kind, self._qps, self._burst = part.text("type"), part.integer("qps"), part.integer("burst")
        buckets = part.integer("cacheSize")
        if self.kind not in _KEYS:
            allowed = ", ".join(f'"{kind}"' for kind in sorted(_KEYS))
            raise PluginConfigurationError(
                f'{part.at("type")}: Unsupported value: "{self.kind}": supported values: {allowed}'
            )
        for name, value in (("burst", self._burst), ("qps", self._qps)):
            if value <= 0:
                raise PluginConfigurationError(f"{part.at(name)}: Invalid value: {value}: must be positive")
        if buckets < 0 and self.kind != "Server":
            raise PluginConfigurationError(f"{part.at('cacheSize')}: Invalid value: {buckets}: must not be negative")
        part.done()
        self._most = buckets or _DEFAULT_BUCKETS
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def key(self, attributes: Attributes) -> str:
        return _KEYS[self.kind](attributes)

    def accepts(self, key: str) -> bool:
        """Take a token, if there is one."""
        now = self._clock.monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(float(self._burst), now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        else:
            self._buckets.move_to_end(key)
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.filled_at) * self._qps)
            bucket.filled_at = now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _is_event(_operation: Operation, resource: GVR, subresource: str) -> bool:
    return resource.resource == "events" and resource.group in _EVENT_GROUPS and not subresource


def _build(services: PluginServices) -> Hooks:
    if services.configuration is None:
        raise PluginConfigurationError(
            f"needs a Configuration of {_API_VERSION}, in the file that --admission-control-config-file names"
        )
    part = read_configuration(services.configuration, kind="Configuration", api_versions=(_API_VERSION,))
    limits = [_Limit(limit, services.clock) for limit in part.parts("limits")]
    part.done()
    if not limits:
        raise PluginConfigurationError("limits: Invalid value: []: must not be empty")

    async def validate(attributes: Attributes) -> None:
        if attributes.dry_run:
            return
        rejected = ""
        for limit in limits:  # each is asked, and pays, also if another has refused
            key = limit.key(attributes)
            if not limit.accepts(key):
                rejected = f"limit reached on type {limit.kind} for key {key}"
        if rejected:
            raise too_many_requests(f"Too many requests: {rejected}", 0)

    return Hooks(operations=frozenset({Operation.CREATE, Operation.UPDATE}), validate=validate, wants=_is_event)


PLUGIN = AdmissionPlugin(name="EventRateLimit", default_on=False, build=_build, requires=("events",), configurable=True)
