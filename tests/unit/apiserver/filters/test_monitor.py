"""What is counted of a request, under which labels, and when."""

from __future__ import annotations

import pytest

from controlplane.apiserver.filters import metrics
from controlplane.apiserver.filters.labels import resource_labels
from controlplane.apiserver.filters.monitor import with_metrics
from controlplane.base.streams import Chunk, Sink
from controlplane.client.request import Response, StreamResponse
from controlplane.client.request_info import RequestInfo
from tests.aio import run
from tests.unit.apiserver.filters.harness import answering, request


def known(info: RequestInfo) -> bool:
    return info.resource == "configmaps" and info.subresource in ("", "status")


@pytest.mark.parametrize(
    ("method", "path", "content_type", "labels"),
    [
        ("GET", "/api/v1/namespaces/n/configmaps/a", "", ("GET", "", "v1", "configmaps", "", "resource")),
        ("HEAD", "/api/v1/namespaces/n/configmaps/a", "", ("GET", "", "v1", "configmaps", "", "resource")),
        ("GET", "/api/v1/namespaces/n/configmaps", "", ("LIST", "", "v1", "configmaps", "", "namespace")),
        ("GET", "/api/v1/configmaps", "", ("LIST", "", "v1", "configmaps", "", "cluster")),
        ("GET", "/api/v1/configmaps?watch=1", "", ("WATCH", "", "v1", "configmaps", "", "cluster")),
        ("POST", "/api/v1/namespaces/n/configmaps", "", ("POST", "", "v1", "configmaps", "", "resource")),
        ("DELETE", "/api/v1/namespaces/n/configmaps", "", ("DELETE", "", "v1", "configmaps", "", "namespace")),
        (
            "PATCH",
            "/api/v1/namespaces/n/configmaps/a",
            "application/apply-patch+yaml",
            ("APPLY", "", "v1", "configmaps", "", "resource"),
        ),
        (
            "PATCH",
            "/api/v1/namespaces/n/configmaps/a/status",
            "application/merge-patch+json",
            ("PATCH", "", "v1", "configmaps", "status", "resource"),
        ),
        ("GET", "/apis/g/v1/things", "", ("LIST", "", "", "", "", "cluster")),
        ("GET", "/api/v1/namespaces/n/configmaps/a/nonsense", "", ("GET", "", "", "", "", "resource")),
        ("BREW", "/version", "", ("other", "", "", "", "", "")),
    ],
)
def test_labels(method: str, path: str, content_type: str, labels: tuple[str, ...]) -> None:
    async def scenario() -> tuple[float, float]:
        child = metrics.REQUESTS.labels_cached((labels[0], "", *labels[1:], "apiserver", "200"))
        before = child.value
        handler = with_metrics(answering(), serves=known)
        headers = {"Content-Type": content_type} if content_type else {}
        made = [request(path, method=method, headers=headers) for _ in range(2)]
        for one in made:
            await handler(one)
        assert resource_labels(made[0]) == (*labels, "apiserver")
        return before, child.value

    before, after = run(scenario())
    assert after == before + 2


def test_dry_run_and_status_are_labels() -> None:
    async def scenario() -> None:
        base = ("POST", "All", "", "v1", "configmaps", "", "resource", "apiserver")
        created, refused = (metrics.REQUESTS.labels_cached((*base, code)) for code in ("201", "409"))
        before = (created.value, refused.value)  # the process's own: other tests count there too
        handler = {code: with_metrics(answering(Response(code)), serves=known) for code in (201, 409)}
        for code in (201, 409, 409):
            await handler[code](request("/api/v1/namespaces/n/configmaps?dryRun=All", method="POST"))
        assert (created.value, refused.value) == (before[0] + 1, before[1] + 2)

    run(scenario())


def test_stream_is_long_running_while_it_is_written_and_counted_at_its_end() -> None:
    async def scenario() -> None:
        labels = ("WATCH", "", "v1", "configmaps", "", "namespace", "apiserver")
        total = metrics.REQUESTS.labels_cached(("WATCH", "", *labels[1:], "200"))
        during: list[float] = []

        async def run_stream(_: Sink) -> None:
            during.append(metrics.LONG_RUNNING.labels_cached(labels).value)

        handler = with_metrics(answering(StreamResponse(run_stream)), serves=known)
        before = total.value
        response = await handler(request("/api/v1/namespaces/n/configmaps?watch=true"))
        assert isinstance(response, StreamResponse)
        assert total.value == before
        await response.run(NullSink())
        assert (total.value, during, metrics.LONG_RUNNING.labels_cached(labels).value) == (before + 1, [1], 0)

    run(scenario())


class NullSink:
    """A sink that takes everything."""

    closed = False

    def write(self, chunk: Chunk) -> None: ...

    def buffered_bytes(self) -> int:
        return 0

    def on_drain(self, callback: object) -> None: ...

    async def until_closed(self) -> None: ...
