"""Who may be who, and who may do what: the authenticators and authorizers of a completed config."""

from __future__ import annotations

from pathlib import Path

from controlplane.apiserver.authentication.anonymous import AnonymousAuthenticator
from controlplane.apiserver.authentication.api import Authenticator
from controlplane.apiserver.authentication.bearer import BearerAuthenticator
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.apiserver.authentication.token_file import TokenFileAuthenticator
from controlplane.apiserver.authentication.union import UnionAuthenticator
from controlplane.apiserver.authentication.x509 import X509Authenticator
from controlplane.apiserver.authorization.always import AlwaysAllow, AlwaysDeny
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.authorization.grants import GrantsAuthorizer
from controlplane.apiserver.authorization.masters import MastersAuthorizer
from controlplane.apiserver.authorization.public_info import PublicInfoAuthorizer
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.generic.config import CompletedConfig
from controlplane.generic.controllers import controller_grants

__all__ = ["build_authenticator", "build_authorizer", "client_certificates"]

_MODES: dict[str, type[AlwaysAllow | AlwaysDeny]] = {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}


def client_certificates(config: CompletedConfig, client_ca_files: tuple[str, ...]) -> X509Authenticator:
    """Who shows a certificate of these authorities. Reads files: it blocks.

    Raises:
        OSError, ValueError: a file cannot be used; the message names it.
    """
    return X509Authenticator(CAPool.read(client_ca_files, whole=True), clock=config.clock)


def build_authenticator(config: CompletedConfig, certificates: X509Authenticator) -> Authenticator:
    """Added authenticators first, then client certificates, then tokens, then anonymous. Reads a file: it blocks.

    Raises:
        TokenFileError: the file cannot be used; the message names it.
    """
    chain: list[Authenticator] = [*config.authenticators]
    chain.append(certificates)
    tokens = [TokenFileAuthenticator.read(Path(config.token_auth_file))] if config.token_auth_file else []
    chain.append(BearerAuthenticator(tokens))
    return UnionAuthenticator(chain, AnonymousAuthenticator() if config.anonymous else None)


def build_authorizer(config: CompletedConfig) -> Authorizer:
    """``system:masters`` first, then added authorizers, then the modes in order; without any mode, health and version
    are open to all."""
    chain: list[tuple[str, Authorizer]] = [("masters", MastersAuthorizer())]
    chain.append(("controllers", GrantsAuthorizer(controller_grants(config))))
    chain += [(f"added-{at}", authorizer) for at, authorizer in enumerate(config.authorizers)]
    if not config.authorization_modes:
        chain.append(("public-info", PublicInfoAuthorizer()))
    chain += [(mode, _MODES[mode]()) for mode in config.authorization_modes]
    return UnionAuthorizer(chain)
