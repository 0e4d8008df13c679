"""Who may be who: the authenticators of a completed config, from the files that they need to their order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.anonymous import AnonymousAuthenticator
from controlplane.apiserver.authentication.api import Authenticator, TokenAuthenticator
from controlplane.apiserver.authentication.bearer import BearerAuthenticator, WebsocketBearerAuthenticator
from controlplane.apiserver.authentication.bootstrap import BootstrapTokens
from controlplane.apiserver.authentication.front_proxy import FrontProxyAuthenticator
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.apiserver.authentication.serviceaccounts.authenticator import ServiceAccountTokens
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError, read_keys
from controlplane.apiserver.authentication.serviceaccounts.legacy import MarkUsed
from controlplane.apiserver.authentication.serviceaccounts.objects import LiveObjects
from controlplane.apiserver.authentication.token_file import TokenFileAuthenticator, TokenFileError
from controlplane.apiserver.authentication.tokens import ForOwnAudiences, TokenUnion
from controlplane.apiserver.authentication.union import UnionAuthenticator
from controlplane.apiserver.authentication.x509 import X509Authenticator
from controlplane.base.tls.context import TLSFilesError, check_pair
from controlplane.base.tls.pki import ADMIN_GROUP, ADMIN_USER
from controlplane.base.values import dataclass
from controlplane.controllers.keys import ClientTrust, ControllerKeys
from controlplane.generic.config import CompletedConfig
from controlplane.generic.credentials import Credentials, prepare_credentials, serves_accounts, serving_ca_pem
from controlplane.generic.remote_tokens import RemoteConfiguration, RemoteTokens, read_remote_configuration
from controlplane.generic.starting import given_by
from controlplane.storage.api import Storage

__all__ = ["Identities", "build_authenticator", "build_tokens", "read_identities"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """What was read from files. ``certificates`` follows its authorities; ``static``: the administrator's own token
    and those of the operator's file.
    ``controller_keys``: what controllers in this process vouch for and sign with."""

    credentials: Credentials
    certificates: X509Authenticator
    front_proxy: FrontProxyAuthenticator | None
    static: TokenFileAuthenticator
    issuer: TokenIssuer
    front_proxy_ca_file: str
    remote: RemoteConfiguration
    controller_keys: ControllerKeys

    def take_authorities(self) -> Callable[[], None]:
        """Read the authorities of client certificates anew. Blocks. Returns what makes them decide, on the loop.

        Raises:
            TLSFilesError: a file cannot be used.
        """
        clients = _pool("--client-ca-file", *self.credentials.client_ca_files, whole=False)
        front_proxy = self.front_proxy
        if front_proxy is None:
            return lambda: self.certificates.set_pool(clients)
        proxies = _pool("--requestheader-client-ca-file", self.front_proxy_ca_file, whole=False)

        def take() -> None:
            self.certificates.set_pool(clients)
            front_proxy.set_pool(proxies)

        return take


def read_identities(config: CompletedConfig) -> Identities:
    """Make or read keys and certificates. Reads files: it blocks.

    Raises:
        StartError, PKIError, TLSFilesError, ConfigurationError: a file cannot be used; the message names it.
    """
    credentials = prepare_credentials(config)
    _try_proxy_certificate(config)
    proxied = bool(config.front_proxy_ca_file)
    pool = _pool("--client-ca-file", *credentials.client_ca_files, whole=not proxied)
    front_proxy = None
    if proxied:
        proxies = _pool("--requestheader-client-ca-file", config.front_proxy_ca_file, whole=False)
        front_proxy = FrontProxyAuthenticator(
            proxies, config.front_proxy_headers, config.front_proxy_names, clock=config.clock
        )
    issuer = _issuer(config, credentials)
    return Identities(
        credentials=credentials,
        certificates=X509Authenticator(pool, clock=config.clock),
        front_proxy=front_proxy,
        static=_static_tokens(config, credentials),
        issuer=issuer,
        front_proxy_ca_file=config.front_proxy_ca_file,
        remote=read_remote_configuration(config),
        controller_keys=_controller_keys(config, credentials, issuer),
    )


def _static_tokens(config: CompletedConfig, credentials: Credentials) -> TokenFileAuthenticator:
    file = config.token_auth_file
    with given_by("--token-auth-file", TokenFileError):
        tokens = TokenFileAuthenticator.read(Path(file)) if file else TokenFileAuthenticator()
    if credentials.admin_token:
        tokens.add(credentials.admin_token, UserInfo(name=ADMIN_USER, groups=(ADMIN_GROUP,)))
    return tokens


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
        client_trust=lambda: _client_trust(config, credentials),
    )


def _client_trust(config: CompletedConfig, credentials: Credentials) -> ClientTrust:
    """Whom the server believes, from the files as they are now. It blocks."""
    headers = config.front_proxy_headers
    return ClientTrust(
        client_ca_pem=b"".join(Path(file).read_bytes() for file in credentials.client_ca_files),
        front_proxy_ca_pem=Path(config.front_proxy_ca_file).read_bytes() if config.front_proxy_ca_file else b"",
        username_headers=headers.username,
        uid_headers=headers.uid,
        group_headers=headers.group,
        extra_prefixes=headers.extra_prefix,
        allowed_names=config.front_proxy_names,
    )


def _try_proxy_certificate(config: CompletedConfig) -> None:
    """What is shown to other API servers is read anew for each of them; that it can be read is seen at the start."""
    cert_file, key_file = config.aggregation.proxy_cert_file, config.aggregation.proxy_key_file
    if cert_file:
        with given_by("--proxy-client-cert-file, --proxy-client-key-file", TLSFilesError):
            check_pair(cert_file, key_file)


def _pool(flag: str, *files: str, whole: bool) -> CAPool:
    try:
        return CAPool.read(files, whole=whole)
    except (OSError, ValueError) as error:
        raise TLSFilesError(f"{flag}: {error}") from error


def _issuer(config: CompletedConfig, credentials: Credentials) -> TokenIssuer:
    accounts, own = config.service_accounts, credentials.token_key
    signing_file = str(own.private_file) if own is not None else accounts.signing_key_file
    issuer = TokenIssuer(
        lambda: read_keys(signing_file=signing_file, key_files=accounts.key_files), issuer=accounts.issuers[0]
    )
    if own is None and serves_accounts(config):
        with given_by("--service-account-signing-key-file, --service-account-key-file", KeyFileError):
            issuer.load()
    return issuer


def build_tokens(
    config: CompletedConfig,
    identities: Identities,
    storage_of: Callable[[str, str], Storage | None],
    remote: RemoteTokens,
    mark_used: MarkUsed,
) -> TokenUnion:
    """Added authenticators first, then the file, service accounts, bootstrap secrets, then what others know."""
    audiences = config.service_accounts.own_audiences
    tokens: list[TokenAuthenticator] = [*config.token_authenticators, ForOwnAudiences(identities.static, audiences)]
    if serves_accounts(config):
        objects = LiveObjects(storage_of)
        tokens.append(
            ServiceAccountTokens(
                config.service_accounts, identities.issuer, objects, now=config.clock.now, mark_used=mark_used
            )
        )
    if config.bootstrap_tokens:
        tokens.append(ForOwnAudiences(BootstrapTokens(storage_of, now=config.clock.now), audiences))
    return TokenUnion([*tokens, *remote.authenticators])


def build_authenticator(config: CompletedConfig, identities: Identities, tokens: TokenUnion) -> Authenticator:
    """Added authenticators first, then the front proxy, client certificates, tokens, and anonymous at last."""
    audiences = config.service_accounts.own_audiences
    chain: list[Authenticator] = [
        *config.authenticators,
        *([identities.front_proxy] if identities.front_proxy is not None else []),
        identities.certificates,
        BearerAuthenticator(tokens, audiences),
        WebsocketBearerAuthenticator(tokens, audiences),
    ]
    anonymous = identities.remote.anonymous(config)
    return UnionAuthenticator(chain, AnonymousAuthenticator(anonymous.paths) if anonymous.enabled else None)
