"""Cluster roles: what is allowed everywhere, or wherever the role is bound in a namespace.

One with an aggregation rule is put together, by a controller, from those that its selectors match.

Source: the behaviour of kubernetes' rbac.authorization.k8s.io/v1 ClusterRole.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import array, pointer, record
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_path_segment
from controlplane.apis.columns import CREATED_AT, NAME
from controlplane.apis.label_selectors import LABEL_SELECTOR_NUMBERS, label_selector, validate_label_selector
from controlplane.apis.rbac.rules import GROUP, RULE_NUMBERS, RULES, validate_rules

__all__ = ["CLUSTER_ROLES"]

_SCHEMA = record(
    {
        "rules": RULES,
        "aggregationRule": pointer(
            record(
                {
                    "clusterRoleSelectors": array(
                        label_selector("Which cluster roles."), "Cluster roles that any of these match are taken in."
                    )
                },
                "How the rules are put together from other cluster roles; those given here are then overwritten.",
                go_type="v1.AggregationRule",
            )
        ),
    },
    "What is allowed everywhere, or where it is bound, to those it is bound to.",
    go_type="v1.ClusterRole",
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "ClusterRole": "metadata rules aggregationRule",
        "AggregationRule": "clusterRoleSelectors",
        **RULE_NUMBERS,
        **LABEL_SELECTOR_NUMBERS,
    },
)


def _validate(obj: Obj) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_path_segment, native=True)
    errors += validate_rules(obj.get("rules") or [], namespaced=False)
    aggregation = obj.get("aggregationRule")
    return errors if aggregation is None else errors + _validate_aggregation(aggregation)


def _validate_aggregation(aggregation: Obj) -> list[FieldError]:
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    errors: list[FieldError] = []
    for i, selector in enumerate(selectors):
        found = validate_label_selector(selector, f"{path}[{i}]")
        if found:  # what cannot be used as a selector is told once more, without its value
            found.append(invalid(f"{path}[{i}]", None, "invalid label selector."))
        errors += found
    return errors


def _validate_update(obj: Obj, old: Obj) -> list[FieldError]:
    return _validate(obj) + validate_object_meta_update(obj["metadata"], old["metadata"], native=True)


CLUSTER_ROLES = Resource(
    group=GROUP,
    plural="clusterroles",
    singular="clusterrole",
    kind="ClusterRole",
    namespaced=False,
    key_prefix="clusterroles",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE, columns=(NAME, CREATED_AT)),),
    strategy=Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_path_segment,
        create_on_update=True,
    ),
)
