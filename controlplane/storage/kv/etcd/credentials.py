"""The TLS client files of a store, as gRPC wants them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # grpcio ships no types

from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd.location import Endpoint

__all__ = ["read_credentials"]


async def read_credentials(endpoints: Sequence[Endpoint], options: KVOptions) -> grpc.ChannelCredentials | None:
    """What to connect with; None if no endpoint is ``https://``.

    Without a CA file the roots that gRPC brings with it are trusted. The files are read once.

    Raises:
        StoreUnusable: a file cannot be read, a certificate without its key (or the reverse), or files that would not
            be used because no endpoint is ``https://``.
    """
    files = [name for name in (options.ca_file, options.cert_file, options.key_file) if name]
    if not any(endpoint.tls for endpoint in endpoints):
        if files:
            raise StoreUnusable(f"etcd: {files[0]} is given, but no endpoint is https://")
        return None
    if bool(options.cert_file) != bool(options.key_file):
        raise StoreUnusable("etcd: a client certificate and its key must be given together")
    ca, key, cert = await asyncio.to_thread(
        lambda: tuple(_read(name) for name in (options.ca_file, options.key_file, options.cert_file))
    )
    return grpc.ssl_channel_credentials(root_certificates=ca, private_key=key, certificate_chain=cert)


def _read(name: str) -> bytes | None:
    if not name:
        return None
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise StoreUnusable(f"etcd: {name}: {error.strerror}") from error
    if b"-----BEGIN " not in content:
        raise StoreUnusable(f"etcd: {name}: no PEM in it")
    return content
