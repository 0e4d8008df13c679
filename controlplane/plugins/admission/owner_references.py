"""OwnerReferencesPermissionEnforcement: who changes the owners of an object must be allowed to delete it, and who lets
it hold up its owner's deletion must be allowed to set the owner's finalizers.

Source: kubernetes ``plugin/pkg/admission/gc``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apimachinery.meta import metadata
from controlplane.apiserver.admission.api import Attributes, Hooks, Operation, refused
from controlplane.apiserver.authorization.api import Attributes as Question
from controlplane.apiserver.authorization.api import Decision
from controlplane.apiserver.registry.table import Served, TableHolder
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices

__all__ = ["PLUGIN"]

References = list[dict[str, Any]]


def _owners(obj: Obj | None) -> References:
    return metadata(obj).get("ownerReferences") or [] if obj is not None else []


def _newly_blocking(attributes: Attributes) -> References:
    """The references that hold up their owner's deletion and did not before."""
    before = {reference.get("uid"): reference for reference in _owners(attributes.old)}
    return [
        reference
        for reference in _owners(attributes.obj)
        if reference.get("blockOwnerDeletion")
        and not (before.get(reference.get("uid")) or {}).get("blockOwnerDeletion")
    ]


def _served_as(tables: TableHolder, reference: dict[str, Any]) -> Iterator[Served]:
    gv = GroupVersion.parse(reference.get("apiVersion") or "")
    group = tables.current.group(gv.group)
    version = group.version(gv.version) if group is not None else None
    for served in version.resources.values() if version is not None else ():
        if served.gvk.kind == reference.get("kind"):
            yield served


class _Enforcement:
    def __init__(self, services: PluginServices) -> None:
        self._services = services

    async def validate(self, attributes: Attributes) -> None:
        if _owners(attributes.obj) == _owners(attributes.old):
            return
        resource = attributes.resource
        own = Question(
            attributes.user,
            "delete",
            group=resource.group,
            version=resource.version,
            resource=resource.resource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        refusal = await self._refusal([own])
        if refusal is not None:
            raise refused(attributes, f"cannot set an ownerRef on a resource you can't delete: {refusal}")
        for reference in _newly_blocking(attributes):
            questions = list(self._questions(attributes, reference))
            if not questions:
                api_version, kind = reference.get("apiVersion"), reference.get("kind")
                why = (
                    f"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion "
                    f'{api_version} Kind {kind}: no matches for kind "{kind}" in version "{api_version}"'
                )
                raise refused(attributes, why)
            refusal = await self._refusal(questions)
            if refusal is not None:
                why = (
                    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers "
                    f"on: {refusal}"
                )
                raise refused(attributes, why)

    def _questions(self, attributes: Attributes, reference: dict[str, Any]) -> Iterator[Question]:
        for served in _served_as(self._services.tables, reference):
            yield Question(
                attributes.user,
                "update",
                group=served.gvr.group,
                version=served.gvr.version,
                resource=served.gvr.resource,
                subresource="finalizers",
                namespace=attributes.namespace if served.resource.namespaced else "",
                name=reference.get("name") or "",
            )

    async def _refusal(self, questions: Iterable[Question]) -> str | None:
        """Why one of them is not allowed, as upstream prints a reason and no error; None if all are."""
        for question in questions:
            decision, why = await self._services.authorizer.authorize(question)
            if decision is not Decision.ALLOW:
                return f"{why}, <nil>"
        return None


def _build(services: PluginServices) -> Hooks:
    return Hooks(operations=frozenset({Operation.CREATE, Operation.UPDATE}), validate=_Enforcement(services).validate)


PLUGIN = AdmissionPlugin(name="OwnerReferencesPermissionEnforcement", default_on=False, build=_build)
