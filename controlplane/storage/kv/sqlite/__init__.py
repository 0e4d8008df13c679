"""``sqlite:PATH``: the embedded store in a file."""

from controlplane.storage.kv.sqlite.opening import open_kv

__all__ = ["open_kv"]
