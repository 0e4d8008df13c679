"""Whether one webhook is to be asked about a request, and as what it sees it.

Source: kubernetes/apiserver ``pkg/admission/plugin/webhook/generic/webhook.go`` (ShouldCallHook).
"""

from __future__ import annotations

from controlplane.apiserver.admission.api import Attributes, refused
from controlplane.apiserver.admission.metrics import CONDITION_EXCLUSIONS
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.base.aside import aside
from controlplane.base.late import importing
from controlplane.plugins.admission.expressions.requests import admission_request
from controlplane.plugins.admission.matching.rules import Match, first_match
from controlplane.plugins.admission.matching.selection import Namespaces
from controlplane.plugins.admission.matching.versions import Versions
from controlplane.plugins.admission.webhooks.index import Relevant

__all__ = ["Decider"]


_EXPRESSIONS = (
    "controlplane.apis.admissionregistration.expressions",
    "controlplane.plugins.admission.expressions.conditions",
    "controlplane.plugins.admission.expressions.evaluation",
)


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
        if found is None or not await hook.selectors.select(attributes, self._namespaces):
            return None
        if not hook.conditional:
            return found
        load = importing(*_EXPRESSIONS)  # not before there are any
        if load is not None:
            await aside(load)
        conditions = hook.conditions
        from controlplane.plugins.admission.expressions.conditions import conditions_hold
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
