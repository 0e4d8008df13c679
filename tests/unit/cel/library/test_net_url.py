"""URLs as Go reads them."""

from __future__ import annotations

import pytest

from controlplane.cel.library.net_url import is_request_uri, parse_absolute_url, parse_request_uri


def test_the_parts_of_a_url() -> None:
    url = parse_absolute_url("HTTPS://user:p%40ss@example.com:8080/a%2fb/c%20d?k=1&k=2&e=a+b&bad=%zz&x;y#frag%20ment")
    assert (url.scheme, url.host, url.hostname, url.port) == ("https", "example.com:8080", "example.com", "8080")
    assert url.userinfo == "user:p%40ss"
    assert (url.path, url.escaped_path) == ("/a/b/c d", "/a%2fb/c%20d")
    assert url.query == {"k": ["1", "2"], "e": ["a b"]}
    assert url.fragment == "frag ment"
    assert str(url) == ("https://user:p%40ss@example.com:8080/a%2fb/c%20d?k=1&k=2&e=a+b&bad=%zz&x;y#frag%20ment")


@pytest.mark.parametrize(
    ("text", "host", "hostname", "port", "path"),
    [
        ("https://[::1]:80/host-path", "[::1]:80", "::1", "80", "/host-path"),
        ("https://[fe80::1%25en0]", "[fe80::1%en0]", "fe80::1%en0", "", ""),
        ("/path/with spaces/", "", "", "", "/path/with%20spaces/"),
        ("//host/path", "", "", "", "//host/path"),
        ("*", "", "", "", "*"),
        ("mailto:someone@example.com", "", "", "", ""),
        ("https://example.com:/", "example.com:", "example.com", "", "/"),
        ("https://ex%C3%A4mple.com/", "ex\u00e4mple.com", "ex\u00e4mple.com", "", "/"),
        ("https://h/\u00e4?q", "h", "h", "", "/%C3%A4"),
        ("https://h/%ff", "h", "h", "", "/%ff"),
    ],
)
def test_hosts_ports_and_paths(text: str, host: str, hostname: str, port: str, path: str) -> None:
    url = parse_request_uri(text)
    assert (url.host, url.hostname, url.port, url.escaped_path) == (host, hostname, port, path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty url"),
        ("../relative-path", "invalid URI for request"),
        ("example.com", "invalid URI for request"),
        ("://x", "missing protocol scheme"),
        ("1a:b/x", "invalid URI for request"),
        ("https://a{b}/", 'invalid character "{" in host name'),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://example.com:abc/x", 'invalid port ":abc" after host'),
        ("https://[::1", "missing ']' in host"),
        ("https://[::1]x/", 'invalid port "x" after host'),
        ("https://[1.2.3.4]/", "invalid IP-literal"),
        ("https://a[::1]/", "invalid IP-literal"),
        ("https://[v1.x]/", 'invalid host: ParseAddr("v1.x"): unexpected character (at "v1.x")'),
        ("https://example.com/%zz", 'invalid URL escape "%zz"'),
        ("https://example.com/%f", 'invalid URL escape "%f"'),
        ("https://h%41/", 'invalid URL escape "%41"'),
        ("https://us er@h/", "net/url: invalid userinfo"),
        ("https://h/\u0001", "net/url: invalid control character in URL"),
    ],
)
def test_what_is_no_url_is_said_in_go_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_absolute_url(text)
    quoted = text.replace("\u0001", "\\x01")
    assert str(caught.value) == f'parse "{quoted}": {problem}'
    assert not is_request_uri(text)


def test_urls_are_equal_by_their_text() -> None:
    assert parse_absolute_url("HTTP://h/a?#x") == parse_absolute_url("http://h/a?#x")
    assert parse_absolute_url("http://h/a?") != parse_absolute_url("http://h/a")
    assert parse_absolute_url("file:///x") != parse_absolute_url("file:/x")
    assert hash(parse_absolute_url("http://h")) == hash(parse_absolute_url("HTTP://h"))
