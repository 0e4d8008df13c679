"""Storage versions: what this server reports, and the removal of what servers that have gone had reported."""

from controlplane.controllers.storage_versions.collection import DESCRIPTOR
from controlplane.controllers.storage_versions.reports import StorageVersionReports

__all__ = ["DESCRIPTOR", "StorageVersionReports"]
