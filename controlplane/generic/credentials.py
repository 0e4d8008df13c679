"""The keys that a control plane shows and trusts: the operator's, or its own, made on the first start.

On a store that several servers share (etcd), servers with self-made keys must have the same: a client would trust one
and not the other. So the fingerprint of the first server's keys is kept in the store, and a server with others refuses
to start.
"""

from __future__ import annotations

import ssl

from controlplane.base.tls.admin_token import ensure_admin_token
from controlplane.base.tls.context import ServerTLS, TLSFiles, TLSFilesError
from controlplane.base.tls.kubeconfig import kubeconfig, write_kubeconfig
from controlplane.base.tls.pki import PKI, FrontProxy, ensure_front_proxy, ensure_pki, serving_names
from controlplane.base.tls.token_key import TokenKey, ensure_token_key
from controlplane.base.values import dataclass
from controlplane.generic.config import CompletedConfig
from controlplane.storage.kv.api import ABSENT, KV

__all__ = [
    "Credentials",
    "KeysDiffer",
    "check_fingerprints",
    "prepare_credentials",
    "serves_accounts",
    "serving_ca_pem",
]

FINGERPRINT_KEY = b"controlplane/keys"
TOKEN_KEY_FINGERPRINT_KEY = b"controlplane/token-key"
FRONT_PROXY_FINGERPRINT_KEY = b"controlplane/front-proxy"
"""Below the store's prefix; no resource lives there."""

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # what to call, where the server listens everywhere


