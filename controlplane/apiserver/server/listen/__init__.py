"""Serving HTTP: the only folder that knows aiohttp's server.

aiohttp's server is imported by its modules, not by ``aiohttp.web``, which would bring its application framework along:
a twentieth of the time to start.
"""

from controlplane.apiserver.server.listen.listener import (
    BODY_LIMIT_BYTES,
    Listener,
    ListenerConfig,
    PortUnavailable,
    bind,
)

__all__ = ["BODY_LIMIT_BYTES", "Listener", "ListenerConfig", "PortUnavailable", "bind"]
