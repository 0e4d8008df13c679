"""From the claims of a verified token to its user.

Source: kubernetes/apiserver ``plugin/pkg/authenticator/token/oidc`` (its order and texts).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controlplane.apimachinery.user import UserInfo
from controlplane.apimachinery.validation.field import go_quoted
from controlplane.apiserver.authentication.api import CREDENTIAL_ID, BadCredentials
from controlplane.apiserver.authentication.jwt.config import JWTConfig

if TYPE_CHECKING:
    from controlplane.apiserver.authentication.jwt.expressions import Expressions

__all__ = ["user_of_claims"]

Claims = dict[str, Any]


def user_of_claims(config: JWTConfig, claims: Claims) -> UserInfo:
    """The user that the claims mean.

    Raises:
        BadCredentials: one is missing, or is not what it must be.
    """
    mappings = config.mappings
    group_claim = mappings.groups.claim
    if group_claim and group_claim not in claims and _elsewhere(claims, group_claim):
        raise BadCredentials(
            "oidc: could not expand distributed claims: they are not supported by this server; have the issuer put "
            f"{go_quoted(group_claim)} into its tokens"
        )
    expressions = _expressions(config)
    if expressions is not None and expressions.username is not None:
        username = expressions.username_of(claims)
    else:
        username = _username(config, claims)
    groups, uid = _groups(config, claims), ""
    if expressions is not None and expressions.groups is not None:
        groups = expressions.groups_of(claims)
    if mappings.uid.claim:
        uid = _text(claims, mappings.uid.claim, f"oidc: parse uid claim {go_quoted(mappings.uid.claim)}")
    elif expressions is not None and expressions.uid is not None:
        uid = expressions.uid_of(claims)
    token_id = claims.get("jti")
    extra: dict[str, tuple[str, ...]] = {}
    if isinstance(token_id, str) and token_id:
        extra[CREDENTIAL_ID] = (f"JTI={token_id}",)
    if expressions is not None:
        extra |= expressions.extra_of(claims)
    for rule in config.claim_rules:
        if rule.claim:
            _require(claims, rule.claim, rule.required_value)
    user = UserInfo(name=username, uid=uid, groups=groups, extra=extra)
    if expressions is not None:
        expressions.check_claims(claims)
        expressions.check_user(user)
    return user


def _elsewhere(claims: Claims, claim: str) -> bool:
    """Whether a claim is to be asked for at an endpoint. One whose value is said to be in a token inside has none."""
    names, sources = claims.get("_claim_names"), claims.get("_claim_sources")
    source = names.get(claim) if isinstance(names, dict) else None
    found = sources.get(source) if isinstance(sources, dict) and isinstance(source, str) else None
    return isinstance(found, dict) and bool(found.get("endpoint"))


def _expressions(config: JWTConfig) -> Expressions | None:
    """None: there are none."""
    if not config.has_expressions:
        return None
    from controlplane.apiserver.authentication.jwt.expressions import expressions_of

    return expressions_of(config)


def _username(config: JWTConfig, claims: Claims) -> str:
    mapping = config.mappings.username
    username = _text(claims, mapping.claim, f"oidc: parse username claims {go_quoted(mapping.claim)}")
    if mapping.claim == "email" and "email_verified" in claims:
        verified = claims["email_verified"]
        if not isinstance(verified, bool):
            raise BadCredentials(f"oidc: parse 'email_verified' claim: {_mismatch(verified, 'bool')}")
        if not verified:
            raise BadCredentials("oidc: email not verified")
    return (mapping.prefix or "") + username


def _groups(config: JWTConfig, claims: Claims) -> tuple[str, ...]:
    mapping = config.mappings.groups
    if not mapping.claim or mapping.claim not in claims:
        return ()
    value = claims[mapping.claim]
    groups = [value] if isinstance(value, str) else value
    if groups is None:
        return ()
    if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        why = _mismatch(value, "string")
        raise BadCredentials(f"oidc: parse groups claim {go_quoted(mapping.claim)}: {why}")
    return tuple((mapping.prefix or "") + group for group in groups)


def _require(claims: Claims, claim: str, value: str) -> None:
    if claim not in claims:
        raise BadCredentials(f"oidc: required claim {claim} not present in ID token")
    found = _text(claims, claim, f"oidc: parse claim {claim}")
    if found != value:
        raise BadCredentials(f"oidc: required claim {claim} value does not match. Got = {found}, want = {value}")


def _text(claims: Claims, claim: str, what: str) -> str:
    if claim not in claims:
        raise BadCredentials(f"{what}: claim not present")
    value = claims[claim]
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadCredentials(f"{what}: {_mismatch(value, 'string')}")
    return value


def _mismatch(value: Any, wanted: str) -> str:
    kinds: dict[type, str] = {
        bool: "bool",
        int: "number",
        float: "number",
        str: "string",
        list: "array",
        dict: "object",
    }
    return f"json: cannot unmarshal {kinds.get(type(value), 'null')} into Go value of type {wanted}"
