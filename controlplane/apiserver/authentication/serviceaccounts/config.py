"""What an operator says of service account tokens, resolved."""

from __future__ import annotations

from controlplane.base.values import dataclass

__all__ = ["DEFAULT_ISSUER", "ServiceAccountConfig"]

DEFAULT_ISSUER = "https://kubernetes.default.svc"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccountConfig:
    """``issuers``: the first signs, all are accepted. ``audiences``: the API server's own; empty: the issuers.
    ``key_files``: keys that tokens may be signed with, besides the signing key. ``signing_key_file``: ``""``: a key of
    the server's own, made on the first start, or, where there are ``key_files``, none (tokens are verified, and not
    given). ``max_token_seconds``: longer requests are shortened; 0 is no limit. ``lookup``: secret-based tokens must be
    in their secret. ``jwks_uri``: where the keys are published; ``""``: at this server.
    """

    issuers: tuple[str, ...] = (DEFAULT_ISSUER,)
    audiences: tuple[str, ...] = ()
    key_files: tuple[str, ...] = ()
    signing_key_file: str = ""
    max_token_seconds: int = 0
    lookup: bool = True
    jwks_uri: str = ""

    @property
    def own_audiences(self) -> tuple[str, ...]:
        return self.audiences or self.issuers

    @property
    def makes_key(self) -> bool:
        """Whether the signing key is the server's own."""
        return not self.signing_key_file and not self.key_files

    @property
    def signs(self) -> bool:
        """Whether tokens are given."""
        return bool(self.signing_key_file) or not self.key_files
