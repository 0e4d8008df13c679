"""What goes along with a request that is sent on, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from multidict import CIMultiDict

from controlplane.apimachinery.status import APIError
from controlplane.apimachinery.user import UserInfo
from controlplane.client.forward.head import quoted_path, request_head
from controlplane.client.forward.identity import MEANT_FOR, PEER_PROXIED, forwarded, to_peer
from controlplane.client.request import KnownHeaders, Request
from controlplane.client.webhook import Endpoint

ALICE = UserInfo(name="alice", uid="7", groups=("g1", "g2"), extra={"a.b/c": ("1", "2")})


def made(*headers: tuple[str, str], user: UserInfo = ALICE, path: str = "/a b", audit_id: str = "id-1") -> Request:
    request = Request("GET", path, query_string="x=1", headers=CIMultiDict(headers), remote="10.0.0.1")
    request.user, request.audit_id = user, audit_id
    return request


def lines(request: Request, *, to_peer: bool = False) -> list[str]:
    text = forwarded(request, to_peer=to_peer)[1].decode()
    assert text.endswith("\r\n")
    return text[:-2].split("\r\n")


WHO = [
    "X-Forwarded-For: 10.0.0.1",
    "X-Forwarded-Host: x",
    "X-Forwarded-Proto: https",
    "X-Remote-User: alice",
    "X-Remote-Uid: 7",
    "X-Remote-Group: g1",
    "X-Remote-Group: g2",
    "X-Remote-Extra-a.b%2Fc: 1",
    "X-Remote-Extra-a.b%2Fc: 2",
]


def test_who_asks_goes_along_and_what_it_says_of_itself_does_not() -> None:
    sent = made(
        ("Host", "x"),
        ("Accept", "*/*"),
        ("authorization", "Bearer x"),
        ("X-REMOTE-USER", "root"),
        ("x-remote-extra-y", "z"),
        (PEER_PROXIED, "true"),
        (MEANT_FOR, "somebody"),
        ("Connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("X-Forwarded-Uri", "/elsewhere"),
        ("Audit-Id", "other"),
    )
    assert lines(sent) == ["Accept: */*", *WHO, "X-Forwarded-Uri: /a%20b", "Audit-Id: id-1"]
    assert forwarded(sent)[0] == "/a%20b?x=1"


def test_a_peer_gets_the_mark_and_nothing_that_repeats_the_target() -> None:
    assert lines(made(("Host", "x")), to_peer=True) == [*WHO, f"{PEER_PROXIED}: true", "Audit-Id: id-1"]


def test_requests_alike_differ_in_their_last_lines_alone() -> None:
    first, second = (lines(made(("Host", "x"), path=path, audit_id=path[1:])) for path in ("/a", "/b"))
    assert (first[:-2], first[-2:]) == (second[:-2], ["X-Forwarded-Uri: /a", "Audit-Id: a"])
    assert second[-2:] == ["X-Forwarded-Uri: /b", "Audit-Id: b"]


OTHERS = pytest.mark.parametrize(
    "other",
    [
        pytest.param(UserInfo(name="bob", uid="7", groups=("g1", "g2"), extra=ALICE.extra), id="name"),
        pytest.param(UserInfo(name="alice", uid="8", groups=("g1", "g2"), extra=ALICE.extra), id="uid"),
        pytest.param(UserInfo(name="alice", uid="7", groups=("g1",), extra=ALICE.extra), id="groups"),
        pytest.param(UserInfo(name="alice", uid="7", groups=("g1", "g2"), extra={"a.b/c": ("1",)}), id="extra"),
    ],
)


@OTHERS
def test_nobody_goes_as_somebody_else_who_sent_the_same(other: UserInfo) -> None:
    assert lines(made(("Host", "x"))) != lines(made(("Host", "x"), user=other))


def test_addresses_before_are_kept() -> None:
    assert "X-Forwarded-For: 1.2.3.4, 10.0.0.1" in lines(made(("X-Forwarded-For", "1.2.3.4")))


def test_nothing_begins_a_header_of_its_own() -> None:
    assert "Audit-Id: d e" in lines(made(("Host", "x"), audit_id="d\ne"))
    head = request_head("GET", "/?a=\r\nX: 1", Endpoint("::1", 443), b"A: 1\r\n")
    assert head == b"GET /?a=  X: 1 HTTP/1.1\r\nHost: [::1]:443\r\nA: 1\r\n\r\n"


@pytest.mark.parametrize(
    ("path", "sent"),
    [("/a/b-c_d.e~f:g@h", "/a/b-c_d.e~f:g@h"), ("/ü?#", "/%C3%BC%3F%23"), ("/%", "/%25"), ("/\n", "/%0A")],
)
def test_paths_are_encoded_as_they_were(path: str, sent: str) -> None:
    assert quoted_path(path) == sent


PEER = Endpoint("127.0.0.1", 6443)


def known(*headers: tuple[str, str], user: UserInfo = ALICE, remote: str = "10.0.0.1") -> Request:
    """A request with headers that come again."""
    return again(made(*headers), KnownHeaders(CIMultiDict(headers)), user=user, remote=remote)


def again(
    before: Request, headers: KnownHeaders | None = None, *, user: UserInfo = ALICE, remote: str = "10.0.0.1"
) -> Request:
    """The next request with the same headers."""
    request = Request("GET", "/", headers=headers if headers is not None else before.headers, remote=remote)
    request.user = user
    return request


def rest(request: Request, endpoint: Endpoint = PEER) -> str:
    said = to_peer(request, endpoint)
    assert said.plain
    return said.rest


def test_what_a_peer_is_sent_is_rendered_once_for_headers_that_come_again() -> None:
    first = known(("Host", "x"))
    note = to_peer(first, PEER)
    assert to_peer(again(first), PEER) is note
    assert note.rest == "HTTP/1.1\r\nHost: 127.0.0.1:6443\r\n" + "\r\n".join([*WHO, f"{PEER_PROXIED}: true", ""])
    assert rest(first, Endpoint("::1", 443)).startswith("HTTP/1.1\r\nHost: [::1]:443\r\n")


@OTHERS
def test_nobody_goes_as_somebody_else_on_the_same_connection(other: UserInfo) -> None:
    first = known(("Host", "x"))
    seen = rest(first)
    assert rest(again(first, user=other)) == rest(known(("Host", "x"), user=other)) != seen
    assert rest(again(first)) == seen, "and back"
    assert "X-Forwarded-For: 10.0.0.2" in rest(again(first, remote="10.0.0.2"))


@pytest.mark.parametrize(
    ("headers", "is_plain"),
    [
        pytest.param((), True, id="plain"),
        pytest.param((("Connection", "Upgrade"), ("Upgrade", "websocket")), False, id="another protocol"),
        pytest.param((("Connection", "Upgrade"),), True, id="no protocol"),
        pytest.param((("Upgrade", "websocket"),), True, id="not of this connection"),
        pytest.param((("Content-Length", "2"),), False, id="a body"),
        pytest.param((("Transfer-Encoding", "chunked"),), False, id="a body of chunks"),
    ],
)
def test_what_has_a_body_or_wants_another_protocol_is_not_plain(
    headers: tuple[tuple[str, str], ...], *, is_plain: bool
) -> None:
    assert to_peer(known(("Host", "x"), *headers), PEER).plain is is_plain


def test_of_other_headers_it_is_not_told_whether_there_is_a_body() -> None:
    assert not to_peer(made(("Host", "x")), PEER).plain


@pytest.mark.parametrize(
    "value", ["root ", " root", "\troot", "root\n", "a\r\nX-Remote-Group: system:masters", "a\0", "a\x7f"]
)
@pytest.mark.parametrize("field", ["name", "uid", "groups", "extra"])
def test_who_would_be_taken_for_another_is_not_sent_on(field: str, value: str) -> None:
    values: dict[str, Any] = {"name": value, "uid": value, "groups": ("g", value), "extra": {"key": ("v", value)}}
    user = replace(ALICE, **{field: values[field]})
    with pytest.raises(APIError) as refused:
        forwarded(made(("Host", "x"), user=user))
    assert (refused.value.code, refused.value.retry_after_seconds) == (503, 0)
    with pytest.raises(APIError):
        to_peer(known(user=user), Endpoint("127.0.0.1", 1))


def test_names_in_any_language_are_sent_on() -> None:
    assert "X-Remote-User: \u00e9 \u65e5\u672c" in lines(made(user=replace(ALICE, name="\u00e9 \u65e5\u672c")))
