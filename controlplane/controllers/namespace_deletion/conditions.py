"""What a namespace that is being deleted says of its progress: five conditions, always all of them, in this order.

Source: kubernetes ``pkg/controller/namespace/deletion/status_condition_utils.go`` (types, reasons, texts).
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.controllers.namespace_deletion.content import Content

__all__ = ["with_conditions"]


class _Condition(NamedTuple):
    type: str
    ok_reason: str
    ok_message: str
    reason: str


_DISCOVERY = _Condition(
    "NamespaceDeletionDiscoveryFailure",
    "ResourcesDiscovered",
    "All resources successfully discovered",
    "DiscoveryFailed",
)
_PARSING = _Condition(
    "NamespaceDeletionGroupVersionParsingFailure",
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
    "GroupVersionParsingFailed",
)
_DELETION = _Condition(
    "NamespaceDeletionContentFailure",
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
    "ContentDeletionFailed",
)
_REMAINING = _Condition(
    "NamespaceContentRemaining", "ContentRemoved", "All content successfully removed", "SomeResourcesRemain"
)
_FINALIZERS = _Condition(
    "NamespaceFinalizersRemaining",
    "ContentHasNoFinalizers",
    "All content-preserving finalizers finished",
    "SomeFinalizersRemain",
)


def with_conditions(namespace: Obj, content: Content, *, now: str) -> Obj | None:
    """The namespace with its conditions brought up to date; None if they are.

    ``now`` (RFC 3339) is the transition time of those whose status has changed; other parties' conditions are kept.
    """
    status = namespace.get("status") or {}
    before = {condition["type"]: condition for condition in status.get("conditions") or ()}
    after = dict(before)
    for kind, message in _messages(content):
        wanted = {
            "type": kind.type,
            "status": "True" if message else "False",
            "reason": kind.reason if message else kind.ok_reason,
            "message": message or kind.ok_message,
        }
        old = before.get(kind.type) or {}
        if any(old.get(name) != value for name, value in wanted.items()):
            since = old.get("lastTransitionTime") if old.get("status") == wanted["status"] else None
            after[kind.type] = {**wanted, "lastTransitionTime": since or now}
    if after == before:
        return None
    return {**namespace, "status": {**status, "conditions": list(after.values())}}


def _messages(content: Content) -> list[tuple[_Condition, str]]:
    """Each condition with what it reports, ``""`` for nothing."""
    failures = ", ".join(sorted(content.errors))
    remaining = ", ".join(
        sorted(f"{gr.resource}.{gr.group} has {count} resource instances" for gr, count in content.remaining.items())
    )
    held = ", ".join(sorted(f"{name} in {count} resource instances" for name, count in content.finalizers.items()))
    failed = f"Failed to delete all resource types, {len(content.errors)} remaining: {failures}" if failures else ""
    return [
        (_DISCOVERY, content.discovery_error),
        (_PARSING, ""),  # resources are discovered with their versions: there is nothing left to parse
        (_DELETION, failed),
        (_REMAINING, f"Some resources are remaining: {remaining}" if remaining else ""),
        (_FINALIZERS, f"Some content in the namespace has finalizers remaining: {held}" if held else ""),
    ]
