"""The index of roles and bindings: what a user has been given, found by the user, not by looking at each binding.

It hears of every change in the step that applies it, and takes up all changes at the next question, in one pass over
what has changed, or when there are many. An object that cannot be read gives nobody anything.

Source: the answers of kubernetes ``pkg/registry/rbac/validation/rule.go``, whose order (cluster role bindings first) is
kept; where that goes by a map's order this goes by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.policy_rule import PolicyRule
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from controlplane.apis.rbac.clusterroles import CLUSTER_ROLES
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.base import logs
from controlplane.plugins.authorization.rbac.bindings import Grant, RoleRef, grants_of, keys_of
from controlplane.storage.cache.entry import Entry
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.ring import Change

__all__ = ["KINDS", "Given", "RoleIndex"]

log = logs.get(__name__)

T = TypeVar("T")

KINDS = (ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)

_PUT_OFF = 200
"""Changes that are put off at most, however long nobody asks (administrators are not asked about): twenty microseconds
each, for whoever asks first."""

_Subjects = dict[str, dict[str, Grant]]
"""By a subject's key, then by the binding's name."""


class Given(NamedTuple):
    """What a binding gives a user. ``rules`` None: there is no such role."""

    source: str
    role: RoleRef
    rules: tuple[PolicyRule, ...] | None


class RoleIndex:
    """``served``: the resources that this server has; others of the four are taken for empty."""

    def __init__(self, mirror: Mirror, served: frozenset[GroupResource]) -> None:
        self._mirror = mirror
        self._roles: dict[RoleRef, tuple[PolicyRule, ...]] = {}
        self._given: dict[str, _Subjects] = {}
        self._subjects: dict[Key, tuple[str, ...]] = {}
        self._pending: dict[tuple[str, Key], Entry | None] = {}
        self._decisions: dict[Any, Any] = {}
        kinds = [kind for kind in KINDS if kind.gr in served]
        self._stops = [mirror.observe(kind, _Feed(mirror, kind, self._pending, self._settle)) for kind in kinds]

    def close(self) -> None:
        """Hear of nothing more."""
        while self._stops:
            self._stops.pop()()

    async def fresh(self) -> bool:
        """Wait for all that was stored when this was called; False if it could not be proved within 3 s."""
        return await self._mirror.fresh(None)

    def decisions(self) -> dict[Any, Any]:
        """What has been concluded from the present state; the authorizer's to fill, emptied when the state changes."""
        if self._pending:
            self._settle()
        return self._decisions

    def given(self, user: UserInfo, namespace: str) -> Iterator[Given]:
        """All that a user has been given, everywhere and then in a namespace (``""``: in none), by bindings' names."""
        if self._pending:
            self._settle()
        for scope in ("", namespace) if namespace else ("",):
            subjects = self._given.get(scope)
            if subjects is None:
                continue
            found: dict[str, Grant] = {}
            for key in keys_of(user):
                for name, grant in subjects.get(key, {}).items():
                    if name not in found or grant.at < found[name].at:
                        found[name] = grant
            for name in sorted(found):
                grant = found[name]
                yield Given(grant.source, grant.role, self._roles.get(grant.role))

    def rules(self, role: RoleRef) -> tuple[PolicyRule, ...] | None:
        """The rules of a role; None if there is none."""
        if self._pending:
            self._settle()
        return self._roles.get(role)

    def _settle(self) -> None:
        pending = list(self._pending.items())
        self._pending.clear()
        self._decisions.clear()
        for (kind, key), entry in pending:
            if kind in (ROLES.kind, CLUSTER_ROLES.kind):
                self._take_role(RoleRef(kind, key), _read(entry, _rules_of))
            else:
                self._take_binding(key, _read(entry, partial(_grants, key)))

    def _take_role(self, role: RoleRef, rules: tuple[PolicyRule, ...] | None) -> None:
        if rules is None:
            self._roles.pop(role, None)
        else:
            self._roles[role] = rules

    def _take_binding(self, key: Key, grants: list[tuple[str, Grant]] | None) -> None:
        subjects = self._given.setdefault(key.namespace, {})
        for subject in self._subjects.pop(key, ()):
            given = subjects[subject]
            del given[key.name]
            if not given:
                del subjects[subject]
        if grants:
            first: dict[str, Grant] = {}
            for subject, grant in grants:
                first.setdefault(subject, grant)
            for subject, grant in first.items():
                subjects.setdefault(subject, {})[key.name] = grant
            self._subjects[key] = tuple(first)
        if not subjects:
            del self._given[key.namespace]


class _Feed:
    """Notes one resource's changes; see ``storage.cache.mirror.Observer``."""

    __slots__ = ("_key_of", "_kind", "_known", "_mirror", "_pending", "_prefix", "_settle")

    def __init__(
        self,
        mirror: Mirror,
        kind: Resource,
        pending: dict[tuple[str, Key], Entry | None],
        settle: Callable[[], None],
    ) -> None:
        self._mirror, self._kind, self._pending, self._settle = mirror, kind, pending, settle
        self._known: set[Key] = set()
        self._prefix = len(mirror.prefix) + len(kind.key_prefix) + 1
        self._key_of: Callable[[str], Key] = _namespaced if kind.namespaced else _of_cluster

    def changed(self, change: Change) -> None:
        self._note(change.key, change.entry)

    def step(self) -> None:
        if len(self._pending) >= _PUT_OFF:
            self._settle()

    def replaced(self) -> None:
        for key in self._known:
            self._pending[self._kind.kind, key] = None
        self._known.clear()
        for entry in self._mirror.entries(self._kind):
            self._note(entry.key, entry)

    def _note(self, store_key: bytes, entry: Entry | None) -> None:
        key = self._key_of(store_key[self._prefix :].decode())
        if entry is None:
            self._known.discard(key)
        else:
            self._known.add(key)
        self._pending[self._kind.kind, key] = entry


def _namespaced(path: str) -> Key:
    namespace, _, name = path.partition("/")
    return Key(namespace, name)


def _of_cluster(path: str) -> Key:
    return Key("", path)


def _grants(key: Key, binding: Obj) -> list[tuple[str, Grant]]:
    return list(grants_of(binding, key))


def _rules_of(role: Obj) -> tuple[PolicyRule, ...]:
    return tuple(map(PolicyRule.of_object, role.get("rules") or ()))


def _read(entry: Entry | None, parse: Callable[[Obj], T]) -> T | None:
    """What an entry says; None if it is gone or cannot be read (whoever wrote it did not go through this server)."""
    if entry is None:
        return None
    try:
        if not entry.origin.poison:
            return parse(loads(entry.data))
    except (MalformedJSON, AttributeError, KeyError, TypeError):
        pass
    log.warning("a role or binding cannot be read: it gives nobody anything", key=entry.key.decode(errors="replace"))
    return None
