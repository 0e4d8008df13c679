"""What the server proves itself with to webhooks: users of the kubeconfig that a plugin's configuration names.

A user's name is the host it is for, with its port unless that is 443; ``*.example.com`` stands for the hosts below, and
``*`` for all.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/config``, ``pkg/util/webhook/authentication.go``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from controlplane.apimachinery.identity import Obj
from controlplane.client.webhook import Credentials, WebhookAddress, WebhookCallFailed, WebhookTransport
from controlplane.plugins.admission.api import PluginConfigurationError, PluginServices
from controlplane.plugins.admission.reading import Part, read_configuration

__all__ = ["Caller", "caller_of"]

_KIND = "WebhookAdmissionConfiguration"
_API_VERSIONS = ("apiserver.config.k8s.io/v1",)


@dataclass(frozen=True, slots=True)
class _User:
    credentials: Credentials
    token_file: Path | None

    async def current(self) -> Credentials:
        """With the token as its file has it now.

        Raises:
            OSError: there is no such file any more.
        """
        if self.token_file is None:
            return self.credentials
        token = await asyncio.to_thread(self.token_file.read_text)
        return self.credentials._replace(token=token.strip())


class Caller:
    """Calls webhooks as the user that is for their host."""

    def __init__(self, webhooks: WebhookTransport, users: dict[str, _User]) -> None:
        self._webhooks, self._users = webhooks, users

    async def post(self, address: WebhookAddress, body: bytes, *, timeout_seconds: float) -> bytes:
        """Send JSON, and return the body of the answer.

        Raises:
            WebhookCallFailed: no answer in time, none that is a success, or no token to ask with.
        """
        user = self._user(address.host_port) if self._users else None
        try:
            credentials = await user.current() if user is not None else None
        except OSError as error:
            raise WebhookCallFailed(str(error)) from error
        return await self._webhooks.post(address, body, timeout_seconds=timeout_seconds, credentials=credentials)

    def _user(self, target: str) -> _User | None:
        steps = target.split(".")
        for name in (target, *("*." + ".".join(steps[i:]) for i in range(1, len(steps)))):
            if name in self._users:
                return self._users[name]
        if target.endswith(":443"):
            return self._user(target.removesuffix(":443"))
        return self._users.get("*")


def caller_of(services: PluginServices) -> Caller:
    """By the plugin's configuration, if it has one. Reads files.

    Raises:
        PluginConfigurationError: it, or the kubeconfig it names, cannot be used.
    """
    if services.configuration is None:
        return Caller(services.webhooks, {})
    part = read_configuration(services.configuration, kind=_KIND, api_versions=_API_VERSIONS)
    file = part.text("kubeConfigFile")
    part.done()
    if file and not Path(file).is_absolute():
        raise PluginConfigurationError(f'kubeConfigFile: Invalid value: "{file}": must be an absolute file path')
    return Caller(services.webhooks, _read_users(Path(file)) if file else {})


def _read_users(path: Path) -> dict[str, _User]:
    from controlplane.apimachinery.codec import yaml  # late, as in client.encoding

    try:
        content: Obj = yaml.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise PluginConfigurationError(f"kubeConfigFile: {error}") from error
    if not isinstance(content, dict):
        raise PluginConfigurationError(f"kubeConfigFile: {path} is not a mapping")
    users = {}
    for entry in Part({"users": content.get("users")}, str(path)).parts("users"):
        name, user = entry.text("name"), entry.part("user")
        users[name] = _user_of(user, path.parent)
    return users


def _user_of(user: Part, directory: Path) -> _User:
    """A user of a kubeconfig: files of a certificate and its key, a token, or its file; anything else is refused."""
    cert, key = user.text("client-certificate"), user.text("client-key")
    token, token_file = user.text("token"), user.text("tokenFile")
    user.done()
    credentials = Credentials(
        cert_file=str(directory / cert) if cert else "", key_file=str(directory / key) if key else "", token=token
    )
    return _User(credentials, directory / token_file if token_file else None)
