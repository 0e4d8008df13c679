"""Admission policies at work: what the recorded conversations do not show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from controlplane.apimachinery.identity import Obj
from tests.aio import run
from tests.integration.admission.hooks import CONFIG_MAPS
from tests.integration.plane import Plane, config_in, running_plane

GROUP = "/apis/admissionregistration.k8s.io/v1"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}


@asynccontextmanager
async def plane_in(directory: Path) -> AsyncIterator[Plane]:
    config = config_in(directory)
    config.run_controllers = False
    async with running_plane(directory, config) as plane:
        yield plane


async def put_in_force(plane: Plane, kind: str, name: str, spec: Obj, *bindings: Obj) -> None:
    """Store a policy (``kind``: Validating or Mutating) and its bindings."""
    full = f"{kind}AdmissionPolicy"
    path = f"{GROUP}/{kind.lower()}admissionpolicies"
    spec = {"matchConstraints": {"resourceRules": [RULE]}, **spec}
    status, answer = await plane.call("POST", path, {"metadata": {"name": name}, "kind": full, "spec": spec})
    assert status == 201, answer
    for i, binding in enumerate(bindings or ({},)):
        actions = {"validationActions": ["Deny"]} if kind == "Validating" else {}
        body = {
            "metadata": {"name": f"{name}-{i}"},
            "kind": f"{full}Binding",
            "spec": {"policyName": name, **actions, **binding},
        }
        status, answer = await plane.call("POST", f"{GROUP}/{kind.lower()}admissionpolicybindings", body)
        assert status == 201, answer


async def create(plane: Plane, name: str, **more: Any) -> tuple[int, Any]:
    return await plane.call("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": name}, **more})


def test_parameters_are_selected_each_for_itself_in_the_namespace_of_the_object(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            secrets = CONFIG_MAPS.replace("configmaps", "secrets")
            for name, most in (("p", "Mw=="), ("q", "NQ==")):  # 3 and 5
                body = {"metadata": {"name": name, "labels": {"limits": "yes"}}, "data": {"most": most}}
                assert (await plane.call("POST", secrets, body))[0] == 201
            check = "size(object.metadata.name) <= (params.data.most == 'Mw==' ? 3 : 5)"
            reference = {"selector": {"matchLabels": {"limits": "yes"}}, "parameterNotFoundAction": "Deny"}
            await put_in_force(
                plane,
                "Validating",
                "by-selector",
                {"paramKind": {"apiVersion": "v1", "kind": "Secret"}, "validations": [{"expression": check}]},
                {"paramRef": reference},
            )
            assert (await create(plane, "abc"))[0] == 201
            status, body = await create(plane, "abcd")
            assert (status, body["message"].count("failed expression")) == (422, 1)
            elsewhere = CONFIG_MAPS.replace("default", "kube-system")
            status, body = await plane.call("POST", elsewhere, {"metadata": {"name": "a"}})
            assert status == 422
            assert "no params found for policy binding with `Deny` parameterNotFoundAction" in body["message"]

    run(main())


def test_a_policy_whose_parameters_are_of_no_kind_denies_or_is_passed_over(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            spec = {
                "paramKind": {"apiVersion": "none.example/v1", "kind": "Nothing"},
                "validations": [{"expression": "true"}],
            }
            await put_in_force(plane, "Validating", "unknown", spec)
            status, body = await create(plane, "a")
            assert status == 422
            assert body["message"].endswith(
                "ValidatingAdmissionPolicy 'unknown' denied request: failed to configure policy: failed to find "
                "resource referenced by paramKind: 'none.example/v1, Kind=Nothing'"
            )
            patch = {"spec": {"failurePolicy": "Ignore"}}
            headers = {"Content-Type": "application/merge-patch+json"}
            await plane.call("PATCH", f"{GROUP}/validatingadmissionpolicies/unknown", patch, headers=headers)
            assert (await create(plane, "a"))[0] == 201

    run(main())


def test_variables_are_evaluated_when_they_are_used_and_their_errors_named(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            spec = {
                "variables": [
                    {"name": "size", "expression": "object.data.size()"},
                    {"name": "large", "expression": "variables.size > 1"},
                ],
                "validations": [
                    {
                        "expression": "!has(object.data) || !variables.large",
                        "messageExpression": "string(variables.size)",
                    },
                    {"expression": "object.metadata.name != 'b' || variables.large"},
                ],
            }
            await put_in_force(plane, "Validating", "lazy", spec)
            assert (await create(plane, "a"))[0] == 201
            status, body = await create(plane, "a", data={"a": "1", "b": "2"})
            assert (status, body["message"].rpartition(": ")[2]) == (422, "2")
            _, body = await create(plane, "b")
            assert body["message"].endswith(
                'resulted in error: composited variable "large" fails to evaluate: composited variable "size" fails '
                "to evaluate: no such key: data"
            )

    run(main())


def test_what_costs_too_much_is_denied(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            loop = "object.data.all(a, object.data.all(b, object.data.all(c, a != b || b != c || a == c)))"
            await put_in_force(plane, "Validating", "dear", {"validations": [{"expression": loop}]})
            status, body = await create(plane, "a", data={f"k{i}": "v" for i in range(120)})
            assert status == 422
            assert "running out of cost budget" in body["message"] or "actual cost limit exceeded" in body["message"]
            assert (await create(plane, "a", data={"k": "v"}))[0] == 201

    run(main())


def test_resource_names_and_excluded_rules_narrow_a_policy(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            constraints = {
                "resourceRules": [{**RULE, "resourceNames": ["a", "b"]}],
                "excludeResourceRules": [{**RULE, "resourceNames": ["b"]}],
            }
            spec = {"matchConstraints": constraints, "validations": [{"expression": "false"}]}
            await put_in_force(plane, "Validating", "named", spec)
            assert [(await create(plane, name))[0] for name in "abc"] == [422, 201, 201]

    run(main())


def test_a_request_in_another_version_is_seen_in_the_one_that_the_rule_names(tmp_path: Path) -> None:
    rule = {"apiGroups": ["events.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["events"]}
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Namespace", "name": "default", "namespace": "default"},
        "message": "m",
    }

    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            spec = {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "object.note != 'm' || request.requestKind.group != ''"}],
            }
            await put_in_force(plane, "Validating", "events", spec)
            assert (await plane.call("POST", "/api/v1/namespaces/default/events", event))[0] == 422

    run(main())


def test_mutations_are_seen_by_those_after_them_and_again_by_those_who_want_it(tmp_path: Path) -> None:
    def append(letter: str) -> Obj:
        label = f"has(object.metadata.labels) ? object.metadata.labels.seen + '{letter}' : '{letter}'"
        apply = f"Object{{metadata: Object.metadata{{labels: {{'seen': {label}}}}}}}"
        return {"mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": apply}}]}

    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            await put_in_force(plane, "Mutating", "a", {**append("a"), "reinvocationPolicy": "IfNeeded"})
            await put_in_force(plane, "Mutating", "b", {**append("b"), "reinvocationPolicy": "Never"})
            status, made = await create(plane, "x")
            assert (status, made["metadata"]["labels"]) == (201, {"seen": "aba"})

    run(main())


def test_an_object_in_the_wrong_place_is_not_applied(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            apply = "Object{metadata: Object.spec{}}"
            mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": apply}}
            spec = {"mutations": [mutation], "reinvocationPolicy": "Never"}
            await put_in_force(plane, "Mutating", "misplaced", spec)
            status, body = await create(plane, "x")
            assert (status, body["reason"]) == (403, "Invalid")
            assert body["message"].endswith(
                'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field '
                "name path from root Object type"
            )

    run(main())


def test_policies_may_ask_for_the_permissions_of_the_user_and_of_accounts(tmp_path: Path) -> None:
    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            may = "authorizer.group('').resource('secrets').namespace('default').check('list')"
            account = "authorizer.serviceAccount('default', 'robot').path('/metrics').check('get')"
            checks = [
                {"expression": f"{may}.allowed()", "message": "user"},
                {"expression": f"!{account}.allowed() && !{account}.errored()", "message": "account"},
                {"expression": "authorizer.requestResource.check('create').allowed()", "message": "request"},
                {"expression": "authorizer.path('/x').check('get').reason() == 'n'", "message": "reason"},
            ]
            await put_in_force(plane, "Validating", "may", {"validations": checks})
            status, body = await create(plane, "x")
            assert (status, body["message"].rpartition(": ")[2]) == (422, "reason")

    run(main())


def test_questions_about_users_are_out_of_reach_of_policies(tmp_path: Path) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}

    async def main() -> None:
        async with plane_in(tmp_path) as plane:
            spec = {"matchConstraints": {"resourceRules": [everything]}, "validations": [{"expression": "false"}]}
            await put_in_force(plane, "Validating", "all", spec)
            assert (await create(plane, "x"))[0] == 422
            review = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
            assert (await plane.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review))[0] == 201
            assert (await plane.call("DELETE", f"{GROUP}/validatingadmissionpolicies/all"))[0] == 200
            assert (await create(plane, "x"))[0] == 201

    run(main())
