"""Several authenticators as one: in order, the first that knows the request counts.

Bad credentials do not end the search: a request with an expired certificate and a good token is the token's. Only
where nothing else authenticates it is the first refusal raised, and then the request is not anonymous either.

Source: the order and the rule of kubernetes/apiserver ``pkg/authentication/authenticatorfactory``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import Authenticator, KnowsAtOnce, authenticated
from controlplane.client.request import Request

__all__ = ["UnionAuthenticator"]


class UnionAuthenticator:
    """``authenticators`` in order: front proxy, client certificate, bearer token, websocket token. ``anonymous``, if
    given, answers for requests without any credentials.

    The user is a member of ``system:authenticated``, whatever the authenticator says, unless it is anonymous.
    """

    __slots__ = ("_anonymous", "_authenticators", "_first")

    def __init__(self, authenticators: Sequence[Authenticator], anonymous: Authenticator | None = None) -> None:
        self._authenticators, self._anonymous = tuple(authenticators), anonymous
        self._first: Callable[[Request], UserInfo | None] = _nobody
        for first in self._authenticators[:1]:
            if isinstance(first, KnowsAtOnce):
                self._first = first.known

    def known(self, request: Request) -> UserInfo | None:
        """See ``KnowsAtOnce``: whom the first of them knows."""
        user = self._first(request)
        return authenticated(user) if user is not None else None

    async def authenticate(self, request: Request) -> UserInfo | None:
        """The user; None: no credentials and no anonymous access (401, as for bad ones).

        Raises:
            APIError: 401: credentials were given and none of them is good.
        """
        refused: APIError | None = None
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(request)
            except APIError as error:
                refused = refused or error
                continue
            if user is not None:
                return authenticated(user)
        if refused is not None:
            raise refused
        return await self._anonymous.authenticate(request) if self._anonymous is not None else None


def _nobody(_: Request) -> UserInfo | None:
    return None
