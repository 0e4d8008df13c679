"""TLS connections whose reads and writes go straight to OpenSSL's.

The event loop asks an ``ssl.SSLObject`` for its methods once a connection and calls them several times a message. Those
of the standard library are methods in Python around the ones in C, which take the same arguments.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Any

__all__ = ["DirectSSLObject"]


class DirectSSLObject(ssl.SSLObject):
    """For ``SSLContext.sslobject_class``."""

    _sslobj: Any

    @property
    def read(self) -> Callable[..., Any]:
        return self._sslobj.read  # type: ignore[no-any-return]

    @property
    def write(self) -> Callable[..., int]:
        return self._sslobj.write  # type: ignore[no-any-return]

    @property
    def pending(self) -> Callable[..., int]:
        return self._sslobj.pending  # type: ignore[no-any-return]
