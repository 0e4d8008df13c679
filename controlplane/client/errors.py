"""What can go wrong between a client and a server, apart from what the server itself says (that is an APIError)."""

from __future__ import annotations

__all__ = ["BadAnswer", "ClientError", "KubeconfigError", "NoKindMatch", "StreamBroken", "Unreachable"]


class ClientError(Exception):
    """Root of everything that a client raises on purpose, APIError aside."""


class Unreachable(ClientError):
    """No whole answer came: no connection, no trust, a connection lost, or the time was up.

    ``sent`` is false if the request certainly did not leave; otherwise a write may have taken effect.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class StreamBroken(ClientError):
    """A stream ended where its sender did not end it: resume after the last event that was received."""


class BadAnswer(ClientError):
    """An answer that is not what the API promises: not JSON, not an object, not a watch event."""


class KubeconfigError(ClientError):
    """A kubeconfig that cannot be used; the message names the file, the entry and the remedy."""


class NoKindMatch(ClientError):
    """Discovery knows no resource of this kind. That may change, and says nothing about what exists."""

    def __init__(self, kind: str, api_version: str) -> None:
        super().__init__(f'no matches for kind "{kind}" in version "{api_version}"')
