"""URLs as Go's ``net/url`` reads and writes them.

Escapes stand for bytes: a text that comes out of them need not be UTF-8, and keeps its bytes as surrogates until it is
written again.

Source: the behaviour and the error texts of Go's ``net/url``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar

from controlplane.cel.library.go_text import go_quoted
from controlplane.cel.library.netip import parse_any_address
from controlplane.cel.limits import check_items
from controlplane.cel.types import Type, object_type

__all__ = ["URL", "is_request_uri", "parse_absolute_url", "parse_request_uri", "parse_url"]

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_ESCAPES = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")
_PORT = re.compile(r"(?::[0-9]*)?")
_USERINFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")

_UNRESERVED = "A-Za-z0-9\\-_.~"
_PATH_UNSAFE = re.compile(rf"[^{_UNRESERVED}$&+,/:;=@]+")
_PATH_VALID = re.compile(rf"[{_UNRESERVED}$&+,/:;=@!'()*\[\]%]*")
_FRAGMENT_UNSAFE = re.compile(rf"[^{_UNRESERVED}$&+,/:;=?@!()*]+")
_FRAGMENT_VALID = re.compile(rf"[{_UNRESERVED}$&+,/:;=?@!()*'\[\]%]*")
_HOST = rf"""{_UNRESERVED}!$&'()*+,;=:\[\]<>\""""
_HOST_UNSAFE = re.compile(f"[^{_HOST}]+")
_HOST_NOTABLE = re.compile(rf"%.{{0,2}}|[^{_HOST}\x80-\U0010ffff]", re.DOTALL)
"""Escapes, and what may not stand in a host."""
_USER_UNSAFE = re.compile(rf"[^{_UNRESERVED}$&+,;=]+")


_PAIRS = 50
"""How much more work a parameter is than an item of a list; asking for them costs 1."""


