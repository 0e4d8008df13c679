"""JSON for people to read: what Kubernetes sends indented by two spaces, without a line feed at the end."""

from __future__ import annotations

import orjson

from controlplane.apimachinery.identity import Obj

__all__ = ["indented"]


def indented(document: Obj) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)
