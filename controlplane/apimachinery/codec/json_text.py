"""JSON text that is not quite Unicode, as Go's decoder reads it: what cannot be decoded becomes U+FFFD.

Source: Go's ``encoding/json`` (decode.go: unquote), where every byte that is not UTF-8, and every surrogate without its
other half, is one replacement character.
"""

from __future__ import annotations

import codecs
import re

__all__ = ["well_formed"]

_HANDLER = "controlplane-replace-each-byte"
_SURROGATE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<alone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""Every escape, so that a backslash that is itself escaped begins none."""


def well_formed(text: bytes) -> bytes:
    """The text with replacement characters where it is not Unicode; equal to ``text`` if nothing is wrong."""
    decoded = text.decode(errors=_HANDLER)
    if "\\u" not in decoded:
        return decoded.encode()
    return _SURROGATE.sub(lambda found: "\\ufffd" if found["alone"] else found[0], decoded).encode()


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError), "bytes are decoded with it, nothing else"
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_HANDLER, _replace_each_byte)
