from controlplane.storage.kv.sqlite.opening import open_kv

__all__ = ["open_kv"]
