import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.apimachinery.status import APIError
from controlplane.apiserver.endpoints.continue_token import Continue, decode, encode


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


def test_a_token_is_kube_apiservers_own_form() -> None:
    text = encode(Continue(42, "ns/name\0"))
    assert "=" not in text
    padded = text + "=" * (-len(text) % 4)
    assert base64.urlsafe_b64decode(padded) == b'{"v":"meta.k8s.io/v1","rv":42,"start":"ns/name\\u0000"}'


@given(st.integers(min_value=-1).filter(bool), st.from_regex(r"[a-z0-9.-]{2,20}(/[a-z0-9-]{2,20})?\0", fullmatch=True))
def test_a_token_decodes_to_what_was_encoded(revision: int, start: str) -> None:
    if ".." not in start and revision < 2**63:
        assert decode(encode(Continue(revision, start))) == Continue(revision, start)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("garbage", "not valid: invalid character '\\u0081' looking for beginning of value", id="no JSON"),
        pytest.param("e30!", "not valid: illegal base64 data at input byte 3", id="no base64"),
        pytest.param("e30==", "not valid: illegal base64 data at input byte 3", id="padded"),
        pytest.param("e30ab", "not valid: illegal base64 data at input byte 4", id="cut off"),
        pytest.param("W10", "json: cannot unmarshal array into Go value of type storage.continueToken", id="a list"),
        pytest.param(
            token(v="meta.k8s.io/v1", rv="1", start="a"),
            "json: cannot unmarshal string into Go struct field continueToken.rv of type int64",
            id="a revision in quotes",
        ),
        pytest.param(
            token(v="meta.k8s.io/v9", rv=1, start="a"),
            "server does not recognize this encoded version meta.k8s.io/v9",
            id="another version",
        ),
        pytest.param(token(v="meta.k8s.io/v1", start="a"), "incorrect encoded start resourceVersion", id="no revision"),
        pytest.param(token(v="meta.k8s.io/v1", rv=1), "encoded start key empty", id="no start"),
        pytest.param(
            token(v="meta.k8s.io/v1", rv=1, start="../secrets/a"), "continue key is not valid: ../", id="climbs"
        ),
        pytest.param(
            token(v="meta.k8s.io/v1", rv=1, start="//a"), "continue key is not valid: //a", id="a slash too many"
        ),
    ],
)
def test_what_is_no_token_is_400_and_says_why(text: str, why: str) -> None:
    with pytest.raises(APIError) as refused:
        decode(text)
    assert refused.value.code == 400
    assert refused.value.message.startswith("invalid continue token: continue key is not valid")
    assert why in refused.value.message
