"""Which tokens service accounts have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar
from urllib.parse import urlsplit

from controlplane.apiserver.authentication.serviceaccounts.config import DEFAULT_ISSUER, ServiceAccountConfig
from controlplane.base.options import Duration, OptionGroup, Problem, option

__all__ = ["ServiceAccountOptions", "service_account_config"]

SHORTEST_MAXIMUM_SECONDS = 3600.0
LONGEST_MAXIMUM_SECONDS = 2.0**32


class ServiceAccountOptions(OptionGroup):
    """Keys, names and lifetimes of service account tokens."""

    title: ClassVar[str] = "Service account tokens"

    issuer: tuple[str, ...] = option(
        (),
        flag="service-account-issuer",
        description=f"names that tokens are given in; the first is used, all are accepted; none is {DEFAULT_ISSUER}",
    )
    key_file: tuple[str, ...] = option(
        (),
        flag="service-account-key-file",
        description="RSA or ECDSA keys that tokens are verified with, PEM, public or private, in one or more files",
    )
    signing_key_file: str = option(
        "",
        flag="service-account-signing-key-file",
        description="private key that tokens are signed with, PEM; without it and without --service-account-key-file "
        "one is made",
    )
    api_audiences: tuple[str, ...] = option(
        (), flag="api-audiences", description="audiences of this API server; none: those of --service-account-issuer"
    )
    max_token_expiration: Duration = option(
        0.0,
        flag="service-account-max-token-expiration",
        ge=0,
        description="longest life of a token, from 1h on; longer requests are shortened; 0 is no limit",
    )
    extend_token_expiration: bool = option(
        True,
        flag="service-account-extend-token-expiration",
        description="for Kubernetes' command lines: extends the tokens of pods, and there are none",
    )
    jwks_uri: str = option(
        "",
        flag="service-account-jwks-uri",
        description="where the keys are published, for the OpenID configuration; empty is this server",
    )
    lookup: bool = option(
        True, flag="service-account-lookup", description="tokens that are kept in secrets must be there still"
    )

    def problems(self) -> Iterator[Problem]:
        for issuer in self.issuer:
            if not issuer:
                yield Problem("issuer", "must not be empty")
            elif ":" in issuer and not _is_url(issuer):
                yield Problem("issuer", f"{issuer!r} contains a ':' but is not a URL")
        if len(set(self.issuer)) != len(self.issuer):
            yield Problem("issuer", "an issuer is named twice")
        longest = self.max_token_expiration
        if longest and not SHORTEST_MAXIMUM_SECONDS <= longest <= LONGEST_MAXIMUM_SECONDS:
            yield Problem("max_token_expiration", "must be between 1 hour and 2^32 seconds")
        if self.jwks_uri and urlsplit(self.jwks_uri).scheme != "https":
            yield Problem("jwks_uri", f"{self.jwks_uri!r} is not an https URL")


def service_account_config(options: ServiceAccountOptions) -> ServiceAccountConfig:
    return ServiceAccountConfig(
        issuers=options.issuer or (DEFAULT_ISSUER,),
        audiences=options.api_audiences,
        key_files=options.key_file,
        signing_key_file=options.signing_key_file,
        max_token_seconds=int(options.max_token_expiration),
        lookup=options.lookup,
        jwks_uri=options.jwks_uri,
    )


def _is_url(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme)
    except ValueError:
        return False
