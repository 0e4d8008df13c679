"""An API service as the aggregator reads it: which version of which group, and who serves it."""

from __future__ import annotations

import base64

from controlplane.apimachinery.codec.json import MalformedJSON, loads
from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.base.values import dataclass
from controlplane.client.forward.transport import Trust
from controlplane.storage.cache.entry import Entry

__all__ = ["AVAILABLE", "Backend", "Registration", "condition_of", "read_registration"]

AVAILABLE = "Available"
HTTPS_PORT = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class Backend:
    """Where a service is said to be, and how it proves itself. ``ca_bundle``: PEM; empty: the machine's authorities.
    ``insecure``: it need not prove anything."""

    namespace: str
    name: str
    port: int = HTTPS_PORT
    ca_bundle: bytes = b""
    insecure: bool = False

    @property
    def server_name(self) -> str:
        """Whom its certificate must name."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def trust(self) -> Trust:
        return Trust(server_name=self.server_name, ca_pem=self.ca_bundle, insecure=self.insecure)

    @property
    def service(self) -> tuple[str, str, int]:
        """Several versions may be served by one service."""
        return (self.namespace, self.name, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One API service; immutable. ``backend`` None: served here. ``obj``: the object as stored, not to be changed."""

    name: str
    gv: GroupVersion
    backend: Backend | None
    group_priority: int
    version_priority: int
    obj: Obj

    @property
    def available(self) -> bool:
        condition = condition_of(self.obj)
        return condition is not None and condition.get("status") == "True"

    @property
    def path(self) -> str:
        """The document that lists the version's resources."""
        return f"/apis/{self.gv.group}/{self.gv.version}" if self.gv.group else f"/api/{self.gv.version}"


def condition_of(obj: Obj) -> Obj | None:
    """The condition Available of an API service."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == AVAILABLE), None)


def read_registration(entry: Entry) -> Registration | None:
    """The API service of an entry of the mirror; None if it cannot be read."""
    if entry.origin.poison:
        return None
    try:
        obj = loads(entry.data)
        spec, name = obj["spec"], obj["metadata"]["name"]
        service = spec.get("service")
        backend = None
        if service is not None:
            backend = Backend(
                namespace=service["namespace"],
                name=service["name"],
                port=service.get("port") or HTTPS_PORT,
                ca_bundle=base64.b64decode(spec.get("caBundle") or ""),
                insecure=bool(spec.get("insecureSkipTLSVerify")),
            )
        return Registration(
            name=name,
            gv=GroupVersion(spec.get("group") or "", spec["version"]),
            backend=backend,
            group_priority=spec["groupPriorityMinimum"],
            version_priority=spec["versionPriority"],
            obj=obj,
        )
    except (MalformedJSON, KeyError, TypeError, ValueError):
        return None
