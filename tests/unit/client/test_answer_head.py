"""Heads of other servers' answers: when their bytes may be sent back as they came."""

from __future__ import annotations

import pytest

from controlplane.client.forward.answer_head import KNOWN, KNOWN_HEADS, read_head

PLAIN = (
    "HTTP/1.1 200 OK",
    "Content-Type: application/json",
    "Cache-Control: no-cache, private",
    "Date: Mon, 30 Nov 2026 21:21:22 GMT",
    "Content-Length: 5",
)


def raw(*lines: str) -> bytes:
    return "\r\n".join(lines).encode()


def test_further_headers_belong_before_the_date() -> None:
    head = read_head(raw(*PLAIN))
    assert raw(*PLAIN)[head.insert_at :].startswith(b"Date: ")
    assert head.passed_on == (200, "application/json", [("Cache-Control", "no-cache, private")])
    assert (head.plain_bytes, head.keep, head.final) == (5, True, True)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Connection: keep-alive", id="of the connection"),
        pytest.param("Transfer-Encoding: chunked", id="chunks"),
        pytest.param("Audit-Id: x", id="made here"),
        pytest.param("Access-Control-Allow-Origin: *", id="not for clients of this server"),
        pytest.param("Date: Mon, 30 Nov 2026 21:21:23 GMT", id="a second date"),
        pytest.param("date: Mon, 30 Nov 2026 21:21:23 GMT", id="a date written otherwise"),
        pytest.param("Content-Length: 5", id="a second length"),
        pytest.param("Content-Type: text/plain", id="a second type"),
        pytest.param("A: b\nAudit-Id: forged", id="a line break of its own"),
        pytest.param("A: b\rc", id="half a line break"),
    ],
)
def test_what_is_not_all_passed_on_is_written_anew(line: str) -> None:
    assert read_head(raw(*PLAIN, line)).insert_at == 0


@pytest.mark.parametrize("missing", [3, 4], ids=["date", "length"])
def test_what_lacks_something_is_written_anew(missing: int) -> None:
    assert read_head(raw(*PLAIN[:missing], *PLAIN[missing + 1 :])).insert_at == 0


def test_an_old_servers_answer_is_written_anew() -> None:
    assert read_head(raw("HTTP/1.0 200 OK", *PLAIN[1:])).insert_at == 0


def test_heads_that_differ_each_time_are_not_kept() -> None:
    kept = dict(KNOWN)
    heads = [read_head(raw(*PLAIN, f"Audit-Id: {number}")) for number in range(3)]
    assert heads[0] is heads[2], "what they say is the same"
    assert kept == KNOWN


def test_what_is_kept_is_bounded() -> None:
    for number in range(2 * KNOWN_HEADS):
        read_head(raw(*PLAIN[:3], f"Date: {number}", PLAIN[4]))
        assert len(KNOWN) <= KNOWN_HEADS
