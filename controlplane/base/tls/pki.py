"""The server's own keys and certificates in one directory: made on the first start, checked on every other.

    serving-ca.crt/.key   signs serving.crt
    serving.crt/.key      what the server shows; names: localhost, the service names, the addresses it is reached by
    client-ca.crt/.key    signs client certificates
    admin.crt/.key        the administrator: user ``admin`` in ``system:masters``

and, for servers that send requests on to each other:

    front-proxy-ca.crt/.key      signs the next
    front-proxy-client.crt/.key  what a server shows when it says on whose behalf it asks

The directory is 0700 and the files are 0600. What is there and good is kept; a leaf that is near its end, or lacks a
name, is issued anew for the same key by the same CA; what is broken or does not fit is refused by name and never
overwritten, since the clients' trust hangs on it. Called again while the server runs, it renews what has come due.

All of it blocks (about 10 ms, 100 ms when something must be made): before the loop runs, or in a thread.
"""

from __future__ import annotations

import fcntl
import os
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from controlplane.base import logs
from controlplane.base.files import write_atomically
from controlplane.base.tls import probe
from controlplane.base.values import dataclass

__all__ = [
    "ADMIN_GROUP",
    "ADMIN_USER",
    "PKI",
    "FrontProxy",
    "PKIError",
    "Pair",
    "ensure_front_proxy",
    "ensure_pki",
    "front_proxy_at",
    "locked_directory",
    "serving_names",
]

log = logs.get(__name__)

ADMIN_USER = "admin"
ADMIN_GROUP = "system:masters"

_FRONT_PROXY_CA, _FRONT_PROXY_CLIENT = "front-proxy-ca", "front-proxy-client"
_SIGNED_BY = {"serving-ca": "serving", "client-ca": "admin", _FRONT_PROXY_CA: _FRONT_PROXY_CLIENT}

RENEW_BELOW = 0.3
"""Part of its life that a leaf must have left; a leaf of a year is renewed 110 days before its end."""

_EXPIRED, _NOT_YET_VALID = 10, 9  # OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED and _NOT_YET_VALID


class PKIError(Exception):
    """The directory's content cannot be used; the message names the file, what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key."""

    cert_file: Path
    key_file: Path

    @property
    def files(self) -> tuple[Path, Path]:
        return self.cert_file, self.key_file

    @classmethod
    def at(cls, directory: Path, name: str) -> Pair:
        return cls(directory / f"{name}.crt", directory / f"{name}.key")


@dataclass(frozen=True, slots=True, kw_only=True)
class PKI:
    """The files. ``made``: those that were made or renewed now."""

    serving_ca: Pair
    serving: Pair
    client_ca: Pair
    admin: Pair
    made: tuple[Path, ...] = ()

    def fingerprint(self) -> str:
        """SHA-256 over both CA certificates: equal on servers whose self-made keys are copies of each other."""
        return _fingerprint(self.serving_ca, self.client_ca)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontProxy:
    """The files by which a server speaks for others."""

    ca: Pair
    client: Pair

    def fingerprint(self) -> str:
        """As ``PKI.fingerprint``."""
        return _fingerprint(self.ca)


def front_proxy_at(directory: Path) -> FrontProxy:
    """Where the files are, made or not."""
    return FrontProxy(ca=Pair.at(directory, _FRONT_PROXY_CA), client=Pair.at(directory, _FRONT_PROXY_CLIENT))


def _fingerprint(*cas: Pair) -> str:
    digest = sha256()
    for pair in cas:
        digest.update(ssl.PEM_cert_to_DER_cert(pair.cert_file.read_text(encoding="ascii")))
    return digest.hexdigest()


def serving_names(*hosts: str) -> tuple[str, ...]:
    """The names of a serving certificate: those that every server has, and the given ones (bind, advertise, external).

    Addresses that stand for "all" and empty texts are left out.
    """
    always = (
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "127.0.0.1",
        "::1",
    )
    return tuple(dict.fromkeys([*always, *(host for host in hosts if host not in ("", "0.0.0.0", "::"))]))  # noqa: S104


