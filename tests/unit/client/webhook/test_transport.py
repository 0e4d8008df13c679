"""The transport of webhooks, against a real server."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.x509.oid import NameOID

from controlplane.apimachinery.identity import Obj
from controlplane.client.webhook import Credentials, WebhookAddress, WebhookCallFailed, WebhookTransport
from controlplane.client.webhook.certificates import INSECURE_SHA1, MISSING_SAN, outdated
from controlplane.client.webhook.resolver import Endpoint
from tests.aio import run
from tests.unit.base.tls.certs import make
from tests.webhook_server import Webhook, running_webhook


def echo(body: Obj) -> web.Response:
    return web.json_response(body)


def address_of(webhook: Webhook, **more: str) -> WebhookAddress:
    return WebhookAddress.of({"url": webhook.url, "caBundle": webhook.ca_bundle, **more})


async def failure_of(transport: WebhookTransport, address: WebhookAddress, **more: float) -> str:
    with pytest.raises(WebhookCallFailed) as failed:
        await transport.post(address, b"{}", **more)  # type: ignore[arg-type]  # numbers
    await transport.close()
    return str(failed.value)


def test_a_call_is_trusted_by_the_bundle_and_says_its_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with running_webhook(tmp_path, echo) as webhook:
            transport = WebhookTransport()
            assert await transport.post(address_of(webhook), b'{"a": 1}') == b'{"a": 1}'
            assert await transport.post(address_of(webhook), b"{}", query=[("dry", "1")]) == b"{}"
            await transport.close()
            assert webhook.queries == ["timeout=30s", "dry=1&timeout=30s"]
            assert webhook.headers["Content-Type"] == "application/json"
            assert webhook.headers["Host"] == f"localhost:{webhook.port}"
            assert "Authorization" not in webhook.headers

    run(main())


def test_who_is_signed_by_somebody_else_is_not_trusted(tmp_path: Path) -> None:
    async def main() -> None:
        other = make([(NameOID.COMMON_NAME, "other-ca")], is_ca=True)
        async with running_webhook(tmp_path, echo) as webhook:
            strange = address_of(webhook, caBundle=base64.b64encode(other.pem).decode())
            text = await failure_of(WebhookTransport(), strange)
            assert text == (
                f'Post "{webhook.url}?timeout=30s": tls: failed to verify certificate: '
                "x509: certificate signed by unknown authority"
            )
            assert "signed by unknown authority" in await failure_of(
                WebhookTransport(), WebhookAddress.of({"url": webhook.url})
            )
        async with running_webhook(tmp_path, echo, names=("elsewhere",)) as webhook:
            assert "x509" in await failure_of(WebhookTransport(), address_of(webhook))
            assert webhook.asked == []

    run(main())


def test_a_common_name_is_no_name_and_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        before = MISSING_SAN.labels_cached(()).value
        async with running_webhook(tmp_path, echo, names=(), common_name="localhost") as webhook:
            assert (await failure_of(WebhookTransport(), address_of(webhook))).endswith(
                "tls: failed to verify certificate: "
                "x509: certificate relies on legacy Common Name field, use SANs instead"
            )
            assert webhook.asked == []
        assert MISSING_SAN.labels_cached(()).value == before + 1
        async with running_webhook(tmp_path, echo, names=("elsewhere",), common_name="localhost") as webhook:
            assert "legacy Common Name" not in await failure_of(WebhookTransport(), address_of(webhook))
        assert MISSING_SAN.labels_cached(()).value == before + 1

    run(main())


def test_a_certificate_signed_with_sha_1_is_counted(unused_port: int) -> None:
    error = ssl.SSLCertVerificationError("certificate verify failed")
    error.verify_code, error.verify_message = 68, "CA signature digest algorithm too weak"
    before = INSECURE_SHA1.labels_cached(()).value
    assert run(outdated(error, "127.0.0.1", unused_port, "x")) == (
        "x509: cannot verify signature: insecure algorithm SHA1"
    )
    error.verify_code = 62
    assert run(outdated(error, "127.0.0.1", unused_port, "x")) == "", "nobody is there any more to look at"
    assert INSECURE_SHA1.labels_cached(()).value == before + 1


def test_a_bundle_that_is_none_fails_its_own_calls() -> None:
    async def main() -> None:
        bad = WebhookAddress.of({"url": "https://localhost/x", "caBundle": base64.b64encode(b"nonsense").decode()})
        assert "unable to load root certificates" in await failure_of(WebhookTransport(), bad)
        blank = WebhookAddress.of({"url": "https://localhost/x", "caBundle": base64.b64encode(b" \n").decode()})
        assert blank.ca_bundle == b""

    run(main())


def test_a_webhook_that_is_down_is_named_with_the_reason(unused_port: int) -> None:
    async def main() -> None:
        nobody = WebhookAddress.of({"url": f"https://127.0.0.1:{unused_port}/x"})
        assert await failure_of(WebhookTransport(), nobody) == (
            f'Post "https://127.0.0.1:{unused_port}/x?timeout=30s": '
            f"dial tcp 127.0.0.1:{unused_port}: connect: connection refused"
        )

    run(main())


def test_a_slow_webhook_is_given_up(tmp_path: Path) -> None:
    async def main() -> None:
        async def late(_body: Obj) -> web.Response:
            await asyncio.sleep(30)
            raise AssertionError("too late")

        async with running_webhook(tmp_path, late) as webhook:
            text = await failure_of(WebhookTransport(), address_of(webhook), timeout_seconds=0.2)
            assert text.endswith("context deadline exceeded (Client.Timeout exceeded while awaiting headers)")
            assert webhook.queries == ["timeout=0.2s"]

    run(main())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(
            web.Response(status=500, text="boom"),
            'an error on the server \\("boom"\\) has prevented the request from succeeding',
            id="failure",
        ),
        pytest.param(web.Response(status=404), "the server could not find the requested resource", id="not there"),
        pytest.param(
            web.Response(status=307, headers={"Location": "https://localhost/elsewhere"}), "redirect", id="redirect"
        ),
        pytest.param(web.Response(body=b"x" * 5000), "over the limit of 4096 bytes", id="large"),
    ],
)
def test_an_answer_that_is_no_success_is_an_error(tmp_path: Path, answer: web.Response, said: str) -> None:
    async def main() -> None:
        async with running_webhook(tmp_path, lambda _body: answer) as webhook:
            assert re.search(said, await failure_of(WebhookTransport(), address_of(webhook), limit_bytes=4096))
            assert len(webhook.asked) == 1

    run(main())


def test_a_service_is_resolved_and_verified_by_its_name(tmp_path: Path) -> None:
    class Resolver:
        port = 0

        async def resolve(self, namespace: str, name: str, port: int) -> Endpoint:
            if name != "hook":
                raise LookupError(f'service "{name}" not found')
            assert (namespace, port) == ("ns", 8443)
            return Endpoint("127.0.0.1", self.port)

    async def main() -> None:
        async with running_webhook(tmp_path, echo, names=("hook.ns.svc",)) as webhook:
            resolver = Resolver()
            resolver.port = webhook.port
            transport = WebhookTransport(resolver=resolver)
            service = {"namespace": "ns", "name": "hook", "port": 8443, "path": "v"}
            config = {"service": service, "caBundle": webhook.ca_bundle}
            assert await transport.post(WebhookAddress.of(config), b"{}") == b"{}"
            assert webhook.headers["Host"] == "hook.ns.svc:8443"
            missing = WebhookAddress.of({**config, "service": {**service, "name": "gone"}})
            assert await failure_of(transport, missing) == (
                'Post "https://gone.ns.svc:8443/v?timeout=30s": service "gone" not found'
            )

    run(main())


def test_credentials_go_only_to_the_host_that_they_are_for(tmp_path: Path) -> None:
    async def main() -> None:
        ca = make([(NameOID.COMMON_NAME, "client-ca")], is_ca=True)
        cert, key = make([(NameOID.COMMON_NAME, "us")], issuer=ca).write(tmp_path, "us")
        async with running_webhook(tmp_path, echo, client_ca=ca) as webhook:
            ours = Credentials(str(cert), str(key), "secret")
            transport = WebhookTransport(
                credentials=lambda host: ours if host == f"localhost:{webhook.port}" else Credentials()
            )
            assert await transport.post(address_of(webhook), b"{}") == b"{}"
            assert webhook.headers["Authorization"] == "Bearer secret"
            await failure_of(transport, address_of(webhook, url=webhook.url.replace("localhost", "127.0.0.1")))
            assert len(webhook.asked) == 1

    run(main())


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("bundle", "why"),
    [
        (b"hello", "unable to parse bytes as PEM block"),
        (b"-----BEGIN X-----\nYQ==\n-----END X-----\n", "no valid certificate authority data seen"),
    ],
)
def test_a_bundle_without_certificates_is_told_of_before_anything_is_sent(bundle: bytes, why: str) -> None:
    async def main() -> None:
        address = WebhookAddress.of({"url": "https://127.0.0.1:1/x", "caBundle": base64.b64encode(bundle).decode()})
        with pytest.raises(WebhookCallFailed) as failed:
            await WebhookTransport().post(address, b"{}")
        assert (str(failed.value), failed.value.uncallable) == (f"unable to load root certificates: {why}", True)

    run(main())


def test_addresses_that_none_listens_at() -> None:
    async def main() -> None:
        high = WebhookAddress.of({"url": "https://127.0.0.1:99999/x"})
        text = 'Post "https://127.0.0.1:99999/x?timeout=30s": dial tcp: address 99999: invalid port'
        assert await failure_of(WebhookTransport(), high) == text
        six = await failure_of(WebhookTransport(), WebhookAddress.of({"url": "https://[::1]:1/x"}))
        assert six.startswith('Post "https://[::1]:1/x?timeout=30s": dial tcp [::1]:1: connect: ')

    run(main())
