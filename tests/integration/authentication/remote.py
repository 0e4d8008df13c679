"""Servers that know tokens: an issuer and a webhook, over TLS on this machine."""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from tests.unit.base.tls import certs

__all__ = ["CA_PEM", "Issuer", "issuer", "serving", "webhook"]

CA_PEM = certs.ca().pem.decode()


@asynccontextmanager
async def serving(
    directory: Path, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
) -> AsyncIterator[str]:
    """Serve inside the block; the URL."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*certs.serving("localhost").write(directory, "remote"))
    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    try:
        yield f"https://localhost:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@dataclass
class Issuer:
    """Gives tokens, and publishes the keys in ``keys`` (key id: private key). ``asked`` counts what was asked for."""

    url: str = ""
    keys: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    def add_key(self, key_id: str, *, curve: bool = False) -> None:
        made = ec.generate_private_key(ec.SECP256R1()) if curve else rsa.generate_private_key(65537, 2048)
        self.keys[key_id] = made

    def token(self, key_id: str, *, key: Any = None, **claims: Any) -> str:
        key = key or self.keys[key_id]
        said = {"iss": self.url, "sub": "jane", "aud": "plane", "exp": int(time.time()) + 600, **claims}
        algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
        return jwt.encode({k: v for k, v in said.items() if v is not None}, key, algorithm, headers={"kid": key_id})

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked[request.path] = self.asked.get(request.path, 0) + 1
        if request.path.endswith("openid-configuration"):
            return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        return web.json_response({"keys": [_jwk(key_id, key) for key_id, key in self.keys.items()]})


def _jwk(key_id: str, key: Any) -> dict[str, Any]:
    algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**json.loads(algorithm.to_jwk(key.public_key())), "kid": key_id, "use": "sig"}


@asynccontextmanager
async def issuer(directory: Path) -> AsyncIterator[Issuer]:
    made = Issuer()
    made.add_key("first")
    async with serving(directory, made.handle) as url:
        made.url = url
        yield made


@asynccontextmanager
async def webhook(
    directory: Path, answer: Callable[[dict[str, Any]], tuple[int, Any]]
) -> AsyncIterator[tuple[Path, list[dict[str, Any]]]]:
    """A webhook that answers reviews; its kubeconfig, and the reviews that it was sent."""
    seen: list[dict[str, Any]] = []

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        review = await request.json()
        seen.append(review)
        status, body = answer(review)
        return web.json_response(body, status=status)

    async with serving(directory, handle) as url:
        ca = directory / "webhook-ca.crt"
        ca.write_text(CA_PEM)
        kubeconfig = directory / "webhook.conf"
        kubeconfig.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "w",
                    "contexts": [{"name": "w", "context": {"cluster": "w"}}],
                    "clusters": [
                        {"name": "w", "cluster": {"server": f"{url}/authenticate", "certificate-authority": str(ca)}}
                    ],
                }
            )
        )
        yield kubeconfig, seen
