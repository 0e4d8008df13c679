"""Certificate signing requests, as the recorded reference answers have them."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.apis.certificates.certificatesigningrequests import CERTIFICATE_SIGNING_REQUESTS
from controlplane.apis.certificates.requests import certificate_problem, request_problem
from controlplane.apis.certificates.signer_names import validate_signer_name
from tests.unit.apis.kinds import Kind

KIND = Kind(CERTIFICATE_SIGNING_REQUESTS)
FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
APPROVED = {"type": "Approved", "status": "True", "reason": "r", "message": "m"}
DENIED = {**APPROVED, "type": "Denied"}


@cache
def made() -> tuple[bytes, bytes]:
    """A request and a certificate, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    return request.public_bytes(Encoding.PEM), builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def spec(**fields: Any) -> Obj:
    return {"request": b64(made()[0]), "signerName": "example.com/s", "usages": ["client auth"], **fields}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({}, []),
        (
            {"request": "bm90IGEgcmVxdWVzdA=="},
            ['spec.request: Invalid value: "bm90IGEgcmVxdWVzdA==": PEM block type must be CERTIFICATE REQUEST'],
        ),
        (
            {"request": None, "usages": [], "signerName": ""},
            [
                "spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST",
                "spec.usages: Required value",
                "spec.signerName: Required value",
            ],
        ),
        ({"usages": ["client auth", "client auth"]}, ['spec.usages[1]: Duplicate value: "client auth"']),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            [
                (
                    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not '
                    "allowed via "
                    "this API version"
                )
            ],
        ),
        (
            {"expirationSeconds": 599},
            [
                (
                    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds "
                    "(10 minutes)"
                )
            ],
        ),
    ],
)
def test_create(fields: dict[str, Any], errors: list[str]) -> None:
    assert KIND.refused(spec=spec(**fields)) == errors


def test_unknown_usages() -> None:
    [error] = KIND.refused(spec=spec(usages=["flying"]))
    assert error.startswith('spec.usages[0]: Unsupported value: "flying": supported values: "any", "cert sign", ')


@pytest.mark.parametrize(
    ("name", "errors"),
    [
        ("a.b/c.d", []),
        ("nodomain", [f'p: Invalid value: "nodomain": {FORM}']),
        ("a.b/c/d", [f'p: Invalid value: "a.b/c/d": {FORM}']),
        ("a/b", ['p: Invalid value: "a": should be a domain with at least two segments separated by dots']),
    ],
)
def test_signer_names(name: str, errors: list[str]) -> None:
    assert [str(error) for error in validate_signer_name(name, "p")] == errors


def test_labels_of_signer_names() -> None:
    first, second = (str(error) for error in validate_signer_name("A.B/C", "p"))
    assert first.startswith('p: Invalid value: "A.B": validating label "A": a lowercase RFC 1123 label must consist of')
    assert second.startswith('p: Invalid value: "C": validating label "C": a lowercase RFC 1123 subdomain must consist')
    assert [str(error) for error in validate_signer_name("a.b/" + "c." * 300 + "c", "p")] == [
        "p: Too long: may not be more than 571 bytes"
    ]


def test_the_requester_is_written_down() -> None:
    obj = KIND.decoded(spec=spec(username="root", groups=["system:masters"], uid="0", extra={"a": ["b"]}))
    record_user = CERTIFICATE_SIGNING_REQUESTS.strategy.record_user
    assert record_user is not None
    record_user(obj, UserInfo(name="jane", groups=("dev",), extra={"team": ("red",)}))
    assert obj["spec"] == spec(username="jane", groups=["dev"], extra={"team": ["red"]})


def test_what_is_asked_stays_and_status_has_paths_of_its_own() -> None:
    old = KIND.created(spec=spec(), status={"conditions": [APPROVED]})
    assert old["status"] == {}
    status = {"conditions": [APPROVED], "certificate": b64(made()[1])}
    changed, errors = KIND.changed(old, spec=spec(signerName="other.com/s"), status=status)
    assert (changed["spec"], changed["status"], errors) == (old["spec"], {}, [])


def approve(old: Obj, *conditions: Obj) -> tuple[Obj, list[str]]:
    return KIND.changed(old, subresource="approval", spec=spec(), status={"conditions": list(conditions)})


@pytest.mark.parametrize(
    ("conditions", "errors"),
    [
        ([APPROVED], []),
        (
            [{**APPROVED, "status": "False"}],
            ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
        ),
        (
            [APPROVED, DENIED],
            ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
        ),
        ([APPROVED, APPROVED], ['status.conditions[1].type: Duplicate value: "Approved"']),
        (
            [{"type": "", "status": ""}],
            ["status.conditions[0].type: Required value", "status.conditions[0].status: Required value"],
        ),
        ([{"type": "Mine", "status": "Unknown"}], []),
        (
            [{"type": "Mine", "status": "Maybe"}],
            ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
        ),
    ],
)
def test_approval(conditions: list[Obj], errors: list[str]) -> None:
    assert approve(KIND.created(spec=spec()), *conditions)[1] == errors


def test_decisions_are_not_taken_back() -> None:
    approved, _ = approve(KIND.created(spec=spec()), APPROVED)
    [condition] = approved["status"]["conditions"]
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] != ""
    removed = 'status.conditions: Forbidden: updates may not remove a condition of type "Approved"'
    assert approve(approved)[1] == [removed]
    assert approve(approved, DENIED)[1] == [removed]
    condition["lastTransitionTime"] = "2020-01-01T00:00:00Z"
    again, errors = approve(approved, {**APPROVED, "message": "again"})
    [changed] = again["status"]["conditions"]
    assert (changed["message"], changed["lastTransitionTime"], errors) == ("again", "2020-01-01T00:00:00Z", [])


