"""Client certificates: who they are, which are believed, and that dates count on every request."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication import leaves
from controlplane.apiserver.authentication.api import CREDENTIAL_ID
from controlplane.apiserver.authentication.pool import CAPool
from controlplane.apiserver.authentication.x509 import X509Authenticator
from tests.aio import run
from tests.unit.apiserver.authentication.requests import refused, request
from tests.unit.base.tls import certs

OWN = CAPool([certs.ca().der], whole=True)
ONE_OF_SEVERAL = CAPool([certs.ca("another").der, certs.ca().der], whole=False)


class SetClock:
    def __init__(self, now: float) -> None:
        self.seconds = now

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def user_of(made: certs.Made, pool: CAPool = OWN) -> UserInfo | None:
    return run(X509Authenticator(pool).authenticate(request(der=made.der)))


@pytest.mark.parametrize("pool", [pytest.param(OWN, id="whole"), pytest.param(ONE_OF_SEVERAL, id="one of several")])
def test_common_name_organisations_and_credential(pool: CAPool) -> None:
    alice = certs.client("alice", "dev", "ops")
    user = user_of(alice, pool)
    assert user is not None
    assert (user.name, user.uid, user.groups) == ("alice", "", ("dev", "ops", "system:authenticated"))
    from cryptography.hazmat.primitives import hashes

    assert user.extra == {CREDENTIAL_ID: (f"X509SHA256={alice.cert.fingerprint(hashes.SHA256()).hex()}",)}


def test_the_uid_attribute() -> None:
    user = user_of(certs.make([(certs.UID, "u-1"), (NameOID.COMMON_NAME, "alice")], issuer=certs.ca()))
    assert user is not None
    assert user.uid == "u-1"


def test_two_uids_are_refused() -> None:
    made = certs.make([(NameOID.COMMON_NAME, "alice"), (certs.UID, "a"), (certs.UID, "b")], issuer=certs.ca())
    with refused("it has 2 uids where one is allowed"):
        user_of(made)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param(b"\x0c\x03u-1", b"\x04\x03u-1", "its uid is not a text", id="octets"),
        pytest.param(b"\x0c\x03u-1", b"\x0c\x00\x05\x01x", "its uid is empty", id="empty"),
    ],
)
def test_a_uid_that_is_no_text_is_refused(old: bytes, new: bytes, why: str) -> None:
    made = certs.make([(NameOID.COMMON_NAME, "alice"), (certs.UID, "u-1")], issuer=certs.ca())
    changed = made.der.replace(old, new)
    assert changed != made.der
    with refused(why):
        run(X509Authenticator(OWN).authenticate(request(der=changed)))


def test_no_certificate_and_no_common_name_are_no_credentials() -> None:
    assert run(X509Authenticator(OWN).authenticate(request())) is None
    assert user_of(certs.make([(NameOID.ORGANIZATION_NAME, "dev")], issuer=certs.ca())) is None


FORGED = certs.Made(certs.ca().cert, certs.ca("other").key)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(certs.client("mallory", issuer=certs.ca("other")), id="another CA"),
        pytest.param(certs.client("mallory", issuer=FORGED), id="forged issuer"),
        pytest.param(certs.serving("localhost"), id="not for clients"),
    ],
)
def test_what_the_own_pool_did_not_sign_is_refused_though_the_handshake_took_it(made: certs.Made) -> None:
    with refused("is not signed by a CA of the client CA file"):
        user_of(made, ONE_OF_SEVERAL)


def test_dates_count_on_every_request() -> None:
    alice = certs.client("alice", days=(-1, 1))
    clock = SetClock(time.time())
    authenticator = X509Authenticator(OWN, clock=clock)
    asked = request(der=alice.der)
    assert run(authenticator.authenticate(asked)) is not None
    for seconds in (timedelta(days=2).total_seconds(), -timedelta(days=2).total_seconds()):
        clock.seconds = time.time() + seconds
        with refused("has expired or is not yet valid"):
            run(authenticator.authenticate(asked))


def test_who_has_been_judged_is_known_at_once_as_long_as_the_certificate_is_valid() -> None:
    alice = certs.client("alice", days=(-1, 1))
    clock = SetClock(time.time())
    authenticator = X509Authenticator(OWN, clock=clock)
    asked = request(der=alice.der)
    assert authenticator.known(asked) is None
    assert authenticator.known(request()) is None
    found = run(authenticator.authenticate(asked))
    assert found is not None
    assert authenticator.known(asked) == found
    clock.seconds += timedelta(days=2).total_seconds()
    assert authenticator.known(asked) is None
    clock.seconds -= timedelta(days=2).total_seconds()
    authenticator.set_pool(CAPool([certs.ca("next").der], whole=False))
    assert authenticator.known(asked) is None


def test_a_certificate_without_a_common_name_is_nobody_at_once_too() -> None:
    authenticator = X509Authenticator(OWN)
    asked = request(der=certs.make([(NameOID.ORGANIZATION_NAME, "dev")], issuer=certs.ca()).der)
    for _ in range(2):
        assert authenticator.known(asked) is None
        assert run(authenticator.authenticate(asked)) is None


def test_after_a_change_of_the_pool_open_connections_are_judged_anew() -> None:
    authenticator = X509Authenticator(OWN)
    alice, bob = certs.client("alice"), certs.client("bob", issuer=certs.ca("next"))
    assert run(authenticator.authenticate(request(der=alice.der))) is not None
    authenticator.set_pool(CAPool([certs.ca().der, certs.ca("next").der], whole=False))
    assert run(authenticator.authenticate(request(der=alice.der))) is not None
    authenticator.set_pool(CAPool([certs.ca("next").der], whole=False))
    with refused("is not signed by a CA"):
        run(authenticator.authenticate(request(der=alice.der)))
    assert run(authenticator.authenticate(request(der=bob.der))) is not None


def test_a_certificate_that_cannot_be_read_is_refused() -> None:
    with refused("cannot be read"):
        run(X509Authenticator(OWN).authenticate(request(der=b"\x30\x03abc")))


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaves, "KNOWN_LIMIT", 2)
    authenticator = X509Authenticator(OWN)
    for name in ("a", "b", "c"):
        user = run(authenticator.authenticate(request(der=certs.client(name).der)))
        assert user is not None
        assert user.name == name
    assert len(authenticator._leaves._known) == 1


def test_a_pool_reads_bundles(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.crt"
    bundle.write_bytes(b"# comment\n" + certs.ca().pem + certs.ca("another").pem)
    assert CAPool.read([bundle], whole=False) == CAPool([certs.ca().der, certs.ca("another").der], whole=False)
    assert CAPool.read([bundle], whole=False).signed(certs.client("alice").der)
    bundle.write_text("nothing")
    with pytest.raises(ValueError, match=r"bundle\.crt: holds no PEM certificate"):
        CAPool.read([bundle], whole=False)
