"""Check certificates as a peer would: by a TLS handshake in memory, with the standard library alone.

One handshake proves that the key fits the certificate, that the CA signed it, that it may be used for that purpose and
is valid now; what OpenSSL then tells of it are its names and dates. A few ms, and nothing need be imported.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Facts", "client_facts", "mutual_facts", "serving_facts"]


class Facts(NamedTuple):
    """A verified certificate: dates in seconds since 1970, subject alternative names, subject's common name and
    organisations."""

    not_before: float
    not_after: float
    names: frozenset[str]
    common_name: str
    organizations: frozenset[str]


Files = tuple[Path, Path]
"""Certificate and key."""


def mutual_facts(serving: Files, serving_ca: Path, client: Files, client_ca: Path) -> tuple[Facts, Facts]:
    """Both at once: what the client learns of the server, and the server of the client, in one handshake.

    Raises:
        ssl.SSLError: one of them is refused (ask for each alone to know which). OSError: a file cannot be read.
    """
    server_context = _server(serving)
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_verify_locations(client_ca)
    client_context = _client(serving_ca)
    client_context.load_cert_chain(*client)
    server_side, client_side = _handshake(server_context, client_context)
    return _facts(client_side), _facts(server_side)


def serving_facts(serving: Files, ca_file: Path) -> Facts:
    """What a client that trusts ``ca_file`` learns from a server with this certificate.

    Raises:
        ssl.SSLError: refused; ssl.SSLCertVerificationError says why. OSError: a file cannot be read.
    """
    _, client_side = _handshake(_server(serving), _client(ca_file))
    return _facts(client_side)


def client_facts(client: Files, ca_file: Path) -> Facts:
    """What a server that trusts ``ca_file`` learns from a client with this certificate. Raises as ``serving_facts``."""
    server_context = _server(client)  # any certificate serves here: the client does not look at it
    server_context.verify_mode = ssl.CERT_REQUIRED
    server_context.load_verify_locations(ca_file)
    client_context = _client(None)
    client_context.load_cert_chain(*client)
    server_side, _ = _handshake(server_context, client_context)
    return _facts(server_side)


def _server(files: Files) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


def _client(ca_file: Path | None) -> ssl.SSLContext:
    """A client that trusts a CA; None: that looks at nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    if ca_file is None:
        context.verify_mode = ssl.CERT_NONE
    else:
        context.load_verify_locations(ca_file)
    return context


def _handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server)
    done: set[ssl.SSLObject] = set()
    while len(done) < 2:
        for side in (client_side, server_side):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                continue
    return server_side, client_side


def _facts(side: ssl.SSLObject) -> Facts:
    peer: Any = side.getpeercert()
    subject: list[tuple[str, str]] = [pair for relative in peer["subject"] for pair in relative]
    return Facts(
        not_before=float(ssl.cert_time_to_seconds(peer["notBefore"])),
        not_after=float(ssl.cert_time_to_seconds(peer["notAfter"])),
        names=frozenset(_plain(kind, value) for kind, value in peer.get("subjectAltName", ())),
        common_name=next((value for key, value in subject if key == "commonName"), ""),
        organizations=frozenset(value for key, value in subject if key == "organizationName"),
    )


def _plain(kind: str, value: str) -> str:
    """An address as people write it (OpenSSL prints IPv6 unabridged), a name as it is."""
    from ipaddress import ip_address

    return str(ip_address(value.strip())) if kind == "IP Address" else value
