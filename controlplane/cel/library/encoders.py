"""Base64.

Source: google/cel-go v0.26 ``ext/encoders.go``, Go's ``encoding/base64``. Kubernetes' environment has no such library.
"""

from __future__ import annotations

import base64
import binascii
import re

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.types import BYTES, STRING

__all__ = ["ENCODERS"]

_VALID = re.compile(r"[A-Za-z0-9+/]*")


def _decode(text: str) -> bytes:
    """With padding or without; line ends within do not count."""
    data = text.replace("\n", "").replace("\r", "")
    bare = data.rstrip("=")
    valid = _VALID.match(bare)
    at = valid.end() if valid else 0
    if at < len(bare) or len(bare) % 4 == 1 or len(data) - len(bare) not in (0, -len(bare) % 4):
        raise EvalError(f"illegal base64 data at input byte {at}")
    try:
        return base64.b64decode(bare + "=" * (-len(bare) % 4))
    except binascii.Error as error:
        raise EvalError(f"illegal base64 data: {error}") from None


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


ENCODERS = Library(
    (
        Function(
            "base64.decode",
            (Overload("base64_decode_string", (STRING,), BYTES, _decode),),
        ),
        Function(
            "base64.encode",
            (Overload("base64_encode_bytes", (BYTES,), STRING, _encode),),
        ),
    )
)
