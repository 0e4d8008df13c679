"""What errors show of a body that cannot be understood.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/rest.go`` (summarizeData).
"""

from __future__ import annotations

__all__ = ["body_summary"]

_SHOWN_BYTES = 30


def body_summary(raw: bytes) -> str:
    """The begin of a body: as text if it looks like JSON, else in hexadecimal digits."""
    if not raw:
        return "<empty>"
    more = " ..." if len(raw) > _SHOWN_BYTES else ""
    head = raw[:_SHOWN_BYTES]
    return (head.decode(errors="replace") if raw[0] == 0x7B else head.hex()) + more
