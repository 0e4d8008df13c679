"""Asks a webhook whose tokens are: it is sent a TokenReview, and what it answers counts.

Source: kubernetes/apiserver ``plugin/pkg/authenticator/token/webhook`` (its order and texts).
"""

from __future__ import annotations

import json
import random
from typing import Any, Literal

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import Audiences, BadCredentials, TokenIdentity
from controlplane.apiserver.authentication.tokens import common_audiences
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.client.config import ClientConfig
from controlplane.client.errors import KubeconfigError, Unreachable
from controlplane.client.http import HTTPClient

__all__ = ["TokenWebhook", "TokenWebhookConfig"]

log = logs.get(__name__)

ATTEMPTS = 5
FIRST_PAUSE_SECONDS, PAUSE_FACTOR, PAUSE_JITTER = 0.5, 1.5, 0.2
REQUEST_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWebhookConfig:
    """``file``: a kubeconfig that says where the webhook is. ``version``: of the TokenReview that is sent and expected.
    ``cache_seconds``: how long its answers count."""

    file: str
    version: Literal["v1", "v1beta1"] = "v1beta1"
    cache_seconds: float = 120.0


class TokenWebhook:
    """See ``api.TokenAuthenticator``. ``own_audiences``: those of the API server, for which tokens are good if the
    webhook names none."""

    def __init__(
        self, config: ClientConfig, *, version: Literal["v1", "v1beta1"], own_audiences: Audiences, clock: Clock
    ) -> None:
        self._api_version = f"authentication.k8s.io/{version}"
        self._own_audiences, self._clock = own_audiences, clock
        self._client = HTTPClient(config, clock=clock, retries=0, request_seconds=REQUEST_SECONDS)
        self._server = config.server

    async def authenticate_token(self, token: str, audiences: Audiences) -> TokenIdentity | None:
        status = await self._review(token, audiences)
        good_for = _texts(status.get("audiences")) or self._own_audiences
        common = common_audiences(good_for, audiences)
        if not common:
            return None
        if status.get("authenticated") is not True:
            error = status.get("error")
            if error:
                raise BadCredentials(str(error))
            return None
        return TokenIdentity(_user(status.get("user")), common)

    async def close(self) -> None:
        """Close connections. Idempotent."""
        await self._client.close()

    async def _review(self, token: str, audiences: Audiences) -> dict[str, Any]:
        """The status of the review. Raises BadCredentials: no answer that can be read."""
        review = {
            "kind": "TokenReview",
            "apiVersion": self._api_version,
            "metadata": {},
            "spec": {"token": token, "audiences": list(audiences)},
        }
        answer = await self._post(json.dumps(review).encode())
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError) as error:
            raise self._failed("the answer is not JSON") from error
        if not isinstance(value, dict) or value.get("apiVersion") not in (None, self._api_version):
            raise self._failed(f"the answer is no TokenReview of {self._api_version}")
        status = value.get("status")
        if not isinstance(status, dict):
            raise self._failed("the answer has no status")
        return status

    async def _post(self, body: bytes) -> bytes:
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                await self._client.connect()
                response = await self._client.request("POST", "", body=body)
            except KubeconfigError as error:
                raise self._failed(str(error)) from error
            except Unreachable as error:
                if attempt == ATTEMPTS:
                    raise self._failed(str(error)) from error
            else:
                if 200 <= response.status < 300:
                    return response.content()
                if response.status not in (429, 500, 502, 503, 504) or attempt == ATTEMPTS:
                    raise self._failed(f"status {response.status}")
            await self._clock.sleep(pause * (1 + PAUSE_JITTER * random.random()))  # noqa: S311  # spreads attempts
            pause *= PAUSE_FACTOR
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _failed(self, why: str) -> BadCredentials:
        log.warning("token webhook failed", server=self._server, error=why)
        return BadCredentials(f"webhook authenticator: {why}")


def _user(value: Any) -> UserInfo:
    user = value if isinstance(value, dict) else {}
    extra = user.get("extra")
    return UserInfo(
        name=str(user.get("username") or ""),
        uid=str(user.get("uid") or ""),
        groups=_texts(user.get("groups")),
        extra={str(key): _texts(values) for key, values in extra.items()} if isinstance(extra, dict) else {},
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()
