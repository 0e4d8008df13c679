"""Read an AuthenticationConfiguration from YAML or JSON, strictly: an unknown or repeated field is an error.

Source: kubernetes/apiserver ``pkg/apis/apiserver/v1`` (field names), ``pkg/apis/apiserver/load``.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from typing import Any

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


class ConfigurationError(Exception):
    """The configuration cannot be used; the message says what is wrong, and where."""


def parse_configuration(content: bytes) -> AuthenticationConfiguration:
    """Read a configuration; it is not validated yet.

    Raises:
        ConfigurationError: not YAML, of another kind, or of another shape.
    """
    from controlplane.apimachinery.codec import yaml  # late: few servers have such a file

    try:
        value, repeated = yaml.loads_strict(content)
    except ValueError as error:
        raise ConfigurationError(f"not YAML or JSON: {error}") from error
    if repeated:
        raise ConfigurationError("; ".join(repeated))
    whole = Part(value, "")
    kind, api_version = whole.text("kind"), whole.text("apiVersion")
    known = [f"{GROUP}/{version}" for version in VERSIONS]
    if kind != KIND or api_version not in known:
        raise ConfigurationError(
            f"is {kind or 'no kind'} of {api_version or 'no apiVersion'}, must be {KIND} of one of {', '.join(known)}"
        )
    configuration = AuthenticationConfiguration(
        jwt=tuple(_jwt(part) for part in whole.parts("jwt")),
        anonymous=_anonymous(whole.part("anonymous")) if whole.has("anonymous") else None,
    )
    whole.done()
    return configuration


class Part:
    """One object of the file; what is not asked for is unknown."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, MappingType):
            raise ConfigurationError(f"{path or 'the document'}: must be an object")
        self._rest, self._path = dict(value), path

    def has(self, name: str) -> bool:
        return self._rest.get(name) is not None

    def text(self, name: str) -> str:
        return self.optional(name) or ""

    def optional(self, name: str) -> str | None:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"{self._at(name)}: must be a string")
        return value

    def flag(self, name: str) -> bool:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, bool):
            raise ConfigurationError(f"{self._at(name)}: must be true or false")
        return bool(value)

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise ConfigurationError(f"{self._at(name)}: must be a list of strings")
        return tuple(values)

    def part(self, name: str) -> Part:
        return Part(self._rest.pop(name, None) or {}, self._at(name))

    def parts(self, name: str) -> list[Part]:
        return [Part(value, f"{self._at(name)}[{i}]") for i, value in enumerate(self._list(name))]

    def done(self) -> None:
        """Raises ConfigurationError if there is more than was asked for."""
        if self._rest:
            unknown = ", ".join(f'unknown field "{self._at(name)}"' for name in sorted(map(str, self._rest)))
            raise ConfigurationError(f"strict decoding error: {unknown}")

    def _list(self, name: str) -> list[Any]:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, list):
            raise ConfigurationError(f"{self._at(name)}: must be a list")
        return value or []

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name


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
