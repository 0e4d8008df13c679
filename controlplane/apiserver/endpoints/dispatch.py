"""From a resource request to its verb: what it is aimed at, in which form it is answered, who does it.

The order of refusals is upstream's: the path (404), the method (405), the type of a patch (415), the accepted types
(406), then what the verb itself checks.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from controlplane.apimachinery.identity import GroupResource, GroupVersion
from controlplane.apimachinery.resource import Projection
from controlplane.apimachinery.status import APIError, timeout
from controlplane.apiserver.admission.api import Guard, Hook
from controlplane.apiserver.admission.chain import EMPTY, Chain
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.endpoints.call import call, is_call
from controlplane.apiserver.endpoints.calls import Calls
from controlplane.apiserver.endpoints.create import create
from controlplane.apiserver.endpoints.delete import delete
from controlplane.apiserver.endpoints.deletecollection import deletecollection
from controlplane.apiserver.endpoints.get import get
from controlplane.apiserver.endpoints.list import list_objects
from controlplane.apiserver.endpoints.patch import patch
from controlplane.apiserver.endpoints.projected import PROJECTED_VERBS
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.endpoints.target import find_target
from controlplane.apiserver.endpoints.update import update
from controlplane.apiserver.endpoints.watch import watch
from controlplane.apiserver.registry.peers import FROM_PEER, Elsewhere
from controlplane.apiserver.registry.remote import RemoteVersion
from controlplane.apiserver.registry.settings import RegistrySettings
from controlplane.apiserver.registry.sources import Source
from controlplane.apiserver.registry.table import ResourceTable, TableHolder
from controlplane.base.aside import release
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.deadlines import Deadlines
from controlplane.client.negotiation import (
    CALL,
    OBJECT,
    STREAM,
    TEXT_OBJECT,
    TEXT_STREAM,
    Answer,
    Form,
    negotiate,
    patch_type,
)
from controlplane.client.request import Request, Response
from controlplane.client.request_info import RequestInfo

__all__ = ["APIEndpoints", "Verb"]

Verb = Callable[[Services, Request, Target, Answer], Awaitable[Response]]

_VERBS: dict[str, Verb] = {
    "get": get,
    "list": list_objects,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": deletecollection,
}
_BOUNDED_VERBS = frozenset({"create", "update", "patch", "delete"})
_NOT_HERE = frozenset({404, 405})
"""Refusals of a path or a method that are this server's alone."""
WRITE_SECONDS = 34.0
"""How long one write may take, whatever the request's own deadline; upstream's number, so chosen that it is told from
all the others."""


_REMEMBERED_WAYS = 4096
_REMEMBERED_CHARACTERS = 512
"""Of a path; at most some 4 MB are kept, and only what was found."""


class _Way(NamedTuple):
    """What is to be done for a method, verb and path. ``form``: what the target can be answered with; ``bounded``: it
    may take no longer than one write."""

    target: Target
    verb: Verb
    form: Form
    bounded: bool