def ensure_pki(directory: Path, names: Sequence[str], *, now: Callable[[], float] = time.time) -> PKI:
    """Make, check or renew the keys and certificates.

    Args:
        directory: made if it is not there. names: of the serving certificate (``serving_names``).
        now: seconds since 1970.

    Raises:
        PKIError: something is broken, does not fit, or cannot be written.
    """
    with _keeper(directory, now()) as keeper:
        return keeper.ensure(names)


def ensure_front_proxy(directory: Path, *, now: Callable[[], float] = time.time) -> FrontProxy:
    """Make, check or renew the files by which a server speaks for others. Raises as ``ensure_pki``."""
    with _keeper(directory, now()) as keeper:
        return keeper.ensure_front_proxy()


@contextmanager
def _keeper(directory: Path, now: float) -> Iterator[_Keeper]:
    """Whoever works on the directory, alone. Raises PKIError."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_directory(directory):
            yield _Keeper(directory, now)
    except OSError as error:
        raise PKIError(f"{error.filename or directory}: {error.strerror or error}") from error


@contextmanager
def locked_directory(directory: Path) -> Iterator[None]:
    """Hold a directory: one process at a time makes or renews what is in it."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class _Keeper:
    def __init__(self, directory: Path, now: float) -> None:
        self._directory, self._now = directory, now
        self._made: list[Path] = []

    def ensure(self, names: Sequence[str]) -> PKI:
        serving_ca, client_ca = self._ca("serving-ca"), self._ca("client-ca")
        serving, admin = Pair.at(self._directory, "serving"), Pair.at(self._directory, "admin")
        serving_facts, admin_facts = self._facts(serving, serving_ca, admin, client_ca)
        self._leaf(
            serving,
            serving_ca,
            facts=serving_facts,
            fits=lambda facts: facts.names.issuperset(names),
            issue=lambda issuer, key, ca: issuer.issue_serving(key, ca, names, self._now),
        )
        self._leaf(
            admin,
            client_ca,
            facts=admin_facts,
            fits=lambda facts: facts.common_name == ADMIN_USER and ADMIN_GROUP in facts.organizations,
            issue=lambda issuer, key, ca: issuer.issue_client(key, ca, (ADMIN_USER, (ADMIN_GROUP,)), self._now),
        )
        return PKI(serving_ca=serving_ca, serving=serving, client_ca=client_ca, admin=admin, made=tuple(self._made))

    def ensure_front_proxy(self) -> FrontProxy:
        ca, client = self._ca(_FRONT_PROXY_CA), Pair.at(self._directory, _FRONT_PROXY_CLIENT)
        if client.cert_file.exists():
            self._check_key_file(client)
        self._leaf(
            client,
            ca,
            facts=self._probe(probe.client_facts, client, ca),
            fits=lambda facts: facts.common_name == _FRONT_PROXY_CLIENT,
            issue=lambda issuer, key, ca: issuer.issue_client(key, ca, (_FRONT_PROXY_CLIENT, ()), self._now),
        )
        return FrontProxy(ca=ca, client=client)

    def _facts(
        self, serving: Pair, serving_ca: Pair, admin: Pair, client_ca: Pair
    ) -> tuple[probe.Facts | str, probe.Facts | str]:
        """What is known of both leaves; a text instead says why one must be issued."""
        for pair in (serving, admin):
            if pair.cert_file.exists():
                self._check_key_file(pair)
        if serving.cert_file.exists() and admin.cert_file.exists():
            try:
                return probe.mutual_facts(serving.files, serving_ca.cert_file, admin.files, client_ca.cert_file)
            except ssl.SSLError:
                pass  # each alone then says which, and why
        return (
            self._probe(probe.serving_facts, serving, serving_ca),
            self._probe(probe.client_facts, admin, client_ca),
        )

    def _probe(self, read: Callable[[tuple[Path, Path], Path], probe.Facts], pair: Pair, ca: Pair) -> probe.Facts | str:
        if not pair.cert_file.exists():
            return "missing"
        try:
            return read(pair.files, ca.cert_file)
        except ssl.SSLCertVerificationError as error:
            if error.verify_code in (_EXPIRED, _NOT_YET_VALID):
                return error.verify_message
            raise PKIError(
                f"{pair.cert_file}: is not accepted under {ca.cert_file.name}: {error.verify_message}: "
                f"restore both, or remove {pair.cert_file.name} to have it made anew"
            ) from error
        except ssl.SSLError as error:
            raise _broken(pair, error) from error

    def _ca(self, name: str) -> Pair:
        pair = Pair.at(self._directory, name)
        if not pair.cert_file.exists():
            orphan = Pair.at(self._directory, _SIGNED_BY[name]).cert_file
            if orphan.exists():
                raise PKIError(
                    f"{pair.cert_file}: is missing, and {orphan.name} was signed by it: restore it, "
                    f"or remove {orphan.name} to have both made anew"
                )
            issuer = _issuer()
            key = self._key(pair, issuer)
            self._write(pair.cert_file, issuer.issue_ca(key, f"controlplane-{name}", self._now))
        self._check_key_file(pair)
        try:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair.cert_file, pair.key_file)
            context.load_verify_locations(pair.cert_file)
            (facts,) = context.get_ca_certs()
        except (ssl.SSLError, ValueError) as error:
            raise _broken(pair, error) from error
        if ssl.cert_time_to_seconds(str(facts["notAfter"])) <= self._now:
            raise PKIError(
                f"{pair.cert_file}: expired {facts['notAfter']}: remove the files in {self._directory} "
                f"to have all made anew (clients need the new kubeconfig)"
            )
        return pair

    def _leaf(
        self,
        pair: Pair,
        ca: Pair,
        *,
        facts: probe.Facts | str,
        fits: Callable[[probe.Facts], bool],
        issue: Callable[[ModuleType, bytes, tuple[bytes, bytes]], bytes],
    ) -> None:
        """Issue a leaf if it must be."""
        why = facts if isinstance(facts, str) else self._due(facts, fits)
        if not why:
            return
        if why != "missing":
            log.info("certificate is renewed", file=str(pair.cert_file), reason=why)
        issuer = _issuer()
        key = self._key(pair, issuer)
        try:
            cert = issue(issuer, key, (ca.cert_file.read_bytes(), ca.key_file.read_bytes()))
        except ValueError as error:
            raise PKIError(f"{pair.key_file}: cannot be used for a certificate: {error}") from error
        self._write(pair.cert_file, cert)

    def _due(self, facts: probe.Facts, fits: Callable[[probe.Facts], bool]) -> str:
        """Why a valid leaf must be renewed; ``""`` if it need not."""
        if facts.not_after - self._now < RENEW_BELOW * (facts.not_after - facts.not_before):
            return "near its end"
        return "" if fits(facts) else "a name is missing"

    def _key(self, pair: Pair, issuer: ModuleType) -> bytes:
        """The key of a pair whose certificate is to be issued; the key comes first, so a crash between leaves no
        certificate without its key."""
        if not pair.key_file.exists():
            key: bytes = issuer.new_key()
            self._write(pair.key_file, key)
        return pair.key_file.read_bytes()

    def _check_key_file(self, pair: Pair) -> None:
        if not pair.key_file.exists():
            raise PKIError(
                f"{pair.key_file}: is missing, and {pair.cert_file.name} is of no use without it: restore it, "
                f"or remove {pair.cert_file.name} to have both made anew"
            )
        mode = pair.key_file.stat().st_mode & 0o777
        if mode & 0o077:
            log.warning(
                "key file was readable by others; its mode is now 0600", file=str(pair.key_file), mode=oct(mode)
            )
            pair.key_file.chmod(0o600)

    def _write(self, path: Path, data: bytes) -> None:
        write_atomically(path, data)
        self._made.append(path)


def _issuer() -> ModuleType:
    from controlplane.base.tls import issue  # late: only where something must be made

    return issue


def _broken(pair: Pair, error: Exception) -> PKIError:
    reason = getattr(error, "reason", None) or "not a certificate"
    if reason == "KEY_VALUES_MISMATCH":
        return PKIError(f"{pair.cert_file}: does not belong to {pair.key_file.name}: restore the pair, or remove both")
    return PKIError(
        f"{pair.cert_file} or {pair.key_file.name}: cannot be read ({reason}): restore the pair, "
        f"or remove both to have them made anew"
    )
