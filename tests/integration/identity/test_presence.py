"""What a server says of itself on its store: a lease for people, a record for peers; and what its peers see of it."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.apimachinery.identity import Key
from controlplane.apiserver.identity.record import PeerRecord
from controlplane.client.resources import PatchType
from controlplane.generic.config import Config
from controlplane.testing.planes import Plane, running_plane
from controlplane.testing.shared_store import shared_store
from tests.aio import run
from tests.integration.controllers.objects import Objects, until
from tests.integration.identity.servers import LEASES, leases, on_store, stored_records


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certs")


async def present(plane: Plane) -> None:
    """Wait until the server's lease and record are written."""
    presence = plane.control_plane.presence
    if presence.lease is not None:
        await presence.lease.written()
    if presence.record is not None:
        await presence.record.written()


def test_lease_and_record_say_who_and_where_and_go_with_the_server(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store:
            async with on_store(store, certificates) as watching:
                async with on_store(store, certificates) as plane:
                    await present(watching)
                    await present(plane)
                    server = plane.control_plane.presence.server
                    assert re.fullmatch("apiserver-[a-z2-7]{26}", server.id)
                    lease = (await leases(watching))[server.id]
                    assert lease["metadata"]["labels"] == {
                        "apiserver.kubernetes.io/identity": "kube-apiserver",
                        "kubernetes.io/hostname": server.hostname,
                    }
                    address = f"127.0.0.1:{plane.running.port}"
                    assert lease["metadata"]["annotations"] == {"kubernetes.io/peer-advertise-address": address}
                    renewed = lease["spec"].pop("renewTime")
                    assert renewed
                    assert lease["spec"] == {"holderIdentity": server.holder, "leaseDurationSeconds": 3600}
                    record = (await stored_records(store))[server.id]
                    assert record == {
                        "kind": "Endpoints",
                        "apiVersion": "v1",
                        "metadata": {
                            "annotations": {"controlplane.internal/holder-identity": server.holder},
                            "generation": 1,
                            "labels": {"apiserverIdentity": server.id},
                        },
                        "subsets": [
                            {
                                "addresses": [{"ip": "127.0.0.1"}],
                                "ports": [{"name": "https", "port": plane.running.port, "protocol": "TCP"}],
                            }
                        ],
                    }
                own = watching.control_plane.presence.server.id
                assert list(await leases(watching)) == [own]
                assert list(await stored_records(store)) == [own]
            assert await stored_records(store) == {}

    run(main())


def test_every_server_sees_who_comes_and_goes(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, on_store(store, certificates) as first:
            records = first.control_plane.presence.records
            seen: list[tuple[PeerRecord | None, PeerRecord | None]] = []
            records.follow(lambda old, new: seen.append((old, new)))
            await present(first)
            async with on_store(store, certificates) as second:
                await present(second)
                other = second.control_plane.presence.server
                expected = PeerRecord(other.id, "127.0.0.1", second.running.port, other.holder, {})
                assert records.peers == {other.id: expected}
                assert set(records.current) == {other.id, records.own_id}
                assert second.control_plane.presence.records.peers[records.own_id].port == first.running.port
            assert records.peers == {}
            assert [(old, new) for old, new in seen if expected in (old, new)] == [(None, expected), (expected, None)]

    run(main())


def test_annotations_are_written_as_soon_as_they_change(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, on_store(store, certificates) as plane:
            await present(plane)
            presence, config = plane.control_plane.presence, plane.control_plane.config
            own = presence.server.id

            async def shown(name: str) -> str | None:
                found: str | None = (await leases(plane))[own]["metadata"]["annotations"].get(name)
                return found

            async def told(name: str) -> str | None:
                return presence.records.current[own].annotations.get(name)

            config.identity.lease_annotations.set("example.org/keys", "one")
            config.identity.record_annotations.set("example.org/serves", "v1")
            await until(lambda: _is(shown("example.org/keys"), "one"))
            await until(lambda: _is(told("example.org/serves"), "v1"))
            config.identity.lease_annotations.set("example.org/keys", None)
            await until(lambda: _is(shown("example.org/keys"), None))

    run(main())


async def _is(reading: Awaitable[str | None], value: str | None) -> bool:
    return await reading == value


def test_a_server_started_again_takes_its_lease_from_what_was_left(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store, on_store(store, certificates) as watching:

            def named(config: Config) -> None:
                config.identity = replace(config.identity, server_id="apiserver-again")

            left = {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "apiserver-again", "namespace": "kube-system", "annotations": {"old": "one"}},
                "spec": {"holderIdentity": "apiserver-again_0"},
            }
            await Objects(watching).of(LEASES).create(left)
            async with on_store(store, certificates, named) as plane:
                await present(plane)
                lease = (await leases(watching))["apiserver-again"]
                assert lease["spec"]["holderIdentity"] == plane.control_plane.presence.server.holder
                assert "old" not in lease["metadata"]["annotations"]
                await Objects(watching).of(LEASES).delete(Key("kube-system", "apiserver-again"))

    run(main())


def test_where_peers_go_is_not_what_users_write(certificates: Path) -> None:
    """Not even whoever may write everything: no API has the records."""

    async def main() -> None:
        async with shared_store() as store, on_store(store, certificates) as first:
            async with on_store(store, certificates) as second:
                await present(first)
                await present(second)
                other = second.control_plane.presence.server
                expected = first.control_plane.presence.records.peers[other.id]
                address = {"kubernetes.io/peer-advertise-address": "10.66.66.66:443"}
                patch = {"metadata": {"annotations": address}, "spec": {"holderIdentity": "somebody"}}
                await Objects(first).of(LEASES).patch(Key("kube-system", other.id), patch, PatchType.MERGE)
                for path in ("/api/v1/peerserverleases", "/api/v1/namespaces/default/endpoints"):
                    assert (await first.client().request("POST", path, body=b"{}")).status == 404
                assert first.control_plane.presence.records.peers[other.id] == expected
                second.control_plane.config.identity.lease_annotations.set("example.org/again", "1")

                async def is_mended() -> bool:
                    lease = (await leases(first))[other.id]
                    shown = lease["metadata"]["annotations"]["kubernetes.io/peer-advertise-address"]
                    return (shown, lease["spec"]["holderIdentity"]) == (other.peer_address, other.holder)

                await until(is_mended)

    run(main())


def test_a_store_of_its_own_has_no_peers_and_no_record() -> None:
    async def main() -> None:
        async with running_plane() as plane:
            await present(plane)
            assert plane.control_plane.presence.record is None
            assert len(await leases(plane)) == 1

    run(main())


def test_neither_is_kept_where_it_is_off(certificates: Path) -> None:
    async def main() -> None:
        async with shared_store() as store:

            def without(config: Config) -> None:
                config.identity = replace(config.identity, lease=False, peer_record=False)

            async with on_store(store, certificates, without) as plane:
                names = [check.name for check in plane.control_plane.server.hooks.checks()]
                written = ("identity-lease-controller", "peer-endpoint")
                assert not [name for name in names if any(word in name for word in written)]
                assert plane.control_plane.presence.records.current == {}
            assert await stored_records(store) == {}

    run(main())
