"""Token reviews: whose a token is, as the server's own authenticators see it.

Source: kubernetes' ``pkg/registry/authentication/tokenreview/storage.go``.
"""

from __future__ import annotations

from copy import deepcopy

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.status import bad_request
from controlplane.apis.authentication.user_info import shown_user
from controlplane.apiserver.authentication.api import Audiences, BadCredentials
from controlplane.apiserver.authentication.tokens import TokenUnion
from controlplane.apiserver.endpoints.calls import Call

__all__ = ["TokenReviews"]


class TokenReviews:
    """``audiences``: the API server's own, for reviews that name none."""

    __slots__ = ("_audiences", "_tokens")

    def __init__(self, tokens: TokenUnion, audiences: Audiences) -> None:
        self._tokens, self._audiences = tokens, audiences

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``; a token that is not good is no error: the status says so."""
        spec = obj["spec"]
        token = spec.get("token") or ""
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        await call.admit(deepcopy(obj))
        audiences = tuple(spec.get("audiences") or ()) or self._audiences
        try:
            identity = await self._tokens.authenticate_token(token, audiences)
        except BadCredentials as error:
            obj["status"] = {"user": {}, "error": str(error)}
            return obj
        obj["status"] = {
            "authenticated": True,
            "user": shown_user(identity.user),
            "audiences": list(identity.audiences),
        }
        return obj
