"""The peer proxy in a config: what it needs, what it adds, what it makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.apiserver.authentication.front_proxy import IdentityHeaders
from controlplane.apiserver.options import PeerProxyOptions, split_address
from controlplane.base.tls.pki import PKIError, ensure_front_proxy, front_proxy_at
from controlplane.generic.config import Config, ConfigError, config_of
from controlplane.generic.options import GenericOptions
from controlplane.generic.peers import add_peer_proxy


def config_in(directory: Path) -> Config:
    config = config_of(GenericOptions())
    config.cert_dir = directory
    return config


def test_asked_for_without_files_they_are_the_servers_own(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    add_peer_proxy(config, PeerProxyOptions(enabled=True))
    files = front_proxy_at(tmp_path)
    assert config.make_front_proxy
    assert config.front_proxy_ca_file == str(files.ca.cert_file)
    assert config.aggregation.proxy_cert_file == str(files.client.cert_file)
    assert [filter_.name for filter_ in config.filters].count("peer-mark") == 1
    assert config.sources[-1].name == "peers"
    config.complete()


def test_files_that_are_given_are_used_and_what_is_missing_is_named(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    config.front_proxy_ca_file = "proxies.crt"
    with pytest.raises(ConfigError, match="--proxy-client-cert-file, --proxy-client-key-file: servers"):
        add_peer_proxy(config, PeerProxyOptions(enabled=True))
    own_serving = config_in(tmp_path)
    own_serving.cert_file = own_serving.key_file = "server.pem"
    with pytest.raises(ConfigError, match="needs --peer-ca-file: servers"):
        add_peer_proxy(own_serving, PeerProxyOptions(enabled=True))


def test_without_records_there_are_no_peers(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    config.identity = replace(config.identity, peer_record=False)
    with pytest.raises(ConfigError, match=r"--identity\.peer-record"):
        add_peer_proxy(config, PeerProxyOptions(enabled=True))


def test_peers_headers_are_believed_beside_others(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    config.front_proxy_headers = IdentityHeaders(username=("X-User", "x-remote-user"), group=("X-Group",))
    add_peer_proxy(config, PeerProxyOptions(enabled=True))
    assert config.front_proxy_headers == IdentityHeaders(
        username=("X-User", "x-remote-user"),
        uid=("X-Remote-Uid",),
        group=("X-Group", "X-Remote-Group"),
        extra_prefix=("X-Remote-Extra-",),
    )


def test_headers_that_other_proxies_let_through_are_not_believed_unasked(tmp_path: Path) -> None:
    """A proxy that names users by a header of its own takes that out of what clients send, and no other."""
    config = config_in(tmp_path)
    config.front_proxy_headers = IdentityHeaders(username=("X-User",), group=("X-Group",))
    with pytest.raises(ConfigError, match="X-Remote-User in --requestheader-username-headers"):
        add_peer_proxy(config, PeerProxyOptions(enabled=True))


def test_where_peers_are_listened_for_is_told_to_them(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    add_peer_proxy(config, PeerProxyOptions(enabled=True, bind_address="[::1]:7443"))
    assert config.peer_bind == ("::1", 7443)
    assert (config.identity.advertise_ip, config.identity.advertise_port) == ("::1", 7443)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param(PeerProxyOptions(enabled=False, ca_file="ca.crt"), "--peer-proxy=false", id="off, and with whom"),
        pytest.param(PeerProxyOptions(bind_address="127.0.0.1:7443"), "needs --peer-proxy", id="listening, but off"),
        pytest.param(PeerProxyOptions(enabled=True, bind_address="localhost:7443"), "not IP:PORT", id="a name"),
    ],
)
def test_contradictions_are_refused(options: PeerProxyOptions, said: str) -> None:
    assert any(said in str(problem) for problem in options.problems())


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", ":443", "::1", "a:1", "127.0.0.1:x"])
def test_what_is_no_address(text: str) -> None:
    assert split_address(text) is None


def test_the_front_proxys_files_are_made_once_and_never_overwritten(tmp_path: Path) -> None:
    made = ensure_front_proxy(tmp_path)
    content = made.client.cert_file.read_bytes()
    assert ensure_front_proxy(tmp_path).fingerprint() == made.fingerprint()
    assert made.client.cert_file.read_bytes() == content
    made.ca.cert_file.unlink()
    with pytest.raises(PKIError, match=r"front-proxy-client\.crt was signed by it"):
        ensure_front_proxy(tmp_path)
