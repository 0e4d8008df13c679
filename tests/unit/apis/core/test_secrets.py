"""Secrets, as the recorded reference answers have them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.apis.core.key_pairs import key_pair_problem
from controlplane.apis.core.secrets import SECRETS
from tests.unit.apis.kinds import Kind

KIND = Kind(SECRETS)
IMMUTABLE = "Forbidden: field is immutable when `immutable` is set"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_text_goes_over_data_and_is_not_shown() -> None:
    obj = KIND.created(data={"k": b64("old"), "z": ""}, stringData={"k": "new", "n": "ü"})
    assert obj["data"] == {"k": b64("new"), "n": "w7w=", "z": ""}
    assert "stringData" not in obj
    assert KIND.created(stringData={})["type"] == "Opaque"


@pytest.mark.parametrize("type_", [None, "", "Opaque"])
def test_a_secret_is_opaque_by_default(type_: str | None) -> None:
    obj = KIND.created(type=type_)
    assert obj["type"] == "Opaque"
    assert "data" not in obj


def test_data_is_base64_in_its_standard_form() -> None:
    for bad in ("not base64!", "dg", "_-8="):
        with pytest.raises(DecodeError, match="illegal base64 data"):
            KIND.decoded(data={"k": bad})
    assert KIND.created(data={"k": "dmFs\ndWU=", "nul": None})["data"] == {"k": "dmFsdWU=", "nul": ""}


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        ({"type": "anything goes"}, []),
        ({"data": {"..": ""}}, ["data[..]: Invalid value: \"..\": must not be '..'"]),
        (
            {"type": "kubernetes.io/tls"},
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
        ),
        ({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, ["data[tls.key]: Required value"]),
        (
            {"type": "kubernetes.io/basic-auth"},
            ["data[username]: Required value", "data[password]: Required value"],
        ),
        ({"type": "kubernetes.io/basic-auth", "data": {"password": ""}}, []),
        (
            {
                "type": "kubernetes.io/service-account-token",
                "metadata": {"annotations": {"kubernetes.io/service-account.name": ""}},
            },
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (
            {"type": "kubernetes.io/ssh-auth", "data": {"ssh-privatekey": ""}},
            ["data[ssh-privatekey]: Required value"],
        ),
        (
            {"type": "kubernetes.io/service-account-token"},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
        (
            {
                "type": "kubernetes.io/service-account-token",
                "metadata": {"annotations": {"kubernetes.io/service-account.name": "x"}},
            },
            [],
        ),
        ({"type": "kubernetes.io/dockercfg"}, ["data[.dockercfg]: Required value"]),
        (
            {"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": b64("[]")}},
            [
                (
                    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                    "json: cannot unmarshal array into Go value of type map[string]interface {}"
                )
            ],
        ),
        (
            {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": ""}},
            ['data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
        ),
        ({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": b64("{}")}}, []),
    ],
)
def test_create(fields: dict[str, Any], errors: list[str]) -> None:
    assert KIND.refused(**fields) == errors


@pytest.mark.parametrize("extra_bytes", [0, 1])
def test_all_data_together_is_bounded(extra_bytes: int) -> None:
    encoded = base64.b64encode(b"\0" * (1024 * 1024 - 2 + extra_bytes)).decode()
    too_long = ["data: Too long: may not be more than 1048576 bytes"] if extra_bytes else []
    assert KIND.refused(data={"k": encoded, "l": "AAA="}) == too_long


def test_the_type_and_immutable_data_stay() -> None:
    old = KIND.created(type="x", data={"k": ""})
    assert KIND.changed(old)[1] == ['type: Invalid value: "Opaque": field is immutable']
    assert KIND.changed(old, type="x", immutable=True)[1] == []
    old = KIND.created(data={"k": "AA=="}, immutable=True)
    assert KIND.changed(old, data={"k": "AQ=="})[1] == [f"immutable: {IMMUTABLE}", f"data: {IMMUTABLE}"]
    assert KIND.changed(old, stringData={"k": "\0"}, immutable=True)[1] == []


def test_a_key_pair_that_cannot_work_is_warned_of() -> None:
    obj = KIND.created(type="kubernetes.io/tls", data={"tls.crt": "", "tls.key": ""})
    assert SECRETS.strategy.warnings(obj) == ("tls: failed to find any PEM data in certificate input",)
    assert SECRETS.strategy.warnings(KIND.created()) == ()


def block(type_: str, body: str = "") -> bytes:
    return f"-----BEGIN {type_}-----\n{body}\n-----END {type_}-----\n".encode()


@pytest.mark.parametrize(
    ("certificate", "key", "problem"),
    [
        (
            block("RSA PRIVATE KEY"),
            b"",
            (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM "
                "inputs may "
                "have been switched"
            ),
        ),
        (
            block("X") + block("Y"),
            b"",
            (
                'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the '
                "following types: [X Y]"
            ),
        ),
        (block("CERTIFICATE"), b"", "tls: failed to find any PEM data in key input"),
        (
            block("CERTIFICATE"),
            block("CERTIFICATE"),
            "tls: found a certificate rather than a key in the PEM for the private key",
        ),
        (
            block("CERTIFICATE"),
            block("X"),
            (
                'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM '
                "blocks of "
                "the following types: [X]"
            ),
        ),
        (block("CERTIFICATE", "AAAA"), block("PRIVATE KEY"), "x509: malformed certificate"),
    ],
)
def test_key_pair_problems(certificate: bytes, key: bytes, problem: str) -> None:
    assert key_pair_problem(certificate, key) == problem


def test_columns_and_selectable_fields() -> None:
    obj = KIND.created(type="t", data={"a": "", "b": ""})
    assert KIND.row(obj) == {"Name": "a", "Type": "t", "Data": 2, "Age": "60s"}
    attributes = SECRETS.attributes(obj)
    assert attributes == {"metadata.name": "a", "metadata.namespace": "ns", "type": "t"}
    assert set(attributes) == set(SECRETS.field_labels)


def test_flags() -> None:
    assert not SECRETS.strategy.create_on_update
    assert SECRETS.strategy.unconditional_update
    assert SECRETS.storage_version_hash() == "S6u1pOWzb84="
