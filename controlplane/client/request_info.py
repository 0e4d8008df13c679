"""What a request asks for, read from its method, path and query: verb, resource, namespace, name, subresource.

Authorization, audit, flow control and the endpoints all decide by this one reading, so it is made once, early.

Source: behaviour of kubernetes/apiserver ``pkg/endpoints/request`` (RequestInfo), its order of rules included.
"""

from __future__ import annotations

import re
from functools import lru_cache

from controlplane.apimachinery.selectors.fields import parse_field_selector
from controlplane.apimachinery.selectors.labels import SelectorError, parse_label_selector
from controlplane.apimachinery.validation.names import name_is_path_segment
from controlplane.base.values import dataclass
from controlplane.client.request import Query

__all__ = ["LONG_RUNNING_VERBS", "RequestInfo", "RequestInfoError", "parse_request_info"]

LONG_RUNNING_VERBS = frozenset({"watch", "proxy"})
_LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})
_VERB_OF = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PATH_VERBS = frozenset({"proxy", "watch"})
_NO_SUBRESOURCES = frozenset({"proxy"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_SELECTOR_VERBS = frozenset({"list", "watch", "deletecollection"})
_NUMBERS = ("limit", "timeoutSeconds")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
"""Longer numbers, most of which are out of range, are not read as one."""
_REMEMBERED_CHARACTERS = 512
"""Of path and query; longer ones are read each time."""


class RequestInfoError(ValueError):
    """The path names a verb but nothing to apply it to."""


@dataclass(slots=True, kw_only=True)
class RequestInfo:
    """The reading of one request, shared by all requests alike: not to be changed but for ``counted``. For a
    non-resource request only ``path`` and ``verb`` (the lower-case method) say anything. ``name`` may come from the
    field selector ``metadata.name=…`` of a list or watch."""

    is_resource: bool
    path: str
    verb: str
    api_prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    field_selector: str = ""
    label_selector: str = ""
    long_running: bool = False
    """Whether the request may outlive the request timeout (it is then only counted for the drain)."""
    counted: object = None
    """Where the filter that counts requests found the last of these to be counted; its own."""


def parse_request_info(method: str, path: str, query_string: str = "") -> RequestInfo:
    """Read one request.

    Args:
        method: upper case. path: percent-decoded. query_string: raw.

    Raises:
        RequestInfoError: a path verb (``watch/``, ``proxy/``) with nothing after it.
    """
    if len(path) + len(query_string) <= _REMEMBERED_CHARACTERS:
        return _remembered(method, path, query_string)
    return _parse(method, path, query_string)


def _parse(method: str, path: str, query_string: str) -> RequestInfo:
    info = _read(method, path, query_string)
    if info.is_resource:
        info.long_running = info.verb in LONG_RUNNING_VERBS or info.subresource in _LONG_RUNNING_SUBRESOURCES
    else:
        info.long_running = path.startswith("/debug/pprof/")
    return info


def _read(method: str, path: str, query_string: str) -> RequestInfo:
    info = RequestInfo(is_resource=False, path=path, verb=method.lower())
    parts = path.strip("/").split("/")
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return info
    if parts[0] == "apis":
        if len(parts) < 4:
            return info
        prefix, group, version, rest = parts[0], parts[1], parts[2], parts[3:]
    else:
        prefix, group, version, rest = parts[0], "", parts[1], parts[2:]
    info.is_resource, info.api_prefix, info.group, info.version = True, prefix, group, version
    via_path = rest[0] in _PATH_VERBS
    if via_path:
        if len(rest) < 2:
            raise RequestInfoError(f"unable to determine kind and namespace from url, {path}")
        info.verb, rest = rest[0], rest[1:]
    else:
        info.verb = _VERB_OF.get(method, "")
    if rest[0] == "namespaces" and len(rest) > 1:
        info.namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    info.parts = tuple(rest)
    info.resource = rest[0]
    if len(rest) >= 2:
        info.name = rest[1]
    if len(rest) >= 3 and info.verb not in _NO_SUBRESOURCES:
        info.subresource = rest[2]
    if (not info.name and info.verb in ("get", "delete")) or (not via_path and info.verb in _SELECTOR_VERBS):
        _read_collection(info, query_string, via_path=via_path)
    return info


_remembered = lru_cache(maxsize=4096)(_parse)
"""Clients ask for the same things again and again; at most about 6 MB."""


def _read_collection(info: RequestInfo, query_string: str, *, via_path: bool) -> None:
    """Settle the verb of a request without a name, and what its query says of names and selectors."""
    query = Query.parse(query_string) if query_string else Query()
    if info.verb == "get":
        info.verb = "watch" if query.flag("watch") else "list"
        info.name = _single_name(query)
    elif info.verb == "delete":
        info.verb = "deletecollection"
    if not via_path and info.verb in _SELECTOR_VERBS:
        info.field_selector = query.first("fieldSelector")
        info.label_selector = query.first("labelSelector")


def _single_name(query: Query) -> str:
    """The name that ``metadata.name=x`` requires, if it could be a path segment; else ``""``.

    Options that cannot be read name nothing: nobody may be let in for one part of what is refused as a whole.
    """
    text = query.first("fieldSelector")
    if "metadata.name" not in text:
        return ""
    try:
        name = parse_field_selector(text).exact("metadata.name") or ""
        parse_label_selector(query.first("labelSelector"))
    except SelectorError:
        return ""
    if not all(_INTEGER.fullmatch(query.first(number)) for number in _NUMBERS if number in query):
        return ""
    return "" if name_is_path_segment(name, False) else name
