"""A KMS plugin for tests (version 2 of Kubernetes' KMS API), on grpcio and a unix socket; its messages are read and
written field by field here, so that nothing of ours takes part.

It encrypts by AES-GCM under a key made from its current key id. Settable while it runs: ``key_id``, ``healthz``,
``version``, ``seconds`` (how long each call takes), ``refuses`` (key ids that it no longer decrypts).
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import grpc  # type: ignore[import-untyped]  # ships no types
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

__all__ = ["Fields", "KMSPlugin", "fields", "message", "unsealed"]

Fields = dict[int, list[bytes | int]]
SERVICE = "v2.KeyManagementService"


def fields(encoded: bytes) -> Fields:
    """The fields of a protobuf message, by number."""
    found: Fields = {}
    at = 0
    while at < len(encoded):
        tag, at = _varint(encoded, at)
        value: bytes | int
        if tag & 7 == 0:
            value, at = _varint(encoded, at)
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            size, at = _varint(encoded, at)
            value, at = encoded[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def message(values: list[tuple[int, bytes | int]]) -> bytes:
    """A protobuf message of these fields."""
    parts: list[bytes] = []
    for number, value in values:
        if isinstance(value, int):
            parts += [_encoded(number << 3), _encoded(value)]
        else:
            parts += [_encoded(number << 3 | 2), _encoded(len(value)), value]
    return b"".join(parts)


def first(found: Fields, number: int) -> bytes:
    value = found.get(number, [b""])[0]
    assert isinstance(value, bytes)
    return value


def unsealed(stored: bytes, provider: str, key: bytes, plugin: KMSPlugin) -> tuple[str, bytes]:
    """The key id and the plain bytes of a stored value, by the published format: an EncryptedObject whose data are 32
    bytes of info, a nonce of 12 bytes, and AES-GCM bound to the value's key in the store, under HKDF-SHA256's expansion
    of the seed by the info."""
    prefix = f"k8s:enc:kms:v2:{provider}:".encode()
    assert stored.startswith(prefix), stored[:60]
    found = fields(stored[len(prefix) :])
    assert found[5] == [1]
    key_id = first(found, 2).decode()
    seed = plugin.decrypted(key_id, first(found, 3))
    data = first(found, 1)
    derived = HKDFExpand(SHA256(), 32, data[:32]).derive(seed)
    return key_id, AESGCM(derived).decrypt(data[32:44], data[44:], key)


class KMSPlugin:
    """``calls``: how often each method was called. ``start`` and ``stop`` may alternate; keys survive. ``socket``: its
    path, or with an ``@`` in front a name in Linux' abstract namespace."""

    def __init__(self, socket: Path) -> None:
        self.socket, name = socket, str(socket)
        abstract = name.startswith("@")
        self.endpoint = f"unix:///{name}" if abstract else f"unix://{name}"
        self._address = f"unix-abstract:{name[1:]}" if abstract else f"unix:{name}"
        self.key_id, self.healthz, self.version = "key-1", "ok", "v2"
        self.seconds = 0.0
        self.refuses: set[str] = set()
        self.annotations: dict[str, bytes] = {"version.encryption.example.org": b"1"}
        self.calls: Counter[str] = Counter()
        self._server: grpc.Server | None = None

    def start(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(4))
        handlers = {
            name: grpc.unary_unary_rpc_method_handler(self._handler(name, answer))
            for name, answer in (("Status", self._status), ("Encrypt", self._encrypt), ("Decrypt", self._decrypt))
        }
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self._server.add_insecure_port(self._address)
        self._server.start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.stop(None).wait()
            self._server = None

    def decrypted(self, key_id: str, ciphertext: bytes) -> bytes:
        return _kek(key_id).decrypt(ciphertext[:12], ciphertext[12:], None)

    def encrypted(self, key_id: str, plain: bytes) -> bytes:
        nonce = os.urandom(12)
        return nonce + _kek(key_id).encrypt(nonce, plain, None)

    def _handler(self, name: str, answer: Callable[[Fields], bytes]) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def handle(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls[name] += 1
            if self.seconds:
                time.sleep(self.seconds)
            try:
                return answer(fields(request))
            except PermissionError as error:
                context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
                raise

        return handle

    def _status(self, _: Fields) -> bytes:
        return message([(1, self.version.encode()), (2, self.healthz.encode()), (3, self.key_id.encode())])

    def _encrypt(self, request: Fields) -> bytes:
        assert first(request, 2), "a uid names each request"
        ciphertext = self.encrypted(self.key_id, first(request, 1))
        answer: list[tuple[int, bytes | int]] = [(1, ciphertext), (2, self.key_id.encode())]
        answer += [(3, message([(1, name.encode()), (2, value)])) for name, value in self.annotations.items()]
        return message(answer)

    def _decrypt(self, request: Fields) -> bytes:
        key_id = first(request, 3).decode()
        given = {first(fields(a), 1).decode(): first(fields(a), 2) for a in request.get(4, []) if isinstance(a, bytes)}
        assert given == self.annotations, "annotations come back as they were given"
        if key_id in self.refuses:
            raise PermissionError(f"key {key_id} is disabled")
        return message([(1, self.decrypted(key_id, first(request, 1)))])


def _kek(key_id: str) -> AESGCM:
    return AESGCM(sha256(key_id.encode()).digest())


def _varint(encoded: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = encoded[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _encoded(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
