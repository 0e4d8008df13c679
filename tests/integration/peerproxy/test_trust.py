"""Who is believed: between servers their files decide. Where these do not fit, the log names the flag to look at."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from controlplane.apiserver.filters.chain import Filter, insert_before
from controlplane.apiserver.options import PeerProxyOptions
from controlplane.apiserver.registry.peers import FROM_PEER
from controlplane.client.forward.identity import PEER_PROXIED
from controlplane.client.request import Handler, Request, Response
from controlplane.generic.config import Config, ConfigError
from controlplane.generic.peers import add_peer_proxy
from controlplane.peerproxy import trust
from controlplane.peerproxy.metrics import REFUSED, REROUTED
from controlplane.testing.planes import Plane, plane_config
from tests.aio import run
from tests.integration.peerproxy.fleet import Files, Fleet, eventually, fleet, heard, impatient, make_files
from tests.integration.peerproxy.kinds import GADGETS, serve_a, serve_b

GADGETS_PATH = f"/apis/{GADGETS.gv}/namespaces/default/gadgets"
YEARS = 2 * 365 * 86400.0


def with_other_authority(made: Fleet, config: Config) -> None:
    other = make_files(made.files.directory, name="other")
    made.peered(config, ca_file=str(other.proxy_ca))


def with_proxy_files(config: Config, files: Files) -> None:
    config.aggregation = replace(
        config.aggregation, proxy_cert_file=str(files.proxy_cert), proxy_key_file=str(files.proxy_key)
    )


def with_expired_certificate(made: Fleet, config: Config) -> None:
    with_proxy_files(config, make_files(made.files.directory, name="old", age_seconds=YEARS, ca=made.files))
    made.peered(config)


def with_unknown_certificate(made: Fleet, config: Config) -> None:
    with_proxy_files(config, make_files(made.files.directory, name="unknown"))
    made.peered(config)


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        pytest.param(with_other_authority, "--peer-ca-file", id="another authority of the peer"),
        pytest.param(with_expired_certificate, "--proxy-client-cert-file", id="an expired certificate"),
        pytest.param(with_unknown_certificate, "--proxy-client-cert-file", id="a certificate of nobody known"),
    ],
)
def test_a_peer_that_does_not_fit_gives_no_answer_and_the_log_names_the_flag(
    change: Callable[[Fleet, Config], None], flag: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            a = await made.start("a", serve_a, change=change)
            response = await impatient(a).request("GET", GADGETS_PATH)
            assert response.status == 503, "the owner may be there: it is not known not to be"
            assert ("Retry-After", "1") in response.headers

            async def named() -> bool:
                return any(flag in str(getattr(record, "fields", record.__dict__)) for record in caplog.records)

            await eventually(named)

    run(main())


def test_other_authorities_are_taken_up_while_requests_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "LOOK_SECONDS", 0.05)

    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            ca, other = tmp_path / "peers.crt", make_files(tmp_path, name="other").proxy_ca
            right = (made.files.certs / "serving-ca.crt").read_bytes()
            ca.write_bytes(right)
            a = await made.start("a", serve_a, change=lambda made, config: made.peered(config, ca_file=str(ca)))
            await heard(a, 1)

            async def answered(status: int) -> bool:
                answers = [await impatient(a).request("GET", GADGETS_PATH) for _ in range(5)]
                assert {answer.status for answer in answers} <= {200, 503}
                return all(answer.status == status for answer in answers)

            assert await answered(200)
            ca.write_bytes(other.read_bytes())
            assert await eventually(lambda: answered(503)), "kept connections are not used again"
            assert any("--peer-ca-file" in str(record.__dict__) for record in caplog.records)
            ca.write_bytes(other.read_bytes() + right)
            assert await eventually(lambda: answered(200))

    run(main())


def test_a_server_outlives_that_its_own_files_do_not_fit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The authorities change while only one file of the pair has been replaced: nobody can be called until it fits."""
    monkeypatch.setattr(trust, "LOOK_SECONDS", 0.05)

    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            ca = tmp_path / "peers.crt"
            ca.write_bytes((made.files.certs / "serving-ca.crt").read_bytes())
            own = make_files(tmp_path, name="own", ca=made.files)

            def change(made: Fleet, config: Config) -> None:
                with_proxy_files(config, own)
                made.peered(config, ca_file=str(ca))

            a = await made.start("a", serve_a, change=change)
            await heard(a, 1)
            right = own.proxy_key.read_bytes()
            own.proxy_key.write_bytes(made.files.proxy_key.read_bytes())
            ca.write_bytes(ca.read_bytes() + made.files.proxy_ca.read_bytes())

            async def answered(status: int) -> bool:
                return (await impatient(a).request("GET", GADGETS_PATH)).status == status

            await eventually(lambda: answered(503))
            await made.stop("b")
            await made.start("b", serve_b)

            async def named() -> bool:
                return any("--proxy-client-key-file" in str(record.__dict__) for record in caplog.records)

            await eventually(named)
            assert await answered(503)
            own.proxy_key.write_bytes(right)
            await eventually(lambda: answered(200))

    run(main())


