"""The mirror: a store's image in memory, and all reads, lists and watches on it."""

from controlplane.storage.cache.mirror import Mirror, MirrorStatistics

__all__ = ["Mirror", "MirrorStatistics"]