class KeysDiffer(Exception):
    """Another server on the same store has other keys; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """``pki``: the self-made files, None if the operator gave all. ``client_ca_files``: whose client certificates are
    accepted. ``tls``: the listener's context and its reloading. ``token_key``: the self-made key of service account
    tokens, None if the operator gave keys or there are no service accounts. ``front_proxy``: what the server shows to
    its peers, None if the operator gave it or there are none. ``admin_token``: the administrator's,
    ``""`` where the operator says by ``--client-ca-file`` who that is."""

    tls: ServerTLS
    pki: PKI | None
    client_ca_files: tuple[str, ...]
    token_key: TokenKey | None
    front_proxy: FrontProxy | None
    admin_token: str


def prepare_credentials(config: CompletedConfig) -> Credentials:
    """Make, check or renew what is needed. It blocks (10 to 100 ms): call it in a thread.

    Raises:
        PKIError, TLSFilesError: a file cannot be used; the message names it.
    """
    own_serving, own_clients = not config.cert_file, not config.client_ca_file
    pki = None
    if own_serving or own_clients:
        names = serving_names(config.host, config.advertise_address, config.external_hostname)
        pki = ensure_pki(config.cert_dir, names, now=config.clock.now)
    front_proxy = ensure_front_proxy(config.cert_dir, now=config.clock.now) if config.make_front_proxy else None
    client_ca_files = (str(pki.client_ca.cert_file),) if pki is not None and own_clients else (config.client_ca_file,)
    cert_file, key_file = config.cert_file, config.key_file
    if pki is not None and own_serving:
        cert_file, key_file = map(str, pki.serving.files)
    files = TLSFiles(
        cert_file=cert_file,
        key_file=key_file,
        client_ca_files=(*client_ca_files, *([config.front_proxy_ca_file] if config.front_proxy_ca_file else [])),
        minimum_version=_VERSIONS[config.tls_min_version],
    )
    try:
        tls = ServerTLS(files)
    except TLSFilesError as error:
        raise TLSFilesError(_with_flags(error, config)) from error
    token_key = None
    if config.service_accounts.makes_key and serves_accounts(config):
        token_key = ensure_token_key(config.cert_dir)
    admin_token = ensure_admin_token(config.cert_dir) if own_clients else ""
    return Credentials(
        tls=tls,
        pki=pki,
        client_ca_files=client_ca_files,
        token_key=token_key,
        front_proxy=front_proxy,
        admin_token=admin_token,
    )


def _with_flags(error: TLSFilesError, config: CompletedConfig) -> str:
    """The message, and by which flags its files were given, those that were."""
    given = (
        ("--tls-cert-file", config.cert_file),
        ("--tls-private-key-file", config.key_file),
        ("--client-ca-file", config.client_ca_file),
        ("--requestheader-client-ca-file", config.front_proxy_ca_file),
    )
    flags = ", ".join(flag for flag, file in given if file and file in error.files)
    return f"{flags}: {error}" if flags else str(error)


def serves_accounts(config: CompletedConfig) -> bool:
    """Whether there are service accounts, and so tokens of theirs."""
    return any(resource.gr == ("", "serviceaccounts") for resource in config.resources)


_VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}


def server_url(config: CompletedConfig, port: int) -> str:
    """How clients reach the server."""
    host = config.external_hostname or config.advertise_address or _ANY_ADDRESS.get(config.host, config.host)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def write_admin_kubeconfig(config: CompletedConfig, credentials: Credentials, port: int) -> bool:
    """Write the administrator's kubeconfig, where there is one: with the operator's own client CA there is no admin
    certificate to put in. It blocks. Returns whether there is one.

    Raises:
        KubeconfigError: it cannot be written.
    """
    pki = credentials.pki
    if config.kubeconfig is None or pki is None or config.client_ca_file:
        return False
    write_kubeconfig(
        config.kubeconfig,
        kubeconfig(
            server=server_url(config, port),
            ca_pem=serving_ca_pem(config, credentials),
            cert_pem=pki.admin.cert_file.read_bytes(),
            key_pem=pki.admin.key_file.read_bytes(),
            token=credentials.admin_token,
        ),
    )
    return True


def serving_ca_pem(config: CompletedConfig, credentials: Credentials) -> bytes:
    """What the serving certificate is verified with: our own CA's, or, where the operator gave a certificate, that. It
    blocks."""
    if credentials.pki is not None and not config.cert_file:
        return credentials.pki.serving_ca.cert_file.read_bytes()
    return _read(config.cert_file)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


async def check_fingerprints(kv: KV, config: CompletedConfig, credentials: Credentials) -> None:
    """Record the fingerprints of self-made keys in the store, or compare them with those that are there.

    Raises:
        KeysDiffer.
    """
    if credentials.pki is not None and await _differs(kv, config, FINGERPRINT_KEY, credentials.pki.fingerprint()):
        raise KeysDiffer(
            f"the store {config.store} belongs to servers with other self-made keys than those in {config.cert_dir}: "
            f"their clients would not trust this server. Copy the other server's --cert-dir here, or give all servers "
            f"--tls-cert-file, --tls-private-key-file and --client-ca-file"
        )
    front_proxy = credentials.front_proxy
    if front_proxy is not None and await _differs(kv, config, FRONT_PROXY_FINGERPRINT_KEY, front_proxy.fingerprint()):
        raise KeysDiffer(
            f"the store {config.store} belongs to servers with another self-made {front_proxy.ca.cert_file}: they "
            f"would not believe this server. Copy the other server's front-proxy-ca.crt and .key here, or give all "
            f"servers --proxy-client-cert-file, --proxy-client-key-file and --requestheader-client-ca-file"
        )
    key = credentials.token_key
    if key is not None and await _differs(kv, config, TOKEN_KEY_FINGERPRINT_KEY, key.fingerprint):
        raise KeysDiffer(
            f"the store {config.store} belongs to servers with another self-made key than {key.private_file}: their "
            f"service accounts' tokens would not be good here. Copy the other server's sa.key and sa.pub here, or give "
            f"all servers --service-account-signing-key-file"
        )


async def _differs(kv: KV, config: CompletedConfig, key: bytes, fingerprint: str) -> bool:
    mine = fingerprint.encode()
    outcome = await kv.put(config.prefix + key, mine, expect=ABSENT)
    return not outcome.succeeded and outcome.current is not None and outcome.current.value != mine
