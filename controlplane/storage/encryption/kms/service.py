"""Calls to a KMS plugin over its socket.

Source: k8s.io/kms apis/v2/api.proto; kubernetes/apiserver ``pkg/storage/value/encrypt/envelope/kmsv2/grpc_service.go``.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError

from controlplane.base.grpc import Channel, Code, RpcError
from controlplane.storage.encryption.configuration import KMSConfig
from controlplane.storage.encryption.kms import kms_pb2 as pb
from controlplane.storage.encryption.metrics import KMS_LATENCY

__all__ = ["Encrypted", "KMSService", "described", "socket_of"]

_PATH: Final = "/v2.KeyManagementService/"


class Encrypted(NamedTuple):
    """What a plugin has made of a secret: the ciphertext, and what it wants to be told to decrypt it."""

    ciphertext: bytes
    key_id: str
    annotations: Mapping[str, bytes]


class KMSService:
    """One plugin. Every call raises RpcError, after ``timeout_seconds`` at the latest."""

    def __init__(self, config: KMSConfig) -> None:
        self._name, self._seconds = config.name, config.timeout_seconds
        self._channel = Channel(f"unix:{socket_of(config.endpoint)}", None)

    async def status(self) -> pb.StatusResponse:
        """Version, health and current key."""
        return _decoded(pb.StatusResponse, await self._call("Status", pb.StatusRequest().SerializeToString()))

    async def encrypt(self, plain: bytes, uid: str) -> Encrypted:
        request = pb.EncryptRequest(plaintext=plain, uid=uid)
        answer = _decoded(pb.EncryptResponse, await self._call("Encrypt", request.SerializeToString()))
        return Encrypted(answer.ciphertext, answer.key_id, dict(answer.annotations))

    async def decrypt(self, encrypted: Encrypted, uid: str) -> bytes:
        request = pb.DecryptRequest(
            ciphertext=encrypted.ciphertext, uid=uid, key_id=encrypted.key_id, annotations=encrypted.annotations
        )
        answer = _decoded(pb.DecryptResponse, await self._call("Decrypt", request.SerializeToString()))
        return answer.plaintext

    async def close(self) -> None:
        """Fail what is under way and disconnect."""
        await self._channel.close()

    async def _call(self, method: str, request: bytes) -> bytes:
        begun, code = perf_counter(), Code.OK
        try:
            return await self._channel.unary(_PATH + method, request, self._seconds)
        except RpcError as error:
            code = error.code
            raise
        finally:
            labels = (self._name, _PATH + method, _go_name(code))
            KMS_LATENCY.labels_cached(labels).observe(perf_counter() - begun)


def socket_of(endpoint: str) -> str:
    """The path of a ``unix://`` address; after ``/@``, a name in the abstract namespace."""
    path = urlsplit(endpoint).path
    return path[1:] if path.startswith("/@") else path


def described(error: RpcError) -> str:
    """An error as gRPC for Go prints it."""
    return f"rpc error: code = {_go_name(error.code)} desc = {error.details}"


def _go_name(code: Code) -> str:
    if code is Code.OK:
        return "OK"
    return "Canceled" if code is Code.CANCELLED else code.name.title().replace("_", "")


M = TypeVar("M", pb.StatusResponse, pb.EncryptResponse, pb.DecryptResponse)


def _decoded(message: type[M], encoded: bytes) -> M:
    try:
        return message.FromString(encoded)
    except DecodeError as error:
        raise RpcError(Code.INTERNAL, f"unreadable response: {error}") from error
