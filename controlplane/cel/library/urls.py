"""The URL library.

Source: kubernetes/apiserver ``pkg/cel/library/urls.go``, costs of its ``cost.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import nominal, scanned, scanning
from controlplane.cel.library.net_url import URL, is_request_uri, parse_absolute_url
from controlplane.cel.types import BOOL, STRING, Type, list_of, map_of

__all__ = ["URLS"]

_URL = URL.cel_type


def _url(text: str) -> URL:
    try:
        return parse_absolute_url(text)
    except ValueError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


def _getter(name: str, id_: str, get: Callable[[URL], object], result: Type = STRING) -> Function:
    return Function(name, (Overload(id_, (_URL,), result, get, member=True, estimate=nominal),))


URLS = Library(
    (
        Function(
            "url", (Overload("string_to_url", (STRING,), _URL, _url, cost=scanned(), estimate=scanning(sized=True)),)
        ),
        Function("isURL", (Overload("is_url_string", (STRING,), BOOL, is_request_uri),)),
        _getter("getScheme", "url_get_scheme", lambda url: url.scheme),
        _getter("getHost", "url_get_host", lambda url: url.host),
        _getter("getHostname", "url_get_hostname", lambda url: url.hostname),
        _getter("getPort", "url_get_port", lambda url: url.port),
        _getter("getEscapedPath", "url_get_escaped_path", lambda url: url.escaped_path),
        _getter("getQuery", "url_get_query", lambda url: url.query, map_of(STRING, list_of(STRING))),
    ),
    types={"kubernetes.URL": _URL},
)
