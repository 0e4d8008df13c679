"""Configuration files: what is accepted, and every refusal in Kubernetes' words."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.storage.encryption.encryption import check
from controlplane.storage.encryption.reading import digest_of, parse, read_file
from tests.encrypted import IDENTITY, keys, new_secret, rule, write_config

KEY = keys("aescbc", one=new_secret())


def kms(**fields: Any) -> dict[str, Any]:
    return {"kms": {"apiVersion": "v2", "name": "plugin", "endpoint": "unix:///tmp/kms.sock", **fields}}


def refusal(tmp_path: Path, *rules: dict[str, Any], reload: bool = False) -> str:
    file = write_config(tmp_path / "config.yaml", *rules)
    with pytest.raises(ConfigurationError) as caught:
        check(read_file(str(file), reload=reload))
    return str(caught.value)


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        ([], "resources[0].resources: Required value: at least one resources[0].resources is required"),
        (["secrets", "secrets"], "the same resource cannot be specified multiple times"),
        (["*."], ""),
        (["*.*"], ""),
        (["*.apps", "secrets"], ""),
        (["pandas.awesome.bears.example", "events"], ""),
        (["*.", "secrets"], "using overlapping resources such as 'secrets' and '*.' in the same resource list"),
        (["*.*", "widgets.example.org"], "using overlapping resources"),
        (["*.", "*."], "using overlapping resources"),
        (["Secrets"], 'resources[0].resources[0]: Invalid value: "Secrets": resource name should not contain capital'),
        (["*"], "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"),
        (["apiserveripinfo"], "resources which do not have REST API/s cannot be encrypted"),
        (["events.events.k8s.io"], "'*.events.k8s.io' objects are stored using the 'events' API group in etcd."),
        (["*.extensions"], "'extensions' group has been removed and cannot be used for encryption"),
        (["secrets.*"], "encrypting the same resource across groups is not supported"),
    ],
)
def test_resources(resources: list[str], why: str, tmp_path: Path) -> None:
    rules = rule(KEY, resources=tuple(resources))
    if why:
        assert why in refusal(tmp_path, rules)
    else:
        check(read_file(str(write_config(tmp_path / "config.yaml", rules)), reload=True))


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        ({}, "resources[0].providers[0]: Invalid value: provider does not contain any of the expected providers: KMS,"),
        ({"identity": None}, "Invalid value: provider does not contain any of the expected providers: KMS, AESGCM, "),
        ({**KEY, **IDENTITY}, "more than one provider specified in a single element, should split into different list"),
        ({"aescbc": {"keys": []}}, "resources[0].providers[0].aescbc.keys: Required value: at least one keys is req"),
        (
            {"aesgcm": {"keys": [{"name": "", "secret": base64.b64encode(bytes(16)).decode()}]}},
            "resources[0].providers[0].aesgcm.keys[0].name: Required value: name is a mandatory field for a key",
        ),
        (
            {"aesgcm": {"keys": [{"name": "a"}]}},
            "resources[0].providers[0].aesgcm.keys[0].secret: Required value: secret is a mandatory field for a key",
        ),
        (
            {"aesgcm": {"keys": [{"name": "a", "secret": "no base64!"}]}},
            'aesgcm.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
        ),
        (
            {"aesgcm": {"keys": [{"name": "a", "secret": "ä"}]}},
            'aesgcm.keys[0].secret: Invalid value: "REDACTED": secrets must be base64 encoded',
        ),
        (keys("aescbc", a=bytes(31)), 'Invalid value: "REDACTED": secret is not of the expected length, got 31, expec'),
        (keys("aesgcm", a=bytes(33)), "secret is not of the expected length, got 33, expected one of [16 24 32]"),
        (keys("secretbox", a=bytes(16)), "secret is not of the expected length, got 16, expected one of [32]"),
        (kms(name=""), "resources[0].providers[0].kms.name: Required value: name is a mandatory field for a provider"),
        (kms(name="a:b"), "invalid KMS provider name a:b, must not contain ':'"),
        (kms(endpoint=""), 'kms.endpoint: Invalid value: "": endpoint is a mandatory field for a kms'),
        (kms(endpoint="tcp://x"), 'unsupported scheme "tcp" for KMS provider, only unix is supported'),
        (kms(timeout="0s"), 'kms.timeout: Invalid value: "0s": timeout should be a positive value'),
        (kms(timeout="soon"), "kms.timeout: must be a duration such as"),
        (kms(cachesize=5), "kms.cachesize: Invalid value: 5: cachesize is not supported in v2"),
        (kms(apiVersion="v1", cachesize=0), "cachesize should be a positive value, or negative to disable"),
        (kms(apiVersion="v3"), "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported"),
        (kms(apiVersion="v1"), 'KMS provider "plugin" is of KMSv1, which is deprecated and not supported here. Use KM'),
        ({"rot13": {}}, 'strict decoding error: unknown field "resources[0].providers[0].rot13"'),
    ],
)
def test_providers(provider: dict[str, Any], why: str, tmp_path: Path) -> None:
    assert why in refusal(tmp_path, rule(provider))


def test_a_provider_name_is_one_plugin_s_alone(tmp_path: Path) -> None:
    two = rule(kms(), kms(endpoint="unix:///tmp/other.sock"))
    assert "duplicate KMS provider name plugin, names must be unique" in refusal(tmp_path, two)


@pytest.mark.parametrize(
    ("earlier", "later", "why"),
    [
        ("*.apps", "deployments.apps", 'resource "deployments.apps" is masked by earlier rule "*.apps"'),
        ("*.", "secrets", 'resource "secrets" is masked by earlier rule "*."'),
        ("*.*", "*.", 'resource "*." is masked by earlier rule "*.*"'),
        ("*.", "*.", 'resource "*." is masked by earlier rule "*."'),
    ],
)
def test_rules_that_earlier_ones_mask_are_refused(earlier: str, later: str, why: str, tmp_path: Path) -> None:
    assert refusal(tmp_path, rule(KEY, resources=(earlier,)), rule(KEY, resources=(later,))) == why


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    for content, why in (
        (None, f'error reading encryption provider configuration file "{file}": No such file or directory'),
        (b"", f'encryption provider configuration file "{file}" is empty'),
        (b"a: [", "not YAML or JSON"),
        (b"kind: X\napiVersion: v1", "is X of v1, must be EncryptionConfiguration of apiserver.config.k8s.io/v1"),
        (
            b"kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1",
            "resources: Required value: at least one resources is required",
        ),
    ):
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigurationError) as caught:
            read_file(str(file), reload=False)
        assert why in str(caught.value)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    secret = base64.b64encode(new_secret(31)).decode()
    provider = {"aescbc": {"keys": [{"name": "a", "secret": secret}]}, **IDENTITY}
    assert secret not in refusal(tmp_path, rule(provider))
    content = json.dumps({"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}).encode()
    assert digest_of(content) == parse(content).digest
    read = parse(
        json.dumps(
            {
                "apiVersion": "apiserver.config.k8s.io/v1",
                "kind": "EncryptionConfiguration",
                "resources": [rule(provider)],
            }
        ).encode()
    )
    assert secret not in repr(read)
