"""Tokens that are kept in secrets: since when their use is recorded, and the end of those that nobody uses."""

from controlplane.controllers.legacy_tokens.cleaner import DESCRIPTOR as CLEANER
from controlplane.controllers.legacy_tokens.tracking import DESCRIPTOR as TRACKING

__all__ = ["CLEANER", "TRACKING"]
