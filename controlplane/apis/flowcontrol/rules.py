"""Which requests a flow schema is for: who makes them, and what they are for.

Source: the behaviour of kubernetes' flowcontrol.apiserver.k8s.io/v1 PolicyRulesWithSubjects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import always, array, boolean, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, forbidden, invalid, not_supported, required
from controlplane.apimachinery.validation.names import dns1123_label, dns1123_subdomain

__all__ = ["RULE", "RULE_NUMBERS", "validate_rule"]

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_KINDS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
"""Kinds of subjects, each with the field that describes it."""

_SUBJECT = record(
    {
        "kind": string("User, Group or ServiceAccount.", go_type="v1.SubjectKind"),
        "user": pointer(
            record(
                {"name": string("The user's name; '*' is every user.")},
                "Of subjects that are users.",
                go_type="v1.UserSubject",
                required=("name",),
            )
        ),
        "group": pointer(
            record(
                {"name": string("The group's name; '*' is every group.")},
                "Of subjects that are groups.",
                go_type="v1.GroupSubject",
                required=("name",),
            )
        ),
        "serviceAccount": pointer(
            record(
                {
                    "namespace": string("The account's namespace."),
                    "name": string("The account's name; '*' is every account of the namespace."),
                },
                "Of subjects that are service accounts.",
                go_type="v1.ServiceAccountSubject",
                required=("namespace", "name"),
            )
        ),
    },
    "Who makes the request.",
    go_type="v1.Subject",
    required=("kind",),
)

_RESOURCE_RULE = record(
    {
        "verbs": array(string(), "What is done; '*' is everything.", unique=True),
        "apiGroups": array(string(), "Groups of the resources; '' is the core group, '*' all.", unique=True),
        "resources": array(string(), "The resources, with their subresources; '*' is all.", unique=True),
        "clusterScope": boolean("Whether requests that are in no namespace match."),
        "namespaces": always(array(string(), "Namespaces of the requests; '*' is all.", unique=True)),
    },
    "Requests for resources.",
    go_type="v1.ResourcePolicyRule",
    required=("verbs", "apiGroups", "resources"),
)

_PATH_RULE = record(
    {
        "verbs": array(string(), "What is done; '*' is everything.", unique=True),
        "nonResourceURLs": array(string(), "Paths; one that ends in '/*' is all below it, '*' all.", unique=True),
    },
    "Requests for other paths.",
    go_type="v1.NonResourcePolicyRule",
    required=("verbs", "nonResourceURLs"),
)

RULE = record(
    {
        "subjects": array(_SUBJECT, "Who makes the request: one of these."),
        "resourceRules": array(_RESOURCE_RULE, "Requests for resources that match."),
        "nonResourceRules": array(_PATH_RULE, "Requests for other paths that match."),
    },
    "Requests by one of the subjects for one of the things.",
    go_type="v1.PolicyRulesWithSubjects",
    required=("subjects",),
)


RULE_NUMBERS = {
    "PolicyRulesWithSubjects": "subjects resourceRules nonResourceRules",
    "Subject": "kind user group serviceAccount",
    "UserSubject": "name",
    "GroupSubject": "name",
    "ServiceAccountSubject": "namespace name",
    "ResourcePolicyRule": "verbs apiGroups resources clusterScope namespaces",
    "NonResourcePolicyRule": "verbs - - - - nonResourceURLs",
}
"""Of the protobuf messages."""


def validate_rule(rule: Obj, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    subjects = rule.get("subjects") or []
    if not subjects:
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    for i, subject in enumerate(subjects):
        errors += _validate_subject(subject, f"{path}.subjects[{i}]")
    resource_rules, path_rules = rule.get("resourceRules") or [], rule.get("nonResourceRules") or []
    if not resource_rules and not path_rules:
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for i, resource_rule in enumerate(resource_rules):
        errors += _validate_resource_rule(resource_rule, f"{path}.resourceRules[{i}]")
    for i, path_rule in enumerate(path_rules):
        errors += _validate_path_rule(path_rule, f"{path}.nonResourceRules[{i}]")
    return errors


def _validate_subject(subject: Obj, path: str) -> list[FieldError]:
    kind = subject["kind"]
    if kind not in _KINDS:
        return [not_supported(f"{path}.kind", kind, list(_KINDS))]
    field = _KINDS[kind]
    described = subject.get(field)
    if described is None:
        errors = [required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")]
    elif kind == "ServiceAccount":
        errors = _validate_account(described, f"{path}.{field}")
    else:
        errors = [] if described["name"] else [required(f"{path}.{field}.name")]
    for other in ("ServiceAccount", "User", "Group"):
        if other != kind and subject.get(_KINDS[other]) is not None:
            why = f"{_KINDS[other]} is forbidden when subject kind is not '{other}'"
            errors.append(forbidden(f"{path}.{_KINDS[other]}", why))
    return errors


def _validate_account(account: Obj, path: str) -> list[FieldError]:
    name, namespace = account["name"], account["namespace"]
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{path}.name"))
    elif name != "*":
        errors += [invalid(f"{path}.name", name, problem) for problem in dns1123_subdomain(name)]
    if not namespace:
        errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    else:
        errors += [invalid(f"{path}.namespace", namespace, problem) for problem in dns1123_label(namespace)]
    return errors


def _validate_verbs(verbs: list[str], path: str) -> list[FieldError]:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return [invalid(path, verbs, "if '*' is present, must not specify other verbs")] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(path, verbs, _VERBS)]


def _validate_all_or_some(values: list[str], path: str, missing: str, noun: str) -> list[FieldError]:
    if not values:
        return [required(path, missing)]
    if "*" in values and len(values) > 1:
        return [invalid(path, values, f"if '*' is present, must not specify other {noun}")]
    return []


def _validate_resource_rule(rule: Obj, path: str) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    errors += _validate_all_or_some(
        rule.get("apiGroups") or [],
        f"{path}.apiGroups",
        "resource rules must supply at least one api group",
        "api groups",
    )
    errors += _validate_all_or_some(
        rule.get("resources") or [],
        f"{path}.resources",
        "resource rules must supply at least one resource",
        "resources",
    )
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(at, why))
    elif "*" in namespaces:
        if len(namespaces) > 1:
            errors.append(invalid(at, namespaces, "if '*' is present, must not specify other namespaces"))
    else:
        errors += _each(namespaces, at, _namespace_problems)
    return errors


def _namespace_problems(namespace: str) -> list[str]:
    return [
        f"each member of this list must be '*' or a DNS-1123 label; {problem}" for problem in dns1123_label(namespace)
    ]


def _each(values: Sequence[str], path: str, problems: Callable[[str], list[str]]) -> list[FieldError]:
    return [invalid(f"{path}[{i}]", value, why) for i, value in enumerate(values) for why in problems(value)]


def _validate_path_rule(rule: Obj, path: str) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    missing = "nonResourceURLs must contain at least one value"
    errors += _validate_all_or_some(urls, at, missing, "non-resource URLs")
    return errors if "*" in urls else errors + _each(urls, at, _path_problems)


def _path_problems(path: str) -> list[str]:
    if not path:
        return ["must not be empty"]
    if path == "/":
        return []
    if not path.startswith("/"):
        return ["must start with slash"]
    if " " in path:
        return ["must not contain white-space"]
    if "//" in path:
        return ["must not contain double slash"]
    stars = path.count("*")
    if stars > 1 or (stars == 1 and not path.endswith("/*")):
        return ["wildcard can only do suffix matching"]
    return []
