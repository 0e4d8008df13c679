"""A front proxy is believed, and nobody else who sends its headers."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from controlplane.apiserver.authentication.front_proxy import STANDARD_HEADERS
from controlplane.generic.config import Config
from tests.aio import run
from tests.integration.authentication.planes import identity_plane
from tests.integration.plane import Plane
from tests.unit.base.tls import certs

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
HEADERS = {
    "X-Remote-User": "jane",
    "X-Remote-Uid": "7",
    "X-Remote-Group": "dev",
    "X-Remote-Extra-Acme.com%2Fteam": "red",
}
PROXIES = certs.ca("proxies")


def configure(directory: Path, *, names: tuple[str, ...] = ("proxy",)) -> Any:
    ca_file = directory / "proxies.crt"
    ca_file.write_bytes(PROXIES.pem)

    def change(config: Config) -> None:
        config.front_proxy_ca_file, config.front_proxy_names = str(ca_file), names
        config.front_proxy_headers = STANDARD_HEADERS

    return change


async def who(plane: Plane, tls: ssl.SSLContext) -> tuple[int, Any]:
    async with plane.http.post(plane.running.url + WHO, json={}, ssl=tls, headers=HEADERS) as response:
        return response.status, await response.json()


def context(plane: Plane, directory: Path, made: certs.Made) -> ssl.SSLContext:
    tls = ssl.create_default_context(cafile=str(directory / "certs" / "serving-ca.crt"))
    tls.load_cert_chain(*made.write(directory, "shown"))
    return tls


def test_a_proxy_names_the_user(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure(tmp_path)) as plane:
            status, body = await who(plane, context(plane, tmp_path, certs.client("proxy", issuer=PROXIES)))
            assert status == 201
            assert body["status"]["userInfo"] == {
                "username": "jane",
                "uid": "7",
                "groups": ["dev", "system:authenticated"],
                "extra": {"acme.com/team": ["red"]},
            }
            status, body = await who(plane, plane.admin_tls)  # of the client CA: its own name, whatever it sends
            assert (status, body["status"]["userInfo"]["username"]) == (201, "admin")

    run(scenario())


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(certs.client("other", issuer=PROXIES), id="not an allowed name"),
        pytest.param(certs.client("proxy", issuer=certs.ca("strangers")), id="of an unknown authority"),
    ],
)
def test_others_are_refused(tmp_path: Path, made: certs.Made) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path, configure=configure(tmp_path)) as plane:
            try:
                status, _ = await who(plane, context(plane, tmp_path, made))
            except (ssl.SSLError, OSError):
                return  # not even a handshake
            assert status == 401

    run(scenario())


def test_without_a_proxy_the_headers_say_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with identity_plane(tmp_path) as plane:
            status, body = await who(plane, plane.admin_tls)
            assert (status, body["status"]["userInfo"]["username"]) == (201, "admin")
            assert (await who(plane, plane.anonymous_tls))[0] == 403

    run(scenario())
