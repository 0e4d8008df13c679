"""Who may finalize a namespace of which the store still has something."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import MASTERS_GROUP, UserInfo
from controlplane.apiserver.filters.namespace_content import with_namespace_content
from controlplane.client.request import Response
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request

FINALIZE = "/api/v1/namespaces/shop/finalize"
CONTROLLER, ADMIN = UserInfo(name="namespace-controller"), UserInfo(name="admin", groups=(MASTERS_GROUP,))
LEFT = {"b.example.org/gadgets": 2, "pods": 1}


def asked(method: str, path: str, user: UserInfo, left: dict[str, int]) -> int:
    """The status of one request."""

    async def left_behind(namespace: str) -> dict[str, int]:
        assert namespace == "shop"
        return left

    async def main() -> Response:
        guarded = with_namespace_content(answering(), left_behind=left_behind)
        return await guarded(request(path, method=method, user=user))

    return run(main()).status


def test_content_that_nobody_serves_keeps_it() -> None:
    with pytest.raises(APIError) as refused:
        asked("PUT", FINALIZE, CONTROLLER, LEFT)
    why = "the store has content of it that no server serves now: 2 b.example.org/gadgets, 1 pods"
    assert (refused.value.code, refused.value.message) == (503, f"namespace shop is not empty: {why}")


@pytest.mark.parametrize(
    ("method", "path", "user", "left"),
    [
        pytest.param("PUT", FINALIZE, CONTROLLER, {}, id="empty"),
        pytest.param("PUT", FINALIZE, ADMIN, LEFT, id="an administrator"),
        pytest.param("PUT", "/api/v1/namespaces/shop/status", CONTROLLER, LEFT, id="its status"),
        pytest.param("GET", "/api/v1/namespaces/shop", CONTROLLER, LEFT, id="a read"),
    ],
)
def test_what_passes(method: str, path: str, user: UserInfo, left: dict[str, int]) -> None:
    assert asked(method, path, user, left) == 200
