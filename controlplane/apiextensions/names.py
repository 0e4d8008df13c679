"""Which names a definition gets, and what is then known of it: a pure function of the definitions of its group.

Names are decided alike on every replica: who holds them keeps them, then the definition that was created first gets
them. Nobody waits: a definition is established in the same decision that accepts its names.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/{status,establish,apiapproval,nonstructuralschema}`` for
conditions and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from controlplane.apiextensions.definition.conditions import (
    Condition,
    conditions_of,
    find,
    is_true,
    with_condition,
    without_condition,
)
from controlplane.apiextensions.definition.extract import Definition
from controlplane.apiextensions.definition.structure import NON_STRUCTURAL
from controlplane.apiextensions.definition.validation.approval import approval_of, is_protected
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.client.webhook.ca_bundle import ca_bundle_error

__all__ = ["decide"]

_APPROVAL = {
    "approved": ("True", "ApprovedAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "missing": ("False", "MissingAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
}


def decide(definition: Definition, others: Iterable[Definition], now: Callable[[], str]) -> Obj | None:
    """The status that a definition should have.

    Args:
        others: the other definitions of its group.
        now: the time, as objects carry it.

    Returns:
        ``acceptedNames`` and ``conditions`` as they should be; None if they are so.
    """
    head = definition.head
    requested, accepted = definition.names, definition.accepted
    conditions: Sequence[Obj] = conditions_of(head)
    undecided = not _same_names(requested, accepted)
    if undecided:
        accepted, names_accepted = _accept(definition, others)
        if not _equivalent(names_accepted, find(conditions, "NamesAccepted")) or not _same_names(
            accepted, definition.accepted
        ):
            conditions = with_condition(conditions, names_accepted, now())
    head = {**head, "status": {"conditions": conditions}}
    established = _established(head, definition.spec, undecided=undecided)
    if established is not None and not _equivalent(established, find(conditions, "Established")):
        conditions = with_condition(conditions, established, now())
    conditions = _with_approval(definition, conditions, now)
    conditions = _with(definition.structure, NON_STRUCTURAL, conditions, now)
    if list(conditions) == list(conditions_of(definition.head)) and _same_names(accepted, definition.accepted):
        return None
    return {"acceptedNames": accepted, "conditions": list(conditions)}


def _same_names(one: Obj, other: Obj) -> bool:
    keys = ("plural", "singular", "kind", "listKind", "shortNames", "categories")
    return all((one.get(key) or None) == (other.get(key) or None) for key in keys)


def _equivalent(condition: Condition, known: Obj | None) -> bool:
    return known is not None and all(
        known.get(key) == value
        for key, value in (("status", condition.status), ("reason", condition.reason), ("message", condition.message))
    )


def _accept(definition: Definition, others: Iterable[Definition]) -> tuple[Obj, Condition]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        _claim(other.accepted, resources, kinds)
        if other.create_revision < definition.create_revision and not other.is_deleted:
            _claim(other.names, resources, kinds)
    requested, held = definition.names, definition.accepted
    accepted = dict(held)
    condition = Condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    for key, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
        ("shortNames", resources, "ShortNamesConflict"),
        ("kind", kinds, "KindConflict"),
        ("listKind", kinds, "ListKindConflict"),
    ):
        taken = _taken(requested.get(key), held.get(key), used)
        if taken:
            texts = [f"{go_quoted(name)} is already in use" for name in dict.fromkeys(taken)]
            message = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
            condition = Condition("NamesAccepted", "False", reason, message)
        else:
            _set(accepted, key, requested.get(key))
    _set(accepted, "categories", requested.get("categories"))
    accepted.setdefault("plural", "")
    accepted.setdefault("kind", "")
    return accepted, condition


def _claim(names: Mapping[str, object], resources: set[str], kinds: set[str]) -> None:
    for key, used in (("plural", resources), ("singular", resources), ("kind", kinds), ("listKind", kinds)):
        name = names.get(key)
        if isinstance(name, str) and name:
            used.add(name)
    shorts = names.get("shortNames")
    if isinstance(shorts, list):
        resources.update(shorts)


def _taken(requested: object, held: object, used: set[str]) -> list[str]:
    """Those of the requested names that somebody else has."""
    if isinstance(requested, list):
        mine = held if isinstance(held, list) else []
        return [name for name in requested if name not in mine and name in used]
    if isinstance(requested, str) and requested != held and requested in used:
        return [requested]
    return []


def _set(names: Obj, key: str, value: object) -> None:
    if value:
        names[key] = value
    else:
        names.pop(key, None)


def _established(head: Obj, spec: Obj, *, undecided: bool) -> Condition | None:
    """The condition as it becomes; None: it stays. Only who decides names (``undecided``) begins to tell of it."""
    if is_true(head, "Established"):
        return None
    if not is_true(head, "NamesAccepted"):
        if not undecided or find(conditions_of(head), "Established") is not None:
            return None
        return Condition("Established", "False", "NotAccepted", "not all names are accepted")
    webhook = (spec.get("conversion") or {}).get("webhook") or {}
    if ca_bundle_error((webhook.get("clientConfig") or {}).get("caBundle") or ""):
        return Condition("Established", "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    return Condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")


def _with_approval(definition: Definition, conditions: Sequence[Obj], now: Callable[[], str]) -> Sequence[Obj]:
    type_name = "KubernetesAPIApprovalPolicyConformant"
    condition = None
    if is_protected(definition.group):
        approval = approval_of(definition.head)
        status, reason = _APPROVAL[approval.state]
        condition = Condition(type_name, status, reason, approval.reason)
    return _with(condition, type_name, conditions, now)


def _with(
    condition: Condition | None, type_name: str, conditions: Sequence[Obj], now: Callable[[], str]
) -> Sequence[Obj]:
    """The conditions with one as it should be, or without it."""
    known = find(conditions, type_name)
    if condition is None:
        return without_condition(conditions, type_name) if known is not None else conditions
    return conditions if _equivalent(condition, known) else with_condition(conditions, condition, now())
