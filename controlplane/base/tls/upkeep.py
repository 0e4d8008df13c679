"""Keep a running server's certificates good: renew its own before they end, and take up whatever changes on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tls.context import ServerTLS, TLSFilesError
from controlplane.base.tls.pki import PKIError

__all__ = ["keep_up"]

log = logs.get(__name__)

LOOK_SECONDS = 10.0
"""How often the files are looked at (a few ``stat`` calls): a replaced certificate is in use that soon."""

RENEW_SECONDS = 86_400.0
"""How often the server's own certificates are checked; they are renewed 110 days before their end."""


async def keep_up(
    tls: ServerTLS,
    *,
    clock: Clock,
    renew: Callable[[], object] | None = None,
    on_change: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Run until cancelled: an owned task.

    Args:
        renew: checks and renews the server's own files (``ensure_pki``); called in a thread. None: they are not ours.
        on_change: called on the loop after new content has been taken up (to give authenticators their new CAs).
    """
    checked = clock.monotonic()
    while True:
        await clock.sleep(LOOK_SECONDS)
        if renew is not None and clock.monotonic() - checked >= RENEW_SECONDS:
            checked = clock.monotonic()
            try:
                await asyncio.to_thread(renew)
            except (PKIError, TLSFilesError) as error:
                log.warning("own certificates cannot be checked; the present ones stay in use", error=error)
        if await asyncio.to_thread(tls.reload_if_changed) and on_change is not None:
            await on_change()
