"""The mode Webhook: another server is sent a SubjectAccessReview, and what it answers counts.

Source: kubernetes/apiserver ``plugin/pkg/authorizer/webhook/webhook.go`` (its order; what is remembered, and how long).
"""

from __future__ import annotations

import asyncio
import random
from collections import OrderedDict
from time import perf_counter

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision, DeniedByFailure
from controlplane.apiserver.authorization.rules import Rules
from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.config import ClientConfig
from controlplane.client.errors import KubeconfigError, Unreachable
from controlplane.client.http import HTTPClient
from controlplane.plugins.authorization.webhook import metrics
from controlplane.plugins.authorization.webhook.config import WebhookConfig
from controlplane.plugins.authorization.webhook.review import Answer, ReviewFailed, answer_of, review_of, spec_of

__all__ = ["WebhookAuthorizer"]

log = logs.get(__name__)

ATTEMPTS = 5
FIRST_PAUSE_SECONDS, PAUSE_FACTOR, PAUSE_JITTER = 0.5, 1.5, 0.2
REMEMBERED_ANSWERS = 8192
REMEMBERED_CHARACTERS = 10_000
"""Of what a client may choose in a question; longer ones are asked each time."""
_PASSING = frozenset({429, 500, 502, 503, 504})

_NO_OPINION = (Decision.NO_OPINION, "")


class WebhookAuthorizer:
    """``name``: for metrics and logs. ``client``: where it is, from its kubeconfig."""

    def __init__(self, config: WebhookConfig, client: ClientConfig, *, name: str, clock: Clock) -> None:
        self._config, self._name, self._clock = config, name, clock
        self._client = HTTPClient(client, clock=clock, retries=0, request_seconds=config.timeout_seconds)
        self._remembered: OrderedDict[bytes, tuple[float, Answer]] = OrderedDict()
        self._conditions = None
        if config.match_conditions:
            from controlplane.plugins.authorization.webhook.conditions import Conditions  # late: CEL

            self._conditions = Conditions(config.match_conditions, name)

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        """See ``Authorizer``; DeniedByFailure where a failure is a denial."""
        try:
            answer = await self._answer(attributes)
        except ReviewFailed as error:
            log.warning("webhook authorizer failed", authorizer=self._name, error=error)
            if self._config.denies_on_failure:
                raise DeniedByFailure(str(error)) from error
            raise
        if answer is None:
            return _NO_OPINION
        if answer.denied and answer.allowed:
            raise DeniedByFailure("webhook subject access review returned both allow and deny response")
        if answer.denied:
            return Decision.DENY, answer.reason
        return Decision.ALLOW if answer.allowed else Decision.NO_OPINION, answer.reason

    async def rules_for(self, _user: UserInfo, _namespace: str) -> Rules:
        """See ``RuleResolver``."""
        return Rules(incomplete=True, error="webhook authorizer does not support user rule resolution")

    async def close(self) -> None:
        """Close connections. Idempotent."""
        await self._client.close()

    async def _answer(self, attributes: Attributes) -> Answer | None:
        """The answer; None: it is not to be asked. Raises ReviewFailed."""
        spec = spec_of(attributes)
        if self._conditions is not None and not self._conditions.match(spec):
            return None
        key = dumps(spec)
        remembered = self._remembered.get(key)
        if remembered is not None and self._clock.monotonic() < remembered[0]:
            self._remembered.move_to_end(key)
            return remembered[1]
        answer = await self._ask(review_of(spec, self._config.version))
        self._remember(key, answer, attributes)
        return answer

    def _remember(self, key: bytes, answer: Answer, a: Attributes) -> None:
        config = self._config
        kept = config.caches_authorized if answer.allowed else config.caches_unauthorized
        seconds = config.authorized_seconds if answer.allowed else config.unauthorized_seconds
        chosen = (a.namespace, a.verb, a.group, a.version, a.resource, a.subresource, a.name, a.path)
        if not kept or seconds <= 0 or sum(map(len, chosen)) >= REMEMBERED_CHARACTERS:
            return
        self._remembered[key] = (self._clock.monotonic() + seconds, answer)
        self._remembered.move_to_end(key)
        if len(self._remembered) > REMEMBERED_ANSWERS:
            self._remembered.popitem(last=False)

    async def _ask(self, body: bytes) -> Answer:
        """One question, tried again while the webhook may come back. Raises ReviewFailed."""
        pause = FIRST_PAUSE_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            began, result = perf_counter(), "error"
            failed: Exception
            try:
                answer = await self._send(body)
                result = "success"
                return answer
            except asyncio.CancelledError:
                result = "canceled"
                raise
            except Unreachable as error:
                failed = error
                if isinstance(error.__cause__, TimeoutError):
                    result = "timeout"
            except _Passing as error:
                failed = error
                if error.status == 504:
                    result = "timeout"
            finally:
                labels = (self._name, result)
                metrics.EVALUATIONS.labels_cached(labels).inc()
                metrics.SECONDS.labels_cached(labels).observe(perf_counter() - began)
            if attempt == ATTEMPTS:
                if not self._config.denies_on_failure:
                    metrics.FAIL_OPEN.labels_cached((self._name, result)).inc()
                raise ReviewFailed(str(failed)) from failed
            await self._clock.sleep(pause * (1 + PAUSE_JITTER * random.random()))  # noqa: S311  # spreads attempts
            pause *= PAUSE_FACTOR
        raise AssertionError("the last attempt returns or raises")

    async def _send(self, body: bytes) -> Answer:
        try:
            await self._client.connect()
            response = await self._client.request("POST", "", body=body)
        except KubeconfigError as error:
            raise ReviewFailed(str(error)) from error
        if response.status in _PASSING:
            raise _Passing(response.status)
        if not 200 <= response.status < 300:
            raise ReviewFailed(f"the webhook answered with status {response.status}")
        return answer_of(response.content(), self._config.version)


class _Passing(Exception):
    """A status that may pass."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the webhook answered with status {status}")
        self.status = status
