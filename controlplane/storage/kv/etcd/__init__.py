"""The etcd backend. Imported only when it is used: it brings in gRPC."""

from controlplane.storage.kv.etcd.kv import EtcdKV, open_kv

__all__ = ["EtcdKV", "open_kv"]
