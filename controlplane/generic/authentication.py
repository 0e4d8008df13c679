"""Who may be who: the authenticators of a completed config, from the files that they need to their order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from controlplane.apiserver.authentication.anonymous import AnonymousAuthenticator
from controlplane.apiserver.authentication.api import Authenticator, TokenAuthenticator
from controlplane.apiserver.authentication.bearer import BearerAuthenticator, WebsocketBearerAuthenticator
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.apiserver.authentication.serviceaccounts.authenticator import ServiceAccountTokens
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.serviceaccounts.keys import read_keys
from controlplane.apiserver.authentication.serviceaccounts.objects import LiveObjects
from controlplane.apiserver.authentication.token_file import TokenFileAuthenticator
from controlplane.apiserver.authentication.tokens import ForOwnAudiences, TokenUnion
from controlplane.apiserver.authentication.union import UnionAuthenticator
from controlplane.apiserver.authentication.x509 import X509Authenticator
from controlplane.base.tls.context import TLSFilesError
from controlplane.controllers.keys import ControllerKeys
from controlplane.generic.config import CompletedConfig
from controlplane.generic.credentials import Credentials, prepare_credentials, serves_accounts, serving_ca_pem
from controlplane.storage.api import Storage

__all__ = ["Identities", "build_authenticator", "build_tokens", "read_identities"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What was read from files. ``certificates`` follows its authorities; ``static``: None if there is no such file.
    ``controller_keys``: what controllers in this process vouch for and sign with."""

    credentials: Credentials
    certificates: X509Authenticator
    static: TokenFileAuthenticator | None
    issuer: TokenIssuer
    controller_keys: ControllerKeys


def read_identities(config: CompletedConfig) -> Identities:
    """Make or read keys and certificates. Reads files: it blocks.

    Raises:
        PKIError, TLSFilesError, TokenFileError, KeyFileError: a file cannot be used; the message names it.
    """
    credentials = prepare_credentials(config)
    try:
        pool = CAPool.read(credentials.client_ca_files, whole=True)
    except (OSError, ValueError) as error:
        raise TLSFilesError(f"--client-ca-file: {error}") from error
    issuer = _issuer(config, credentials)
    return Identities(
        credentials=credentials,
        certificates=X509Authenticator(pool, clock=config.clock),
        static=TokenFileAuthenticator.read(Path(config.token_auth_file)) if config.token_auth_file else None,
        issuer=issuer,
        controller_keys=_controller_keys(config, credentials, issuer),
    )


def _controller_keys(config: CompletedConfig, credentials: Credentials, issuer: TokenIssuer) -> ControllerKeys:
    pki = credentials.pki
    authority = None
    if pki is not None and not config.client_ca_file:
        pair = pki.client_ca
        authority = lambda: (pair.cert_file.read_bytes(), pair.key_file.read_bytes())  # noqa: E731
    return ControllerKeys(
        root_ca_pem=serving_ca_pem(config, credentials),
        authority=authority,
        legacy_token=issuer.give_legacy if config.service_accounts.signs and serves_accounts(config) else None,
    )


def _issuer(config: CompletedConfig, credentials: Credentials) -> TokenIssuer:
    accounts, own = config.service_accounts, credentials.token_key
    signing_file = str(own.private_file) if own is not None else accounts.signing_key_file
    issuer = TokenIssuer(
        lambda: read_keys(signing_file=signing_file, key_files=accounts.key_files), issuer=accounts.issuers[0]
    )
    if own is None and serves_accounts(config):
        issuer.load()
    return issuer


def build_tokens(
    config: CompletedConfig, identities: Identities, storage_of: Callable[[str, str], Storage | None]
) -> TokenUnion:
    """Added authenticators first, then the file, then service accounts."""
    audiences = config.service_accounts.own_audiences
    tokens: list[TokenAuthenticator] = [*config.token_authenticators]
    if identities.static is not None:
        tokens.append(ForOwnAudiences(identities.static, audiences))
    if serves_accounts(config):
        objects = LiveObjects(storage_of)
        tokens.append(ServiceAccountTokens(config.service_accounts, identities.issuer, objects, now=config.clock.now))
    return TokenUnion(tokens)


def build_authenticator(config: CompletedConfig, identities: Identities, tokens: TokenUnion) -> Authenticator:
    """Added authenticators first, then client certificates, then tokens, then anonymous."""
    audiences = config.service_accounts.own_audiences
    chain: list[Authenticator] = [
        *config.authenticators,
        identities.certificates,
        BearerAuthenticator(tokens, audiences),
        WebsocketBearerAuthenticator(tokens, audiences),
    ]
    return UnionAuthenticator(chain, AnonymousAuthenticator() if config.anonymous else None)
