"""The peer proxy put into a config: what a program calls whose servers may be of several versions at a time.

config = config_of(options)
if options.peer_proxy.on:
    add_peer_proxy(config, options.peer_proxy)
"""

from __future__ import annotations

from dataclasses import replace

from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS, IdentityHeaders
from controlplane.apiserver.filters.chain import insert_before
from controlplane.apiserver.options import PeerProxyOptions, split_address
from controlplane.base.tls.pki import Pair, front_proxy_at
from controlplane.generic.config import Config, ConfigError
from controlplane.peerproxy.config import PeerProxyConfig
from controlplane.peerproxy.mark import mark_filter
from controlplane.peerproxy.source import peer_source

__all__ = ["add_peer_proxy"]


def add_peer_proxy(config: Config, options: PeerProxyOptions) -> None:
    """Let ``config``'s server answer by its peers what it does not serve, and show what they serve.

    Raises:
        ConfigError: a file is missing; the message names the flags.
    """
    if options.enabled:
        _make_files(config)
    aggregation, ca_file = config.aggregation, options.ca_file
    if options.enabled and not ca_file and not config.cert_file:
        ca_file = str(Pair.at(config.cert_dir, "serving-ca").cert_file)
    missing = [
        flag
        for flag, given in (
            ("--peer-ca-file", ca_file),
            ("--proxy-client-cert-file", aggregation.proxy_cert_file),
            ("--proxy-client-key-file", aggregation.proxy_key_file),
            ("--requestheader-client-ca-file", config.front_proxy_ca_file),
        )
        if not given
    ]
    if missing:
        raise ConfigError(
            f"the peer proxy needs {', '.join(missing)}: servers on one store prove themselves to each other by these "
            "(--peer-proxy makes what is not given in --cert-dir, where the server makes its serving certificate, too)"
        )
    if not config.identity.peer_record:
        raise ConfigError("the peer proxy needs --identity.peer-record: servers find each other by it")
    named = {name.lower() for name in config.front_proxy_headers.username}
    if named and STANDARD_HEADERS.username[0].lower() not in named:
        raise ConfigError(
            f"the peer proxy needs {STANDARD_HEADERS.username[0]} in --requestheader-username-headers: servers on one "
            "store say by it, and by X-Remote-Uid, -Group and -Extra-*, who asks. Who else shows a certificate of "
            "--requestheader-client-ca-file must take these headers out of what clients send"
        )
    config.front_proxy_headers = _with_standard(config.front_proxy_headers)
    config.sources.append(
        peer_source(
            PeerProxyConfig(
                ca_file=ca_file,
                proxy_cert_file=aggregation.proxy_cert_file,
                proxy_key_file=aggregation.proxy_key_file,
                whole=options.whole_discovery,
                told=config.identity.record_annotations,
            )
        )
    )
    config.filters = insert_before(config.filters, "impersonation", mark_filter(config.clock))
    if options.bind_address:
        config.peer_bind = split_address(options.bind_address)
        if config.peer_bind is None:
            raise ConfigError(f"--peer-bind-address: {options.bind_address!r} is not IP:PORT")
        config.identity = replace(
            config.identity,
            advertise_ip=config.identity.advertise_ip or config.peer_bind[0],
            advertise_port=config.identity.advertise_port or config.peer_bind[1],
        )


def _make_files(config: Config) -> None:
    """Let the server make its front proxy's files, where none are given."""
    aggregation = config.aggregation
    if config.front_proxy_ca_file or aggregation.proxy_cert_file or aggregation.proxy_key_file:
        return
    files = front_proxy_at(config.cert_dir)
    config.make_front_proxy = True
    config.front_proxy_ca_file = str(files.ca.cert_file)
    config.aggregation = replace(
        aggregation, proxy_cert_file=str(files.client.cert_file), proxy_key_file=str(files.client.key_file)
    )


def _with_standard(headers: IdentityHeaders) -> IdentityHeaders:
    """The headers of front proxies, with those that peers send."""

    def joined(own: tuple[str, ...], standard: tuple[str, ...]) -> tuple[str, ...]:
        known = {name.lower() for name in own}
        return (*own, *(name for name in standard if name.lower() not in known))

    return IdentityHeaders(
        username=joined(headers.username, STANDARD_HEADERS.username),
        uid=joined(headers.uid, STANDARD_HEADERS.uid),
        group=joined(headers.group, STANDARD_HEADERS.group),
        extra_prefix=joined(headers.extra_prefix, STANDARD_HEADERS.extra_prefix),
    )
