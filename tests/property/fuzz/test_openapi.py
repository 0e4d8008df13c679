"""Requests made from what the server itself publishes in OpenAPI, good and bad ones, over TLS (schemathesis)."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import schemathesis
from hypothesis import Phase, given
from hypothesis import strategies as st
from schemathesis import APIOperation
from schemathesis.core import NOT_SET
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from controlplane.testing.planes import plane_in_thread
from tests.property.fuzz.harness import LONG, SECONDS, check_status, counted

DOCUMENTS: tuple[str, ...] = ("api/v1", "apis/coordination.k8s.io/v1")
"""All forms of paths and bodies are in these; to read them takes longer than to ask."""
if LONG:
    DOCUMENTS += ("apis/rbac.authorization.k8s.io/v1", "apis/apiextensions.k8s.io/v1")
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


class Client:
    """One connection, made anew where the server has ended it."""

    def __init__(self, url: str, certificates: Path) -> None:
        self._parts = urlsplit(url)
        self._tls = ssl.create_default_context(cafile=str(certificates / "serving-ca.crt"))
        self._tls.load_cert_chain(certificates / "admin.crt", certificates / "admin.key")
        self._connection: http.client.HTTPSConnection | None = None

    def call(self, method: str, target: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, str, bytes]:
        """Status, content type and body. A request that cannot be written as HTTP is not made."""
        for fresh in (False, True):
            if fresh or self._connection is None:
                self.close()
                self._connection = http.client.HTTPSConnection(
                    self._parts.hostname or "", self._parts.port, context=self._tls, timeout=SECONDS
                )
            try:
                self._connection.request(method, target, body, headers)
                response = self._connection.getresponse()
                return response.status, response.headers.get_content_type(), response.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                if fresh:
                    raise
        raise AssertionError

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _operations(document: Any) -> Iterator[APIOperation[Any, Any, Any, Any]]:
    for found in schemathesis.openapi.from_dict(document).get_all_operations():
        assert isinstance(found, Ok), found
        yield found.ok()


class Published:
    """The operations that a server publishes, and a client of it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        _, _, root = client.call("GET", "/openapi/v3", None, {})
        paths = json.loads(root)["paths"]
        self.operations = [
            operation for document in DOCUMENTS for operation in _operations(self._read(paths[document]))
        ]
        self._strategies: dict[tuple[int, GenerationMode], st.SearchStrategy[Any]] = {}

    def _read(self, entry: dict[str, str]) -> Any:
        return json.loads(self.client.call("GET", entry["serverRelativeURL"], None, {})[2])

    def cases(self, at: int, mode: GenerationMode) -> st.SearchStrategy[Any]:
        """Requests of one operation."""
        key = at % len(self.operations), mode
        if key not in self._strategies:
            self._strategies[key] = self.operations[key[0]].as_strategy(generation_mode=mode)
        return self._strategies[key]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    directory = tmp_path_factory.mktemp("openapi")
    with plane_in_thread(directory, cert_dir=directory / "certs") as plane:
        client = Client(plane.url, directory / "certs")
        yield Published(client)
        client.close()


@counted(3_000, phases=(Phase.generate,))
@given(data=st.data(), at=st.integers(0, 1000), mode=st.sampled_from(MODES))
def test_what_is_published_can_be_asked(
    published: Published, data: st.DataObject, at: int, mode: GenerationMode
) -> None:
    case = data.draw(published.cases(at, mode))
    query = {name: value for name, value in (case.query or {}).items() if name not in {"watch", "timeoutSeconds"}}
    target = f"{case.formatted_path}?{urlencode({**query, 'timeoutSeconds': 1}, doseq=True)}"
    if "/watch/" in target:
        return  # a stream
    body = None if case.body is NOT_SET else case.body
    if not isinstance(body, bytes | None):
        body = json.dumps(body).encode()
    headers = {"Content-Type": case.media_type} if case.media_type else {}
    code, content_type, answer = published.client.call(case.method, target, body, headers)
    assert code != 404 or content_type in {"application/json", "text/plain"}
    if content_type == "application/json":
        check_status(code, json.loads(answer))
