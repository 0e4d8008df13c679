"""ValidatingAdmissionWebhook: asks all webhooks that are for a request at once; the first that denies it decides.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/validating``.
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import APIError
from controlplane.apis.admissionregistration.validatingwebhookconfigurations import VALIDATING_WEBHOOK_CONFIGURATIONS
from controlplane.apiserver.admission.api import ALL_OPERATIONS, Attributes, Hooks
from controlplane.base.tasks import TaskGroup
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.matching.selection import Namespaces
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.webhooks.caller import caller_of
from controlplane.plugins.admission.webhooks.calling import CallFailed, Rejected, Timing, ask
from controlplane.plugins.admission.webhooks.deciding import Decider
from controlplane.plugins.admission.webhooks.hooks import Webhook
from controlplane.plugins.admission.webhooks.index import WebhookIndex

__all__ = ["PLUGIN"]

_STEP = "validating"
_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/"


class _Call(NamedTuple):
    hook: Webhook
    match: Match
    objects: tuple[Obj | None, Obj | None]


class _Validating:
    """The plugin."""

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._webhooks = caller_of(services)
        self.index = WebhookIndex(services, VALIDATING_WEBHOOK_CONFIGURATIONS, step=_STEP)
        self._decider = Decider(Namespaces(services.storage_of), services.authorizer)

    async def validate(self, attributes: Attributes) -> None:
        calls = await self._calls(attributes)
        if len(calls) == 1:
            errors = [await self._call(calls[0], attributes, 0)]
        else:
            async with TaskGroup("validating-webhooks") as group:
                tasks = [
                    group.start(self._call(call, attributes, i), name=call.hook.name) for i, call in enumerate(calls)
                ]
                errors = [await task for task in tasks]
        for error in errors:
            if error is not None:
                raise error

    async def _calls(self, attributes: Attributes) -> list[_Call]:
        relevant = self.index.relevant(attributes.operation, attributes.resource, attributes.subresource)
        versions = Versions(attributes, self._services.tables)
        calls = []
        for one in relevant:
            match = await self._decider.match(one, attributes, versions)
            if match is not None:
                calls.append(_Call(one.hook, match, await versions.at(match)))
        return calls

    async def _call(self, call: _Call, attributes: Attributes, index: int) -> APIError | None:
        """Ask one webhook. Returns what the client is to be told if it may not go on."""
        hook = call.hook
        timing = Timing(hook, _STEP, attributes)
        try:
            await ask(self._webhooks, hook, attributes, call.match, call.objects, mutating=False)
        except (CallFailed, Rejected, APIError) as error:
            told = timing.judge(error)
            if told is None:
                attributes.annotate(f"{_FAILED_OPEN}round_0_index_{index}", hook.name)
            return told
        timing.accepted()
        return None


def _build(services: PluginServices) -> Hooks:
    plugin = _Validating(services)
    return Hooks(
        operations=ALL_OPERATIONS, validate=plugin.validate, wants=plugin.index.wants, close=plugin.index.close
    )


PLUGIN = AdmissionPlugin(
    name="ValidatingAdmissionWebhook",
    default_on=True,
    build=_build,
    requires=("validatingwebhookconfigurations.admissionregistration.k8s.io",),
    configurable=True,
)
