"""Serving HTTP: the only folder that knows aiohttp's server."""

from controlplane.apiserver.server.listen.listener import (
    BODY_LIMIT_BYTES,
    Listener,
    ListenerConfig,
    PortUnavailable,
    bind,
)

__all__ = ["BODY_LIMIT_BYTES", "Listener", "ListenerConfig", "PortUnavailable", "bind"]
