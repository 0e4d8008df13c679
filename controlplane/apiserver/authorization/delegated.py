"""Authorization by another API server: it is asked by a SubjectAccessReview, and its answers are kept for a while.

Source: kubernetes/apiserver ``plugin/pkg/authorizer/webhook`` and ``pkg/server/options/authorization.go`` (times).
"""

from __future__ import annotations

from collections import OrderedDict

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.api import APIClient
from controlplane.client.results import object_of, raise_for_status

__all__ = ["DelegatedAuthorizer"]

KEPT_SECONDS = 10.0
KEPT_ANSWERS = 8192
_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class DelegatedAuthorizer:
    """Asks the API server of ``client``, as whom that is."""

    def __init__(self, client: APIClient, *, clock: Clock | None = None) -> None:
        self._client, self._clock = client, clock or SystemClock()
        self._kept: OrderedDict[bytes, tuple[float, tuple[Decision, str]]] = OrderedDict()

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        """Raises APIError, ClientError: the other server could not be asked."""
        question = dumps(_review(attributes))
        kept, now = self._kept.get(question), self._clock.monotonic()
        if kept is not None and now - kept[0] < KEPT_SECONDS:
            return kept[1]
        response = await self._client.request("POST", _PATH, body=question)
        raise_for_status(response, "POST")
        answer = _decision(object_of(response).get("status") or {})
        self._kept[question] = (now, answer)
        self._kept.move_to_end(question)
        if len(self._kept) > KEPT_ANSWERS:
            self._kept.popitem(last=False)
        return answer


def _decision(status: Obj) -> tuple[Decision, str]:
    reason = str(status.get("reason") or "")
    if status.get("denied"):
        return Decision.DENY, reason
    return (Decision.ALLOW if status.get("allowed") else Decision.NO_OPINION), reason


def _review(attributes: Attributes) -> Obj:
    user = attributes.user
    spec: Obj = {"user": user.name, "groups": list(user.groups)}
    if user.uid:
        spec["uid"] = user.uid
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}
    if attributes.is_resource:
        fields = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
        asked = {field: value for field in fields if (value := getattr(attributes, field))}
        for field, text in (("fieldSelector", attributes.field_selector), ("labelSelector", attributes.label_selector)):
            if text:
                asked[field] = {"rawSelector": text}
        spec["resourceAttributes"] = asked
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
