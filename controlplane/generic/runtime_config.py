"""Which group versions and resources ``--runtime-config`` turns on and off.

The most specific entry decides: ``group/version/resource``, ``group/version``, ``api/ga|beta|alpha`` by the kind of
version, ``api/all``. Where none speaks, general versions (``v1``) are served and others are not, but for those of
``SERVED_BEFORE_GENERAL``. ``v1`` and ``api/v1`` are the core group's; ``api/legacy`` says nothing any more.

Source: kubernetes/apiserver ``pkg/server/resourceconfig/helpers.go``, ``pkg/server/options/api_enablement.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from controlplane.apimachinery.resource import Resource

__all__ = ["SERVED_BEFORE_GENERAL", "Enablement", "RuntimeConfig", "runtime_config_problems"]

SERVED_BEFORE_GENERAL = frozenset({"storagemigration.k8s.io/v1beta1"})
"""Group versions that are served though they are no general ones: storage is migrated out of the box. kube-apiserver
has them behind a feature gate."""

_STAGES = {
    "api/ga": re.compile(r"v\d+"),
    "api/beta": re.compile(r"v\d+beta\d+"),
    "api/alpha": re.compile(r"v\d+alpha\d+"),
}
_ALL = "api/all"
_TRUE, _FALSE = frozenset({"1", "t", "true"}), frozenset({"0", "f", "false"})


class Enablement(NamedTuple):
    """Whether a version of a resource is served, and the entry that says so; ``""`` if that is the default."""

    on: bool
    entry: str


class RuntimeConfig:
    """The option, read. What is malformed in it says nothing here; ``runtime_config_problems`` names it."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self._entries = {_normal(key): (value.lower() in _TRUE, f"{key}={value}") for key, value in given.items()}

    def enablement(self, group: str, version: str, plural: str) -> Enablement:
        stage = next((name for name, pattern in _STAGES.items() if pattern.fullmatch(version)), "")
        for key in (f"{group}/{version}/{plural}", f"{group}/{version}", stage, _ALL):
            found = self._entries.get(key)
            if found is not None:
                return Enablement(*found)
        return Enablement(stage == "api/ga" or f"{group}/{version}" in SERVED_BEFORE_GENERAL, "")

    def serves(self, resource: Resource) -> bool:
        """Whether any version of it is."""
        return any(self.enablement(resource.group, v.name, resource.plural).on for v in resource.versions if v.served)

    def refuses(self, resource: Resource) -> bool:
        """Whether an entry says that no version of it is."""
        judged = [self.enablement(resource.group, v.name, resource.plural) for v in resource.versions if v.served]
        return all(not one.on and one.entry for one in judged)

    def narrowed(self, resource: Resource) -> Resource:
        """The resource with the versions that are served; objects are stored as before."""
        versions = tuple(
            v
            if not v.served or self.enablement(resource.group, v.name, resource.plural).on
            else replace(v, served=False)
            for v in resource.versions
        )
        return resource if versions == resource.versions else replace(resource, versions=versions)


def runtime_config_problems(given: Mapping[str, str], resources: Iterable[Resource]) -> Iterator[str]:
    """What is wrong with the option, in lines. ``resources``: all that could be served."""
    if dict(given) in ({_ALL: "false"}, {_ALL: "0"}):
        yield f"invalid runtime-config with only {_ALL}=false"
        return
    known: dict[str, set[str]] = {}
    for resource in resources:
        for served in resource.versions:
            known.setdefault(f"{resource.group}/{served.name}", set()).add(resource.plural)
    groups = {name.partition("/")[0] for name in known}
    for key, value in given.items():
        if value.lower() not in _TRUE | _FALSE:
            yield f"invalid value {key}={value}: must be true or false"
        normal = _normal(key)
        if normal in (_ALL, "api/legacy", *_STAGES):
            continue
        group, _, rest = normal.partition("/")
        version, _, plural = rest.partition("/")
        if not version or "/" in plural:
            yield f"invalid key {key}: must be {_ALL}, {', '.join(_STAGES)}, group/version or group/version/resource"
        elif group not in groups:
            yield f"unknown api groups {group}/{version}"
        elif f"{group}/{version}" not in known:
            yield f"group version {group}/{version} that has not been registered"
        elif plural != plural.lower():
            yield f"invalid key {key}: group/version/resource and resource is always lowercase plural, not {plural!r}"
        elif plural and plural not in known[f"{group}/{version}"]:
            names = ", ".join(sorted(known[f"{group}/{version}"]))
            yield f"{key}: {group}/{version} has no resource {plural!r}; it has {names}"


def _normal(key: str) -> str:
    """The core group's version as ``/v1``."""
    core = key.removeprefix("api/")
    return f"/{core}" if core == "v1" or core.startswith("v1/") else key
