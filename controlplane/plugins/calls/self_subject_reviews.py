"""Reviews of oneself.

Source: kubernetes' ``pkg/registry/authentication/selfsubjectreview/rest.go``.
"""

from __future__ import annotations

from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apis.authentication.user_info import shown_user
from controlplane.apiserver.endpoints.calls import Call
from controlplane.base.clock import Clock, rfc3339

__all__ = ["SelfSubjectReviews"]


class SelfSubjectReviews:
    """Answers with who asks, and nothing of what was sent."""

    __slots__ = ("_clock",)

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``."""
        await call.admit(deepcopy(obj))
        return {
            "kind": obj["kind"],
            "apiVersion": obj["apiVersion"],
            "metadata": {"creationTimestamp": rfc3339(int(self._clock.now()))},
            "status": {"userInfo": shown_user(call.user)},
        }
