"""What claims mean, and what is refused in them."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import BadCredentials
from controlplane.apiserver.authentication.jwt.claims import user_of_claims
from controlplane.apiserver.authentication.jwt.config import (
    ClaimMappings,
    ClaimRule,
    ExtraMapping,
    Issuer,
    JWTConfig,
    Mapping,
)

ISSUER = Issuer(url="https://issuer.example.com", audiences=("us",))
NAMED = JWTConfig(
    issuer=ISSUER,
    mappings=ClaimMappings(username=Mapping(claim="sub", prefix=""), groups=Mapping(claim="groups", prefix="")),
)


def test_names_that_are_no_identifiers_are_escaped() -> None:
    """``a__dot__b`` is the claim ``a.b``, at any depth, and so in the keys of the user's extra values."""
    config = JWTConfig(
        issuer=ISSUER,
        mappings=ClaimMappings(
            username=Mapping(expression="claims.acme__dot__com.user__dash__name"),
            groups=Mapping(expression="claims.?acme__dot__com.?all__slash__groups.orValue([])"),
            extra=(ExtraMapping(key="acme.com/n", value_expression="has(claims.no__dot__such) ? 'a' : 'b'"),),
        ),
        user_rules=(ClaimRule(expression="user.extra['acme__dot__com__slash__n'] == ['b']"),),
    )
    claims = {"acme.com": {"user-name": "jane", "all/groups": ["dev"]}}
    wanted = UserInfo(name="jane", groups=("dev",), extra={"acme.com/n": ("b",)})
    assert user_of_claims(config, claims) == wanted
    assert user_of_claims(config, {**claims, "acme__dot__com": {}}) == wanted, "not what is called so itself"


@pytest.mark.parametrize(("groups", "kind"), [(7, "number"), ([7], "array"), ({}, "object"), (True, "bool")])
def test_groups_that_are_none(groups: Any, kind: str) -> None:
    with pytest.raises(BadCredentials) as refused:
        user_of_claims(NAMED, {"sub": "jane", "groups": groups})
    why = f"json: cannot unmarshal {kind} into Go value of type string"
    assert str(refused.value) == f'oidc: parse groups claim "groups": {why}'


def test_groups_from_elsewhere() -> None:
    """Those in a token inside the token are not read, as upstream; those to be asked for are refused by name."""
    claims: dict[str, Any] = {"sub": "jane", "_claim_names": {"groups": "a"}, "_claim_sources": {"a": {"JWT": "x.y.z"}}}
    assert user_of_claims(NAMED, claims) == UserInfo(name="jane")
    claims["_claim_sources"] = {"a": {"endpoint": "https://issuer.example.com/groups"}}
    with pytest.raises(BadCredentials, match="could not expand distributed claims"):
        user_of_claims(NAMED, claims)