@pytest.mark.parametrize("flag", ["--proxy-client-cert-file", "--requestheader-client-ca-file", "--peer-ca-file"])
def test_a_missing_file_is_refused_at_the_start(flag: str, tmp_path: Path) -> None:
    files = make_files(tmp_path)
    config = plane_config(tmp_path)
    if flag != "--requestheader-client-ca-file":
        config.front_proxy_ca_file = str(files.proxy_ca)
    if flag != "--proxy-client-cert-file":
        with_proxy_files(config, files)
    with pytest.raises(ConfigError, match=flag):
        add_peer_proxy(config, PeerProxyOptions(ca_file="" if flag == "--peer-ca-file" else "ca.crt"))


async def asked(
    plane: Plane, files: Files, path: str, headers: dict[str, str], *, cert: str = "", body: Any = None
) -> tuple[int, dict[str, str], str]:
    """One request over TLS. ``cert``: the client certificate to show, a name in the folder of keys. ``body``: what to
    post."""
    tls = ssl.create_default_context(cafile=str(files.certs / "serving-ca.crt"))
    if cert:
        tls.load_cert_chain(files.certs / f"{cert}.crt", files.certs / f"{cert}.key")
    method = "GET" if body is None else "POST"
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, plane.url + path, ssl=tls, headers=headers, json=body) as answer,
    ):
        return answer.status, dict(answer.headers), await answer.text()


def test_clients_cannot_say_who_they_are_nor_that_they_are_peers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with fleet(tmp_path) as (made, planes):
            claim = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
            mark = {PEER_PROXIED: "true"}
            a, files = planes["a"], made.files
            assert (await asked(a, files, GADGETS_PATH, claim))[0] in (401, 403)
            assert (await asked(a, files, GADGETS_PATH, {**claim, **mark}))[0] == 401
            assert any("--requestheader-client-ca-file" in str(record.__dict__) for record in caplog.records)
            assert (await asked(a, files, GADGETS_PATH, {**claim, **mark}, cert="admin"))[0] == 401
            review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            assert (await asked(a, files, review, claim, cert="admin", body={}))[2].count('"username":"admin"') == 1
            status, _, body = await asked(a, files, GADGETS_PATH, mark, cert="admin")
            assert (status, json.loads(body)["kind"]) == (200, "GadgetList"), "the mark of a client says nothing"

    run(main())


def test_a_peer_that_advertises_somebody_elses_address_is_not_believed_to_be_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As containers do that have one address, each on its own machine: whoever calls it reaches itself."""

    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            await made.stop("b")
            a = await made.start("a", serve_a)

            def elsewhere(config: Config) -> None:
                serve_b(config)
                config.identity = replace(config.identity, advertise_ip="127.0.0.1", advertise_port=a.running.port)

            await made.start("b", elsewhere)

            async def named() -> bool:
                return any("--peer-advertise-ip" in str(record.__dict__) for record in caplog.records)

            assert await eventually(named)
            assert (await impatient(a).request("GET", GADGETS_PATH)).status == 503, "b may serve them"

    run(main())


def claiming_ghosts(config: Config) -> None:
    """Make a server lie to its peers: it says that it serves what nobody does."""

    def lying(following: Handler) -> Handler:
        async def handle(request: Request) -> Response:
            response = await following(request)
            if FROM_PEER not in request.values or request.path != "/apis":
                return response
            document = json.loads(response.content())
            ghost = {"resource": "ghosts", "scope": "Namespaced", "verbs": ["get", "list"], "singularResource": "ghost"}
            version = {"version": "v1", "resources": [ghost], "freshness": "Current"}
            document["items"].append({"metadata": {"name": "lies.example.org"}, "versions": [version]})
            return Response(200, json.dumps(document).encode(), content_type=response.content_type)

        return handle

    lie = Filter("lie", lambda following, _config: lying(following))
    config.filters = insert_before(config.filters, "authorization", lie)


def test_servers_that_lie_about_what_they_serve_send_a_request_on_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with fleet(tmp_path, "b") as (made, _):
            await made.stop("b")
            planes = [await made.start(name, claiming_ghosts) for name in ("one", "two", "three")]
            path = "/apis/lies.example.org/v1/namespaces/default/ghosts"
            for plane in planes:
                sent, refused = _sent_on(), REFUSED.labels_cached(("proxied",)).value

                async def answered(plane: Plane = plane) -> Response | None:
                    response = await impatient(plane).request("GET", path)
                    return response if "sent this request on" in response.content().decode() else None

                response = await eventually(answered)
                assert response is not None
                assert response.status == 503
                assert REFUSED.labels_cached(("proxied",)).value - refused == _sent_on() - sent, "one hop a request"

    run(main())


def _sent_on() -> float:
    return REROUTED.labels_cached(("503", "lies.example.org", "v1", "ghosts")).value
