"""Warnings that were recorded for a request are sent as Warning headers, within a budget.

Source: kubernetes/apiserver ``pkg/endpoints/filters/warning.go``; the header's form, RFC 7234 section 5.5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from controlplane.apiserver.filters.afterwards import afterwards
from controlplane.client.request import Handler, Request, Response

__all__ = ["warning_headers", "with_warnings"]

TOTAL_RUNES = 4096
ITEM_RUNES = 256
"""Once all warnings together are over ``TOTAL_RUNES``, each is cut to ``ITEM_RUNES``."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def with_warnings(following: Handler) -> Handler:
    """Add ``request.warnings`` to the answer."""

    def add(request: Request, response: Response) -> None:
        if request.warnings:
            response.headers.extend(warning_headers(request.warnings))

    return afterwards(following, add)


def warning_headers(warnings: Sequence[str]) -> list[tuple[str, str]]:
    """The headers of these texts, each text once."""
    texts = [text for text in dict.fromkeys(warnings) if text]
    if sum(map(len, texts)) > TOTAL_RUNES:
        kept, written = [], 0
        for text in texts:
            if written >= TOTAL_RUNES:
                break
            kept.append(text[:ITEM_RUNES])
            written += len(kept[-1])
        texts = kept
    return [("Warning", f'299 - "{_quoted(text)}"') for text in texts if not _CONTROL.search(text)]


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
