"""What follows ``etcd:`` in a store URL: the endpoints.

``HOST:PORT[,HOST:PORT…]``, each with ``http://`` (the default) or ``https://`` before it; the port may be left out.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

from controlplane.storage.errors import StoreUnusable

__all__ = ["DEFAULT_PORT", "Endpoint", "parse_location"]

DEFAULT_PORT: Final = 2379
"""etcd's client port."""


class Endpoint(NamedTuple):
    """Where one member listens: ``target`` is ``host:port``, an IPv6 host in brackets; ``tls``: it speaks TLS."""

    target: str
    tls: bool

    def __str__(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.target}"


def parse_location(location: str) -> tuple[Endpoint, ...]:
    """The endpoints in the order given.

    Raises:
        StoreUnusable: none, twice the same, or not of the form; the message names the one.
    """
    endpoints = tuple(_parse(text.strip()) for text in location.removeprefix("//").split(",") if text.strip())
    if not endpoints:
        raise StoreUnusable("etcd: no endpoint; give etcd:HOST:PORT[,HOST:PORT…]")
    for at, endpoint in enumerate(endpoints):
        if endpoint in endpoints[:at]:
            raise StoreUnusable(f"etcd: endpoint {endpoint} is given twice")
    return endpoints


def _parse(text: str) -> Endpoint:
    try:
        url = urlsplit(text if "://" in text else f"http://{text}")
        port = DEFAULT_PORT if url.port is None else url.port
    except ValueError as error:
        raise StoreUnusable(f"etcd: endpoint {text!r}: {error}") from error
    extra = url.path.strip("/") or url.query or url.fragment or url.username is not None
    if url.scheme not in {"http", "https"} or not url.hostname or extra:
        raise StoreUnusable(f"etcd: endpoint {text!r} is not [http://|https://]HOST[:PORT]")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return Endpoint(f"{host}:{port}", url.scheme == "https")
