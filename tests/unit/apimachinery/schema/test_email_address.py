"""The format ``email``: what Go's ``net/mail`` takes for one address."""

from __future__ import annotations

import pytest

from controlplane.apimachinery.schema.formats import FORMATS


@pytest.mark.parametrize(
    "text",
    [
        "a@b",
        "first.last+tag@mail.example.com",
        "!#$%&'*+-/=?^_`{|}~@example.com",
        "用户@例子.cn",
        '"quoted local"@example.com',
        '"a\\"b"@example.com',
        "a@[192.0.2.1]",
        "a@[2001:db8::1]",
        " \ta@b ",
        "a@ b",
        "Jane Doe <jane@example.com>",
        '"Doe, Jane" <jane@example.com> (work (home))',
        "<jane@example.com>",
        "jane@example.com (Jane)",
        "A.B.C <jane@example.com>",
        "team: jane@example.com;",
        "a@b_c",
        "a@-b-",
    ],
)
def test_addresses(text: str) -> None:
    assert FORMATS["email"](text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "jane",
        "Jane Doe",
        "jane@",
        "@example.com",
        "a..b@example.com",
        ".a@example.com",
        "a.@example.com",
        "a@example..com",
        "a@example.com.",
        "a@.com",
        "a@b@c",
        "a b@c",
        "a@b c",
        "a @b",
        '""@example.com',
        '"open@example.com',
        "a@[example.com]",
        "a@[192.0.2.1",
        "a@b (open",
        "Jane <jane@example.com",
        "Jane <jane@example.com> x",
        "<>",
        "a@b,c@d",
        "team: a@b, c@d;",
        "team:;",
        "a@b\n",
        "a\n@b",
        "a@exa(mple).com",
    ],
)
def test_what_is_no_address(text: str) -> None:
    assert not FORMATS["email"](text)
