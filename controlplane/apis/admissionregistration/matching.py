"""Which requests an admission rule is for: groups, versions, resources, operations, selectors.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 Rule, RuleWithOperations and MatchResources.
"""

from __future__ import annotations

from collections.abc import Sequence

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, not_supported, required
from controlplane.apimachinery.validation.names import path_segment_name
from controlplane.apis.label_selectors import LABEL_SELECTOR_NUMBERS, label_selector, validate_label_selector

__all__ = [
    "GROUP",
    "MATCHING_NUMBERS",
    "RULE",
    "default_matching",
    "default_rules",
    "match_resources",
    "validate_matching",
    "validate_one_of",
    "validate_rule",
]

GROUP = "admissionregistration.k8s.io"

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
MATCH_POLICIES = ("Equivalent", "Exact")

_RULE_FIELDS = {
    "apiGroups": array(string(), "Groups of the resources; '' is the core group, '*' all."),
    "apiVersions": array(string(), "Versions of the resources; '*' is all."),
    "resources": array(string(), "The resources: configmaps, configmaps/status, configmaps/*, */status, '*', '*/*'."),
    "scope": pointer(string("Cluster, Namespaced or '*', which is both and what is taken.", go_type="v1.ScopeType")),
    "operations": array(
        string(go_type="v1.OperationType"), "CREATE, UPDATE, DELETE, CONNECT; or '*', which is all of them."
    ),
}

RULE = record(
    _RULE_FIELDS, "Requests that do one of the operations on one of the resources.", go_type="v1.RuleWithOperations"
)

_NAMED_RULE = record(
    {"resourceNames": array(string(), "Names of the objects; none is all."), **_RULE_FIELDS},
    "Requests that do one of the operations on one of the resources.",
    go_type="v1.NamedRuleWithOperations",
    atomic=True,
)


MATCHING_NUMBERS = {
    **LABEL_SELECTOR_NUMBERS,
    "Rule": "apiGroups apiVersions resources scope",
    "RuleWithOperations": "operations +Rule",
    "NamedRuleWithOperations": "resourceNames +RuleWithOperations",
    "MatchResources": "namespaceSelector objectSelector resourceRules excludeResourceRules - - matchPolicy",
    "MatchCondition": "name expression",
}
"""Of the protobuf messages, match conditions' too."""


def match_resources(description: str) -> Obj:
    """The schema of what a policy or its binding is for; a pointer."""
    return pointer(
        record(
            {
                "namespaceSelector": pointer(label_selector("Namespaces of the objects; an empty one selects all.")),
                "objectSelector": pointer(label_selector("Objects, new or old; an empty one selects all.")),
                "resourceRules": array(_NAMED_RULE, "Requests that match one of these."),
                "excludeResourceRules": array(_NAMED_RULE, "But not those that match one of these."),
                "matchPolicy": pointer(
                    string(
                        "Exact, or Equivalent, which is taken: also requests by other versions of the resource.",
                        go_type="v1.MatchPolicyType",
                    )
                ),
            },
            description,
            go_type="v1.MatchResources",
            atomic=True,
        )
    )


def default_rules(rules: Sequence[Obj] | None) -> None:
    for rule in rules or ():
        if rule.get("scope") is None:
            rule["scope"] = "*"


def default_matching(matching: Obj | None) -> None:
    """Fill in what a MatchResources leaves open."""
    if matching is None:
        return
    matching.setdefault("matchPolicy", "Equivalent")
    matching.setdefault("namespaceSelector", {})
    matching.setdefault("objectSelector", {})
    default_rules(matching.get("resourceRules"))
    default_rules(matching.get("excludeResourceRules"))


def validate_one_of(value: str | None, path: str, allowed: Sequence[str]) -> list[FieldError]:
    """An enumerated field; None is none."""
    return [] if value is None or value in allowed else [not_supported(path, value, allowed)]


def validate_matching(matching: Obj, path: str) -> list[FieldError]:
    errors = validate_one_of(matching.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(matching.get(field) or {}, f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(matching.get(field) or ()):
            errors += _validate_names(rule.get("resourceNames") or [], f"{path}.{field}[{i}].resourceNames")
            errors += validate_rule(rule, f"{path}.{field}[{i}]")
    return errors


def _validate_names(names: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, name in enumerate(names):
        errors += [invalid(f"{path}[{i}]", name, problem) for problem in path_segment_name(name)]
        if name in names[:i]:
            errors.append(duplicate(f"{path}[{i}]", name))
    return errors


def validate_rule(rule: Obj, path: str) -> list[FieldError]:
    operations = rule.get("operations") or []
    errors = _validate_list(operations, f"{path}.operations", "operations")
    for i, operation in enumerate(operations):
        errors += validate_one_of(operation, f"{path}.operations[{i}]", OPERATIONS)
    errors += _validate_list(rule.get("apiGroups") or [], f"{path}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    errors += _validate_list(versions, f"{path}.apiVersions", "API versions")
    errors += [required(f"{path}.apiVersions[{i}]") for i, version in enumerate(versions) if not version]
    errors += _validate_resources(rule.get("resources") or [], f"{path}.resources")
    return errors + validate_one_of(rule.get("scope"), f"{path}.scope", SCOPES)


def _validate_list(values: list[str], path: str, noun: str) -> list[FieldError]:
    if not values:
        return [required(path)]
    if len(values) > 1 and "*" in values:
        return [invalid(path, values, f"if '*' is present, must not specify other {noun}")]
    return []


def _validate_resources(resources: list[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    with_all_subresources: set[str] = set()
    of_all_resources: set[str] = set()
    last_is_whole = False
    for i, name in enumerate(resources):
        at = f"{path}[{i}]"
        if not name:
            errors.append(required(at))
            continue
        resource, slash, subresource = name.partition("/")
        if not slash:
            last_is_whole = name != "*"  # upstream looks at the last one only
            continue
        if resource in with_all_subresources:
            errors.append(invalid(at, name, f"if '{resource}/*' is present, must not specify {name}"))
        if subresource in of_all_resources:
            errors.append(invalid(at, name, f"if '*/{subresource}' is present, must not specify {name}"))
        if subresource == "*":
            with_all_subresources.add(resource)
        if resource == "*":
            of_all_resources.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and last_is_whole:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors
