"""Durations as Kubernetes' clients write them in queries: ``30s``, ``1m30s``, ``500ms``.

Source: the syntax and error texts of Go's ``time.ParseDuration``.
"""

from __future__ import annotations

import re

__all__ = ["parse_duration"]

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_TERM = re.compile(r"(\d+\.?\d*|\.\d+)([^\d.]*)", re.ASCII)


def parse_duration(text: str) -> float:
    """Seconds.

    Raises:
        ValueError: with Go's text.
    """
    unsigned = text[1:] if text[:1] in {"+", "-"} else text
    if unsigned == "0":
        return 0.0
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    total, at = 0.0, 0
    while at < len(unsigned):
        term = _TERM.match(unsigned, at)
        if term is None:
            raise ValueError(f"time: invalid duration {quoted}")
        number, unit = term.groups()
        if not unit:
            raise ValueError(f"time: missing unit in duration {quoted}")
        if unit not in _SECONDS:
            raise ValueError(f'time: unknown unit "{unit}" in duration {quoted}')
        total += float(number) * _SECONDS[unit]
        at = term.end()
    if not unsigned:
        raise ValueError(f"time: invalid duration {quoted}")
    return -total if text[0] == "-" else total
