"""Whom a server believes, as the data of a ConfigMap; that of several servers together.

Source: kubernetes ``pkg/controlplane/controller/clusterauthenticationtrust`` (keys, merging, what is left out).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping

from controlplane.base.tls.der import read_certificate
from controlplane.controllers.keys import ClientTrust

__all__ = ["combined_data"]

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
GRACE_SECONDS = 300.0
"""An authority is kept that long after its end, for clocks that differ."""
_LISTS = ("username-headers", "uid-headers", "group-headers", "extra-headers-prefix", "allowed-names")


def combined_data(existing: Mapping[str, str], own: ClientTrust, now: float) -> dict[str, str]:
    """What there is and what this server believes, without authorities that have ended. ``now``: seconds since 1970.

    Raises:
        ValueError: what there is cannot be read.
    """
    data: dict[str, str] = {}
    own_clients, own_proxies = (pem.decode(errors="replace") for pem in (own.client_ca_pem, own.front_proxy_ca_pem))
    clients = _bundle([existing.get("client-ca-file", ""), own_clients], now)
    if clients:
        data["client-ca-file"] = clients
    proxies = _bundle([existing.get("requestheader-client-ca-file", ""), own_proxies], now)
    if not proxies:
        return data
    data["requestheader-client-ca-file"] = proxies
    mine = (own.username_headers, own.uid_headers, own.group_headers, own.extra_prefixes, own.allowed_names)
    for name, values in zip(_LISTS, mine, strict=True):
        key = f"requestheader-{name}"
        known = json.loads(existing.get(key) or "[]")
        data[key] = json.dumps(list(dict.fromkeys([*known, *values])), separators=(",", ":"))
    return data


def _bundle(texts: Iterable[str], now: float) -> str:
    """The certificates of several bundles, each once."""
    found: dict[str, None] = {}
    for text in texts:
        for part in text.split(_BEGIN)[1:]:
            body, _, _ = part.partition(_END)
            encoded = "".join(body.split())
            try:
                certificate = read_certificate(base64.b64decode(encoded, validate=True))
            except binascii.Error as error:
                raise ValueError(f"not a PEM certificate: {error}") from error
            if certificate.not_after > now - GRACE_SECONDS:
                found[encoded] = None
    return "".join(f"{_BEGIN}\n{_wrapped(encoded)}{_END}\n" for encoded in found)


def _wrapped(encoded: str) -> str:
    return "".join(f"{encoded[at : at + 64]}\n" for at in range(0, len(encoded), 64))
