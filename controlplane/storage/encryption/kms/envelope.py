"""What is stored of a value under a KMS: the value, encrypted by a key of ours, and that key, encrypted by the KMS.

Source: kubernetes/apiserver ``pkg/storage/value/encrypt/envelope/kmsv2`` (layout, limits, texts).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from google.protobuf.message import DecodeError

from controlplane.apimachinery.validation.names import dns1123_subdomain
from controlplane.storage.encryption.ciphers import Cipher, DerivedGcm, Gcm, NotDecryptable
from controlplane.storage.encryption.kms import kms_pb2 as pb
from controlplane.storage.encryption.kms.service import Encrypted

__all__ = ["SEED", "DataKey", "cipher_of", "data_key_of", "decode", "encode", "key_id_problem", "problems"]

AES_GCM_KEY: Final = 0
SEED: Final = 1
"""Types of data keys: an AES-GCM key itself (only read), and a seed that keys are derived from."""

ANNOTATIONS_LIMIT_BYTES: Final = 32 * 1024
KEY_ID_LIMIT_BYTES: Final = 1024
ENCRYPTED_KEY_LIMIT_BYTES: Final = 1024

DataKey = tuple[int, bytes, str, frozenset[tuple[str, bytes]]]
"""Names a data key by all that is stored of it: type, ciphertext, the KMS's key id, annotations."""


def encode(encrypted: Encrypted, data: bytes) -> bytes:
    """The value to store, without prefix."""
    return pb.EncryptedObject(
        data=data,
        key_id=encrypted.key_id,
        encrypted_source=encrypted.ciphertext,
        annotations=encrypted.annotations,
        source_type=SEED,
    ).SerializeToString(deterministic=True)


def decode(stored: bytes) -> pb.EncryptedObject:
    """Read a stored value, without its prefix.

    Raises:
        NotDecryptable: it is none.
    """
    try:
        value = pb.EncryptedObject.FromString(stored)
    except DecodeError as error:
        raise NotDecryptable(f"proto: {error}") from error
    for why in problems(value.source_type, encrypted_of(value), has_data=bool(value.data)):
        raise NotDecryptable(why)
    return value


def encrypted_of(value: pb.EncryptedObject) -> Encrypted:
    """What the KMS decrypts to give the data key."""
    return Encrypted(value.encrypted_source, value.key_id, dict(value.annotations))


def data_key_of(source_type: int, encrypted: Encrypted) -> DataKey:
    return source_type, encrypted.ciphertext, encrypted.key_id, frozenset(encrypted.annotations.items())


def cipher_of(source_type: int, key: bytes) -> Cipher:
    """How a data key encrypts.

    Raises:
        NotDecryptable: it has not the length of one.
    """
    try:
        return DerivedGcm(key) if source_type == SEED else Gcm(key)
    except ValueError as error:
        raise NotDecryptable(str(error)) from error


def problems(source_type: int, encrypted: Encrypted, *, has_data: bool) -> Iterator[str]:
    """What is wrong with what is, or would be, stored."""
    if source_type not in (AES_GCM_KEY, SEED):
        yield f"unknown encryptedDEKSourceType: {source_type}"
    if not has_data:
        yield "encrypted data is empty"
    size = len(encrypted.ciphertext)
    if not size:
        yield "failed to validate encrypted DEK source: encrypted DEK source is empty"
    elif size > ENCRYPTED_KEY_LIMIT_BYTES:
        yield (
            f"failed to validate encrypted DEK source: encrypted DEK source is {size} bytes, which exceeds the max "
            f"size of {ENCRYPTED_KEY_LIMIT_BYTES}"
        )
    if why := key_id_problem(encrypted.key_id):
        yield f"failed to validate key id: {why}"
    if why := _annotations_problem(encrypted.annotations):
        yield f"failed to validate annotations: {why}"


def key_id_problem(key_id: str) -> str:
    """What is wrong with an id that the KMS has given; ``""``: nothing."""
    size = len(key_id.encode())
    if not size:
        return "keyID is empty"
    return (
        f"keyID is {size} bytes, which exceeds the max size of {KEY_ID_LIMIT_BYTES}"
        if size > KEY_ID_LIMIT_BYTES
        else ""
    )


def _annotations_problem(annotations: Mapping[str, bytes]) -> str:
    for name in sorted(annotations):
        whys = dns1123_subdomain(name)
        if not whys and len(name.removesuffix(".").split(".")) < 2:
            whys = ["should be a domain with at least two segments separated by dots"]
        if whys:
            return f'annotations: Invalid value: "{name}": {", ".join(whys)}'
    size = sum(len(name.encode()) + len(value) for name, value in annotations.items())
    if size > ANNOTATIONS_LIMIT_BYTES:
        return f"total size of annotations is {size}, which exceeds the max size of {ANNOTATIONS_LIMIT_BYTES}"
    return ""
