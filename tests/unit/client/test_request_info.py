"""Which name a collection's field selector gives a request: authorization by name depends on it."""

import pytest

from controlplane.client.request_info import parse_request_info

PATH = "/apis/example.com/v1/widgets"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        pytest.param("fieldSelector=metadata.name=b", "b", id="one name"),
        pytest.param("fieldSelector=metadata.name==b&watch=1", "b", id="of a watch"),
        pytest.param("fieldSelector=status=x,metadata.name=b", "b", id="among others"),
        pytest.param("fieldSelector=metadata.name=b&fieldSelector=metadata.name=c", "b", id="the first counts"),
        pytest.param("fieldSelector=metadata.name=b,metadata.name=a", "a", id="of several names the least"),
        pytest.param(r"fieldSelector=metadata.name=a\=b", "a=b", id="escaped"),
        pytest.param("fieldSelector=metadata.name!=b", "", id="not a name"),
        pytest.param("fieldSelector=metadata.name=a/b", "", id="no segment of a path"),
        pytest.param("fieldSelector=metadata.name=b,c", "", id="a selector that cannot be read"),
        pytest.param("fieldSelector=metadata.name=b&labelSelector=a%20b", "", id="labels that cannot be read"),
        pytest.param("fieldSelector=metadata.name=b&limit=many", "", id="a limit that cannot be read"),
    ],
)
def test_a_field_selector_names_what_is_listed(query: str, name: str) -> None:
    info = parse_request_info("GET", PATH, query)
    assert info.name == name
    assert info.verb == ("watch" if "watch" in query else "list")


def test_a_deletion_of_a_collection_has_no_name() -> None:
    info = parse_request_info("DELETE", PATH, "fieldSelector=metadata.name=b")
    assert (info.verb, info.name, info.field_selector) == ("deletecollection", "", "metadata.name=b")
