"""TLS to etcd, with a client certificate that the server demands."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from controlplane.base.tls.issue import issue_ca, issue_client, issue_serving, new_key
from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.backends import KVOptions, open_kv
from controlplane.testing.etcd import EtcdProcess, EtcdTLS
from tests.aio import run
from tests.etcd_fixture import needs_etcd

pytestmark = pytest.mark.etcd


class Authority:
    """A CA that issues to files in a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        key = new_key()
        self._ca = issue_ca(key, name, time.time()), key
        self.file = self._write(f"{name}.crt", self._ca[0])

    def serving(self, name: str) -> tuple[str, str]:
        """Certificate and key files of a server on 127.0.0.1."""
        key = new_key()
        certificate = issue_serving(key, self._ca, ["127.0.0.1"], time.time())
        return self._write(f"{name}.crt", certificate), self._write(f"{name}.key", key)

    def client(self, name: str) -> tuple[str, str]:
        """Certificate and key files of a client."""
        key = new_key()
        certificate = issue_client(key, self._ca, (name, ()), time.time())
        return self._write(f"{name}.crt", certificate), self._write(f"{name}.key", key)

    def _write(self, name: str, content: bytes) -> str:
        file = self._directory / name
        file.write_bytes(content)
        return str(file)


def test_a_client_certificate_opens_the_store_and_nothing_else_does(tmp_path: Path) -> None:
    needs_etcd()
    ours, other = Authority(tmp_path, "ours"), Authority(tmp_path, "other")
    server_cert, server_key = ours.serving("server")
    client_cert, client_key = ours.client("client")
    stranger_cert, stranger_key = other.client("stranger")
    tls = EtcdTLS(cert_file=server_cert, key_file=server_key, client_ca_file=ours.file)
    good = KVOptions(
        history_seconds=0, request_seconds=3, ca_file=ours.file, cert_file=client_cert, key_file=client_key
    )

    async def body() -> None:
        async with EtcdProcess(tls=tls) as etcd:
            assert etcd.endpoint.startswith("https://")
            kv = await open_kv(f"etcd:{etcd.endpoint}", good)
            written = await kv.put(b"/a", b"1", expect=0)
            async with kv.watch(b"/", written.revision) as watch:
                assert (await anext(watch)).revision == written.revision
            await kv.close()
            refused = {
                "no client certificate": dataclasses.replace(good, cert_file="", key_file=""),
                "of another CA": dataclasses.replace(good, cert_file=stranger_cert, key_file=stranger_key),
                "server not trusted": dataclasses.replace(good, ca_file=other.file),
            }
            for options in refused.values():
                with pytest.raises(StoreUnusable, match="TLS settings"):
                    await open_kv(f"etcd:{etcd.endpoint}", options)

    run(body())


@pytest.mark.parametrize(
    ("location", "options", "says"),
    [
        pytest.param("db:2379", KVOptions(ca_file="ca.crt"), "no endpoint is https://", id="unused files"),
        pytest.param("https://db:2379", KVOptions(cert_file="c.crt"), "together", id="certificate without key"),
        pytest.param("https://db:2379", KVOptions(ca_file="missing.crt"), "missing.crt: No such file", id="missing"),
        pytest.param("https://db:2379", KVOptions(ca_file=__file__), "no PEM", id="not a certificate"),
    ],
)
def test_unusable_files_are_refused_by_name(location: str, options: KVOptions, says: str) -> None:
    with pytest.raises(StoreUnusable, match=says):
        run(open_kv(f"etcd:{location}", options))