class URL:
    """The parts of a URL. ``host`` has the port; ``path`` and ``fragment`` are without escapes, ``raw_*`` as given."""

    __slots__ = (
        "force_query",
        "fragment",
        "host",
        "omit_host",
        "opaque",
        "path",
        "raw_fragment",
        "raw_path",
        "raw_query",
        "scheme",
        "userinfo",
    )
    cel_type: ClassVar[Type] = object_type("kubernetes.URL")

    def __init__(self) -> None:
        self.scheme = self.opaque = self.host = self.path = self.raw_path = self.raw_query = ""
        self.fragment = self.raw_fragment = ""
        self.userinfo: str | None = None
        self.force_query = self.omit_host = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"URL({str(self)!r})"

    def __str__(self) -> str:
        """The URL written again."""
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            text += self._authority()
            path = self.escaped_path
            if path and path[0] != "/" and self.host:
                path = "/" + path
            if not text and ":" in path.partition("/")[0]:
                path = "./" + path
            text += path
        if self.force_query or self.raw_query:
            text += "?" + self.raw_query
        if self.fragment:
            text += "#" + _escaped_part(self.fragment, self.raw_fragment, _FRAGMENT_UNSAFE, _FRAGMENT_VALID)
        return text

    def _authority(self) -> str:
        if not (self.host or self.userinfo is not None or (self.scheme and self.path and not self.omit_host)):
            return ""
        user = "" if self.userinfo is None else self.userinfo + "@"
        return f"//{user}{_escaped(self.host, _HOST_UNSAFE)}"

    @property
    def escaped_path(self) -> str:
        if self.path == "*":
            return "*"
        return _escaped_part(self.path, self.raw_path, _PATH_UNSAFE, _PATH_VALID)

    @property
    def hostname(self) -> str:
        """The host without port and without brackets."""
        host, _ = self._host_and_port()
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        return self._host_and_port()[1]

    def _host_and_port(self) -> tuple[str, str]:
        head, colon, port = self.host.rpartition(":")
        return (head, port) if colon and _PORT.fullmatch(":" + port) else (self.host, "")

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters; pairs that cannot be read are left out.

        Raises:
            CostExceeded: there are so many that it would take long.
        """
        check_items(_PAIRS * (self.raw_query.count("&") + 1))
        found: dict[str, list[str]] = {}
        for pair in self.raw_query.split("&"):
            if not pair or ";" in pair:
                continue
            key, _, value = pair.partition("=")
            if _BAD_ESCAPE.search(key) or _BAD_ESCAPE.search(value):
                continue
            found.setdefault(_decoded(key.replace("+", " ")), []).append(_decoded(value.replace("+", " ")))
        return found


def is_request_uri(text: str) -> bool:
    """Whether a text is an absolute URL or an absolute path."""
    try:
        _parsed(text, via_request=True)
    except ValueError:
        return False
    return True


def parse_request_uri(text: str) -> URL:
    """Read an absolute URL or an absolute path, as a server reads its request's: there are no fragments.

    Raises:
        ValueError: with Go's message.
    """
    try:
        return _parsed(text, via_request=True)
    except ValueError as error:
        raise ValueError(f"parse {go_quoted(text)}: {error}") from None


def parse_absolute_url(text: str) -> URL:
    """Read an absolute URL or an absolute path, and its fragment.

    Raises:
        ValueError: with Go's message.
    """
    url = parse_request_uri(text)
    return parse_url(text) if "#" in text or text.startswith("//") else url


def parse_url(text: str) -> URL:
    """Read any URL, as ``url.Parse`` does.

    Raises:
        ValueError: with Go's message.
    """
    head, _, fragment = text.partition("#")
    try:
        url = _parsed(head, via_request=False)
    except ValueError as error:
        raise ValueError(f"parse {go_quoted(head)}: {error}") from None
    if fragment:
        try:
            url.fragment = _unescaped(fragment)
        except ValueError as error:
            raise ValueError(f"parse {go_quoted(text)}: {error}") from None
        url.raw_fragment = fragment
    return url


def _parsed(text: str, *, via_request: bool) -> URL:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text and via_request:
        raise ValueError("empty url")
    url = URL()
    if text == "*":
        url.path = "*"
        return url
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    scheme = _SCHEME.match(text)
    rest = text
    if scheme:
        url.scheme, rest = scheme[1].lower(), text[scheme.end() :]
    rest, question, url.raw_query = rest.partition("?")
    url.force_query = bool(question) and not url.raw_query
    if not rest.startswith("/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise ValueError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (url.scheme or (not via_request and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        _read_authority(url, authority)
    elif url.scheme:
        url.omit_host = True
    url.path, url.raw_path = _unescaped(rest), rest
    return url


def _read_authority(url: URL, authority: str) -> None:
    userinfo, at, host = authority.rpartition("@")
    url.host = _host(host)
    if not at:
        return
    if not _USERINFO.fullmatch(userinfo):
        raise ValueError("net/url: invalid userinfo")
    user, colon, password = userinfo.partition(":")
    url.userinfo = _escaped(_unescaped(user), _USER_UNSAFE)
    if colon:
        url.userinfo += ":" + _escaped(_unescaped(password), _USER_UNSAFE)


def _host(host: str) -> str:
    before, bracket, literal = host.rpartition("[")
    if bracket:
        if before:
            raise ValueError("invalid IP-literal")
        return _bracketed(literal)
    if ":" in host:
        _check_port(":" + host.rpartition(":")[2])
    return _unescaped(host, _host_escape)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {go_quoted(port)} after host")


def _bracketed(literal: str) -> str:
    """An IPv6 address with an optional zone, and the port behind the bracket."""
    host, bracket, port = literal.rpartition("]")
    if not bracket:
        raise ValueError("missing ']' in host")
    _check_port(port)
    address, percent, zone = host.partition("%25")
    host = _unescaped(address, _host_escape) + (_unescaped("%25" + zone, _zone_escape) if percent else "")
    try:
        is_ipv6 = parse_any_address(host).bits == 128
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if not is_ipv6:
        raise ValueError("invalid IP-literal")
    return f"[{host}]{port}"


def _host_escape(escape: str) -> bool:
    """Hosts may escape bytes beyond ASCII, and the percent sign of a zone."""
    return escape == "%25" or int(escape[1:], 16) >= 0x80


def _zone_escape(escape: str) -> bool:
    """Zones may also escape what they could hold as it is, and spaces."""
    byte = int(escape[1:], 16)
    return escape == "%25" or byte == 0x20 or (byte < 0x80 and not _HOST_UNSAFE.match(chr(byte)))


def _unescaped(text: str, host_rule: Callable[[str], bool] | None = None) -> str:
    """``text`` without escapes; in a host (``host_rule``) not all may be escaped, and not all may stand as it is."""
    if host_rule:
        for found in _HOST_NOTABLE.finditer(text):
            part = found[0]
            if part[0] != "%":
                raise ValueError(f"invalid character {go_quoted(part)} in host name")
            if not _ESCAPE.fullmatch(part) or not host_rule(part):
                raise ValueError(f"invalid URL escape {go_quoted(part)}")
    bad = _BAD_ESCAPE.search(text)
    if bad:
        raise ValueError(f"invalid URL escape {go_quoted(text[bad.start() : bad.start() + 3])}")
    return _decoded(text)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    data = _ESCAPES.sub(_bytes_of, text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _bytes_of(escapes: re.Match[bytes]) -> bytes:
    return bytes.fromhex(escapes[0].replace(b"%", b"").decode("ascii"))


def _escaped(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(_escapes_of, text)


def _escapes_of(chars: re.Match[str]) -> str:
    return "%" + chars[0].encode("utf-8", "surrogateescape").hex("%").upper()


def _escaped_part(text: str, raw: str, unsafe: re.Pattern[str], valid: re.Pattern[str]) -> str:
    """As it was given where that is a valid escaping, else escaped anew."""
    return raw if raw and valid.fullmatch(raw) else _escaped(text, unsafe)
