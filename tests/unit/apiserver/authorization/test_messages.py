"""The texts of a 403, as recorded from the reference."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.user import ANONYMOUS, UserInfo
from controlplane.apiserver.authorization.api import attributes_of
from controlplane.apiserver.authorization.messages import forbidden_error
from controlplane.client.request_info import parse_request_info

ALICE = UserInfo(name="alice")


@pytest.mark.parametrize(
    ("user", "method", "path", "message", "details"),
    [
        pytest.param(
            ANONYMOUS,
            "GET",
            "/healthz/ping",
            'forbidden: User "system:anonymous" cannot get path "/healthz/ping"',
            {},
            id="path",
        ),
        pytest.param(
            ANONYMOUS,
            "GET",
            "/api/v1/namespaces/n/configmaps",
            'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" '
            'in the namespace "n"',
            {"kind": "configmaps"},
            id="list in a namespace",
        ),
        pytest.param(
            ALICE,
            "GET",
            "/apis/apps/v1/namespaces/n/deployments/d/scale",
            'deployments.apps "d" is forbidden: User "alice" cannot get resource "deployments/scale" '
            'in API group "apps" in the namespace "n"',
            {"name": "d", "group": "apps", "kind": "deployments"},
            id="subresource",
        ),
        pytest.param(
            ALICE,
            "DELETE",
            "/api/v1/nodes/x",
            'nodes "x" is forbidden: User "alice" cannot delete resource "nodes" in API group "" at the cluster scope',
            {"name": "x", "kind": "nodes"},
            id="cluster scope",
        ),
        pytest.param(
            UserInfo(name='<b>&"\\\n\x01é\u2028\U000e0001'),
            "GET",
            "/a<script>",
            'forbidden: User "&lt;b&gt;&amp;\\"\\\\\\n\\x01é\\u2028\\U000e0001" cannot get path "/a&lt;script&gt;"',
            {},
            id="escaped for HTML, quoted as Go does",
        ),
    ],
)
def test_messages(user: UserInfo, method: str, path: str, message: str, details: dict[str, str]) -> None:
    error = forbidden_error(attributes_of(user, parse_request_info(method, path)))
    assert (error.code, error.reason, error.message, error.details) == (403, "Forbidden", message, details)


def test_the_authorizers_reason_follows() -> None:
    error = forbidden_error(attributes_of(ALICE, parse_request_info("GET", "/x")), "no <rule>")
    assert error.message == 'forbidden: User "alice" cannot get path "/x": no <rule>'
