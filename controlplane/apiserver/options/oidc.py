"""One token issuer, named by flags: the short form of --authentication-config."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.apiserver.authentication.jwt.config import ClaimMappings, ClaimRule, Issuer, JWTConfig, Mapping
from controlplane.apiserver.authentication.jwt.signing import ALGORITHMS
from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["OIDCOptions", "oidc_config"]

NO_PREFIX = "-"


class OIDCOptions(OptionGroup):
    """An OpenID Connect issuer whose tokens are accepted."""

    title: ClassVar[str] = "OpenID Connect"

    issuer_url: str = option("", flag="oidc-issuer-url", description="URL of the issuer, https")
    client_id: str = option("", flag="oidc-client-id", description="audience that tokens must have")
    ca_file: str = option(
        "", flag="oidc-ca-file", description="authority of the issuer's certificate, PEM; empty: the machine's"
    )
    username_claim: str = option("sub", flag="oidc-username-claim", description="claim with the user's name")
    username_prefix: str = option(
        "",
        flag="oidc-username-prefix",
        description="stands before the user's name; empty: the issuer's URL and # (nothing for email); -: nothing",
    )
    groups_claim: str = option("", flag="oidc-groups-claim", description="claim with the user's groups")
    groups_prefix: str = option("", flag="oidc-groups-prefix", description="stands before each group")
    signing_algs: tuple[str, ...] = option(
        ("RS256",), flag="oidc-signing-algs", description=f"what tokens may be signed with: {', '.join(ALGORITHMS)}"
    )
    required_claim: dict[str, str] = option(
        {}, flag="oidc-required-claim", description="claims that tokens must have, with their values"
    )

    def problems(self) -> Iterator[Problem]:
        if bool(self.issuer_url) != bool(self.client_id):
            missing = "client_id" if self.issuer_url else "issuer_url"
            yield Problem(missing, "--oidc-issuer-url and --oidc-client-id must be given together")
            return
        for name in self.signing_algs:
            if name not in ALGORITHMS:
                yield Problem("signing_algs", f"{name!r} is not supported; supported: {', '.join(ALGORITHMS)}")
        config = oidc_config(self)
        if config is not None:
            from controlplane.apiserver.authentication.jwt.validation import validate_jwt

            for error in validate_jwt(config, "", ()):
                yield Problem("issuer_url", str(error))


def oidc_config(options: OIDCOptions) -> JWTConfig | None:
    """The issuer that the flags name, None if they name none; its authority is in the file that they name."""
    if not options.issuer_url:
        return None
    prefix = options.username_prefix
    if not prefix and options.username_claim != "email":
        prefix = f"{options.issuer_url}#"
    return JWTConfig(
        issuer=Issuer(url=options.issuer_url, audiences=(options.client_id,)),
        claim_rules=tuple(ClaimRule(claim=c, required_value=v) for c, v in options.required_claim.items()),
        mappings=ClaimMappings(
            username=Mapping(claim=options.username_claim, prefix="" if prefix == NO_PREFIX else prefix),
            groups=Mapping(claim=options.groups_claim, prefix=options.groups_prefix),
        ),
        algorithms=options.signing_algs,
    )
