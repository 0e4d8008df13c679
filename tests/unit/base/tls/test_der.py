"""The certificate reader agrees with ``cryptography`` on real certificates, and takes nothing else."""

from __future__ import annotations

import pytest
from cryptography.x509 import ObjectIdentifier
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from controlplane.base.tls.der import COMMON_NAME, ORGANIZATION, read_certificate
from tests.unit.base.tls import certs

ALICE = certs.make(
    [
        (NameOID.ORGANIZATION_NAME, "système:été"),
        (NameOID.ORGANIZATION_NAME, "b"),
        (NameOID.COUNTRY_NAME, "DE"),
        (NameOID.EMAIL_ADDRESS, "a@example"),
        (certs.UID, "42"),
        (NameOID.COMMON_NAME, "alice"),
    ],
    issuer=certs.ca(),
)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(ALICE, id="every text type"),
        pytest.param(certs.ca(), id="a CA"),
        pytest.param(certs.client("late", days=(-10_000, 20_000)), id="dates as UTCTime and GeneralizedTime"),
    ],
)
def test_it_reads_what_cryptography_reads(made: certs.Made) -> None:
    read = read_certificate(made.der)
    assert read.serial == made.cert.serial_number
    assert read.not_before == made.cert.not_valid_before_utc.timestamp()
    assert read.not_after == made.cert.not_valid_after_utc.timestamp()
    assert list(read.subject) == [(a.oid.dotted_string, a.value) for a in made.cert.subject]


def test_values_of_one_attribute_in_order() -> None:
    read = read_certificate(ALICE.der)
    assert read.values(COMMON_NAME) == ["alice"]
    assert read.values(ORGANIZATION) == ["système:été", "b"]
    assert read.values(certs.UID.dotted_string) == ["42"]


def test_large_and_small_object_identifiers() -> None:
    oids = ["2.999.1", "0.9.2342.19200300.100.1.25", "1.2.840.113549.1.9.2"]
    made = certs.make([(ObjectIdentifier(oid), "x") for oid in oids], issuer=certs.ca())
    assert [oid for oid, _ in read_certificate(made.der).subject] == oids


@given(st.integers(min_value=0, max_value=len(ALICE.der) - 1))
def test_what_is_cut_short_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        read_certificate(ALICE.der[:length])


@given(st.binary(max_size=200) | st.builds(lambda junk: b"\x30\x82\x01\x00" + junk, st.binary(max_size=200)))
def test_noise_is_refused(noise: bytes) -> None:
    with pytest.raises(ValueError, match="not a certificate"):
        read_certificate(noise)


@given(st.integers(min_value=0, max_value=len(ALICE.der) - 1), st.integers(min_value=1, max_value=255))
def test_a_changed_byte_is_read_or_refused_but_never_more(position: int, change: int) -> None:
    changed = bytearray(ALICE.der)
    changed[position] ^= change
    try:
        read_certificate(bytes(changed))
    except ValueError:
        return
