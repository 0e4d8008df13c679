"""Webhooks at work: real TLS, real reviews."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from controlplane.apimachinery.identity import Obj
from tests.aio import run
from tests.integration.admission.hooks import (
    CONFIG_MAPS,
    RULE,
    allowed,
    answering,
    configured,
    denied,
    hook,
    hooked_plane,
    patched,
)
from tests.integration.plane import Plane
from tests.webhook_server import Answer

LABEL = {"op": "add", "path": "/metadata/labels", "value": {"by": "webhook"}}


def config_map(name: str, **more: Any) -> Obj:
    return {"metadata": {"name": name}, **more}


async def create(plane: Plane, name: str, query: str = "", **more: Any) -> tuple[int, Any]:
    return await plane.call("POST", f"{CONFIG_MAPS}{query}", config_map(name, **more))


def test_a_webhook_is_told_who_wants_what_and_may_change_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, patched(LABEL)) as (plane, webhook):
            await configured(plane, "Mutating", hook(webhook))
            status, made = await create(plane, "a", data={"k": "v"})
            assert (status, made["metadata"]["labels"], made["data"]) == (201, {"by": "webhook"}, {"k": "v"})
            (review,) = webhook.asked
            request = review["request"]
            assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
            assert request["kind"] == request["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
            assert request["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
            assert (request["name"], request["namespace"], request["operation"]) == ("a", "default", "CREATE")
            assert "system:masters" in request["userInfo"]["groups"]
            assert (request["object"]["data"], request["oldObject"], request["dryRun"]) == ({"k": "v"}, None, False)
            assert request["options"]["kind"] == "CreateOptions"
            assert webhook.queries == ["timeout=10s"]

    run(main())


def test_what_no_rule_names_is_not_asked_about(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, denied()) as (plane, webhook):
            await configured(
                plane,
                "Validating",
                hook(webhook, namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "default"}}),
                hook(webhook, "o.example.com", rules=[{**RULE, "resources": ["secrets"], "scope": "Cluster"}]),
            )
            assert (await create(plane, "a"))[0] == 400
            assert (await plane.call("POST", CONFIG_MAPS.replace("default", "kube-system"), config_map("a")))[0] == 201
            assert (await plane.call("POST", CONFIG_MAPS.replace("configmaps", "secrets"), config_map("a")))[0] == 201
            assert (await plane.call("DELETE", f"{CONFIG_MAPS}/a"))[0] == 404
            assert len(webhook.asked) == 1

    run(main())


@pytest.mark.parametrize(
    ("answer", "code", "reason", "message"),
    [
        pytest.param(denied(), 400, None, " without explanation", id="without explanation"),
        pytest.param(denied(message="no", code=403, reason="Forbidden"), 403, "Forbidden", ": no", id="with a code"),
        pytest.param(denied(reason="Because", code=200), 400, "Because", ": Because", id="by its reason"),
    ],
)
def test_a_denial_is_told_as_the_webhook_says_it(
    tmp_path: Path, answer: Answer, code: int, reason: str | None, message: str
) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, answer) as (plane, webhook):
            await configured(plane, "Validating", hook(webhook))
            status, body = await create(plane, "a")
            assert (status, body["code"], body.get("reason")) == (code, code, reason)
            assert body["message"] == f'admission webhook "h.example.com" denied the request{message}'
            assert (await plane.call("GET", f"{CONFIG_MAPS}/a"))[0] == 404
            _, text = await plane.call("GET", "/metrics")
            rejected = 'type="validating",operation="CREATE",error_type="no_error",rejection_code='
            assert f'webhook_rejection_count{{name="h.example.com",{rejected}"{code}"}}' in text
            assert 'apiserver_admission_controller_admission_duration_seconds_count{name="ValidatingAdmissionWe' in text

    run(main())


def _raw(body: str, status: int = 200) -> Answer:
    return lambda _asked: web.Response(text=body, status=status, content_type="application/json")


async def _slow(_asked: Obj) -> web.StreamResponse:
    await asyncio.sleep(5)
    return web.Response()


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        pytest.param(_slow, "Validating", "failed to call webhook: Post", id="too slow"),
        pytest.param(_raw("nonsense"), "Validating", "couldn't get version/kind; json parse error", id="not JSON"),
        pytest.param(
            _raw("{}"), "Validating", "received invalid webhook response: webhook response was absent", id="empty"
        ),
        pytest.param(
            answering(lambda _request: {"uid": "other", "allowed": True}),
            "Validating",
            "received invalid webhook response: expected response.uid=",
            id="another uid",
        ),
        pytest.param(
            allowed(patch="W10="), "Validating", "validating webhook may not return response.patch", id="patch"
        ),
        pytest.param(
            allowed(patch="W10="),
            "Mutating",
            "webhook returned response.patch but not response.patchType",
            id="patch without a type",
        ),
        pytest.param(
            allowed(patch="bm8=", patchType="JSONPatch"),
            "Mutating",
            "received undecodable patch in webhook response: ",
            id="patch that is none",
        ),
        pytest.param(
            allowed(patch="W3sib3AiOiJ0ZXN0In1d", patchType="Magic"),
            "Mutating",
            'unsupported patch type "Magic"',
            id="patch of another type",
        ),
        pytest.param(_raw("no", 500), "Mutating", "failed to call webhook: ", id="error"),
    ],
)
def test_a_webhook_that_fails_stops_the_request_unless_it_is_to_be_ignored(
    tmp_path: Path, answer: Answer, kind: str, text: str
) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, answer) as (plane, webhook):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations/hooks.example.com"
            await configured(plane, kind, hook(webhook, timeoutSeconds=1))
            status, body = await create(plane, "a", "?dryRun=All")
            assert (status, body["reason"]) == (500, "InternalError")
            assert body["message"].startswith('Internal error occurred: failed calling webhook "h.example.com": ')
            assert text in body["message"]
            await plane.call("DELETE", path)
            await configured(plane, kind, hook(webhook, timeoutSeconds=1, failurePolicy="Ignore"))
            assert (await create(plane, "a", "?dryRun=All"))[0] == 201

    run(main())


def test_a_certificate_of_somebody_else_is_not_believed(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, allowed()) as (plane, webhook):
            other = hook(webhook)
            del other["clientConfig"]["caBundle"]
            await configured(plane, "Validating", other)
            status, body = await create(plane, "a")
            assert (status, webhook.asked) == (500, [])
            assert "tls: failed to verify certificate" in body["message"]

    run(main())


@pytest.mark.parametrize(
    ("operations", "status", "text"),
    [
        pytest.param([{"op": "remove", "path": "/data"}], 500, "Unable to remove", id="does not apply"),
        pytest.param([{"op": "add", "path": "/data", "value": "text"}], 500, "cannot unmarshal", id="wrong type"),
        pytest.param(
            [{"op": "add", "path": "/metadata/labels", "value": {"no label!": "x"}}],
            422,
            "metadata.labels",
            id="breaks validation",
        ),
        pytest.param(
            [{"op": "replace", "path": "/kind", "value": "Secret"}], 500, "may come out of admission", id="another kind"
        ),
    ],
)
def test_a_patch_that_breaks_the_object_is_refused(
    tmp_path: Path, operations: list[Obj], status: int, text: str
) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, patched(*operations)) as (plane, webhook):
            await configured(plane, "Mutating", hook(webhook))
            answered, body = await create(plane, "a")
            assert answered == status
            assert text in body["message"]

    run(main())


def test_a_webhook_that_was_asked_before_another_changed_the_object_may_see_it_again(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []

    async def main() -> None:
        async with hooked_plane(tmp_path, allowed()) as (plane, webhook):

            def answer(asked: Obj) -> Any:
                labels = asked["request"]["object"]["metadata"].get("labels") or {}
                seen.append((asked["request"]["uid"], dict(labels)))
                first = len(seen) == 1
                return (allowed() if first or "by" in labels else patched(LABEL))(asked)

            webhook.answer = answer
            again = hook(webhook, "a.example.com", reinvocationPolicy="IfNeeded")
            await configured(plane, "Mutating", again, hook(webhook, "b.example.com"))
            assert (await create(plane, "a"))[0] == 201
            assert [labels for _, labels in seen] == [{}, {}, {"by": "webhook"}]

    run(main())


def test_configurations_of_admission_are_out_of_reach_of_webhooks(tmp_path: Path) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}

    async def main() -> None:
        async with hooked_plane(tmp_path, denied(message="all")) as (plane, webhook):
            await configured(plane, "Validating", hook(webhook, rules=[everything]))
            assert (await create(plane, "a"))[0] == 400
            path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks.example.com"
            assert (await plane.call("DELETE", path))[0] == 200
            assert (await create(plane, "a"))[0] == 201

    run(main())


def test_dry_runs_are_told_warnings_passed_on_and_old_reviews_understood(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, allowed(warnings=["mind the gap"])) as (plane, webhook):
            await configured(plane, "Validating", hook(webhook, admissionReviewVersions=["v9", "v1beta1"]))
            url = f"{plane.running.url}{CONFIG_MAPS}?dryRun=All"
            async with plane.http.post(url, json=config_map("a"), ssl=plane.admin_tls) as response:
                assert response.status == 201
                assert response.headers.getall("Warning") == ['299 - "mind the gap"']
            (review,) = webhook.asked
            assert (review["apiVersion"], review["request"]["dryRun"]) == ("admission.k8s.io/v1beta1", True)

    run(main())


def test_match_conditions_spare_a_call(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, denied(message="asked")) as (plane, webhook):
            conditions = [
                {"name": "not-b", "expression": "object.metadata.name != 'b'"},
                {"name": "may", "expression": "authorizer.group('').resource('secrets').check('list').allowed()"},
            ]
            await configured(plane, "Validating", hook(webhook, matchConditions=conditions))
            assert (await create(plane, "a"))[0] == 400
            assert (await create(plane, "b"))[0] == 201
            assert len(webhook.asked) == 1

    run(main())


def test_the_last_state_is_what_is_asked_about_when_an_object_is_deleted(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, denied(message="kept")) as (plane, webhook):
            assert (await plane.call("POST", CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["x/y"]}}))[0] == 201
            await configured(plane, "Validating", hook(webhook, rules=[{**RULE, "operations": ["DELETE"]}]))
            assert (await plane.call("DELETE", f"{CONFIG_MAPS}/a"))[0] == 400
            webhook.answer = allowed()
            assert (await plane.call("DELETE", f"{CONFIG_MAPS}/a"))[0] == 200
            assert [review["request"]["oldObject"]["metadata"]["name"] for review in webhook.asked][-1] == "a"
            assert webhook.asked[-1]["request"]["object"] is None
            assert webhook.asked[-1]["request"]["options"]["kind"] == "DeleteOptions"

    run(main())


def test_a_request_by_another_version_is_shown_in_the_version_that_the_rule_names(tmp_path: Path) -> None:
    rule = {"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"},
        "reason": "r",
        "message": "m",
        "type": "Normal",
    }

    async def main() -> None:
        async with hooked_plane(tmp_path, allowed()) as (plane, webhook):
            exact = hook(webhook, "x.example.com", rules=[rule], matchPolicy="Exact")
            await configured(plane, "Validating", hook(webhook, rules=[rule]), exact)
            status, made = await plane.call("POST", "/api/v1/namespaces/default/events", event)
            assert status == 201, made
            (review,) = webhook.asked
            request = review["request"]
            assert (request["kind"]["group"], request["requestKind"]["group"]) == ("events.k8s.io", "")
            assert request["object"]["apiVersion"] == "events.k8s.io/v1"
            assert request["object"]["note"] == "m"

    run(main())


def _two_versions() -> Obj:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": "widgets", "kind": "Widget"}
    both = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": both},
    }


def test_a_change_in_another_version_comes_back_in_the_version_of_the_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with hooked_plane(tmp_path, patched(LABEL)) as (plane, webhook):
            definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            status, made = await plane.call("POST", definitions, _two_versions())
            assert status == 201, made
            rule = {**RULE, "apiGroups": ["example.com"], "apiVersions": ["v2"], "resources": ["widgets"]}
            await configured(plane, "Mutating", hook(webhook, rules=[rule]))
            widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"n": 1}}
            status, made = await plane.call("POST", "/apis/example.com/v1/namespaces/default/widgets", widget)
            assert status == 201, made
            assert (made["apiVersion"], made["metadata"]["labels"], made["spec"]) == (
                "example.com/v1",
                {"by": "webhook"},
                {"n": 1},
            )
            request = webhook.asked[0]["request"]
            assert (request["object"]["apiVersion"], request["requestKind"]["version"]) == ("example.com/v2", "v1")

    run(main())
