"""Which answers prove that an object is not there."""

import pytest

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError, not_found, unknown_resource
from controlplane.client.request import Response
from controlplane.client.results import error_of_response
from controlplane.controllers.garbage_collector.live import is_not_found

WIDGETS = GroupResource("factory.example.org", "widgets")
NO_SUCH_PATH = Response(404, b"404 page not found\n", content_type="text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("error", "absent"),
    [
        pytest.param(not_found(WIDGETS, "one"), True, id="the object"),
        pytest.param(unknown_resource(), False, id="its resource, in a group that is served"),
        pytest.param(error_of_response(NO_SUCH_PATH, "GET", WIDGETS, "one"), False, id="its group"),
        pytest.param(APIError(503, "ServiceUnavailable", "no answer"), False, id="the server that serves it"),
    ],
)
def test_only_the_objects_own_absence_is_one(error: APIError, *, absent: bool) -> None:
    assert is_not_found(error) is absent
