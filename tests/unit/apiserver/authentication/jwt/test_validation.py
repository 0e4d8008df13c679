"""What is wrong with configurations of issuers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.apiserver.authentication.jwt.config import ClaimMappings, ClaimRule, Issuer, JWTConfig, Mapping
from controlplane.apiserver.authentication.jwt.validation import UNVERIFIED_EMAIL, validate_jwt

GOOD = JWTConfig(
    issuer=Issuer(url="https://a.example.com", audiences=("us",)),
    mappings=ClaimMappings(username=Mapping(claim="sub", prefix="")),
)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("https://a.example.com:port", 'parse "https://a.example.com:port": invalid port ":port" after host'),
        ("http://a.example.com", "URL scheme must be https"),
        ("https://u:p@a.example.com", "URL must not contain a username or password"),
        ("https://a.example.com?q", "URL must not contain a query"),
        ("https://a.example.com#f", "URL must not contain a fragment"),
    ],
)
def test_urls(url: str, why: str) -> None:
    issuer = replace(GOOD.issuer, url=url)
    assert list(map(str, validate_jwt(replace(GOOD, issuer=issuer), "", ()))) == [
        f'issuer.url: Invalid value: "{url}": {why}'
    ]


def test_a_rule_that_is_wrong_does_not_verify_an_address() -> None:
    config = replace(
        GOOD,
        mappings=ClaimMappings(username=Mapping(expression="claims.email")),
        claim_rules=(ClaimRule(expression="claims.?email_verified.orValue(true)"),),
    )
    not_a_bool, unverified = map(str, validate_jwt(config, "", ()))
    assert not_a_bool.endswith(": must evaluate to bool")
    assert unverified.endswith(UNVERIFIED_EMAIL)
    rule = ClaimRule(expression="claims.?email_verified.orValue(true) == true")
    assert validate_jwt(replace(config, claim_rules=(rule,)), "", ()) == []
