"""What the aggregator is told."""

from __future__ import annotations

from controlplane.base.values import dataclass

__all__ = ["AggregationConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregationConfig:
    """``proxy_cert_file`` and ``proxy_key_file``: what this server shows to the servers it speaks for; empty: nothing.
    ``reject_redirects``: whether a server that answers with a redirect is refused. ``probes``: whether remote services
    are tried, and their availability told by their objects; otherwise somebody else does that."""

    proxy_cert_file: str = ""
    proxy_key_file: str = ""
    reject_redirects: bool = True
    probes: bool = True
