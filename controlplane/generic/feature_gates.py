"""Kubernetes' feature gates, as far as they change what a client sees: known by name, each at what this server does.

Most have one behaviour, so such a gate can be set to what holds, and to nothing else: setting it otherwise is refused
rather than ignored. Booleans of our own (``--resources.…``, ``--controllers.…``) switch what can be switched; a few
gates say the same as one of those (``SWITCHES``).

Source: the gates of kubernetes/apiserver ``pkg/features/kube_features.go`` (names); messages as in
kubernetes/component-base ``featuregate``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

__all__ = ["GATES", "SWITCHES", "feature_gate_problems", "gate_of", "given_gate"]

_DONE = (
    "APIResponseCompression",
    "AggregatedDiscoveryRemoveBetaType",
    "AllowParsingUserUIDFromCertAuth",
    "AnonymousAuthConfigurableEndpoints",
    "AuthorizeWithSelectors",
    "BtreeWatchCache",
    "CRDObservedGenerationTracking",
    "CRDValidationRatcheting",
    "ConsistentListFromCache",
    "ConstrainedImpersonation",
    "CustomResourceFieldSelectors",
    "DeclarativeValidation",
    "ListFromCacheSnapshot",
    "MutatingAdmissionPolicy",
    "OpenAPIEnums",
    "RemoteRequestHeaderUID",
    "ResilientWatchCacheInitialization",
    "RetryGenerateName",
    "StorageVersionHash",
    "StorageVersionMigrator",
    "StreamingCollectionEncodingToJSON",
    "StreamingCollectionEncodingToProtobuf",
    "StructuredAuthenticationConfiguration",
    "StructuredAuthenticationConfigurationJWKSMetrics",
    "TokenRequestServiceAccountUIDValidation",
    "WatchList",
)
"""What this server always does."""

_NOT_DONE = (
    "APIServerTracing",
    "APIServingWithRoutine",
    "AllowUnsafeMalformedObjectDeletion",
    "CBORServingAndStorage",
    "ComponentFlagz",
    "ComponentStatusz",
    "ConcurrentWatchObjectDecode",
    "CoordinatedLeaderElection",
    "DeclarativeValidationBeta",
    "DeclarativeValidationTakeover",
    "DetectCacheInconsistency",
    "KMSv1",
    "ManifestBasedAdmissionControlConfig",
    "SeparateCacheWatchRPC",
    "ShardedListAndWatch",
    "SizeBasedListCostEstimate",
    "StructuredAuthenticationConfigurationEgressSelector",
    "UnauthenticatedHTTP2DOSMitigation",
    "WatchCacheInitializationPostStartHook",
)
"""What it does not do, or not as a part of its own that a gate could switch."""

IDENTITY_GATE = "APIServerIdentity"
PEERS_GATE = "UnknownVersionInteroperabilityProxy"
STORAGE_VERSION_GATE = "StorageVersionAPI"

SWITCHES: Mapping[str, tuple[bool, str]] = {
    IDENTITY_GATE: (True, "identity.lease"),
    PEERS_GATE: (True, "identity.peer_record"),
    STORAGE_VERSION_GATE: (False, "resources.storageversions"),
}
"""Gates that switch something: what holds by default, and the path of the boolean that says the same."""

GATES: Mapping[str, bool] = {
    **dict.fromkeys(_DONE, True),
    **dict.fromkeys(_NOT_DONE, False),
    **{name: default for name, (default, _) in SWITCHES.items()},
}
"""By name: what holds, of switches by default."""

_TRUE, _FALSE = frozenset({"1", "t", "true"}), frozenset({"0", "f", "false"})


def feature_gate_problems(given: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the option, in lines. A gate may be named with the component ``kube:`` before it."""
    for key, value in given.items():
        component, _, after = key.rpartition(":")
        name = after.strip()
        if component not in ("", "kube"):
            yield f"component not registered: {component}"
        elif name not in GATES:
            yield f"unrecognized feature gate: {name}"
        elif value.lower() not in _TRUE | _FALSE:
            yield f"invalid value of {name}={value}, must be true or false"
        elif name not in SWITCHES and (value.lower() in _TRUE) is not GATES[name]:
            wanted, holds = ("true", "false") if value.lower() in _TRUE else ("false", "true")
            yield f"cannot set feature gate {name} to {wanted}, feature is locked to {holds}"


def given_gate(given: Mapping[str, str], name: str) -> bool | None:
    """What was said of a gate, None if nothing was."""
    said = [value for key, value in given.items() if key.rpartition(":")[2].strip() == name]
    return said[-1].lower() in _TRUE if said else None


def gate_of(path: str) -> str | None:
    """The gate that says the same as the boolean at ``path``, if one does."""
    return next((name for name, (_, switched) in SWITCHES.items() if switched == path), None)
