"""Metrics of encryption at rest, under Kubernetes' names.

Source: kubernetes/apiserver ``pkg/storage/value/metrics.go``, ``pkg/storage/value/encrypt/envelope/metrics`` and
``pkg/server/options/encryptionconfig/metrics``.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from controlplane.base.metrics import counter, gauge, histogram

__all__ = ["FROM_STORAGE", "TO_STORAGE", "KeyMetrics", "ReloadMetrics", "hashed", "record_transformation"]

FROM_STORAGE: Final = "from_storage"
TO_STORAGE: Final = "to_storage"
OK: Final = "OK"
NOT_GRPC: Final = "unknown-non-grpc"

KEY_IDS_LIMIT: Final = 100
"""Key ids that are counted at once; a plugin that changes its key all day must not fill the memory. Upstream's."""


def _doubling(first: float, count: int) -> tuple[float, ...]:
    return tuple(first * 2**n for n in range(count))


DURATION = histogram(
    "apiserver_storage_transformation_duration_seconds",
    "Latencies in seconds of value transformation operations.",
    buckets=_doubling(5e-6, 25),
    labels=("transformation_type", "transformer_prefix"),
)
OPERATIONS = counter(
    "apiserver_storage_transformation_operations_total",
    "Total number of transformations. Successful transformation will have a status 'OK' and a varied status string "
    "when the transformation fails. The status, resource, and transformation_type fields can be used for alerting "
    "purposes. For example, you can monitor for encryption/decryption failures using the transformation_type (e.g., "
    "from_storage for decryption and to_storage for encryption). Additionally, these fields can be used to ensure that "
    "the correct transformers are applied to each resource.",
    labels=("resource", "transformation_type", "transformer_prefix", "status"),
)
CACHE_MISSES = counter(
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "Total number of cache misses while accessing key decryption key(KEK).",
)
KEY_GENERATION = histogram(
    "apiserver_storage_data_key_generation_duration_seconds",
    "Latencies in seconds of data encryption key(DEK) generation operations.",
    buckets=_doubling(5e-6, 14),
)
KEY_GENERATION_FAILURES = counter(
    "apiserver_storage_data_key_generation_failures_total",
    "Total number of failed data encryption key(DEK) generation operations.",
)
KMS_LATENCY = histogram(
    "apiserver_envelope_encryption_kms_operations_latency_seconds",
    "KMS operation duration with gRPC error code status total.",
    buckets=_doubling(0.0001, 20),
    labels=("provider_name", "method_name", "grpc_status_code"),
)
KEY_IDS = counter(
    "apiserver_envelope_encryption_key_id_hash_total",
    "Number of times a keyID is used split by transformation type, provider, and apiserver identity.",
    labels=("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
)
KEY_IDS_LAST = gauge(
    "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    "The last time in seconds when a keyID was used.",
    labels=("transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"),
)
STATUS_KEY_IDS_LAST = gauge(
    "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    "The last time in seconds when a keyID was returned by the Status RPC call.",
    labels=("provider_name", "key_id_hash", "apiserver_id_hash"),
)
INVALID_KEY_IDS = counter(
    "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    "Number of times an invalid keyID is returned by the Status RPC call split by error.",
    labels=("provider_name", "error"),
)
DEK_CACHE_SIZE = gauge(
    "apiserver_envelope_encryption_dek_source_cache_size",
    "Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the "
    "number of decrypt RPC calls the server will make to the KMS plugin.",
    labels=("provider_name",),
)
RELOADS = counter(
    "apiserver_encryption_config_controller_automatic_reloads_total",
    "Total number of reload successes and failures of encryption configuration split by apiserver identity.",
    labels=("status", "apiserver_id_hash"),
)
RELOADED = gauge(
    "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver "
    "identity.",
    labels=("status", "apiserver_id_hash"),
)
CONFIG = gauge(
    "apiserver_encryption_config_controller_last_config_info",
    "Information about the last applied encryption configuration with hash as label, split by apiserver identity.",
    labels=("apiserver_id_hash", "hash"),
)


def hashed(text: str) -> str:
    """How upstream shows an id; nothing for an empty one."""
    return f"sha256:{sha256(text.encode()).hexdigest()}" if text else ""


def record_transformation(resource: str, kind: str, prefix: str, seconds: float, *, failed: bool = False) -> None:
    """One value to or from storage; ``resource`` as ``plural.group``."""
    OPERATIONS.labels_cached((resource, kind, prefix, NOT_GRPC if failed else OK)).inc()
    if not failed:
        DURATION.labels_cached((kind, prefix)).observe(seconds)


class KeyMetrics:
    """Of one KMS provider of one server: which key ids are in use."""

    __slots__ = ("_provider", "_seen", "_server", "_status")

    def __init__(self, provider: str, server_id: str) -> None:
        self._provider, self._server = provider, hashed(server_id)
        self._seen: dict[tuple[str, str], None] = {}
        self._status: dict[str, None] = {}

    def used(self, kind: str, key_id_hash: str, now: float) -> None:
        labels = (kind, self._provider, key_id_hash, self._server)
        if (kind, key_id_hash) not in self._seen:
            if len(self._seen) >= KEY_IDS_LIMIT:
                first = next(iter(self._seen))
                del self._seen[first]
                gone = (first[0], self._provider, first[1], self._server)
                KEY_IDS.remove(gone)
                KEY_IDS_LAST.remove(gone)
            self._seen[kind, key_id_hash] = None
        KEY_IDS.labels_cached(labels).inc()
        KEY_IDS_LAST.labels_cached(labels).set(now)

    def reported(self, key_id_hash: str, now: float) -> None:
        """The plugin says that this is its key."""
        if key_id_hash not in self._status:
            if len(self._status) >= KEY_IDS_LIMIT:
                first = next(iter(self._status))
                del self._status[first]
                STATUS_KEY_IDS_LAST.remove((self._provider, first, self._server))
            self._status[key_id_hash] = None
        STATUS_KEY_IDS_LAST.labels_cached((self._provider, key_id_hash, self._server)).set(now)


class ReloadMetrics:
    """Of one server: what of its configuration is in force."""

    __slots__ = ("_digest", "_server")

    def __init__(self, server_id: str) -> None:
        self._server, self._digest = hashed(server_id), ""

    def in_force(self, digest: str) -> None:
        """The configuration of this digest is; no other one of this server."""
        CONFIG.remove((self._server, self._digest))
        self._digest = digest
        CONFIG.labels_cached((self._server, digest)).set(1)

    def reloaded(self, digest: str, now: float) -> None:
        self._record("success", now)
        self.in_force(digest)

    def failed(self, now: float) -> None:
        self._record("failure", now)

    def _record(self, status: str, now: float) -> None:
        RELOADS.labels_cached((status, self._server)).inc()
        RELOADED.labels_cached((status, self._server)).set(now)