class APIEndpoints:
    """Answers resource requests over the current table. Errors are raised as APIError; a filter writes them.

    Args:
        tables: what is served. ``sources``: who changes it, asked before a resource is said to be unknown.
            ``authorizer`` is asked again where an update creates. ``calls``, ``guards``, ``checks``,
            ``min_request_timeout_seconds``: see ``Services``. ``garbage_collection``: see ``RegistrySettings``.
    """

    __slots__ = ("_services", "_settles", "_sources", "_writes")

    def __init__(
        self,
        *,
        tables: TableHolder,
        admission: Chain = EMPTY,
        authorizer: Authorizer | None = None,
        calls: Calls | None = None,
        guards: Mapping[GroupResource, Guard] | None = None,
        checks: Mapping[GroupResource, Hook] | None = None,
        clock: Clock | None = None,
        min_request_timeout_seconds: float = 1800.0,
        garbage_collection: bool = True,
        write_seconds: float = WRITE_SECONDS,
        source: random.Random | None = None,
        sources: Sequence[Source] = (),
    ) -> None:
        self._writes = Deadlines(write_seconds)
        self._sources = sources
        self._settles = {gr: source for source in sources for gr in source.settles}
        source = source or random.SystemRandom()
        self._services = Services(
            tables=tables,
            registry=RegistrySettings(
                clock=clock or SystemClock(), random=source, garbage_collection=garbage_collection
            ),
            admission=admission,
            authorizer=authorizer,
            calls=calls or {},
            guards=guards or {},
            checks=checks or {},
            min_request_timeout_seconds=min_request_timeout_seconds,
            random=source,
        )

    async def handle(self, request: Request) -> Response:
        """Answer a request whose ``info`` says that it is for a resource.

        Raises:
            APIError.
        """
        info = request.info
        way: _Way | Elsewhere | None = self._services.tables.current.memo.get((request.method, info.verb, info.path))
        if not isinstance(way, _Way):
            answering = way.answer(request) if way is not None else None
            if answering is not None:
                return await answering
            found = await self._find(request)
            if isinstance(found, Response):
                return found
            way = found
        target = way.target
        if info.verb == "patch":
            patch_type(request.headers.get("Content-Type"), native=target.served.resource.native)
        agreed = negotiate(request.headers.get("Accept"), way.form)
        if target.served.version.deprecation_warning:
            request.warnings.append(target.served.version.deprecation_warning)
        if not way.bounded:
            return await way.verb(self._services, request, target, agreed)
        running = self._writes.enter(asyncio.current_task())
        try:
            response = await way.verb(self._services, request, target, agreed)
            if self._settles:
                settles = self._settles.get(target.served.gr)
                if settles is not None:
                    await settles.settled()  # what the answer shows is older, what comes after it is not
            return response
        except asyncio.CancelledError:
            if running.was_cause():
                raise timeout("request did not complete within requested timeout - context deadline exceeded") from None
            raise
        finally:
            self._writes.leave(running)
            release()

    async def _find(self, request: Request) -> _Way | Response:
        """The way of a request that is answered here, or somebody else's answer; kept with the table if it was found.

        Raises:
            APIError.
        """
        info, tables = request.info, self._services.tables
        remote = self._remote(info)
        if remote is None and self._sources and not self.serves(info):
            elsewhere = tables.current.elsewhere
            if elsewhere is not None and elsewhere.serves(info):  # a peer looks at the store itself
                answering = elsewhere.answer(request)
                if answering is not None:
                    _remember(tables.current, request, elsewhere)
                    return await answering
            await self._catch_up(request)
            remote = self._remote(info)
        if remote is not None:
            return await remote.handle(request)
        try:
            target = find_target(tables, info, request.method)
        except APIError as error:
            for_others = error.code in _NOT_HERE and not (error.code == 405 and self._is_refused_by_all(request))
            answer = await self._answered_elsewhere(request) if for_others else None
            if answer is None:
                raise
            return answer
        if target is None:
            return await self._answered_elsewhere(request) or _page_not_found()
        way = _Way(target, _handler(target, info.verb), _form(target, info.verb), info.verb in _BOUNDED_VERBS)
        _remember(tables.current, request, way)
        return way

    def _is_refused_by_all(self, request: Request) -> bool:
        """Whether nobody takes a method for a resource that is served here: HEAD of a native kind; what another server
        has sent on, since it knows nobody who takes it, and nor does this one."""
        if request.method == "HEAD":
            return True
        elsewhere = self._services.tables.current.elsewhere
        return FROM_PEER in request.values and elsewhere is not None and elsewhere.nobody_takes(request.info)

    async def _answered_elsewhere(self, request: Request) -> Response | None:
        """The answer of another server to what cannot be served here; None if there is no such server."""
        elsewhere = self._services.tables.current.elsewhere
        answering = elsewhere.answer(request) if elsewhere is not None else None
        return await answering if answering is not None else None

    async def _catch_up(self, request: Request) -> None:
        """Before a resource is said to be unknown: nobody may have accepted it before the request came.

        Raises:
            APIError: it cannot be known now.
        """
        for source in self._sources:
            if not await source.catch_up(request):
                raise timeout("the resources that are served could not be proved current", 1)

    def _remote(self, info: RequestInfo) -> RemoteVersion | None:
        """Who else serves the request's version, if somebody does."""
        remotes = self._services.tables.current.remotes
        return remotes.get(GroupVersion(info.group, info.version)) if remotes else None

    def serves(self, info: RequestInfo) -> bool:
        """Whether a resource request names a resource of the current table."""
        return self._services.tables.current.lookup(info.group, info.version, info.resource) is not None


def _remember(table: ResourceTable, request: Request, way: _Way | Elsewhere) -> None:
    """Keep with the table how a request is answered. ``Elsewhere``: by another server, as long as it is not known here
    that all serve it."""
    info = request.info
    if len(info.path) <= _REMEMBERED_CHARACTERS:
        memo = table.memo
        if len(memo) >= _REMEMBERED_WAYS:
            memo.clear()
        memo[request.method, info.verb, info.path] = way


def _handler(target: Target, verb: str) -> Verb:
    if _projection(target) is not None:
        return PROJECTED_VERBS[verb]
    return call if is_call(target) else _VERBS[verb]


def _projection(target: Target) -> Projection | None:
    return None if target.subresource is None else target.subresource.projection


def _form(target: Target, verb: str) -> Form:
    """What a target can be answered with."""
    if is_call(target):
        return CALL
    kind = target.subresource.kind if target.subresource is not None else None
    version = target.served.version if kind is None else kind.versions[0]
    if version.message is not None and target.served.resource.native:
        return STREAM if verb == "watch" else OBJECT
    return TEXT_STREAM if verb == "watch" else TEXT_OBJECT


def _page_not_found() -> Response:
    """What there is for a group that nobody serves: no Status, as for any other unknown path."""
    return Response(
        404,
        b"404 page not found\n",
        content_type="text/plain; charset=utf-8",
        headers=[("X-Content-Type-Options", "nosniff")],
    )