def write_status(old: Obj, **status: Any) -> tuple[Obj, list[str]]:
    return KIND.changed(old, subresource="status", spec=spec(), status=status)


def test_status_issues_and_does_not_decide() -> None:
    old = KIND.created(spec=spec())
    assert write_status(old, conditions=[APPROVED])[1] == [
        'status.conditions: Forbidden: updates may not add a condition of type "Approved"'
    ]
    approved, _ = approve(old, APPROVED)
    certificate = b64(made()[1])
    other = {**APPROVED, "message": "not mine to change"}
    issued, errors = write_status(
        approved, conditions=[other, {"type": "Failed", "status": "True"}], certificate=certificate
    )
    assert errors == []
    assert issued["status"]["certificate"] == certificate
    assert issued["status"]["conditions"][0] == approved["status"]["conditions"][0], "decisions stay as they were"
    assert issued["status"]["conditions"][1]["lastUpdateTime"]
    conditions = issued["status"]["conditions"]
    assert write_status(issued, conditions=conditions, certificate=b64(made()[1] * 2))[1] == [
        "status.certificate: Forbidden: updates may not modify existing certificate content"
    ]
    assert write_status(issued, conditions=conditions[:1], certificate=certificate)[1] == [
        'status.conditions: Forbidden: updates may not remove a condition of type "Failed"'
    ]
    kept, errors = approve(issued, *conditions)
    assert (kept["status"]["certificate"], errors) == (certificate, [])
    assert write_status(approved, conditions=approved["status"]["conditions"], certificate="eA==")[1] == [
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block'
    ]


def test_pem() -> None:
    request, certificate = made()
    assert request_problem(b"text\n" + request) == ""
    assert request_problem(certificate + request) == "PEM block type must be CERTIFICATE REQUEST"
    lines = request.decode().splitlines()
    lines[2] = lines[2][::-1]
    assert request_problem("\n".join(lines).encode()).startswith(("x509: ", "asn1: "))
    assert certificate_problem(certificate * 2) == ""
    assert certificate_problem(certificate + request) == (
        'only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"'
    )
    with_header = certificate.replace(b"-----BEGIN CERTIFICATE-----\n", b"-----BEGIN CERTIFICATE-----\nA: b\n\n")
    assert certificate_problem(with_header) == "no PEM block headers are permitted"
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert certificate_problem(broken) == "x509: malformed certificate"


def test_columns_and_selectable_fields() -> None:
    obj = KIND.created(spec=spec(expirationSeconds=86400, username="jane"))
    row = KIND.row(obj)
    assert row == {
        "Name": "a",
        "Age": "60s",
        "SignerName": "example.com/s",
        "Requestor": "jane",
        "RequestedDuration": "24h",
        "Condition": "Pending",
    }
    for conditions, certificate, shown in (
        ([APPROVED], "", "Approved"),
        ([DENIED], "", "Denied"),
        ([APPROVED, {"type": "Failed", "status": "True"}], "", "Approved,Failed"),
        ([APPROVED], "eA==", "Approved,Issued"),
    ):
        obj["status"] = {"conditions": conditions, "certificate": certificate}
        assert KIND.row(obj)["Condition"] == shown
    attributes = CERTIFICATE_SIGNING_REQUESTS.attributes(obj)
    assert attributes == {"metadata.name": "a", "spec.signerName": "example.com/s"}
    assert set(attributes) == set(CERTIFICATE_SIGNING_REQUESTS.field_labels)


PARAMETERS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


def not_due(due: int, found: str, name: str) -> str:
    return f"asn1: structure error: tags don't match ({due} vs {{{found}}}) {PARAMETERS} {name} @2"


def of_der(der: bytes) -> bytes:
    return b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.b64encode(der) + b"\n-----END CERTIFICATE REQUEST-----\n"


@pytest.mark.parametrize(
    ("der", "problem"),
    [
        (b"", "asn1: syntax error: sequence truncated"),
        (b"\x30", "asn1: syntax error: truncated tag or length"),
        (b"\x30\x05\x00", "asn1: syntax error: data truncated"),
        (b"\x30\x80\x00\x00", "asn1: syntax error: indefinite length found (not DER)"),
        (b"\x30\x81\x05", "asn1: structure error: non-minimal length"),
        (b"\x30\x82\x00\x05", "asn1: structure error: superfluous leading zeros in length"),
        (b"\x30\x00", "asn1: syntax error: sequence truncated"),
        (b"abc", not_due(16, "class:1 tag:1 length:98 isCompound:true", "certificateRequest")),
        (b"\x30\x03\x02\x01\x01", not_due(16, "class:0 tag:2 length:1 isCompound:false", "tbsCertificateRequest")),
        (b"\x30\x05\x30\x03\x04\x01\x01", not_due(2, "class:0 tag:4 length:1 isCompound:false", "int")),
    ],
)
def test_a_request_that_is_no_asn1_is_told_of_as_go_does(der: bytes, problem: str) -> None:
    assert request_problem(of_der(der)) == problem


def test_more_than_a_request_or_another_signature() -> None:
    der = x509.load_pem_x509_csr(made()[0]).public_bytes(Encoding.DER)
    assert request_problem(of_der(der)) == ""
    assert request_problem(of_der(der + b"\x00")) == "asn1: syntax error: trailing data"
    assert request_problem(of_der(der[:-1] + bytes([der[-1] ^ 1]))) == "x509: ECDSA verification failure"
    assert request_problem(of_der(der).replace(b"\n-----END", b"!\n-----END")) == (
        "PEM block type must be CERTIFICATE REQUEST"
    )
