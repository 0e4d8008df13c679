"""Query parameters, selectors, tokens and Accept headers: they are understood, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.resource import Resource
from tests.property.fuzz.harness import Fuzzed, counted, fuzzed_plane
from tests.property.fuzz.objects import STORED, TEXT, collection_of

WORDS = st.sampled_from(
    [
        *("a", "b", "in", "notin", "exists", "(", ")", ",", "=", "==", "!=", "!", ">", "<", " ", "\\", "metadata.name"),
        *("metadata.namespace", "involvedObject.kind", "status.phase", "spec.signerName", "type", "x.y/z", "1", "-1"),
    ]
)
SELECTOR = st.lists(WORDS | TEXT, max_size=8).map("".join)
NUMBER = st.sampled_from(["", "0", "1", "5", "-1", "99999999999999999999", "x", "1e3", "0x1", " 1", "+1"]) | TEXT
TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0"
FLAG = st.sampled_from(["", "true", "false", "0", "1", "maybe"])
QUERY = st.fixed_dictionaries(
    {},
    optional={
        "labelSelector": SELECTOR,
        "fieldSelector": SELECTOR,
        "limit": NUMBER,
        "continue": TEXT | st.sampled_from([TOKEN, "e30", "bnVsbA"]),
        "resourceVersion": NUMBER,
        "resourceVersionMatch": st.sampled_from(["", "Exact", "NotOlderThan", "x"]),
        "timeoutSeconds": NUMBER,
        "allowWatchBookmarks": FLAG,
        "sendInitialEvents": FLAG,
        "watch": FLAG,
        "pretty": FLAG,
        "dryRun": st.sampled_from(["All", "", "x"]),
        "fieldManager": TEXT,
        "fieldValidation": TEXT,
        "force": FLAG,
        "gracePeriodSeconds": NUMBER,
        "propagationPolicy": TEXT | st.sampled_from(["Orphan", "Foreground"]),
        "orphanDependents": FLAG,
        "includeObject": st.sampled_from(["None", "Object", "Metadata", "x"]),
    },
)  # fmt: skip
ACCEPT = st.lists(
    st.sampled_from(
        [
            *(
                "application/json",
                "application/yaml",
                "*/*",
                "application/*",
                "text/html",
                "",
                "*",
                "a/b/c",
                ";",
                "q=1",
            ),
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io;q=0.5",
            "application/vnd.kubernetes.protobuf",
            "application/json;stream=watch",
            "application/json;q=x",
            'application/json;q=0.3;pretty="1"',
        ]
    )
    | TEXT,
    max_size=3,
).map(",".join)


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Fuzzed]:
    with fuzzed_plane() as running:
        for resource in STORED:
            for name in ("a", "b", "held"):
                running.call("POST", collection_of(resource), {"metadata": {"name": name}})
        yield running


@counted(10_000)
@given(
    resource=st.sampled_from(STORED),
    query=QUERY,
    accept=ACCEPT,
    method=st.sampled_from(["GET", "GET", "GET", "DELETE", "POST", "PUT", "PATCH"]),
    item=st.sampled_from(["", "/a", "/none", "/a/status", "/a/finalize", "/a/approval", "/a/x", "/%2e"]),
)
def test_a_request_is_answered(
    fuzzed: Fuzzed, resource: Resource, query: dict[str, str], accept: str, method: str, item: str
) -> None:
    headers = {"Accept": accept} if accept else {}
    fuzzed.call(method, f"{collection_of(resource)}{item}?{urlencode(query)}", None, headers)


@counted(4_000)
@given(selector=SELECTOR, kind=st.sampled_from(["labelSelector", "fieldSelector"]), resource=st.sampled_from(STORED))
def test_a_selector_selects_some_of_all(fuzzed: Fuzzed, selector: str, kind: str, resource: Resource) -> None:
    url = collection_of(resource)
    answer = fuzzed.call("GET", f"{url}?{urlencode({kind: selector})}")
    assert answer.status in {200, 400}
    if answer.status == 200:
        every = {item["metadata"]["name"] for item in fuzzed.call("GET", url).body["items"]}
        assert {item["metadata"]["name"] for item in answer.body["items"]} <= every
