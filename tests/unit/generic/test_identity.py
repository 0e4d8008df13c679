"""Who a server is, from its config and port."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from controlplane.apiserver.identity.config import IdentityConfig
from controlplane.generic.config import CompletedConfig
from controlplane.generic.identity import identity_of
from controlplane.testing.planes import plane_config


def config(tmp_path: Path, *, host: str = "127.0.0.1", advertise: str = "", **identity: object) -> CompletedConfig:
    made = plane_config(tmp_path)
    made.host, made.advertise_address = host, advertise
    made.identity = replace(IdentityConfig(), **identity)  # type: ignore[arg-type]  # the test's own
    return made.complete()


def test_the_id_outlives_a_restart_and_the_holder_does_not(tmp_path: Path) -> None:
    one, again = identity_of(config(tmp_path), 6443), identity_of(config(tmp_path), 6443)
    assert one.id == again.id
    assert one.holder != again.holder
    assert one.holder.startswith(f"{one.id}_")
    assert identity_of(config(tmp_path), 6444).id != one.id
    assert identity_of(config(tmp_path, advertise="10.0.0.1"), 6443).id != one.id
    assert identity_of(config(tmp_path, server_id="mine"), 6443).id == "mine"


def test_where_peers_go(tmp_path: Path) -> None:
    assert identity_of(config(tmp_path), 6443).peer_address == "127.0.0.1:6443"
    assert identity_of(config(tmp_path, advertise="fd00::1"), 6443).peer_address == "[fd00::1]:6443"
    told = config(tmp_path, advertise_ip="10.0.0.9", advertise_port=7443)
    assert identity_of(told, 6443).peer_address == "10.0.0.9:7443"
    everywhere = identity_of(config(tmp_path, host="0.0.0.0"), 6443)
    assert everywhere.peer_ip not in ("", "0.0.0.0")
    there = identity_of(config(tmp_path, advertise=everywhere.peer_ip), 6443)
    assert everywhere.id == there.id, "machines of one name that listen everywhere are told apart"
