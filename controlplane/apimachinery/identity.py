"""Names of things: groups, versions, kinds, resources, and the key of one object.

Pure values, cheap to hash and compare. Text forms are those that Kubernetes puts on the wire.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["GVK", "GVR", "GroupResource", "GroupVersion", "Key", "Obj"]

Obj = dict[str, Any]
"""One API object (or a part of one) as decoded JSON. Read it through ``apimachinery.meta``."""


class GroupVersion(NamedTuple):
    """A group and version; the core group is ``""``."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read ``v1`` or ``group/version``.

        Raises:
            ValueError: more than one slash.
        """
        head, slash, tail = api_version.partition("/")
        if not slash:
            return cls("", head)
        if "/" in tail:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(head, tail)


class GVK(NamedTuple):
    """Group, version and kind."""

    group: str
    version: str
    kind: str

    @property
    def gv(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupResource(NamedTuple):
    """Group and plural resource name; ``str`` gives ``plural`` or ``plural.group``."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GVR(NamedTuple):
    """Group, version and plural resource name."""

    group: str
    version: str
    resource: str

    @property
    def gv(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def gr(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


class Key(NamedTuple):
    """Where one object of a resource lives; ``namespace`` is ``""`` for cluster-scoped resources."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
