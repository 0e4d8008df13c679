"""What is wrong with an AuthenticationConfiguration.

Expressions are compiled; what compiles them is imported only if there is one.

Source: kubernetes/apiserver ``pkg/apis/apiserver/validation`` (its order and texts).
"""

from __future__ import annotations

import ssl
from collections.abc import Collection, Iterator

from controlplane.apimachinery.validation.field import FieldError, duplicate, invalid, required, too_many
from controlplane.apimachinery.validation.paths import domain_prefixed_path
from controlplane.apiserver.authentication.jwt.config import (
    AuthenticationConfiguration,
    ClaimMappings,
    ClaimRule,
    ExtraMapping,
    Issuer,
    JWTConfig,
    Mapping,
)
from controlplane.base.tls.authorities import trust_pem

__all__ = ["validate_configuration", "validate_jwt"]

MOST_ISSUERS = 64
NO_EGRESS = "egress selectors are not supported by this server"
MATCH_ANY = "MatchAny"
UNVERIFIED_EMAIL = (
    "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression "
    "or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"
)


def validate_configuration(
    configuration: AuthenticationConfiguration, disallowed_issuers: Collection[str]
) -> list[FieldError]:
    """``disallowed_issuers``: those of service account tokens."""
    if len(configuration.jwt) > MOST_ISSUERS:
        return [too_many("jwt", len(configuration.jwt), MOST_ISSUERS)]
    errors: list[FieldError] = []
    urls: set[str] = set()
    discovery_urls: set[str] = set()
    for i, jwt in enumerate(configuration.jwt):
        path = f"jwt[{i}]"
        errors += validate_jwt(jwt, path, disallowed_issuers)
        if jwt.issuer.url in urls:
            errors.append(duplicate(f"{path}.issuer.url", jwt.issuer.url))
        urls.add(jwt.issuer.url)
        if jwt.issuer.discovery_url:
            if jwt.issuer.discovery_url in discovery_urls:
                errors.append(duplicate(f"{path}.issuer.discoveryURL", jwt.issuer.discovery_url))
            discovery_urls.add(jwt.issuer.discovery_url)
    anonymous = configuration.anonymous
    if anonymous is not None and not anonymous.enabled and anonymous.paths:
        conditions = [{"path": path} for path in anonymous.paths]
        errors.append(
            invalid("anonymous.conditions", conditions, "enabled should be set to true when conditions are defined")
        )
    return errors


def validate_jwt(jwt: JWTConfig, path: str, disallowed_issuers: Collection[str]) -> list[FieldError]:
    """One issuer; ``path`` is where it stands, ``""``: it comes from flags."""
    prefix = f"{path}." if path else ""
    errors = list(_issuer(jwt.issuer, f"{prefix}issuer", disallowed_issuers))
    errors += _claim_rules(jwt.claim_rules, f"{prefix}claimValidationRules")
    errors += _mappings(jwt.mappings, f"{prefix}claimMappings")
    errors += _unverified_email(jwt, f"{prefix}claimMappings")
    errors += _user_rules(jwt.user_rules, f"{prefix}userValidationRules")
    return errors


def _issuer(issuer: Issuer, path: str, disallowed: Collection[str]) -> Iterator[FieldError]:
    if not issuer.url:
        yield required(f"{path}.url")
    else:
        yield from _url(issuer.url, f"{path}.url", disallowed)
    if issuer.discovery_url:
        if issuer.url and issuer.url.rstrip("/") == issuer.discovery_url.rstrip("/"):
            why = "discoveryURL must be different from URL"
            yield invalid(f"{path}.discoveryURL", issuer.discovery_url, why)
        yield from _url(issuer.discovery_url, f"{path}.discoveryURL", ())
    yield from _audiences(issuer, path)
    if issuer.certificate_authority:
        try:
            trust_pem(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), issuer.certificate_authority.encode())
        except ValueError:
            why = "data does not contain any valid RSA or ECDSA certificates"
            yield invalid(f"{path}.certificateAuthority", "<omitted>", why)
    if issuer.egress_selector_type:
        yield invalid(f"{path}.egressSelectorType", issuer.egress_selector_type, NO_EGRESS)


def _url(text: str, path: str, disallowed: Collection[str]) -> Iterator[FieldError]:
    if text in disallowed:
        listed = " ".join(sorted(disallowed))
        yield invalid(path, text, f"URL must not overlap with disallowed issuers: [{listed}]")
    from controlplane.cel.library.net_url import parse_url  # late: only issuers are read with it

    try:
        url = parse_url(text)
    except ValueError as error:
        yield invalid(path, text, str(error))
        return
    if url.scheme != "https":
        yield invalid(path, text, "URL scheme must be https")
    if url.userinfo is not None:
        yield invalid(path, text, "URL must not contain a username or password")
    if url.raw_query:
        yield invalid(path, text, "URL must not contain a query")
    if url.fragment:
        yield invalid(path, text, "URL must not contain a fragment")


