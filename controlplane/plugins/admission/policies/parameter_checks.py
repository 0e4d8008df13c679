"""Who names parameters must be allowed to read them: in a policy all objects of their kind, in a binding those that it
refers to. Otherwise what they hold could be read out of the messages of a policy of one's own.

Members of ``system:masters`` may name any. Of a kind that is not known, all of every kind must be readable.

Source: kubernetes ``pkg/registry/admissionregistration/*/authz.go`` (when it is asked, and the texts).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource, GroupVersion, Key, Obj
from controlplane.apimachinery.policy_rule import ALL
from controlplane.apimachinery.resource import Resource
from controlplane.apimachinery.status import APIError, invalid
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apimachinery.validation.field import forbidden
from controlplane.apis.admissionregistration.mutatingadmissionpolicies import MUTATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.mutatingadmissionpolicybindings import MUTATING_ADMISSION_POLICY_BINDINGS
from controlplane.apis.admissionregistration.validatingadmissionpolicies import VALIDATING_ADMISSION_POLICIES
from controlplane.apis.admissionregistration.validatingadmissionpolicybindings import (
    VALIDATING_ADMISSION_POLICY_BINDINGS,
)
from controlplane.apiserver.admission.api import Attributes, Hook
from controlplane.apiserver.authorization.api import Attributes as Question
from controlplane.apiserver.authorization.api import Authorizer, Decision
from controlplane.apiserver.registry.table import TableHolder
from controlplane.plugins.admission.policies.parameters import Parameters
from controlplane.storage.api import CONSISTENT
from controlplane.storage.errors import StorageError

__all__ = ["ParameterChecks"]


class _Kind(NamedTuple):
    """What must be readable. ``unknown``: why it is everything; ``""``: it is known."""

    group: str = ALL
    version: str = ALL
    resource: str = ALL
    unknown: str = ""


class ParameterChecks:
    """``authorizer`` decides; ``tables``: where kinds and the policies of bindings are looked up."""

    def __init__(self, authorizer: Authorizer, tables: TableHolder) -> None:
        self._authorizer, self._tables, self._parameters = authorizer, tables, Parameters(tables)

    def checks(self) -> Mapping[GroupResource, Hook]:
        """The check of each kind."""
        return {
            VALIDATING_ADMISSION_POLICIES.gr: self._check_policy,
            MUTATING_ADMISSION_POLICIES.gr: self._check_policy,
            VALIDATING_ADMISSION_POLICY_BINDINGS.gr: self._check_validating_binding,
            MUTATING_ADMISSION_POLICY_BINDINGS.gr: self._check_mutating_binding,
        }

    async def _check_policy(self, a: Attributes) -> None:
        assert a.obj is not None
        kind = a.obj["spec"].get("paramKind")
        if kind is None or MASTERS_GROUP in a.user.groups or (a.old and a.old["spec"].get("paramKind") == kind):
            return
        try:
            allowed = await self._may_read(a.user, "get", self._known(kind), namespace=ALL, name=ALL)
        except Exception as error:  # whatever kept it from deciding, nothing is allowed
            raise _refused(a, "paramKind", str(error)) from error
        if not allowed:
            which = f"(kind={kind.get('kind') or ''}, apiVersion={kind.get('apiVersion') or ''})"
            why = f'must have "get" permission on all objects of the referenced paramKind {which}'
            raise _refused(a, "paramKind", f"user {_as_go(a.user)} {why}")

    async def _check_validating_binding(self, a: Attributes) -> None:
        verb = _verb_of(a)
        if not verb:
            return
        kind = await self._kind_of_bound(a, VALIDATING_ADMISSION_POLICIES)
        try:
            if await self._may_read_referenced(a, verb, kind):
                return
        except Exception as error:  # as above
            raise _refused(a, "paramRef", f"failed to authorize request: {error}") from error
        lacks = f'user {_as_go(a.user)} does not have "{verb}" permission'
        if kind.unknown:
            why = f"{kind.unknown} to determine minimum required permissions and {lacks} for all groups, versions and"
            raise _refused(a, "paramRef", f"{why} resources")
        raise _refused(a, "paramRef", f"{lacks} on the object referenced by paramRef")

    async def _check_mutating_binding(self, a: Attributes) -> None:
        verb = _verb_of(a)
        if not verb:
            return
        kind = await self._kind_of_bound(a, MUTATING_ADMISSION_POLICIES)
        try:
            if await self._may_read_referenced(a, verb, kind):
                return
        except Exception as error:  # as above
            raise _refused(a, "paramRef", str(error)) from error
        # verb and user are the wrong way round there, and clients see it so
        why = f'user {verb} does not have "{_as_go(a.user)}" permission on the object referenced by paramRef'
        raise _refused(a, "paramRef", why)

    def _known(self, kind: Obj) -> _Kind:
        shown = f"&{{{kind.get('apiVersion') or ''} {kind.get('kind') or ''}}}"
        try:
            gv = GroupVersion.parse(kind.get("apiVersion") or "")
        except ValueError:
            return _Kind(unknown=f"unable to parse paramKind {shown}")
        served = self._parameters.served(kind)
        if served is None:
            return _Kind(gv.group, gv.version, unknown=f"unable to resolve paramKind {shown}")
        return _Kind(gv.group, gv.version, served.resource.plural)

    async def _kind_of_bound(self, a: Attributes, policies: Resource) -> _Kind:
        """What a binding's parameters are, by the policy that it binds."""
        assert a.obj is not None
        name, storage = a.obj["spec"]["policyName"], self._tables.storage_of(policies.group, policies.plural)
        missing = _Kind(unknown=f"unable to get policy {name}")
        if storage is None:
            return missing
        try:
            policy = await storage.decode(await storage.get(Key("", name), CONSISTENT), "v1")
        except StorageError:
            return missing
        kind = policy["spec"].get("paramKind")
        return _Kind() if kind is None else self._known(kind)

    async def _may_read_referenced(self, a: Attributes, verb: str, kind: _Kind) -> bool:
        assert a.obj is not None
        reference = a.obj["spec"]["paramRef"]
        namespace, name = reference.get("namespace") or "", reference.get("name") or ""
        return await self._may_read(a.user, verb, kind, namespace=namespace, name=name)

    async def _may_read(self, user: UserInfo, verb: str, kind: _Kind, *, namespace: str, name: str) -> bool:
        question = Question(
            user=user,
            verb=verb,
            group=kind.group,
            version=kind.version,
            resource=kind.resource,
            namespace=namespace,
            name=name,
        )
        decision, _ = await self._authorizer.authorize(question)
        return decision is Decision.ALLOW


def _verb_of(a: Attributes) -> str:
    """The verb that the user of a binding needs on the parameters; ``""`` if none. On an update it is asked again, even
    if the reference has stayed: what is compared there are pointers."""
    assert a.obj is not None
    reference = a.obj["spec"].get("paramRef")
    if reference is None or MASTERS_GROUP in a.user.groups:
        return ""
    return "get" if reference.get("name") else "list"


def _refused(a: Attributes, field: str, why: str) -> APIError:
    return invalid(a.kind.group, a.kind.kind, a.name, [forbidden(f"spec.{field}", why)])


def _as_go(user: UserInfo) -> str:
    """As Go's %v shows it."""
    extra = " ".join(f"{key}:[{' '.join(user.extra[key])}]" for key in sorted(user.extra))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
