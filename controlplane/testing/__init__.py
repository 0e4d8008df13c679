from controlplane.testing.kv import check_kv

__all__ = ["check_kv"]
