"""Media types: which form of an answer a client accepts, and in which form it sends a body.

Two steps, as upstream has them: the router looks whether any accepted type is produced at all (it knows ``*/*`` but not
``application/*``), then the clauses are tried in order of quality, and a clause whose parameters cannot be met (an
unknown ``as``) is passed over, so that ``application/json;as=Table;…,application/json`` gives JSON where there are no
tables.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/negotiation``; RFC 9110 section 12.5.1.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import NamedTuple

from controlplane.apimachinery.status import APIError, not_acceptable, unsupported_media_type
from controlplane.base.values import dataclass

__all__ = [
    "APPLY_PATCH",
    "CALL",
    "JSON",
    "JSON_PATCH",
    "MERGE_PATCH",
    "OBJECT",
    "PATCH_TYPES",
    "PROTOBUF",
    "STATUS",
    "STRATEGIC_MERGE_PATCH",
    "STREAM",
    "TEXT_OBJECT",
    "TEXT_STREAM",
    "YAML",
    "Answer",
    "Clause",
    "Conversion",
    "Form",
    "accepted_types",
    "body_type",
    "clauses",
    "find",
    "is_protobuf",
    "negotiate",
    "patch_type",
]

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
"""Those that native kinds take; other kinds have no strategic merge patch."""


class Conversion(NamedTuple):
    """An answer in another kind than the resource's own: a Table, say."""

    group: str
    version: str
    kind: str


class Form(NamedTuple):
    """What an endpoint can answer with: ``stream`` is a watch; ``conversions`` are the kinds it can be asked for by
    ``as``; ``plain``, whether it can also be asked for without, and ``protobuf``, whether then in protobuf too: custom
    resources have no such form. ``routed``: upstream's routes look at the header first, at whole media types and in
    words of their own; not so on the way to custom resources."""

    stream: bool = False
    conversions: frozenset[Conversion] = frozenset()
    plain: bool = True
    protobuf: bool = True
    routed: bool = True


_KNOWN = (JSON, YAML, PROTOBUF)
"""What answers may be in, in the order in which a wildcard finds them. Messages list all, as upstream's do, also where
one is not to be had."""
_WITHOUT_PROTOBUF = (JSON, YAML)
_STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_CUSTOM_PATCH_TYPES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
_OBJECT_KINDS = frozenset(
    Conversion("meta.k8s.io", version, kind)
    for version in ("v1", "v1beta1")
    for kind in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
)
_TEXT_KINDS = frozenset(kind for kind in _OBJECT_KINDS if kind.kind == "Table")
"""Those that have no protobuf form."""
OBJECT = Form(conversions=_OBJECT_KINDS)
STREAM = Form(stream=True, conversions=_OBJECT_KINDS)
TEXT_OBJECT = OBJECT._replace(protobuf=False, routed=False)
TEXT_STREAM = STREAM._replace(protobuf=False, routed=False)
"""Of custom resources."""
CALL = OBJECT._replace(conversions=_OBJECT_KINDS - _TEXT_KINDS)
"""Of what is answered and not kept, which has no table."""
STATUS = Form()
"""Of errors, which are in no other kind than their own."""
_WORD = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PARAMETERS = re.compile(rf"(?:\s*;\s*{_WORD}\s*=\s*(?:{_WORD}|{_QUOTED}))*\s*;?\s*")
_PARAMETER_NAME = re.compile(rf"({_WORD})\s*=\s*(?:{_WORD}|{_QUOTED})")
_CACHED_HEADER_CHARACTERS = 512
"""Longer headers are read each time: nobody sends one twice, and the cache stays small."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The form agreed on. ``profile``: a variant of the same content. ``plain``: the served JSON is the answer as it
    is."""

    media_type: str = JSON
    conversion: Conversion | None = None
    pretty: bool = False
    profile: str = ""
    plain: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        plain = self.conversion is None and self.media_type == JSON and not self.pretty
        object.__setattr__(self, "plain", plain)


_PLAIN = Answer()


class Clause(NamedTuple):
    """One of an Accept header's, its media type in two parts; ``quality`` is its ``q``, 1.0 where there is none."""

    kind: str
    subtype: str
    parameters: dict[str, str]
    quality: float

    def matches(self, media_type: str) -> bool:
        """Whether the media type is the clause's or one of its wildcard's."""
        kind, _, subtype = media_type.partition("/")
        return self.kind in (kind, "*") and self.subtype in (subtype, "*")


def negotiate(accept: str | None, form: Form) -> Answer:
    """The form of the answer.

    Raises:
        APIError: 406.
    """
    if not accept or accept == JSON:
        return _PLAIN
    answer = find(accept, form)
    if answer is not None:
        return answer
    known = _produced(form)
    if form.routed and not _names_one(accept, known):
        raise _not_produced(known)
    raise not_acceptable(
        f"only the following media types are accepted: {', '.join(_STREAMS if form.stream else _KNOWN)}"
    )


