"""As whom webhooks are called."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.apimachinery.identity import Obj
from controlplane.client.webhook import Credentials, WebhookAddress, WebhookCallFailed
from controlplane.plugins.admission.api import PluginConfigurationError
from controlplane.plugins.admission.webhooks.caller import Caller, caller_of
from tests.aio import run

USERS = """
users:
- name: hooks.example.com
  user: {client-certificate: a.crt, client-key: /keys/a.key}
- name: hooks.example.com:8443
  user: {token: other-port}
- name: "*.shop.svc"
  user: {tokenFile: token}
"""


class Transport:
    """Notes with what it was called."""

    def __init__(self) -> None:
        self.used: list[Credentials | None] = []

    async def post(
        self, _address: WebhookAddress, body: bytes, *, timeout_seconds: float, credentials: Credentials | None
    ) -> bytes:
        self.used.append(credentials)
        return body


def caller(transport: Transport, configuration: Obj | None) -> Caller:
    services: Any = SimpleNamespace(webhooks=transport, configuration=configuration)
    return caller_of(services)


def configuration_in(directory: Path, users: str = USERS) -> Obj:
    file = directory / "kubeconfig"
    file.write_text(users)
    return {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(file),
    }


def used_for(made: Caller, transport: Transport, client_config: Obj) -> Credentials | None:
    run(made.post(WebhookAddress.of(client_config), b"{}", timeout_seconds=1))
    return transport.used[-1]


def test_each_host_has_its_own_user(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    transport = Transport()
    made = caller(transport, configuration_in(tmp_path))
    url = "https://hooks.example.com"
    assert used_for(made, transport, {"url": url}) == Credentials(str(tmp_path / "a.crt"), "/keys/a.key")
    assert used_for(made, transport, {"url": f"{url}:8443"}) == Credentials(token="other-port")
    assert used_for(made, transport, {"url": "https://elsewhere.example.com"}) is None, "nothing goes along"
    service = {"service": {"namespace": "shop", "name": "hook"}}
    assert used_for(made, transport, service) == Credentials(token="first")
    (tmp_path / "token").write_text("second\n")
    assert used_for(made, transport, service) == Credentials(token="second")
    (tmp_path / "token").unlink()
    with pytest.raises(WebhookCallFailed, match="No such file"):
        used_for(made, transport, service)


def test_a_star_is_for_all_others_and_without_a_configuration_nobody_is_named(tmp_path: Path) -> None:
    transport = Transport()
    made = caller(transport, configuration_in(tmp_path, 'users: [{name: "*", user: {token: t}}]'))
    assert used_for(made, transport, {"url": "https://a.example.com:9443/x"}) == Credentials(token="t")
    assert used_for(caller(transport, None), transport, {"url": "https://a.example.com"}) is None


@pytest.mark.parametrize(
    ("users", "more", "message"),
    [
        pytest.param("users: [{name: a, user: {exec: {}}}]", {}, 'unknown field ".*exec"', id="exec"),
        pytest.param("[]", {}, "is not a mapping", id="not a mapping"),
        pytest.param("", {"kubeConfigFile": "beside"}, "must be an absolute file path", id="relative"),
        pytest.param("", {"kubeConfigFile": "/nowhere/at/all"}, "No such file", id="missing"),
        pytest.param("", {"kind": "WebhookAdmission"}, "must be WebhookAdmissionConfiguration of", id="kind"),
        pytest.param("", {"kubeconfig": "x"}, 'unknown field "kubeconfig"', id="unknown"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, users: str, more: Obj, message: str) -> None:
    with pytest.raises(PluginConfigurationError, match=message):
        caller(Transport(), {**configuration_in(tmp_path, users), **more})
