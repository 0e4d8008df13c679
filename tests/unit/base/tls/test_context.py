"""The listener's TLS context: what it accepts, and that new connections see changed files while open ones stay."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from cryptography.x509.oid import NameOID

from controlplane.base.tls.context import ServerTLS, TLSFiles, TLSFilesError
from tests.aio import run
from tests.unit.base.tls import certs


@pytest.fixture
def files(tmp_path: Path) -> TLSFiles:
    cert, key = certs.serving("localhost").write(tmp_path, "serving")
    (tmp_path / "clients.crt").write_bytes(certs.ca().pem)
    return TLSFiles(cert_file=str(cert), key_file=str(key), client_ca_files=(str(tmp_path / "clients.crt"),))


def client_context(tmp_path: Path, made: certs.Made | None, ca: certs.Made | None = None) -> ssl.SSLContext:
    if made is None:
        return certs.trusting((ca or certs.ca()).pem)
    cert, key = made.write(tmp_path, "client")
    return certs.trusting((ca or certs.ca()).pem, cert=cert, key=key)


def test_a_client_certificate_is_optional(files: TLSFiles, tmp_path: Path) -> None:
    alice = certs.client("alice")
    contexts = [client_context(tmp_path, None), client_context(tmp_path, alice)]
    without, with_one = run(certs.converse(ServerTLS(files).context, contexts))
    assert (without[0], without[2]) == (None, "")
    assert (with_one[0], with_one[2]) == (alice.der, "")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(certs.client("mallory", issuer=certs.ca("other")), id="unknown CA"),
        pytest.param(certs.client("late", days=(-10, -1)), id="expired"),
        pytest.param(certs.serving("localhost"), id="not for clients"),
    ],
)
def test_a_client_certificate_that_is_not_good_ends_the_connection(
    files: TLSFiles, tmp_path: Path, made: certs.Made
) -> None:
    ((seen, _, error),) = run(certs.converse(ServerTLS(files).context, [client_context(tmp_path, made)]))
    assert seen is None
    assert error != ""


def test_without_client_cas_no_certificate_is_asked_for(files: TLSFiles, tmp_path: Path) -> None:
    bare = TLSFiles(cert_file=files.cert_file, key_file=files.key_file)
    ((seen, _, error),) = run(
        certs.converse(ServerTLS(bare).context, [client_context(tmp_path, certs.client("alice"))])
    )
    assert (seen, error) == (None, "")


def test_an_intermediate_in_the_pool_is_trusted_by_itself(files: TLSFiles, tmp_path: Path) -> None:
    middle = certs.make([(NameOID.COMMON_NAME, "middle")], issuer=certs.ca(), is_ca=True)
    (tmp_path / "clients.crt").write_bytes(middle.pem)
    alice = certs.client("alice", issuer=middle)
    ((seen, _, error),) = run(certs.converse(ServerTLS(files).context, [client_context(tmp_path, alice)]))
    assert (seen, error) == (alice.der, "")


def test_protocols(files: TLSFiles) -> None:
    async def scenario(change: ssl.TLSVersion | None, alpn: list[str]) -> tuple[str | None, str | None]:
        client = certs.trusting(certs.ca().pem)
        client.set_alpn_protocols(alpn)
        if change is not None:
            client.maximum_version = change

        async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ServerTLS(files).context) as listener:
            port = listener.sockets[0].getsockname()[1]
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")
            connection = writer.get_extra_info("ssl_object")
            writer.close()
            return connection.version(), connection.selected_alpn_protocol()

    assert run(scenario(None, ["h2", "http/1.1"])) == ("TLSv1.3", "http/1.1")
    assert run(scenario(ssl.TLSVersion.TLSv1_2, ["h2"])) == ("TLSv1.2", None)


def test_new_connections_see_a_new_certificate_and_open_ones_stay(files: TLSFiles, tmp_path: Path) -> None:
    tls = ServerTLS(files)
    second = certs.serving("localhost")
    client = client_context(tmp_path, None)

    async def scenario() -> None:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                writer.write(data)
            writer.close()

        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            return await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")

        def shown(writer: asyncio.StreamWriter) -> object:
            return writer.get_extra_info("ssl_object").getpeercert(binary_form=True)

        async with await asyncio.start_server(echo, "127.0.0.1", 0, ssl=tls.context) as listener:
            port = listener.sockets[0].getsockname()[1]
            reader, writer = await connect()
            assert shown(writer) != second.der
            second.write(tmp_path, "serving")
            assert await asyncio.to_thread(tls.reload_if_changed)
            _, new_writer = await connect()
            assert shown(new_writer) == second.der
            writer.write(b"still here")
            assert await reader.readexactly(10) == b"still here"
            writer.close()
            new_writer.close()

    run(scenario())
    assert not tls.reload_if_changed()


def test_a_client_ca_that_was_removed_is_no_longer_trusted(files: TLSFiles, tmp_path: Path) -> None:
    tls = ServerTLS(files)
    alice = client_context(tmp_path, certs.client("alice"))
    assert run(certs.converse(tls.context, [alice]))[0][2] == ""
    (tmp_path / "clients.crt").write_bytes(certs.ca("other").pem)
    assert tls.reload_if_changed()
    assert run(certs.converse(tls.context, [alice]))[0][2] != ""
    bob = client_context(tmp_path, certs.client("bob", issuer=certs.ca("other")))
    assert run(certs.converse(tls.context, [bob]))[0][2] == ""


def test_content_that_cannot_be_used_leaves_the_old_in_use(
    files: TLSFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tls = ServerTLS(files)
    good = Path(files.cert_file).read_bytes()
    Path(files.cert_file).write_text("garbage")
    assert not tls.reload_if_changed()
    assert not tls.reload_if_changed()
    assert len(caplog.records) == 1
    assert run(certs.converse(tls.context, [client_context(tmp_path, None)]))[0][2] == ""
    Path(files.cert_file).write_bytes(good)
    assert tls.reload_if_changed()


def test_a_pair_may_be_replaced_one_file_after_the_other(files: TLSFiles, tmp_path: Path) -> None:
    tls = ServerTLS(files)
    second = certs.serving("localhost")
    Path(files.cert_file).write_bytes(second.pem)
    assert not tls.reload_if_changed()
    Path(files.key_file).write_bytes(second.key_pem)
    assert tls.reload_if_changed()
    ((_, shown, _),) = run(certs.converse(tls.context, [client_context(tmp_path, None)]))
    assert shown == second.der


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("serving.crt", b"garbage", "serving.key: not a PEM certificate or key"),
        ("serving.key", certs.serving("localhost").key_pem, "serving.key: the certificate does not belong to the key"),
        ("clients.crt", b"garbage", "clients.crt: holds no PEM certificate"),
        ("clients.crt", b"", "clients.crt: "),
    ],
)
def test_files_that_cannot_be_used_are_named(
    files: TLSFiles, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(TLSFilesError) as caught:
        ServerTLS(files)
    assert message in str(caught.value)


def test_a_missing_file_is_named(files: TLSFiles) -> None:
    Path(files.key_file).unlink()
    with pytest.raises(TLSFilesError, match=r"serving\.key: No such file or directory"):
        ServerTLS(files)


def test_an_encrypted_key_is_refused_and_nothing_is_asked(files: TLSFiles) -> None:
    from cryptography.hazmat.primitives import serialization

    Path(files.key_file).write_bytes(
        certs.serving("localhost").key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(TLSFilesError, match="the key is encrypted"):
        ServerTLS(files)
