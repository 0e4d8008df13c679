"""Asking one webhook about one request, and what its failure means.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/mutating/dispatcher.go`` and ``validating/dispatcher.go``.
"""

from __future__ import annotations

import uuid
from time import perf_counter

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError, bad_request, internal_error
from controlplane.apiserver.admission.api import Attributes
from controlplane.base import logs
from controlplane.client.webhook import WebhookCallFailed
from controlplane.plugins.admission.expressions.requests import admission_request
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.webhooks.caller import Caller
from controlplane.plugins.admission.webhooks.hooks import REVIEW_VERSIONS, Webhook
from controlplane.plugins.admission.webhooks.metrics import FAILED_OPEN, observe, observe_rejection
from controlplane.plugins.admission.webhooks.review import BadReview, Verdict, rejection, review_body, verdict_of

__all__ = ["CallFailed", "Rejected", "Timing", "ask"]

log = logs.get(__name__)

_HARMLESS = frozenset({"None", "NoneOnDryRun"})
_UNAVAILABLE = 503


class CallFailed(Exception):
    """The webhook could not be asked, or has not answered as it must. ``code``: for metrics."""

    def __init__(self, hook: Webhook, why: str, *, code: int = _UNAVAILABLE) -> None:
        super().__init__(f'failed calling webhook "{hook.name}": {why}')
        self.code = code


class Rejected(Exception):
    """The webhook denies the request; ``error`` is what the client is told."""

    def __init__(self, error: APIError) -> None:
        super().__init__(error.message)
        self.error = error


async def ask(
    webhooks: Caller,
    hook: Webhook,
    attributes: Attributes,
    match: Match,
    objects: tuple[Obj | None, Obj | None],
    *,
    mutating: bool,
) -> Verdict:
    """What a webhook says; its warnings and annotations are passed on.

    Raises:
        CallFailed. Rejected. APIError: it may not be asked, because this is a dry run.
    """
    if attributes.dry_run and hook.side_effects not in _HARMLESS:
        if hook.side_effects is None:
            raise CallFailed(hook, "Webhook SideEffects is nil", code=400)
        raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
    version = hook.review_version
    if version is None:
        known = ", ".join(REVIEW_VERSIONS)
        why = f"could not create admission objects: webhook does not accept known AdmissionReview versions ({known})"
        raise CallFailed(hook, why, code=400)
    uid = str(uuid.uuid4())
    body = review_body(version, uid, admission_request(attributes, match), objects)
    try:
        answer = await webhooks.post(hook.address, body, timeout_seconds=hook.timeout_seconds)
        verdict = verdict_of(answer, version, uid, mutating=mutating)
    except WebhookCallFailed as error:
        what = "could not get REST client" if error.uncallable else "failed to call webhook"
        raise CallFailed(hook, f"{what}: {error}") from error
    except BadReview as error:
        what = "received invalid webhook response" if error.invalid else "failed to call webhook"
        raise CallFailed(hook, f"{what}: {error}") from error
    for key, value in verdict.annotations.items():
        attributes.annotate(f"{hook.name}/{key}", value)
    for warning in verdict.warnings:
        attributes.warn(warning)
    if not verdict.allowed:
        raise Rejected(rejection(hook.name, verdict.result))
    return verdict


class Timing:
    """One call's time and outcome, as metrics have it. ``step``: ``admit`` or ``validating``."""

    __slots__ = ("_began", "_hook", "_operation", "_step")

    def __init__(self, hook: Webhook, step: str, attributes: Attributes) -> None:
        self._hook, self._step, self._operation = hook, step, attributes.operation.value
        self._began = perf_counter()

    def accepted(self) -> None:
        self._note(200, rejected=False)

    def judge(self, error: CallFailed | Rejected | APIError) -> APIError | None:
        """Note a failure.

        Returns:
            What the client is told; None if the failure is to be ignored.
        """
        hook = self._hook
        if isinstance(error, CallFailed):
            if hook.fails_open:
                self._note(error.code, rejected=False)
                FAILED_OPEN.labels_cached((hook.name, self._step)).inc()
                log.warning("failed calling webhook, failing open", webhook=hook.name, error=error)
                return None
            self._reject("calling_webhook_error", error.code)
            self._note(error.code, rejected=True)
            log.warning("failed calling webhook, failing closed", webhook=hook.name, error=error)
            return internal_error(str(error))
        told, kind = (error.error, "no_error") if isinstance(error, Rejected) else (error, "apiserver_internal_error")
        code = told.code if isinstance(error, Rejected) else 0
        self._reject(kind, code)
        self._note(code, rejected=True)
        return told

    def _note(self, code: int, *, rejected: bool) -> None:
        seconds = perf_counter() - self._began
        observe(self._hook.name, self._step, self._operation, seconds=seconds, code=code, rejected=rejected)

    def _reject(self, error_type: str, code: int) -> None:
        observe_rejection(self._hook.name, self._step, self._operation, error_type=error_type, code=code)
