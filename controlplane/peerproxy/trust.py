"""How a peer proves itself, and what is to be put right where it, or this server, is not believed.

A peer's serving certificate is signed by an authority of ``--peer-ca-file`` and names ``kubernetes.default.svc``,
whatever its address: addresses come and go.

Source: kubernetes ``pkg/controlplane/apiserver/peer.go`` (BuildPeerProxy: the server name).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controlplane.base import logs
from controlplane.base.clock import Clock
from controlplane.base.tls.context import TLSFilesError, read_pool
from controlplane.client.forward.transport import Trust

__all__ = ["NOT_BELIEVED", "NOT_USABLE", "SERVER_NAME", "PeerTrust", "remedy_of"]

SERVER_NAME = "kubernetes.default.svc"
LOOK_SECONDS = 10.0
"""How often the authorities' file is read anew."""

NOT_BELIEVED = (
    "the peer does not believe this server: --proxy-client-cert-file must not have expired, must be signed by the "
    "peer's --requestheader-client-ca-file, and be named in its --requestheader-allowed-names if it has any"
)
NOT_USABLE = "--proxy-client-cert-file and --proxy-client-key-file must be readable, in PEM, and belong together"

log = logs.get(__name__)


class PeerTrust:
    """``current``: what peers must show now.

    Raises:
        TLSFilesError: the file cannot be used.
    """

    def __init__(self, ca_file: str) -> None:
        self._file = ca_file
        self.current = self._read()

    async def follow(self, clock: Clock, changed: Callable[[], None]) -> None:
        """Take up other authorities, and call ``changed``; runs until cancelled."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            try:
                read = await asyncio.to_thread(self._read)
            except TLSFilesError as error:
                log.warning("--peer-ca-file cannot be used; what was in it counts on", error=error)
                continue
            if read != self.current:
                self.current = read
                changed()
                log.info("the authorities of peers have changed", file=self._file)

    def _read(self) -> Trust:
        try:
            return Trust(server_name=SERVER_NAME, ca_pem=read_pool(self._file))
        except TLSFilesError as error:
            raise TLSFilesError(f"--peer-ca-file: {error}") from error


_REMEDIES = (
    ("alert", NOT_BELIEVED),
    ("401 unauthorized", NOT_BELIEVED),
    ("unknown authority", "--peer-ca-file must hold the authority that signed the peer's serving certificate"),
    ("unable to load root certificates", "--peer-ca-file must hold certificates in PEM"),
    ("expired", "the peer's --tls-cert-file, or what is in --peer-ca-file, has expired"),
    ("hostname mismatch", f"the peer's --tls-cert-file must name {SERVER_NAME}"),
    ("key values mismatch", NOT_USABLE),
    ("no such file", NOT_USABLE),
    ("permission denied", NOT_USABLE),
    ("pem lib", NOT_USABLE),
    ("failed to verify", "--peer-ca-file must fit the peer's serving certificate"),
)
"""By what a failure's text has in it, the first that fits."""


def remedy_of(error: str) -> str:
    """What to do about a connection that failed with this text; empty if nothing is wrong with trust."""
    return next((remedy for part, remedy in _REMEDIES if part in error.lower()), "")