def find(accept: str, form: Form) -> Answer | None:
    """The form of the answer, or None if there is no acceptable one."""
    if len(accept) > _CACHED_HEADER_CHARACTERS:
        return _find.__wrapped__(accept, form)
    return _find(accept, form)


@lru_cache(maxsize=512)
def _find(accept: str, form: Form) -> Answer | None:
    if form.routed and not _names_one(accept, _produced(form)):
        return None  # "application/*" alone matches nothing there, and clients see 406
    for clause in clauses(accept):
        for media_type in _KNOWN:
            if clause.matches(media_type):
                answer = _agree(clause.parameters, media_type, form)
                if answer is not None:
                    # the first that would do decides, even if a later one could be streamed
                    return None if form.stream and media_type == YAML else answer
    return None


def _produced(form: Form) -> tuple[str, ...]:
    return (*_KNOWN, *_STREAMS) if form.stream else _KNOWN


def _names_one(accept: str, known: tuple[str, ...]) -> bool:
    types = [clause.partition(";")[0].strip() for clause in accept.split(",")]
    return any(t == "*/*" or t in known for t in types)


def clauses(accept: str) -> list[Clause]:
    """The clauses of an Accept header, best first; of equal quality, those without wildcards first, else in order."""
    found = []
    for text in accept.split(","):
        media_type, *rest = text.split(";")
        kind, slash, subtype = media_type.strip().partition("/")
        if not slash:
            if kind != "*":
                continue
            subtype = "*"
        parameters: dict[str, str] = {}
        quality = 1.0
        for parameter in rest:
            name, equals, value = parameter.strip().partition("=")
            if name == "q" and equals:
                quality = _quality(value)
            elif equals:
                parameters[name.strip()] = value.strip().strip('"')
        found.append(Clause(kind, subtype, parameters, quality))
    found.sort(key=lambda c: (-c.quality, c.kind == "*", c.subtype == "*"))
    return found


def accepted_types(accept: str) -> list[tuple[str, str]]:
    """The media types of an Accept header, best first, each in its two parts (``*`` for any)."""
    return [(clause.kind, clause.subtype) for clause in clauses(accept)]


def _not_produced(known: tuple[str, ...]) -> APIError:
    available = ", ".join(known)
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    return APIError(406, "NotAcceptable", message, details={})


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0


def _agree(parameters: dict[str, str], media_type: str, form: Form) -> Answer | None:
    stream = parameters.get("stream")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    if parameters.get("sv"):
        return None
    conversion = None
    if parameters.keys() & {"as", "g", "v"}:
        conversion = Conversion(parameters.get("g", ""), parameters.get("v", ""), parameters.get("as", ""))
        if conversion not in form.conversions or (media_type == PROTOBUF and conversion in _TEXT_KINDS):
            return None
    elif not form.plain or (media_type == PROTOBUF and not form.protobuf):
        return None
    return Answer(media_type, conversion, parameters.get("pretty") == "1", parameters.get("profile", ""))


def body_type(content_type: str | None) -> str:
    """The media type of a body (JSON or YAML); without a header it is JSON.

    Raises:
        APIError: 415.
    """
    if not content_type or content_type == JSON:
        return JSON
    media_type = _well_formed(content_type)
    if media_type in _WITHOUT_PROTOBUF:
        return media_type
    raise _unsupported(_KNOWN)


def is_protobuf(content_type: str | None) -> bool:
    """Whether a body says that it is Kubernetes' protobuf."""
    return content_type is not None and content_type != JSON and _well_formed(content_type) == PROTOBUF


def _well_formed(content_type: str) -> str:
    """The media type that a header names; ``""`` if its parameters cannot be read, as one of them stands twice or has
    no value: then it says nothing."""
    media_type, semicolon, parameters = content_type.partition(";")
    if semicolon:
        found = _PARAMETERS.fullmatch(semicolon + parameters)
        names = [name.lower() for name in _PARAMETER_NAME.findall(parameters)] if found else []
        if found is None or len(set(names)) != len(names):
            return ""
    return media_type.strip().lower()


def patch_type(content_type: str | None, *, native: bool) -> str:
    """The kind of patch, for a native kind or another one.

    Raises:
        APIError: 415. For native kinds upstream's router says so, before anything could list what is allowed.
    """
    media_type = (content_type or "").partition(";")[0].strip()
    if media_type in (PATCH_TYPES if native else _CUSTOM_PATCH_TYPES):
        return media_type
    if not native:
        raise _unsupported(_CUSTOM_PATCH_TYPES)
    raise APIError(415, "UnsupportedMediaType", "415: Unsupported Media Type", details={})


def _unsupported(accepted: tuple[str, ...]) -> APIError:
    return unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    )
