"""A server of one's own behind a main one: who asks and what they may is the main server's to say.

The main server's ConfigMap kube-system/extension-apiserver-authentication tells how its front proxy is known; what
somebody may do it is asked by SubjectAccessReviews.
"""

from __future__ import annotations

import json
from pathlib import Path

from controlplane.apimachinery.identity import GVR, Key
from controlplane.apiserver.authentication.front_proxy import IdentityHeaders
from controlplane.apiserver.authorization.delegated import DelegatedAuthorizer
from controlplane.client.api import APIClient
from controlplane.client.resources import ResourceClient
from controlplane.generic.config import Config

__all__ = ["NotDelegated", "delegate_to"]

_PUBLISHED = Key("kube-system", "extension-apiserver-authentication")
_PREFIX = "requestheader-"


class NotDelegated(Exception):
    """The main server does not say how its front proxy is known; the message says what it lacks."""


async def delegate_to(config: Config, main: APIClient) -> None:
    """Change ``config`` so that the main server's front proxy is believed, and the main server is asked what somebody
    may do. ``main`` is used as long as the server runs. Writes the authorities into ``config.cert_dir``.

    Raises:
        NotDelegated. APIError, ClientError: the main server does not answer.
    """
    published = await ResourceClient(main, GVR("", "v1", "configmaps"), namespaced=True).get(_PUBLISHED)
    data: dict[str, str] = published.get("data") or {}
    authority = data.get(f"{_PREFIX}client-ca-file")
    if not authority:
        raise NotDelegated(
            f"configmap {_PUBLISHED.namespace}/{_PUBLISHED.name} has no {_PREFIX}client-ca-file: start the main server "
            "with --requestheader-client-ca-file and --requestheader-username-headers"
        )

    def listed(name: str) -> tuple[str, ...]:
        return tuple(json.loads(data.get(f"{_PREFIX}{name}") or "[]"))

    config.front_proxy_ca_file = str(_write(config.cert_dir / "front-proxy-ca.crt", authority))
    config.front_proxy_names = listed("allowed-names")
    config.front_proxy_headers = IdentityHeaders(
        username=listed("username-headers"),
        uid=listed("uid-headers"),
        group=listed("group-headers"),
        extra_prefix=listed("extra-headers-prefix"),
    )
    config.authorizers.append(DelegatedAuthorizer(main, clock=config.clock))
    config.authorization_modes = ()


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file