def _audiences(issuer: Issuer, path: str) -> Iterator[FieldError]:
    audiences, policy = issuer.audiences, issuer.audience_match_policy
    where = f"{path}.audiences"
    if not audiences:
        yield required(where, f"at least one {where} is required")
        return
    seen: set[str] = set()
    for i, audience in enumerate(audiences):
        if not audience:
            yield required(f"{where}[{i}]")
        if audience in seen:
            yield duplicate(f"{where}[{i}]", audience)
        seen.add(audience)
    if len(audiences) > 1 and policy != MATCH_ANY:
        why = "audienceMatchPolicy must be MatchAny for multiple audiences"
        yield invalid(f"{path}.audienceMatchPolicy", policy, why)
    elif len(audiences) == 1 and policy not in ("", MATCH_ANY):
        why = "audienceMatchPolicy must be empty or MatchAny for single audience"
        yield invalid(f"{path}.audienceMatchPolicy", policy, why)


def _claim_rules(rules: tuple[ClaimRule, ...], path: str) -> Iterator[FieldError]:
    claims: set[str] = set()
    expressions: set[str] = set()
    for i, rule in enumerate(rules):
        where = f"{path}[{i}]"
        if rule.claim and rule.expression:
            yield invalid(where, rule.claim, "claim and expression can't both be set")
        elif rule.claim:
            if rule.message:
                yield invalid(f"{where}.message", rule.message, "may not be specified when claim is set")
            if rule.claim in claims:
                yield duplicate(f"{where}.claim", rule.claim)
            claims.add(rule.claim)
        elif rule.expression:
            if rule.required_value:
                why = "may not be specified when expression is set"
                yield invalid(f"{where}.requiredValue", rule.required_value, why)
            if rule.expression in expressions:
                yield duplicate(f"{where}.expression", rule.expression)
                continue
            expressions.add(rule.expression)
            yield from _expression(rule.expression, f"{where}.expression", condition=True)
        else:
            yield required(where, "claim or expression is required")


def _mappings(mappings: ClaimMappings, path: str) -> Iterator[FieldError]:
    yield from _prefixed(mappings.username, f"{path}.username", is_required=True)
    yield from _prefixed(mappings.groups, f"{path}.groups", is_required=False)
    uid = mappings.uid
    if uid.claim and uid.expression:
        yield invalid(f"{path}.uid", "", "claim and expression can't both be set")
    elif uid.expression:
        yield from _expression(uid.expression, f"{path}.uid.expression")
    yield from _extra(mappings.extra, f"{path}.extra")


def _prefixed(mapping: Mapping, path: str, *, is_required: bool) -> Iterator[FieldError]:
    if mapping.expression and mapping.claim:
        yield invalid(path, "", "claim and expression can't both be set")
    elif mapping.expression:
        if mapping.prefix is not None:
            yield invalid(f"{path}.prefix", mapping.prefix, "may not be specified when expression is set")
        yield from _expression(mapping.expression, f"{path}.expression")
    elif mapping.claim:
        if mapping.prefix is None:
            why = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
            yield required(f"{path}.prefix", why)
    elif is_required:
        yield required(path, "claim or expression is required")


def _extra(mappings: tuple[ExtraMapping, ...], path: str) -> Iterator[FieldError]:
    keys: set[str] = set()
    for i, mapping in enumerate(mappings):
        where, key = f"{path}[{i}]", mapping.key
        yield from domain_prefixed_path(f"{where}.key", key)
        if key != key.lower():
            yield invalid(f"{where}.key", key, "must be lowercase")
        domain = f".{key.partition('/')[0]}" if "/" in key else ""
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
            yield invalid(f"{where}.key", key, why)
        if key in keys:
            yield duplicate(f"{where}.key", key)
            continue
        keys.add(key)
        if not mapping.value_expression:
            yield required(f"{where}.valueExpression")
        else:
            yield from _expression(mapping.value_expression, f"{where}.valueExpression")


def _user_rules(rules: tuple[ClaimRule, ...], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, rule in enumerate(rules):
        where = f"{path}[{i}].expression"
        if not rule.expression:
            yield required(where)
        elif rule.expression in seen:
            yield duplicate(where, rule.expression)
        else:
            seen.add(rule.expression)
            yield from _expression(rule.expression, where, of_user=True, condition=True)


def _expression(source: str, path: str, *, of_user: bool = False, condition: bool = False) -> Iterator[FieldError]:
    from controlplane.apiserver.authentication.jwt.expressions import expression_problem

    problem = expression_problem(source, of_user=of_user, condition=condition)
    if problem:
        yield invalid(path, source, problem)


def _unverified_email(jwt: JWTConfig, path: str) -> Iterator[FieldError]:
    if jwt.mappings.username.expression:
        from controlplane.apiserver.authentication.jwt.expressions import forgets_verified_email

        if forgets_verified_email(jwt):
            yield invalid(f"{path}.username.expression", jwt.mappings.username.expression, UNVERIFIED_EMAIL)
