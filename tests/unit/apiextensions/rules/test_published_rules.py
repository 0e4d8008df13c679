"""Rules that are in use: those of published definitions compile within budget, and judge values as they are meant to.

The definitions are not part of this repository (``../shared/data/crds``); without them these tests are skipped. With
CONTROLPLANE_TEST_LONG all of them are compiled, else those of two projects.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.apiextensions.rules.definition import expression_errors
from controlplane.apiextensions.rules.evaluation import SchemaRules
from controlplane.apiextensions.rules.presence import has_rules
from controlplane.apimachinery.identity import Obj

PLACES = (parent / "shared" / "data" / "crds" for parent in Path(__file__).parents)
CRDS = next((place for place in PLACES if place.is_dir()), Path("shared/data/crds"))
PROJECTS = sorted(CRDS.iterdir()) if os.environ.get("CONTROLPLANE_TEST_LONG") and CRDS.is_dir() else []
FOLDERS = PROJECTS or [CRDS / "gateway-api", CRDS / "cert-manager"]

pytestmark = pytest.mark.skipif(not CRDS.is_dir(), reason=f"no published definitions at {CRDS}")


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: a lone ``=`` is text."""


def _text(loader: yaml.CSafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:value", _text)


@cache
def definitions(path: Path) -> tuple[Obj, ...]:
    """The definitions in a file."""
    documents = yaml.load_all(path.read_text(), _Loader)
    return tuple(one for one in documents if one and one.get("kind") == "CustomResourceDefinition")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_published_rules_compile_within_budget(folder: Path) -> None:
    count = 0
    for path in sorted(folder.glob("*.yaml")):
        for definition in definitions(path):
            for version in definition["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                count += has_rules(schema)
                assert [str(error) for error in expression_errors(schema, path.name) if error is not None] == []
    assert count or folder.name in ("argo-cd",)


ROUTE, GATEWAY, TLS = (
    f"gateway-api/gateway.networking.k8s.io_{name}.yaml" for name in ("httproutes", "gateways", "backendtlspolicies")
)
GRPC, TLS_ROUTE = (f"gateway-api/gateway.networking.k8s.io_{name}.yaml" for name in ("grpcroutes", "tlsroutes"))
ISSUER = "cert-manager/cert-manager.io_clusterissuers.yaml"
RULES, FILTERS = "spec.rules.items", "spec.rules.items.backendRefs.items.filters"
MATCH = f"{RULES}.matches.items"
LISTENERS = "spec.listeners"


def path_match(value: str, kind: str = "PathPrefix") -> Obj:
    return {"type": kind, "value": value}


def listener(name: str, protocol: str, port: int = 80, **more: Any) -> Obj:
    return {"name": name, "protocol": protocol, "port": port, **more}


def target(name: str, **more: Any) -> Obj:
    return {"group": "", "kind": "Service", "name": name, **more}


def parent(name: str, **more: Any) -> Obj:
    return {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": name, **more}


REDIRECT = {"type": "RequestRedirect", "requestRedirect": {"hostname": "a"}}
PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/x"}
PATHS = [path_match("/a")]

CASES: list[tuple[str, str, int, Any, Any]] = [
    (ISSUER, "spec.venafi", 0, {"zone": "z", "tpp": {}}, {"zone": "z"}),
    (ISSUER, "spec.venafi", 0, {"zone": "z", "cloud": {}}, {"zone": "z", "cloud": {}, "tpp": {}}),
    (
        TLS,
        "spec.targetRefs",
        0,
        [target("a", sectionName="s"), target("b")],
        [target("a", sectionName="s"), target("a")],
    ),
    (
        TLS,
        "spec.targetRefs",
        1,
        [target("a", sectionName="s"), target("a", sectionName="t")],
        [target("a"), target("a")],
    ),
    (
        TLS,
        "spec.validation",
        0,
        {"wellKnownCACertificates": "System"},
        {"wellKnownCACertificates": "System", "caCertificateRefs": [target("a")]},
    ),
    (TLS, "spec.validation", 1, {"caCertificateRefs": [target("a")]}, {"hostname": "h"}),
    (TLS, "spec.validation.subjectAltNames.items", 0, {"type": "Hostname", "hostname": "h"}, {"type": "Hostname"}),
    (TLS, "spec.validation.subjectAltNames.items", 1, {"type": "URI", "uri": "u"}, {"type": "URI", "hostname": "h"}),
    (TLS, "spec.validation.subjectAltNames.items", 2, {"type": "URI", "uri": "u"}, {"type": "URI", "uri": ""}),
    (TLS, "spec.validation.subjectAltNames.items", 3, {"type": "Hostname"}, {"type": "Hostname", "uri": "u"}),
    (
        GATEWAY,
        "spec.addresses",
        0,
        [{"type": "IPAddress", "value": "1.1.1.1"}, {"type": "IPAddress", "value": "1.1.1.2"}],
        [{"type": "IPAddress", "value": "1.1.1.1"}] * 2,
    ),
    (
        GATEWAY,
        "spec.addresses",
        1,
        [{"type": "Hostname", "value": "a"}, {"type": "IPAddress", "value": "a"}],
        [{"type": "Hostname", "value": "a"}] * 2,
    ),
    (GATEWAY, "spec.addresses.items", 0, {"type": "Hostname", "value": "*.a-b.c"}, {"type": "Hostname", "value": "-a"}),
    (GATEWAY, "spec.infrastructure.annotations", 0, {"a.b/c-D_e": "x"}, {"a.b/-c": "x"}),
    (GATEWAY, "spec.infrastructure.annotations", 1, {"a/b": "x"}, {"a" * 253 + "/b": "x"}),
    (GATEWAY, LISTENERS, 0, [listener("a", "HTTP")], [listener("a", "HTTP", tls={})]),
    (
        GATEWAY,
        LISTENERS,
        1,
        [listener("a", "HTTPS", tls={"mode": "Terminate"})],
        [listener("a", "HTTPS", tls={"mode": "Passthrough"})],
    ),
    (GATEWAY, LISTENERS, 2, [listener("a", "TLS", tls={"mode": "Terminate"})], [listener("a", "TLS")]),
    (GATEWAY, LISTENERS, 3, [listener("a", "TCP")], [listener("a", "TCP", hostname="h")]),
    (GATEWAY, LISTENERS, 4, [listener("a", "TCP"), listener("b", "TCP")], [listener("a", "TCP"), listener("a", "UDP")]),
    (
        GATEWAY,
        LISTENERS,
        5,
        [listener("a", "HTTP", hostname="h"), listener("b", "HTTP", hostname="i")],
        [listener("a", "HTTP"), listener("b", "HTTP")],
    ),
    (
        GATEWAY,
        "spec.listeners.items.tls",
        0,
        {"mode": "Terminate", "certificateRefs": [{"name": "c"}], "options": {}},
        {"mode": "Terminate", "certificateRefs": [], "options": {}},
    ),
    (GATEWAY, "spec.tls.frontend.perPort", 0, [{"port": 1}, {"port": 2}], [{"port": 1}, {"port": 1}]),
    (GRPC, "spec.parentRefs", 0, [parent("a"), parent("b")], [parent("a", sectionName="s"), parent("a")]),
    (
        GRPC,
        "spec.parentRefs",
        1,
        [parent("a", sectionName="s"), parent("a", sectionName="t")],
        [parent("a"), parent("a")],
    ),
    (GRPC, f"{RULES}.backendRefs.items", 0, target("a", port=80), target("a")),
    (GRPC, FILTERS, 0, [{"type": "RequestHeaderModifier"}], [{"type": "RequestHeaderModifier"}] * 2),
    (GRPC, f"{FILTERS}.items", 0, {"type": "RequestMirror"}, {"type": "RequestMirror", "requestHeaderModifier": {}}),
    (
        GRPC,
        f"{FILTERS}.items",
        1,
        {"type": "RequestHeaderModifier", "requestHeaderModifier": {}},
        {"type": "RequestHeaderModifier"},
    ),
    (GRPC, f"{FILTERS}.items", 7, {"type": "ExtensionRef", "extensionRef": {}}, {"type": "ExtensionRef"}),
    (GRPC, f"{FILTERS}.items.requestMirror", 0, {"percent": 1}, {"percent": 1, "fraction": {"numerator": 1}}),
    (
        GRPC,
        f"{FILTERS}.items.requestMirror.fraction",
        0,
        {"numerator": 1, "denominator": 1},
        {"numerator": 2, "denominator": 1},
    ),
    (GRPC, f"{MATCH}.method", 0, {"type": "Exact", "service": "a.b"}, {"type": "Exact"}),
    (GRPC, f"{MATCH}.method", 1, {"service": "A.b_C", "type": "Exact"}, {"service": "a..b", "type": "Exact"}),
    (GRPC, f"{MATCH}.method", 2, {"method": "Get_1"}, {"method": "1Get"}),
    (
        ROUTE,
        RULES,
        0,
        {"backendRefs": [target("a")], "filters": []},
        {"backendRefs": [target("a")], "filters": [REDIRECT]},
    ),
    (
        ROUTE,
        RULES,
        1,
        {"filters": [{"requestRedirect": {"path": PREFIX}}], "matches": [{"path": PATHS[0]}]},
        {"filters": [{"requestRedirect": {"path": PREFIX}}], "matches": [{"path": path_match("/a", "Exact")}]},
    ),
    (
        ROUTE,
        RULES,
        2,
        {"filters": [{"urlRewrite": {"path": PREFIX}}], "matches": [{"path": PATHS[0]}]},
        {"filters": [{"urlRewrite": {"path": PREFIX}}], "matches": [{"path": PATHS[0]}, {"path": PATHS[0]}]},
    ),
    (ROUTE, FILTERS, 0, [{"type": "URLRewrite"}], [{"type": "URLRewrite"}, {"type": "RequestRedirect"}]),
    (ROUTE, FILTERS, 1, [{"type": "CORS"}], [{"type": "CORS"}, {"type": "CORS"}]),
    (ROUTE, f"{FILTERS}.items", 8, REDIRECT, {**REDIRECT, "type": "URLRewrite"}),
    (ROUTE, f"{FILTERS}.items.cors.allowHeaders", 0, ["*"], ["*", "x"]),
    (ROUTE, f"{FILTERS}.items.requestRedirect.path", 2, PREFIX, {"type": "ReplacePrefixMatch"}),
    (
        ROUTE,
        f"{FILTERS}.items.requestRedirect.path",
        1,
        {"type": "ReplaceFullPath", "replaceFullPath": "/"},
        {"type": "ReplacePrefixMatch", "replaceFullPath": "/"},
    ),
    (ROUTE, f"{MATCH}.path", 0, path_match("/a"), path_match("a")),
    (ROUTE, f"{MATCH}.path", 1, path_match("/a/b"), path_match("/a//b")),
    (ROUTE, f"{MATCH}.path", 5, path_match("/a%2f"), path_match("/a%2F")),
    (ROUTE, f"{MATCH}.path", 7, path_match("/a/.."[:3]), path_match("/a/..")),
    (ROUTE, f"{MATCH}.path", 9, path_match("x", "RegularExpression"), path_match("x", "Glob")),
    (ROUTE, f"{MATCH}.path", 10, path_match("/a%20b;c"), path_match("/a b")),
    (
        ROUTE,
        f"{RULES}.timeouts",
        0,
        {"request": "10s", "backendRequest": "9s"},
        {"request": "1s", "backendRequest": "2s"},
    ),
    (
        ROUTE,
        f"{RULES}.timeouts",
        0,
        {"request": "0s", "backendRequest": "2s"},
        {"request": "1m", "backendRequest": "61s"},
    ),
    (TLS_ROUTE, "spec.hostnames", 0, ["a.b"], ["10.0.0.1"]),
    (TLS_ROUTE, "spec.hostnames", 1, ["a-1.b"], ["a_1.b"]),
    (TLS_ROUTE, "spec.hostnames", 2, ["*.a.b"], ["a.*.b"]),
]


def schema_at(file: str, path: str, index: int) -> Obj:
    """The schema at a path of a definition's first version, with one of its rules alone."""
    schema: Obj = definitions(CRDS / file)[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for part in path.split("."):
        inside = schema.get("properties") or {}
        schema = inside[part] if part in inside else schema[part]
    rule = schema["x-kubernetes-validations"][index]
    return {**_without_rules(schema), "x-kubernetes-validations": [rule]}


def _without_rules(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_rules(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_rules(item) for key, item in value.items() if key != "x-kubernetes-validations"}
    return value


@pytest.mark.parametrize(
    ("file", "path", "index", "good", "bad"), CASES, ids=[f"{row[0].split('_')[-1]}-{row[1]}-{row[2]}" for row in CASES]
)
def test_published_rules_judge_values(file: str, path: str, index: int, good: Any, bad: Any) -> None:
    schema = schema_at(file, path, index)
    rules = SchemaRules({"type": "object", "properties": {"v": schema}})
    assert [str(error) for error in rules.errors({"v": good})] == []
    (error,) = rules.errors({"v": bad})
    assert error.field.startswith("v")
    given = schema["x-kubernetes-validations"][0]
    assert error.detail == (given.get("message") or f"failed rule: {given['rule']}").strip()
