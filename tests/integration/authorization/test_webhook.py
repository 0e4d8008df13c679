"""Webhooks that decide, on a running control plane: asked, remembered, failing, chosen by conditions, changed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.generic.config import Config
from controlplane.plugins.authorization.configuration import chain
from controlplane.plugins.authorization.webhook import authorizer
from controlplane.plugins.authorization.webhook.config import WebhookConfig
from controlplane.testing.planes import Plane, running_plane
from tests.aio import run
from tests.webhook_server import Webhook, running_webhook

KIM = UserInfo(name="kim", groups=("dev", "system:authenticated"), extra={"k": ("v",)})
PATH = "/api/v1/namespaces/default/configmaps"


def answering(version: str = "v1", **status: Any) -> Any:
    def answer(_review: Obj) -> web.Response:
        review = {"apiVersion": f"authorization.k8s.io/{version}", "kind": "SubjectAccessReview", "status": status}
        return web.json_response(review)

    return answer


def kubeconfig(directory: Path, webhook: Webhook) -> Path:
    cluster = {"server": webhook.url, "certificate-authority-data": webhook.ca_bundle}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    file = directory / "webhook.kubeconfig"
    file.write_text(json.dumps(config))
    return file


def configured(directory: Path, webhook: Webhook, **fields: Any) -> Path:
    """An AuthorizationConfiguration with the webhook, then RBAC."""
    connection = {"type": "KubeConfigFile", "kubeConfigFile": str(kubeconfig(directory, webhook))}
    said = {"timeout": "3s", "subjectAccessReviewVersion": "v1", "failurePolicy": "NoOpinion"} | fields
    authorizers = [
        {"type": "Webhook", "name": "outside", "webhook": {**said, "connectionInfo": connection}},
        {"type": "RBAC", "name": "rbac"},
    ]
    file = directory / "authorization.yaml"
    whole = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    file.write_text(json.dumps({**whole, "authorizers": authorizers}))
    return file


@asynccontextmanager
async def decided(directory: Path, answer: Any, **fields: Any) -> AsyncIterator[tuple[Plane, Webhook]]:
    async with running_webhook(directory, answer) as webhook:

        def configure(config: Config) -> None:
            config.run_controllers = False  # they would be asked about too
            config.authorization_config_file = str(configured(directory, webhook, **fields))

        async with running_plane(directory, configure=configure) as plane:
            yield plane, webhook


async def status_of(
    plane: Plane, user: UserInfo = KIM, path: str = PATH, query: tuple[tuple[str, str], ...] = ()
) -> tuple[int, str]:
    response = await plane.client(user).request("GET", path, query=query)
    body = json.loads(response.content()) if response.status != 500 else {}
    return response.status, body.get("message", "")


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_it_is_asked_in_its_version_and_its_answer_counts_for_a_while(tmp_path: Path, version: str) -> None:
    async def scenario() -> None:
        async with running_webhook(tmp_path, answering(version, allowed=True)) as webhook:

            def configure(config: Config) -> None:
                config.run_controllers = False
                config.authorization_modes = ("Webhook",)
                config.authorization_webhook = WebhookConfig(
                    kubeconfig_file=str(kubeconfig(tmp_path, webhook)), version=version
                )

            async with running_plane(tmp_path, configure=configure) as plane:
                webhook.asked.clear()
                query = (("labelSelector", "a=b,!c"), ("fieldSelector", "metadata.name!=x"))
                assert (await status_of(plane, query=query))[0] == 200
                assert (await status_of(plane, query=query))[0] == 200
                (asked,) = [review for review in webhook.asked if review["spec"].get("user") == "kim"]
                assert asked["apiVersion"] == f"authorization.k8s.io/{version}"
                requirements = [
                    {"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "c", "operator": "DoesNotExist"},
                ]
                assert asked["spec"] == {
                    "resourceAttributes": {
                        "namespace": "default",
                        "verb": "list",
                        "version": "v1",
                        "resource": "configmaps",
                        "fieldSelector": {
                            "requirements": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]
                        },
                        "labelSelector": {"requirements": requirements},
                    },
                    "user": "kim",
                    "groups" if version == "v1" else "group": ["dev", "system:authenticated"],
                    "extra": {"k": ["v"]},
                }

    run(scenario())


def test_a_denial_counts_whatever_others_say_and_no_opinion_leaves_it_to_them(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with decided(tmp_path, answering(allowed=False, denied=True, reason="not today")) as (plane, webhook):
            status, message = await status_of(plane, path="/version")
            assert (status, message) == (403, 'forbidden: User "kim" cannot get path "/version": not today')
            webhook.answer = answering(allowed=False, reason="who knows")
            assert (await status_of(plane, path="/version/"))[0] == 200, "a role allows it"
            status, message = await status_of(plane)
            assert (status, message.endswith('in the namespace "default": who knows')) == (403, True)
            webhook.answer = answering(allowed=True, denied=True)
            assert (await status_of(plane, path="/livez"))[0] == 500

    run(scenario())


@pytest.mark.parametrize(("policy", "status"), [("NoOpinion", 200), ("Deny", 500)])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda _: web.Response(status=403), id="refuses"),
        pytest.param(lambda _: web.Response(text="no"), id="no JSON"),
        pytest.param(answering("v9", allowed=True), id="another version"),
        pytest.param(answering(allowed="yes"), id="no boolean"),
        pytest.param(lambda _: web.Response(status=503), id="is away"),
    ],
)
def test_what_gives_no_answer_is_passed_over_or_denies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, policy: str, status: int
) -> None:
    monkeypatch.setattr(authorizer, "FIRST_PAUSE_SECONDS", 0.001)

    async def scenario() -> None:
        async with decided(tmp_path, answer, failurePolicy=policy) as (plane, webhook):
            assert (await status_of(plane, path="/version"))[0] == status
            assert (await status_of(plane, UserInfo(name="root", groups=("system:masters",))))[0] == 200
            assert webhook.asked, "it was asked"

    run(scenario())


def test_conditions_say_who_is_asked_about(tmp_path: Path) -> None:
    conditions = [
        {"expression": "has(request.resourceAttributes)"},
        {"expression": "request.resourceAttributes.namespace == 'default'"},
        {"expression": "!('system:serviceaccounts:kube-system' in request.groups)"},
    ]
    fields = {"matchConditions": conditions, "matchConditionSubjectAccessReviewVersion": "v1"}

    async def scenario() -> None:
        async with decided(tmp_path, answering(allowed=True), **fields) as (plane, webhook):
            assert (await status_of(plane))[0] == 200
            assert (await status_of(plane, path="/api/v1/namespaces/other/configmaps"))[0] == 403
            assert (await status_of(plane, path="/version"))[0] == 200
            assert {review["spec"]["resourceAttributes"]["namespace"] for review in webhook.asked} == {"default"}

    run(scenario())


def test_a_changed_file_takes_effect_and_one_that_is_wrong_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "LOOK_SECONDS", 0.02)

    async def until(plane: Plane, path: str, status: int) -> None:
        async with asyncio.timeout(10):
            while (await status_of(plane, path=path))[0] != status:  # noqa: ASYNC110  # the file is looked at by time
                await asyncio.sleep(0.02)

    async def scenario() -> None:
        async with decided(tmp_path, answering(allowed=True)) as (plane, webhook):
            assert (await status_of(plane))[0] == 200
            file = tmp_path / "authorization.yaml"
            whole = json.loads(file.read_text())
            webhook.answer = answering(allowed=False)
            file.write_text(json.dumps({**whole, "authorizers": [*whole["authorizers"], {"type": "AlwaysAllow"}]}))
            await asyncio.sleep(0.2)
            assert (await status_of(plane))[0] == 200, "what it has allowed is remembered: nothing was replaced"
            file.write_text(json.dumps({**whole, "authorizers": whole["authorizers"][1:]}))
            await until(plane, PATH, 403)
            asked = len(webhook.asked)
            assert (await status_of(plane, path="/version"))[0] == 200
            assert len(webhook.asked) == asked, "it is nobody now"

    run(scenario())
