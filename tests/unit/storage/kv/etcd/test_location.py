"""What follows ``etcd:`` in a store URL."""

from __future__ import annotations

import pytest

from controlplane.storage.errors import StoreUnusable
from controlplane.storage.kv.etcd.location import Endpoint, parse_location


@pytest.mark.parametrize(
    ("location", "endpoints"),
    [
        pytest.param("127.0.0.1:2379", [Endpoint("127.0.0.1:2379", False)], id="plain"),
        pytest.param("//db", [Endpoint("db:2379", False)], id="default port"),
        pytest.param("https://db:1234/", [Endpoint("db:1234", True)], id="TLS"),
        pytest.param("http://a:1, https://b:2", [Endpoint("a:1", False), Endpoint("b:2", True)], id="several"),
        pytest.param("[::1]:2379", [Endpoint("[::1]:2379", False)], id="IPv6"),
    ],
)
def test_endpoints_are_read_in_order(location: str, endpoints: list[Endpoint]) -> None:
    assert list(parse_location(location)) == endpoints


@pytest.mark.parametrize(
    "location", ["", " , ", "db:port", "db:99999", "ftp://db:1", "db:1/path", "u:p@db:1", "https://", "a:1,a:1"]
)
def test_a_malformed_location_is_refused_by_name(location: str) -> None:
    with pytest.raises(StoreUnusable, match="endpoint"):
        parse_location(location)
