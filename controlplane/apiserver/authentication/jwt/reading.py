"""Read an AuthenticationConfiguration from YAML or JSON, strictly: an unknown or repeated field is an error.

Source: kubernetes/apiserver ``pkg/apis/apiserver/v1`` (field names), ``pkg/apis/apiserver/load``.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.parts import ConfigurationError, Part, read_document
from controlplane.apiserver.authentication.jwt.config import (
    Anonymous,
    AuthenticationConfiguration,
    ClaimMappings,
    ClaimRule,
    ExtraMapping,
    Issuer,
    JWTConfig,
    Mapping,
)
from controlplane.apiserver.authentication.jwt.signing import ALGORITHMS

__all__ = ["ConfigurationError", "Part", "parse_configuration"]

KIND = "AuthenticationConfiguration"
GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")


def parse_configuration(content: bytes) -> AuthenticationConfiguration:
    """Read a configuration; it is not validated yet.

    Raises:
        ConfigurationError: not YAML, of another kind, or of another shape.
    """
    whole = read_document(content, KIND, [f"{GROUP}/{version}" for version in VERSIONS])
    configuration = AuthenticationConfiguration(
        jwt=tuple(_jwt(part) for part in whole.parts("jwt")),
        anonymous=_anonymous(whole.part("anonymous")) if whole.has("anonymous") else None,
    )
    whole.done()
    return configuration


def _jwt(part: Part) -> JWTConfig:
    config = JWTConfig(
        issuer=_issuer(part.part("issuer")),
        claim_rules=tuple(_rule(rule) for rule in part.parts("claimValidationRules")),
        mappings=_mappings(part.part("claimMappings")),
        user_rules=tuple(_rule(rule, of_user=True) for rule in part.parts("userValidationRules")),
        algorithms=ALGORITHMS,
    )
    part.done()
    return config


def _issuer(part: Part) -> Issuer:
    issuer = Issuer(
        url=part.text("url"),
        discovery_url=part.text("discoveryURL"),
        certificate_authority=part.text("certificateAuthority"),
        audiences=part.texts("audiences"),
        audience_match_policy=part.text("audienceMatchPolicy"),
        egress_selector_type=part.text("egressSelectorType"),
    )
    part.done()
    return issuer


def _rule(part: Part, *, of_user: bool = False) -> ClaimRule:
    rule = ClaimRule(
        claim="" if of_user else part.text("claim"),
        required_value="" if of_user else part.text("requiredValue"),
        expression=part.text("expression"),
        message=part.text("message"),
    )
    part.done()
    return rule


def _mappings(part: Part) -> ClaimMappings:
    mappings = ClaimMappings(
        username=_mapping(part.part("username")),
        groups=_mapping(part.part("groups")),
        uid=_mapping(part.part("uid"), prefixed=False),
        extra=tuple(_extra(extra) for extra in part.parts("extra")),
    )
    part.done()
    return mappings


def _mapping(part: Part, *, prefixed: bool = True) -> Mapping:
    mapping = Mapping(
        claim=part.text("claim"),
        prefix=part.optional("prefix") if prefixed else None,
        expression=part.text("expression"),
    )
    part.done()
    return mapping


def _extra(part: Part) -> ExtraMapping:
    extra = ExtraMapping(key=part.text("key"), value_expression=part.text("valueExpression"))
    part.done()
    return extra


def _anonymous(part: Part) -> Anonymous:
    enabled, conditions = part.flag("enabled"), part.parts("conditions")
    paths = tuple(condition.text("path") for condition in conditions)
    for rest in (part, *conditions):
        rest.done()
    return Anonymous(enabled=enabled, paths=paths)
