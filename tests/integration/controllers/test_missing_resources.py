"""A resource that a server does not know is not an object that is not there: a peer that serves it may be away."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.apimachinery.status import APIError, unknown_resource
from controlplane.apiserver.filters.chain import Filter, FilterConfig
from controlplane.client.request import Handler, Request, Response
from controlplane.generic.config import Config
from controlplane.testing.planes import running_plane
from tests.aio import run
from tests.integration.controllers.objects import Objects, until


def _unreachable() -> APIError:
    return APIError(503, "ServiceUnavailable", "no peer answers")


@pytest.mark.parametrize("error", [unknown_resource, _unreachable], ids=["unknown", "unreachable"])
def test_dependents_stay_while_their_owner_cannot_be_looked_for(error: Callable[[], APIError]) -> None:
    """The owner lives, and its resource is still in discovery; but reading it is refused."""

    class Away:
        looked = 0
        on = False

        def filter(self, following: Handler, _config: FilterConfig) -> Handler:
            async def handle(request: Request) -> Response:
                info = request.info
                if self.on and info.resource == "configmaps" and info.verb == "get" and info.name == "owner":
                    self.looked += 1
                    raise error()
                return await following(request)

            return handle

    async def main() -> None:
        away = Away()

        def configure(config: Config) -> None:
            config.filters = (*config.filters, Filter("away", away.filter))

        async with running_plane(configure=configure) as plane:
            o = Objects(plane)
            owner = await o.make("owner")
            away.on = True
            stranger = {**owner, "metadata": {**owner["metadata"], "uid": "11111111-2222-3333-4444-555555555555"}}
            await o.make("child", stranger)  # of an owner of this name with another uid: garbage, if that can be told

            async def looked_twice() -> bool:
                return away.looked >= 2

            await until(looked_twice)
            assert await o.find("child") is not None
            away.on = False
            await o.gone("child")

    run(main())
