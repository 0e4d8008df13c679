"""The etcd backend. Imported only when it is used: it brings in protobuf and HTTP/2."""

from controlplane.storage.kv.etcd.kv import EtcdKV, open_kv

__all__ = ["EtcdKV", "open_kv"]
