"""What is wrong with an AuthorizationConfiguration, in upstream's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.apiserver.authentication.jwt.reading import ConfigurationError
from controlplane.plugins.authorization.configuration.reading import read_authorizers
from controlplane.plugins.authorization.webhook.config import AuthorizerConfig, WebhookConfig

KNOWN = ("AlwaysAllow", "AlwaysDeny", "RBAC", "Webhook")
HEAD = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
RBAC = {"type": "RBAC", "name": "rbac"}
AT = "authorizers[0]"


def read(directory: Path, *authorizers: Any, **head: Any) -> tuple[AuthorizerConfig, ...]:
    file = directory / "authorization.yaml"
    file.write_text(json.dumps({**HEAD, **head, "authorizers": list(authorizers)}))
    return read_authorizers(str(file), KNOWN)[0]


def webhook(directory: Path, **fields: Any) -> dict[str, Any]:
    file = directory / "kubeconfig"
    file.write_text("")
    said = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(file)},
    }
    return {"type": "Webhook", "name": "hook", "webhook": {**said, **fields}}


def test_what_is_left_out_is_as_upstream_has_it(tmp_path: Path) -> None:
    assert read(tmp_path, webhook(tmp_path), RBAC) == (
        AuthorizerConfig(
            type="Webhook",
            name="hook",
            webhook=WebhookConfig(
                kubeconfig_file=str(tmp_path / "kubeconfig"), version="v1", timeout_seconds=3.0, denies_on_failure=True
            ),
        ),
        AuthorizerConfig(type="RBAC", name="rbac"),
    )


@pytest.mark.parametrize(
    ("authorizers", "text"),
    [
        pytest.param([], "authorizers: Required value: at least one authorization mode must be defined", id="none"),
        pytest.param([{"name": "x"}], f"{AT}.type: Required value", id="no type"),
        pytest.param(
            [{"type": "Node", "name": "x"}],
            f'{AT}.type: Unsupported value: "Node": supported values: "AlwaysAllow", "AlwaysDeny", "RBAC", "Webhook"',
            id="unknown type",
        ),
        pytest.param(
            [RBAC, {"type": "RBAC", "name": "other"}],
            'authorizers[1].type: Duplicate value: "RBAC"',
            id="a type twice",
        ),
        pytest.param([{"type": "RBAC"}], f"{AT}.name: Required value", id="no name"),
        pytest.param(
            [RBAC, {"type": "AlwaysAllow", "name": "rbac"}],
            'authorizers[1].name: Duplicate value: "rbac"',
            id="a name twice",
        ),
        pytest.param(
            [{"type": "RBAC", "name": "A"}], "authorizer name is invalid: a lowercase RFC 1123", id="bad name"
        ),
        pytest.param(
            [{"type": "Webhook", "name": "x"}],
            f"{AT}.webhook: Required value: required when type=Webhook",
            id="a webhook without one",
        ),
        pytest.param([{**RBAC, "more": 1}], f'unknown field "{AT}.more"', id="unknown field"),
    ],
)
def test_refused(tmp_path: Path, authorizers: list[Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, *authorizers)
    assert text in str(refused.value)
    assert str(refused.value).startswith(f"--authorization-config: {tmp_path}")


CONDITIONS = {"matchConditionSubjectAccessReviewVersion": "v1"}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        pytest.param({"timeout": ""}, "timeout: Required value", id="no timeout"),
        pytest.param({"timeout": "31s"}, 'timeout: Invalid value: "31s": must be > 0s and <= 30s', id="long timeout"),
        pytest.param({"authorizedTTL": "-1s"}, "authorizedTTL: Invalid value", id="negative ttl"),
        pytest.param({"subjectAccessReviewVersion": ""}, "subjectAccessReviewVersion: Required value", id="no version"),
        pytest.param(
            {"subjectAccessReviewVersion": "v2"},
            'subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"',
            id="unknown version",
        ),
        pytest.param({"failurePolicy": ""}, "failurePolicy: Required value", id="no policy"),
        pytest.param(
            {"failurePolicy": "Ignore"},
            'failurePolicy: Unsupported value: "Ignore": supported values: "NoOpinion", "Deny"',
            id="unknown policy",
        ),
        pytest.param({"connectionInfo": {}}, "connectionInfo.type: Required value", id="no connection"),
        pytest.param(
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "k"}},
            'connectionInfo.kubeConfigFile: Invalid value: "k": must be an absolute path',
            id="a relative path",
        ),
        pytest.param(
            {"connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": "/nowhere"}},
            "error loading file: stat /nowhere: no such file or directory",
            id="no such file",
        ),
        pytest.param(
            {"matchConditions": [{"expression": "true"}]},
            "matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified",
            id="conditions without their version",
        ),
        pytest.param(
            {**CONDITIONS, "matchConditions": [{"expression": " "}]},
            "matchConditions[0].expression: Required value",
            id="an empty condition",
        ),
        pytest.param(
            {**CONDITIONS, "matchConditions": [{"expression": "true"}, {"expression": "true"}]},
            'matchConditions[1].expression: Duplicate value: "true"',
            id="a condition twice",
        ),
        pytest.param(
            {**CONDITIONS, "matchConditions": [{"expression": "request.who == ''"}]},
            "undefined field 'who'",
            id="an unknown field in a condition",
        ),
        pytest.param(
            {**CONDITIONS, "matchConditions": [{"expression": "request.user"}]},
            "must evaluate to bool but got string",
            id="a condition that is none",
        ),
        pytest.param(
            {**CONDITIONS, "matchConditions": [{"expression": f"{n} == 0"} for n in range(65)]},
            "matchConditions: Too many: 65: must have at most 64 items",
            id="too many conditions",
        ),
    ],
)
def test_refused_webhooks(tmp_path: Path, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, webhook(tmp_path, **fields))
    assert f"{AT}." in str(refused.value)
    assert text in str(refused.value)


def test_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="must be AuthorizationConfiguration of"):
        read(tmp_path, RBAC, kind="AuthenticationConfiguration")
