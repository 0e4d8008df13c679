"""The paths of discovery and of ``/version``, as operations.

Source: kubernetes/apiserver ``pkg/endpoints/discovery`` and ``pkg/server/routes/version.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import GroupVersion, Obj
from controlplane.apiserver.openapi.dialect import Dialect
from controlplane.apiserver.openapi.discovery_schemas import VERSION, discovery_definitions, version_definition
from controlplane.apiserver.openapi.names import META, operation_names
from controlplane.apiserver.openapi.operations import Operation, PathOperations

__all__ = ["api_path", "discovery_path", "discovery_schemas"]

_WORDS = {
    "APIGroup": "Read which versions of the group there are.",
    "APIGroupList": "Read which groups there are.",
    "APIResourceList": "Read which resources there are.",
    "APIVersions": "Read which versions of the core group there are.",
}


def api_path(gv: GroupVersion) -> str:
    """The path of a group and version without a slash in front, which is its key in OpenAPI 3.0 too; of a group alone
    if it has no version."""
    root = f"apis/{gv.group}" if gv.group else "api"
    return f"{root}/{gv.version}" if gv.version else root


def discovery_path(key: str) -> PathOperations:
    """What can be done with one path of discovery, or with ``version``."""
    path = f"/{key}/"
    match key.split("/"):
        case ["version"]:
            return _get(path, VERSION, "Read the server's version.", operation_names("get", "CodeVersion", None, key))
        case ["apis"]:
            return _discovery(path, "APIVersions", "APIGroupList", None, "apis")
        case ["api"]:
            return _discovery(path, "APIVersions", "APIVersions", "")
        case ["apis", group]:
            return _discovery(path, "APIGroup", "APIGroup", group)
        case ["api", version]:
            return _discovery(path, "APIResources", "APIResourceList", "", version)
        case ["apis", group, version]:
            return _discovery(path, "APIResources", "APIResourceList", group, version)
    raise ValueError(f"not a path of discovery: {key!r}")


def discovery_schemas(found: PathOperations, dialect: Dialect) -> dict[str, Obj]:
    """The definitions that the path's answer is made of."""
    answer = found.operations[0].answer
    if answer == VERSION:
        return version_definition(dialect)
    return discovery_definitions(dialect, answer.removeprefix(META))


def _discovery(path: str, rest: str, kind: str, group: str | None, version: str = "") -> PathOperations:
    return _get(path, META + kind, _WORDS[kind], operation_names("get", rest, group, version))


def _get(path: str, answer: str, text: str, names: tuple[str, str]) -> PathOperations:
    operation_id, tag = names
    operation = Operation(method="GET", id=operation_id, tag=tag, description=text, answer=answer)
    return PathOperations(path=path, operations=[operation])
