"""Webhooks, as both kinds of their configurations have them: whom to ask, about which requests, and what if it fails.

Source: the behaviour of kubernetes' admissionregistration.k8s.io/v1 ValidatingWebhook and MutatingWebhook.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Column
from controlplane.apimachinery.schema.native import array, binary, integer, pointer, record, string
from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, required
from controlplane.apimachinery.validation.metadata import validate_object_meta
from controlplane.apimachinery.validation.names import dns1035_label, dns1123_subdomain, name_is_dns_subdomain
from controlplane.apis.admissionregistration.addresses import validate_service, validate_url
from controlplane.apis.admissionregistration.conditions import MATCH_CONDITIONS, validate_match_conditions
from controlplane.apis.admissionregistration.matching import (
    MATCH_POLICIES,
    MATCHING_NUMBERS,
    RULE,
    default_rules,
    validate_one_of,
    validate_rule,
)
from controlplane.apis.columns import AGE, NAME
from controlplane.apis.label_selectors import label_selector, validate_label_selector

__all__ = [
    "COLUMNS",
    "WEBHOOK_NUMBERS",
    "default_webhook",
    "validate_configuration",
    "validate_configuration_update",
    "webhooks_schema",
]

FAILURE_POLICIES = ("Fail", "Ignore")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
SIDE_EFFECTS = ("None", "NoneOnDryRun")
EARLIER_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
REVIEW_VERSIONS = ("v1", "v1beta1")
LONGEST_SECONDS = 30
DEFAULT_SECONDS = 10
HTTPS_PORT = 443
NAME_SEGMENTS = 3

_CLIENT = record(
    {
        "url": pointer(string("Where the webhook is: https://host[:port]/path. Either this or a service.")),
        "service": pointer(
            record(
                {
                    "namespace": string("Namespace of the service."),
                    "name": string("Name of the service."),
                    "path": pointer(string("The path of the webhook.")),
                    "port": pointer(integer("Its port for HTTPS; 443 if none is given.")),
                },
                "The service that the webhook is.",
                go_type="v1.ServiceReference",
                required=("namespace", "name"),
            )
        ),
        "caBundle": binary("Certificates, in PEM, that the webhook's own must be signed by; else the system's."),
    },
    "Where the webhook is.",
    go_type="v1.WebhookClientConfig",
)

_FIELDS = {
    "name": string("A full domain name that names the webhook: hook.example.com."),
    "clientConfig": _CLIENT,
    "rules": array(RULE, "Requests that match one of these are asked about."),
    "failurePolicy": pointer(
        string("What if the webhook cannot be asked: Fail, which is taken, or Ignore.", go_type="v1.FailurePolicyType")
    ),
    "matchPolicy": pointer(
        string(
            "Exact, or Equivalent, which is taken: also requests by other versions of the resource.",
            go_type="v1.MatchPolicyType",
        )
    ),
    "namespaceSelector": pointer(label_selector("Namespaces of the objects; an empty one selects all.")),
    "objectSelector": pointer(label_selector("Objects, new or old; an empty one selects all.")),
    "sideEffects": pointer(
        string("None, or NoneOnDryRun if it knows of dry runs and does nothing then.", go_type="v1.SideEffectClass")
    ),
    "timeoutSeconds": pointer(integer("How long it may take, 1 to 30 seconds; 10 if nothing is said.")),
    "admissionReviewVersions": array(string(), "Versions of AdmissionReview that it understands, the best first."),
    "matchConditions": MATCH_CONDITIONS,
}
WEBHOOK_NUMBERS = {
    **MATCHING_NUMBERS,
    "ValidatingWebhookConfiguration": "metadata webhooks",
    "ValidatingWebhook": (
        "name clientConfig rules failurePolicy namespaceSelector sideEffects timeoutSeconds admissionReviewVersions "
        "matchPolicy objectSelector matchConditions"
    ),
    "MutatingWebhookConfiguration": "metadata webhooks",
    "MutatingWebhook": (
        "name clientConfig rules failurePolicy namespaceSelector sideEffects timeoutSeconds admissionReviewVersions "
        "matchPolicy reinvocationPolicy objectSelector matchConditions"
    ),
    "WebhookClientConfig": "service caBundle url",
    "ServiceReference": "namespace name path port",
}
"""Of the protobuf messages."""

_REQUIRED = ("name", "clientConfig", "sideEffects", "admissionReviewVersions")


def webhooks_schema(*, mutating: bool) -> Obj:
    """The list of webhooks in a configuration."""
    fields = dict(_FIELDS)
    if mutating:
        fields["reinvocationPolicy"] = pointer(
            string(
                "Never, which is taken, or IfNeeded: asked again when others have changed the object after it.",
                go_type="v1.ReinvocationPolicyType",
            )
        )
    hook = record(
        fields,
        "A webhook.",
        go_type="v1.MutatingWebhook" if mutating else "v1.ValidatingWebhook",
        required=_REQUIRED,
    )
    return array(hook, "The webhooks, each with its rules.", key=("name",), merge_key="name")


def default_webhook(hook: Obj) -> None:
    """Fill in what a webhook leaves open."""
    hook.setdefault("failurePolicy", "Fail")
    hook.setdefault("matchPolicy", "Equivalent")
    hook.setdefault("namespaceSelector", {})
    hook.setdefault("objectSelector", {})
    hook.setdefault("timeoutSeconds", DEFAULT_SECONDS)
    service = hook["clientConfig"].get("service")
    if service is not None:
        service.setdefault("port", HTTPS_PORT)
    default_rules(hook.get("rules"))


class _Leniency(NamedTuple):
    """What of a changed configuration is let pass, because the old one, of earlier days, had it so already."""

    same_names: bool = False
    unknown_versions: bool = False
    side_effects: bool = False
    label_values: bool = False
    match_conditions: bool = False


def validate_configuration(obj: Obj) -> list[FieldError]:
    """A new configuration of either kind."""
    return _validate(obj, _Leniency())


def validate_configuration_update(obj: Obj, old: Obj) -> list[FieldError]:
    """A changed configuration of either kind."""
    hooks, before = obj.get("webhooks") or [], old.get("webhooks") or []
    return _validate(
        obj,
        _Leniency(
            same_names=len({hook["name"] for hook in before}) < len(before),
            unknown_versions=any(
                versions and not set(versions) & set(REVIEW_VERSIONS)
                for versions in (hook.get("admissionReviewVersions") for hook in before)
            ),
            side_effects=any(hook.get("sideEffects") not in SIDE_EFFECTS for hook in before),
            label_values=any(_validate_selectors(hook, "") for hook in before),
            match_conditions=[hook.get("matchConditions") or [] for hook in hooks]
            == [hook.get("matchConditions") or [] for hook in before],
        ),
    )


def _validate(obj: Obj, lenient: _Leniency) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], namespaced=False, validate_name=name_is_dns_subdomain)
    seen: set[str] = set()
    for i, hook in enumerate(obj.get("webhooks") or ()):
        path, name = f"webhooks[{i}]", hook["name"]
        errors += _validate_hook(hook, path, lenient)
        errors += _validate_versions(
            hook.get("admissionReviewVersions") or [],
            f"{path}.admissionReviewVersions",
            any_versions=lenient.unknown_versions,
        )
        if name and name in seen and not lenient.same_names:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _validate_selectors(hook: Obj, path: str, *, any_values: bool = False) -> list[FieldError]:
    return [
        error
        for field in ("namespaceSelector", "objectSelector")
        for error in validate_label_selector(hook.get(field) or {}, f"{path}.{field}", any_values=any_values)
    ]


def _validate_hook(hook: Obj, path: str, lenient: _Leniency) -> list[FieldError]:
    errors = _validate_name(hook["name"], f"{path}.name")
    for i, rule in enumerate(hook.get("rules") or ()):
        errors += validate_rule(rule, f"{path}.rules[{i}]")
    errors += validate_one_of(hook.get("failurePolicy"), f"{path}.failurePolicy", FAILURE_POLICIES)
    errors += validate_one_of(hook.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    effects = EARLIER_SIDE_EFFECTS if lenient.side_effects else SIDE_EFFECTS
    if hook["sideEffects"] is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}"))
    errors += validate_one_of(hook["sideEffects"], f"{path}.sideEffects", effects)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= LONGEST_SECONDS:
        why = f"the timeout value must be between 1 and {LONGEST_SECONDS} seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", seconds, why))
    errors += _validate_selectors(hook, path, any_values=lenient.label_values)
    errors += validate_one_of(hook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", REINVOCATION_POLICIES)
    errors += _validate_client(hook["clientConfig"], f"{path}.clientConfig")
    if lenient.match_conditions:
        return errors
    return errors + validate_match_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions")


def _validate_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    if problems := dns1123_subdomain(name):
        return [invalid(path, name, ",".join(problems))]
    if len(name.split(".")) < NAME_SEGMENTS:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _validate_client(client: Obj, path: str) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if service is None:
        return validate_url(str(url), f"{path}.url")
    return validate_service(service, f"{path}.service")


def _validate_versions(versions: list[str], path: str, *, any_versions: bool) -> list[FieldError]:
    accepted = ", ".join(REVIEW_VERSIONS)
    if not versions:
        return [required(path, f"must specify one of {accepted}")]
    errors: list[FieldError] = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{i}]", version, problem) for problem in dns1035_label(version)]
    if not any_versions and not set(versions) & set(REVIEW_VERSIONS):
        errors.append(invalid(path, versions, f"must include at least one of {accepted}"))
    return errors


def _count(obj: Obj) -> Any:
    return len(obj.get("webhooks") or ())


COLUMNS = (
    NAME,
    Column(name="Webhooks", cell=_count, type="integer", description="How many webhooks it has."),
    AGE,
)
