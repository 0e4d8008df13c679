"""From options to config to a complete config."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from controlplane.apis.builtin import BUILTIN
from controlplane.apis.core.configmaps import CONFIGMAPS
from controlplane.base.options import load
from controlplane.generic.config import CompletedConfig, Config, ConfigError, config_of
from controlplane.generic.credentials import KeysDiffer, check_fingerprints, prepare_credentials, server_url
from controlplane.generic.options import GenericOptions
from controlplane.storage.kv.backends import open_kv
from tests.aio import run


def config_from(*argv: str) -> Config:
    return config_of(load(GenericOptions, argv, environ={}).options)


def test_defaults_settle_everything() -> None:
    config = config_from()
    assert (config.host, config.port) == ("127.0.0.1", 6443)
    assert config.store == "sqlite:.controlplane/store.db"
    assert config.kubeconfig == Path(".controlplane/admin.conf")
    assert config.prefix == b"/registry/"
    assert config.resources[0].plural == "namespaces"
    assert {kind.plural for kind in BUILTIN} - {kind.plural for kind in config.resources} == {"storageversions"}
    assert config.notes == []


def test_flags_arrive() -> None:
    config = config_from(
        "--secure-port=0",
        "--cert-dir=/tmp/x",
        "--etcd-servers=http://127.0.0.1:2379,https://b:2379",
        "--etcd-prefix=other/",
        "--etcd-compaction-interval=10m",
        "--request-timeout=30s",
        "--resources.leases=false",
        "--no-controllers.enabled",
        "--write-kubeconfig=k",
    )
    assert config.store == "etcd:127.0.0.1:2379,https://b:2379"
    assert (config.prefix, config.kv.history_seconds) == (b"/other/", 600.0)
    assert (config.request_seconds, config.run_controllers) == (30.0, False)
    off = {resource.plural for resource in BUILTIN} - {resource.plural for resource in config.resources}
    assert off == {"leases", "storageversions"}
    assert config.kubeconfig == Path("k")


def test_what_is_off_by_consequence_is_noted() -> None:
    config = config_from("--resources.namespaces=false")
    assert not any(resource.namespaced for resource in config.resources)
    assert "resources.configmaps is off, since it needs resources.namespaces, which is off" in config.notes


def test_each_resource_is_gone_when_its_boolean_is_off() -> None:
    for plural in {resource.plural for resource in BUILTIN}:
        config = config_from(f"--resources.{plural}=false")
        assert plural not in {resource.plural for resource in config.resources}
        config.complete()


def test_events_are_kept_as_long_as_the_operator_says() -> None:
    def kept(*argv: str) -> set[int]:
        events = [resource for resource in config_from(*argv).resources if resource.plural == "events"]
        assert len(events) == 2
        return {events[i].strategy.ttl_seconds({}) for i in (0, 1) if events[i].strategy.ttl_seconds}  # type: ignore[misc]  # just looked

    assert kept() == {3600}
    assert kept("--event-ttl=90s") == {90}
    assert kept("--event-ttl=0s") == {0}


def test_complete_config_is_frozen_and_a_copy() -> None:
    config = config_from()
    completed = config.complete()
    config.resources.clear()
    config.port = 1
    assert (completed.port, len(completed.resources)) == (6443, len(BUILTIN) - 1)
    with pytest.raises(FrozenInstanceError, match=r"CompletedConfig\.port cannot be set"):
        completed.port = 2
    with pytest.raises(TypeError, match=r"made by complete\(\)"):
        CompletedConfig(host="x", port=1, cert_dir=Path(), store="memory:")


def test_contradictions_are_refused() -> None:
    config = config_from()
    config.resources.append(CONFIGMAPS)
    with pytest.raises(ConfigError, match="resource named twice: configmaps"):
        config.complete()


@pytest.mark.parametrize(
    ("flags", "url"),
    [
        ((), "https://127.0.0.1:7"),
        (("--bind-address=0.0.0.0",), "https://127.0.0.1:7"),
        (("--bind-address=::",), "https://[::1]:7"),
        (("--bind-address=0.0.0.0", "--advertise-address=10.0.0.1"), "https://10.0.0.1:7"),
        (("--external-hostname=plane.example",), "https://plane.example:7"),
    ],
)
def test_url(flags: tuple[str, ...], url: str) -> None:
    assert server_url(config_from(*flags).complete(), 7) == url


def test_keys_of_a_shared_store(tmp_path: Path) -> None:
    async def scenario() -> None:
        kv = await open_kv("memory:")
        try:
            servers = {}
            for name in ("a", "b"):
                completed = config_from(f"--cert-dir={tmp_path / name}").complete()
                servers[name] = (completed, prepare_credentials(completed))
            for _ in range(2):
                await check_fingerprints(kv, *servers["a"])
            with pytest.raises(KeysDiffer, match="--tls-cert-file, --tls-private-key-file and --client-ca-file"):
                await check_fingerprints(kv, *servers["b"])
            other = replace(servers["b"][1], pki=servers["a"][1].pki)
            with pytest.raises(KeysDiffer, match="give all servers --service-account-signing-key-file"):
                await check_fingerprints(kv, servers["b"][0], other)
        finally:
            await kv.close()

    run(scenario())
