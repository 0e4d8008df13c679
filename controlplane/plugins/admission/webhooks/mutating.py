"""MutatingAdmissionWebhook: asks one webhook after the other, each about what those before it have made of the object.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/mutating``.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations
from controlplane.apimachinery.patch.json_patch import apply_json_patch
from controlplane.apimachinery.status import APIError, internal_error
from controlplane.apis.admissionregistration.mutatingwebhookconfigurations import MUTATING_WEBHOOK_CONFIGURATIONS
from controlplane.apiserver.admission.api import ALL_OPERATIONS, Attributes, Hooks
from controlplane.plugins.admission.api import AdmissionPlugin, PluginServices
from controlplane.plugins.admission.matching.rules import Match
from controlplane.plugins.admission.matching.selection import Namespaces
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.webhooks.caller import caller_of
from controlplane.plugins.admission.webhooks.calling import CallFailed, Rejected, Timing, ask
from controlplane.plugins.admission.webhooks.deciding import Decider
from controlplane.plugins.admission.webhooks.hooks import Webhook
from controlplane.plugins.admission.webhooks.index import Relevant, WebhookIndex
from controlplane.plugins.admission.webhooks.reinvocation import Reinvoking
from controlplane.plugins.admission.webhooks.review import Verdict

__all__ = ["PLUGIN"]

_NAME = "MutatingAdmissionWebhook"
_STEP = "admit"
_MUTATION = "mutation.webhook.admission.k8s.io/"
_PATCH = "patch.webhook.admission.k8s.io/"


class _Mutating:
    """The plugin."""

    def __init__(self, services: PluginServices) -> None:
        self._services = services
        self._webhooks = caller_of(services)
        self.index = WebhookIndex(services, MUTATING_WEBHOOK_CONFIGURATIONS, step=_STEP)
        self._decider = Decider(Namespaces(services.storage_of), services.authorizer)

    async def mutate(self, attributes: Attributes) -> None:
        relevant = self.index.relevant(attributes.operation, attributes.resource, attributes.subresource)
        memory = Reinvoking.of(_NAME, attributes)
        versions = Versions(attributes, self._services.tables)
        try:
            for one in relevant:
                await versions.give_back()
                match = await self._decider.match(one, attributes, versions)
                if match is not None and not memory.skips(one.hook.uid, attributes):
                    await self._ask(one, match, attributes, versions, memory)
            await versions.give_back()
        finally:
            memory.finish(attributes)

    async def _ask(
        self, relevant: Relevant, match: Match, attributes: Attributes, versions: Versions, memory: Reinvoking
    ) -> None:
        """Ask one webhook, and do what it says.

        Raises:
            APIError: it denies the request, or has failed and must not.
        """
        hook = relevant.hook
        round_, timing = int(attributes.reinvocation.second), Timing(hook, _STEP, attributes)
        key = f"round_{round_}_index_{hook.position}"
        changed, told = False, None
        objects = await versions.at(match)
        try:
            verdict = await ask(self._webhooks, hook, attributes, match, objects, mutating=True)
            changed = await _apply(verdict, hook, objects[0], attributes, versions, key=key)
            timing.accepted()
        except (CallFailed, Rejected, APIError) as error:
            told = timing.judge(error)
            if told is None:
                attributes.annotate(f"failed-open.{_MUTATION}{key}", hook.name)
        noted = {"configuration": hook.configuration, "webhook": hook.name, "mutated": changed}
        attributes.annotate(f"{_MUTATION}{key}", dumps(noted).decode())
        if changed:
            memory.changed()
            attributes.reinvocation.wanted = True
        if hook.reinvoked:
            memory.asked(hook.uid)
        if told is not None:
            raise told


async def _apply(
    verdict: Verdict, hook: Webhook, obj: Obj | None, attributes: Attributes, versions: Versions, *, key: str
) -> bool:
    """Apply the patch of a verdict. Returns whether it has changed anything.

    Raises:
        CallFailed: it is none. APIError: it cannot be applied, or makes no object of the kind.
    """
    if not verdict.patch:
        return False
    operations = _operations(verdict.patch, hook)
    if not operations:
        return False
    if obj is None:
        why = "attempted to modify the object, which is not supported for this operation"
        raise internal_error(f'admission webhook "{hook.name}" {why}')
    if verdict.patch_type != "JSONPatch":
        raise CallFailed(hook, f'unsupported patch type "{verdict.patch_type}"', code=400)
    before = deepcopy(obj)
    try:
        patched = apply_json_patch(before, operations)
    except (MalformedPatch, PatchNotApplicable, TooManyOperations) as error:
        raise internal_error(str(error)) from error
    made = await versions.replace(deepcopy(patched))
    noted = {
        "configuration": hook.configuration,
        "webhook": hook.name,
        "patch": operations,
        "patchType": verdict.patch_type,
    }
    attributes.annotate(f"{_PATCH}{key}", dumps(noted).decode())
    return made != before


def _operations(patch: bytes, hook: Webhook) -> Any:
    try:
        operations = loads(patch)
    except MalformedJSON as error:
        raise CallFailed(hook, f"received undecodable patch in webhook response: {error}") from error
    if not isinstance(operations, list) or not all(isinstance(operation, dict) for operation in operations):
        why = "received undecodable patch in webhook response: a JSON patch must be an array of operations"
        raise CallFailed(hook, why)
    return operations


def _build(services: PluginServices) -> Hooks:
    plugin = _Mutating(services)
    return Hooks(operations=ALL_OPERATIONS, mutate=plugin.mutate, wants=plugin.index.wants, close=plugin.index.close)


PLUGIN = AdmissionPlugin(
    name=_NAME,
    default_on=True,
    build=_build,
    requires=("mutatingwebhookconfigurations.admissionregistration.k8s.io",),
    configurable=True,
)
