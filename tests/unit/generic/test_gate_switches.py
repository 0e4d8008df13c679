"""Gates that say the same as a boolean."""

from __future__ import annotations

import pytest

from controlplane.apiserver.identity.config import IdentityConfig
from controlplane.base.options import OptionsError, load
from controlplane.generic.config import config_of
from controlplane.generic.options import GenericOptions

STORAGE_VERSIONS = "storageversions.internal.apiserver.k8s.io"
RUNTIME = "--runtime-config=internal.apiserver.k8s.io/v1alpha1"


@pytest.mark.parametrize(
    ("argv", "on"),
    [
        pytest.param((), False, id="by default"),
        pytest.param(("--runtime-config=api/all=true",), False, id="all versions, which is not enough"),
        pytest.param(("--feature-gates=StorageVersionAPI=true",), True, id="the gate"),
        pytest.param(("--feature-gates=StorageVersionAPI=true", f"{RUNTIME}=true"), True, id="as kube-apiserver"),
        pytest.param(("--feature-gates=StorageVersionAPI=true", f"{RUNTIME}=false"), False, id="the version is off"),
        pytest.param(("--resources.storageversions",), True, id="the boolean"),
        pytest.param(("--resources.storageversions", f"{RUNTIME}=false"), True, id="the boolean decides first"),
    ],
)
def test_storage_versions_are_served(argv: tuple[str, ...], on: bool) -> None:
    config = config_of(load(GenericOptions, argv, environ={}).options)
    assert (STORAGE_VERSIONS in {str(kind.gr) for kind in config.resources}) is on
    collects = "storage-version-garbage-collection" in {controller.name for controller in config.controllers}
    assert collects is on


def identity(*argv: str) -> IdentityConfig:
    return config_of(load(GenericOptions, argv, environ={}).options).identity


@pytest.mark.parametrize(
    ("argv", "lease", "record"),
    [
        pytest.param((), True, True, id="by default"),
        pytest.param(("--feature-gates=APIServerIdentity=false",), False, True, id="the lease's gate"),
        pytest.param(("--identity.lease=false",), False, True, id="the lease's boolean"),
        pytest.param(
            ("--feature-gates=UnknownVersionInteroperabilityProxy=false",), True, False, id="the record's gate"
        ),
        pytest.param(("--no-identity.peer-record",), True, False, id="the record's boolean"),
        pytest.param(("--resources.leases=false",), False, True, id="no leases"),
        pytest.param(("--resources.namespaces=false",), False, True, id="no namespaces, so no leases"),
        pytest.param(("--feature-gates=kube:APIServerIdentity=true",), True, True, id="as by default"),
    ],
)
def test_what_is_kept(argv: tuple[str, ...], lease: bool, record: bool) -> None:
    config = identity(*argv)
    assert (config.lease, config.peer_record) == (lease, record)


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (
            ("--feature-gates=APIServerIdentity=false", "--identity.lease"),
            "--identity.lease: contradicts --feature-gates=APIServerIdentity=false",
        ),
        (("--identity.lease", "--resources.leases=false"), "--identity.lease: needs --resources.leases, which is off"),
        (
            ("--feature-gates=UnknownVersionInteroperabilityProxy=false", "--peer-advertise-ip=10.0.0.1"),
            "--peer-advertise-ip: requires UnknownVersionInteroperabilityProxy feature to be turned on",
        ),
        (
            ("--feature-gates=StorageVersionAPI=true", "--identity.lease=false"),
            "--resources.storageversions: needs --identity.lease, which is off",
        ),
        (("--peer-advertise-ip=here",), "--peer-advertise-ip: 'here' is not an IP address"),
    ],
)
def test_what_is_refused(argv: tuple[str, ...], problem: str) -> None:
    with pytest.raises(OptionsError) as refused:
        load(GenericOptions, argv, environ={})
    assert problem in refused.value.problems


def test_where_peers_reach_the_server() -> None:
    config = identity("--peer-advertise-ip=10.0.0.1", "--peer-advertise-port=7443")
    assert (config.advertise_ip, config.advertise_port) == ("10.0.0.1", 7443)
