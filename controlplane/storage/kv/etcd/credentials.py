"""The TLS client files of a store, as a context to connect with."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path

from controlplane.base.tls.direct import DirectSSLObject
from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.backends import KVOptions
from controlplane.storage.kv.etcd.location import Endpoint

__all__ = ["read_credentials"]

FLAGS = ("--etcd-cafile", "--etcd-certfile", "--etcd-keyfile")
"""By which the files are given."""


async def read_credentials(endpoints: Sequence[Endpoint], options: KVOptions) -> ssl.SSLContext | None:
    """What to connect with; None if no endpoint is ``https://``.

    Without a CA file the machine's roots are trusted. The files are read once.

    Raises:
        StoreUnusable: a file cannot be read or used, a certificate without its key (or the reverse), or files that
            would not be used because no endpoint is ``https://``.
    """
    files = [name for name in (options.ca_file, options.cert_file, options.key_file) if name]
    if not any(endpoint.tls for endpoint in endpoints):
        if files:
            raise StoreUnusable(f"etcd: {files[0]} is given, but no endpoint is https://")
        return None
    if bool(options.cert_file) != bool(options.key_file):
        raise StoreUnusable("etcd: a client certificate and its key must be given together")
    return await asyncio.to_thread(_context, options)


def _context(options: KVOptions) -> ssl.SSLContext:
    for flag, name in zip(FLAGS, (options.ca_file, options.cert_file, options.key_file), strict=True):
        if name:
            _check(flag, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.sslobject_class = DirectSSLObject
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    named = f"{FLAGS[0]}: {options.ca_file}"
    try:
        if options.ca_file:
            context.load_verify_locations(options.ca_file)
        else:
            context.load_default_certs()
        named = f"{FLAGS[1]}, {FLAGS[2]}: {options.cert_file}"
        if options.cert_file:
            context.load_cert_chain(options.cert_file, options.key_file, password=_no_password)
    except (ssl.SSLError, ValueError) as error:
        raise StoreUnusable(f"etcd: {named}: {error}") from error
    return context


def _check(flag: str, name: str) -> None:
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise StoreUnusable(f"etcd: {flag}: {name}: {error.strerror}") from error
    if b"-----BEGIN " not in content:
        raise StoreUnusable(f"etcd: {flag}: {name}: no PEM in it")


def _no_password() -> str:
    """Instead of a question on the terminal."""
    raise ValueError("the key is encrypted; give one that is not")
