"""A gRPC client over HTTP/2 framing of our own: one channel to one server, unary calls and streams in both directions.

Knows nothing of etcd and of protobuf: requests and responses are bytes. Why not grpc.aio: docs/decisions/0007.
"""

from controlplane.base.grpc.call import Stream
from controlplane.base.grpc.channel import Channel
from controlplane.base.grpc.status import Code, RpcError

__all__ = ["Channel", "Code", "RpcError", "Stream"]
