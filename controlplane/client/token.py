"""Bearer tokens: given once, or in a file that somebody renews.

Source: kubernetes/client-go ``transport`` (a file is read again after a minute at most).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.client.errors import Unreachable

__all__ = ["FileToken"]

_KEPT_SECONDS = 60.0
"""How long a token read is used before the file is read again."""

log = logs.get(__name__)


class FileToken:
    """The token in ``path``, read in a thread at most once a minute. While it cannot be read the last one is used."""

    __slots__ = ("_clock", "_path", "_read_at", "_token")

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path, self._clock = path, clock
        self._token = ""
        self._read_at = float("-inf")

    async def get(self) -> str:
        """The token to use now.

        Raises:
            Unreachable: the file has never been readable.
        """
        now = self._clock.monotonic()
        if now - self._read_at < _KEPT_SECONDS:
            return self._token
        self._read_at = now
        try:
            token = (await asyncio.to_thread(self._path.read_text)).strip()
        except OSError as e:
            if not self._token:
                self._read_at = float("-inf")
                raise Unreachable(f"token file {self._path}: {e}", sent=False) from e
            log.warning("token file cannot be read, using the last token", path=str(self._path), error=e)
            return self._token
        self._token = token
        return token
