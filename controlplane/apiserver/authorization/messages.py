"""What a refused client reads.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/responsewriters/errors.go`` (its text).
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupResource
from controlplane.apimachinery.status import APIError, forbidden
from controlplane.apiserver.authorization.api import Attributes

__all__ = ["forbidden_error", "forbidden_message"]

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden_error(attributes: Attributes, reason: str = "") -> APIError:
    """The 403; ``reason`` is the authorizer's."""
    message = forbidden_message(attributes)
    gr = GroupResource(attributes.group, attributes.resource)
    return forbidden(gr, attributes.name, f"{message}: {reason}" if reason else message)


def forbidden_message(attributes: Attributes) -> str:
    """Who cannot do what where, with HTML's characters escaped (a browser must not take it for a page)."""
    user, verb = _quoted(attributes.user.name), attributes.verb
    if not attributes.is_resource:
        return f"User {user} cannot {verb} path {_quoted(attributes.path)}".translate(_HTML)
    resource = attributes.resource + (f"/{attributes.subresource}" if attributes.subresource else "")
    what = f"User {user} cannot {verb} resource {_quoted(resource)} in API group {_quoted(attributes.group)}"
    where = f"in the namespace {_quoted(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    return f"{what} {where}".translate(_HTML)


def _quoted(text: str) -> str:
    """As Go's %q: printable text stays, also beyond ASCII; the rest is escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(_escaped(character) for character in text) + '"'


_SHORT = {"\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v"}


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
