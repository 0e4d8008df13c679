"""What a stored record says."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apiserver.identity.record import PeerRecord, read_record


def endpoints(ip: Any, port: Any, **metadata: Any) -> dict[str, Any]:
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    return {"metadata": metadata, "subsets": [{"addresses": [{"ip": ip}], "ports": ports}]}


def test_where_the_server_is_and_what_else_it_says() -> None:
    annotations = {"controlplane.internal/holder-identity": "a_1", "example.org/serves": "v1"}
    record = read_record("a", endpoints("10.0.0.1", 6443, annotations=annotations))
    assert record == PeerRecord("a", "10.0.0.1", 6443, "a_1", {"example.org/serves": "v1"})
    assert record.address == "10.0.0.1:6443"


def test_a_record_of_kube_apiserver() -> None:
    record = read_record("a", endpoints("fd00::1", 6443, generation=7, labels={"apiserverIdentity": "a"}))
    assert record == PeerRecord("a", "fd00::1", 6443, "", {})
    assert record.address == "[fd00::1]:6443"


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param({"metadata": {}}, id="no subsets"),
        pytest.param({"metadata": {}, "subsets": []}, id="no subset"),
        pytest.param({"metadata": {}, "subsets": [{"addresses": [{}], "ports": [{}]}]}, id="neither address nor port"),
        pytest.param({"metadata": {}, "subsets": [{"addresses": {"ip": 1}}]}, id="another type"),
        pytest.param(endpoints("10.0.0.1", "https"), id="a port that is no number"),
        pytest.param(endpoints("10.0.0.1", 0), id="port 0"),
        pytest.param(endpoints("10.0.0.1", 65_536), id="no port"),
        pytest.param(endpoints("10.0.0.1", -1), id="a negative port"),
        pytest.param(endpoints("10.0.0.1", float("inf")), id="an endless port"),
        pytest.param(endpoints("127.0.0.1/../x\r\n", 6443), id="no address"),
        pytest.param(endpoints("peer.example.org", 6443), id="a name for an address"),
        pytest.param(endpoints("..", 6443), id="no name either"),
        pytest.param({**endpoints("10.0.0.1", 6443), "metadata": None}, id="no metadata"),
        pytest.param(endpoints("10.0.0.1", 6443, annotations=["a"]), id="annotations of another type"),
    ],
)
def test_one_that_does_not_say_where_is_none(obj: dict[str, Any]) -> None:
    assert read_record("a", obj) is None
