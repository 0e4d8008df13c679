"""Whether one webhook is to be asked about a request, and as what it sees it.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/generic/webhook.go`` (ShouldCallHook).
"""

from __future__ import annotations

from controlplane.apiserver.admission.api import Attributes, refused
from controlplane.apiserver.admission.metrics import CONDITION_EXCLUSIONS
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.plugins.admission.expressions.requests import admission_request
from controlplane.plugins.admission.matching.rules import Match, first_match
from controlplane.plugins.admission.matching.selection import Namespaces, selects_namespace, selects_object
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.webhooks.index import Relevant

__all__ = ["Decider"]


class Decider:
    """Decides for one plugin."""

    def __init__(self, namespaces: Namespaces, authorizer: Authorizer) -> None:
        self._namespaces, self._authorizer = namespaces, authorizer

    async def match(self, relevant: Relevant, attributes: Attributes, versions: Versions) -> Match | None:
        """As what the webhook is to be asked about a request; None if it is not.

        Raises:
            APIError: it cannot be told.
        """
        hook = relevant.hook
        found = first_match(relevant.among, attributes)
        if found is None or not selects_object(hook.object_selector, attributes):
            return None
        if not await selects_namespace(hook.namespace_selector, attributes, self._namespaces):
            return None
        conditions = hook.conditions
        if conditions is None:
            return found
        from controlplane.plugins.admission.expressions.conditions import conditions_hold  # not before there are any
        from controlplane.plugins.admission.expressions.evaluation import Evaluation, Permissions

        new, old = await versions.at(found)
        values = {
            "object": new,
            "oldObject": old,
            "request": admission_request(attributes, found),
            "namespaceObject": None,
        }
        evaluation = Evaluation(values, Permissions(self._authorizer, attributes.user), attributes)
        operation = attributes.operation.value
        holds, error = await conditions_hold(conditions, evaluation, operation)
        if error:
            raise refused(attributes, error)
        if not holds:
            CONDITION_EXCLUSIONS.labels_cached((*conditions.labels, operation)).inc()
            return None
        return found
