"""What an operator says of token issuers and anonymous requests: AuthenticationConfiguration.

Source: kubernetes/apiserver ``pkg/apis/apiserver/v1`` (AuthenticationConfiguration).
"""

from __future__ import annotations

from controlplane.base.values import dataclass

__all__ = [
    "Anonymous",
    "AuthenticationConfiguration",
    "ClaimMappings",
    "ClaimRule",
    "ExtraMapping",
    "Issuer",
    "JWTConfig",
    "Mapping",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """``url`` is the ``iss`` of its tokens. ``discovery_url``: where its configuration is; ``""``: under ``url``.
    ``certificate_authority``: PEM; ``""``: the machine's."""

    url: str = ""
    discovery_url: str = ""
    certificate_authority: str = ""
    audiences: tuple[str, ...] = ()
    audience_match_policy: str = ""
    egress_selector_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """A claim's value with ``prefix`` before it (None: not said), or what a CEL expression gives."""

    claim: str = ""
    prefix: str | None = None
    expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraMapping:
    key: str = ""
    value_expression: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimMappings:
    username: Mapping = Mapping()
    groups: Mapping = Mapping()
    uid: Mapping = Mapping()
    extra: tuple[ExtraMapping, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRule:
    """A claim must have a value, or a CEL expression must be true."""

    claim: str = ""
    required_value: str = ""
    expression: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JWTConfig:
    """One issuer, and what its tokens mean. ``algorithms``: what they may be signed with."""

    issuer: Issuer
    claim_rules: tuple[ClaimRule, ...] = ()
    mappings: ClaimMappings = ClaimMappings()
    user_rules: tuple[ClaimRule, ...] = ()
    algorithms: tuple[str, ...] = ()

    @property
    def has_expressions(self) -> bool:
        mappings = self.mappings
        mapped = (mappings.username.expression, mappings.groups.expression, mappings.uid.expression)
        return any(mapped) or bool(mappings.extra or self.user_rules) or any(r.expression for r in self.claim_rules)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anonymous:
    """``paths``: on which anonymous requests are allowed; empty: on all."""

    enabled: bool = False
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationConfiguration:
    """``anonymous`` None: the flag says it."""

    jwt: tuple[JWTConfig, ...] = ()
    anonymous: Anonymous | None = None
