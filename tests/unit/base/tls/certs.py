"""Certificates for tests, made with ``cryptography``: of every shape that our own never have."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


@dataclass(frozen=True)
class Made:
    cert: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def der(self) -> bytes:
        return self.cert.public_bytes(serialization.Encoding.DER)

    @property
    def pem(self) -> bytes:
        return self.cert.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        cert, key = directory / f"{name}.crt", directory / f"{name}.key"
        cert.write_bytes(self.pem)
        key.write_bytes(self.key_pem)
        return cert, key


def make(
    attributes: Sequence[tuple[x509.ObjectIdentifier, str]],
    *,
    issuer: Made | None = None,
    days: tuple[float, float] = (-1, 30),
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.CLIENT_AUTH,
    names: Sequence[str] = (),
    is_ca: bool = False,
) -> Made:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.cert.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=days[0]))
        .not_valid_after(now + timedelta(days=days[1]))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if not is_ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), critical=False)
    return Made(builder.sign(issuer.key if issuer else key, hashes.SHA256()), key)


@cache
def ca(name: str = "test-ca") -> Made:
    return make([(NameOID.COMMON_NAME, name)], is_ca=True)


def client(name: str, *groups: str, issuer: Made | None = None, days: tuple[float, float] = (-1, 30)) -> Made:
    attributes = [(NameOID.ORGANIZATION_NAME, group) for group in groups] + [(NameOID.COMMON_NAME, name)]
    return make(attributes, issuer=issuer or ca(), days=days)


def serving(*names: str, issuer: Made | None = None) -> Made:
    return make(
        [(NameOID.COMMON_NAME, names[0])], issuer=issuer or ca(), names=names, usage=ExtendedKeyUsageOID.SERVER_AUTH
    )


async def converse(
    server: ssl.SSLContext, connections: Sequence[ssl.SSLContext], host: str = "localhost"
) -> list[tuple[bytes | None, bytes | None, str]]:
    """Connect over real sockets, one connection after another: the client certificate that the server saw, the
    serving certificate that the client saw, and the client's error text (``""``: none)."""
    seen: list[bytes | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("ssl_object").getpeercert(binary_form=True))
        writer.write(await reader.read(1))
        await writer.drain()
        writer.close()

    results: list[tuple[bytes | None, bytes | None, str]] = []
    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        for context in connections:
            seen.clear()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=host)
                shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
                writer.write(b"x")
                answer = await reader.read(1)
                writer.close()
                results.append((seen[-1] if seen else None, shown, "" if answer == b"x" else "closed"))
            except (ssl.SSLError, ConnectionError) as error:
                results.append((None, None, str(error)))
    return results


def trusting(ca_pem: bytes, *, cert: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    """A client's context."""
    context = ssl.create_default_context(cadata=ca_pem.decode())
    if cert is not None:
        context.load_cert_chain(cert, key)
    return context
