import pytest

from controlplane.apimachinery.status import APIError
from controlplane.client.negotiation import (
    JSON,
    JSON_PATCH,
    OBJECT,
    PROTOBUF,
    STREAM,
    TEXT_OBJECT,
    YAML,
    Answer,
    Conversion,
    Form,
    body_type,
    negotiate,
    patch_type,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param(None, Answer(JSON), id="no header is JSON"),
        pytest.param("*/*", Answer(JSON), id="anything is JSON"),
        pytest.param("application/yaml", Answer(YAML), id="YAML"),
        pytest.param("text/html, application/yaml;q=0.9, */*;q=0.1", Answer(YAML), id="by quality"),
        pytest.param("application/yaml;q=0.1, application/json;q=0.9", Answer(JSON), id="by quality, not order"),
        pytest.param("application/vnd.kubernetes.protobuf,application/json", Answer(PROTOBUF), id="protobuf"),
        pytest.param(
            "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json",
            Answer(JSON),
            id="no table is in protobuf",
        ),
        pytest.param("application/json;stream=watch", Answer(JSON), id="a stream where there is none"),
        pytest.param("application/json;pretty=1", Answer(JSON, None, True), id="pretty"),
        pytest.param("application/json;unknown=1", Answer(JSON), id="unknown parameters are ignored"),
        pytest.param(f"{TABLE},application/json", Answer(JSON, Conversion("meta.k8s.io", "v1", "Table")), id="a table"),
        pytest.param(
            "application/json;as=Table;v=v9;g=meta.k8s.io, application/json", Answer(JSON), id="no such table version"
        ),
        pytest.param(f"{TABLE};q=0.2,application/json;q=0.9", Answer(JSON), id="a table that is wanted less"),
    ],
)
def test_an_accept_header_gives_the_best_form_there_is(accept: str | None, expected: Answer) -> None:
    assert negotiate(accept, OBJECT) == expected


def test_where_no_route_asks_first_half_a_wildcard_is_enough() -> None:
    assert negotiate("application/*", TEXT_OBJECT) == Answer(JSON)


def test_a_form_without_conversions_passes_over_the_clauses_that_ask_for_one() -> None:
    assert negotiate(f"{TABLE},application/json", Form()) == Answer(JSON)


@pytest.mark.parametrize(
    ("accept", "form", "message"),
    [
        pytest.param("text/html", OBJECT, "406: Not Acceptable\n\nAvailable representations: ", id="nothing produced"),
        pytest.param("application/*", OBJECT, "406: Not Acceptable\n\n", id="half a wildcard"),
        pytest.param("image/png;q=0.5", OBJECT, "406: Not Acceptable\n\n", id="an image"),
        pytest.param(
            "application/vnd.kubernetes.protobuf",
            TEXT_OBJECT,
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf",
            id="protobuf of a custom resource",
        ),
        pytest.param("text/html", TEXT_OBJECT, "only the following media types are accepted", id="no route asks first"),
        pytest.param(
            "application/yaml, application/json", STREAM, "only the following media types are accepted", id="YAML first"
        ),
        pytest.param("application/yaml", STREAM, "only the following media types are accepted", id="YAML watch"),
    ],
)
def test_an_accept_header_that_nothing_matches_is_406(accept: str, form: Form, message: str) -> None:
    with pytest.raises(APIError) as refused:
        negotiate(accept, form)
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")
    assert refused.value.message.startswith(message)


def test_a_long_header_is_read_but_not_kept() -> None:
    padding = ",".join(f"text/x-{n}" for n in range(200))
    assert negotiate(f"{padding},application/yaml", OBJECT) == Answer(YAML)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        pytest.param(None, JSON, id="none"),
        pytest.param("application/json; charset=utf-8", JSON, id="with a charset"),
        pytest.param('Application/JSON; profile="a;b"; charset=utf-8;', JSON, id="with several parameters"),
        pytest.param("application/yaml", YAML, id="YAML"),
    ],
)
def test_a_body_is_json_unless_it_says_otherwise(content_type: str | None, expected: str) -> None:
    assert body_type(content_type) == expected


@pytest.mark.parametrize(
    "content_type",
    [
        pytest.param("text/plain", id="another"),
        pytest.param("application/json; charset", id="a parameter without a value"),
        pytest.param("application/json; a=1; A=2", id="a parameter twice"),
        pytest.param("application/json; a=1 b=2", id="no semicolon between"),
    ],
)
def test_a_body_in_another_format_is_415_with_the_formats_there_are(content_type: str) -> None:
    with pytest.raises(APIError) as refused:
        body_type(content_type)
    assert refused.value.code == 415
    assert refused.value.message.endswith("application/json, application/yaml, application/vnd.kubernetes.protobuf")


def test_the_patch_type_is_the_content_type_without_parameters() -> None:
    assert patch_type("application/json-patch+json; charset=utf-8", native=True) == JSON_PATCH


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        pytest.param("application/json", "415: Unsupported Media Type", id="no patch type"),
        pytest.param(None, "415: Unsupported Media Type", id="none"),
    ],
)
def test_what_is_no_patch_is_415(content_type: str | None, message: str) -> None:
    with pytest.raises(APIError) as refused:
        patch_type(content_type, native=True)
    assert (refused.value.code, refused.value.message) == (415, message)


@pytest.mark.parametrize("content_type", ["application/strategic-merge-patch+json", "application/json", None])
def test_another_kind_than_a_native_one_refuses_with_the_types_that_it_takes(content_type: str | None) -> None:
    with pytest.raises(APIError) as refused:
        patch_type(content_type, native=False)
    assert refused.value.message.endswith(
        "accepted media types include: application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml"
    )
