"""Where a webhook is: a URL, or a service in the cluster.

Source: kubernetes/apiserver ``pkg/util/webhook/validation.go``.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.names import dns1123_subdomain

__all__ = ["validate_service", "validate_url"]

HIGHEST_PORT = 65535
_FORM = "; desired format: https://host[/path]"


def validate_url(url: str, path: str) -> list[FieldError]:
    from controlplane.cel.library.net_url import parse_url  # needed by webhooks alone

    try:
        parts = parse_url(url)
    except ValueError as error:
        return [required(path, f"url must be a valid URL: {error}{_FORM}")]
    errors: list[FieldError] = []
    if parts.scheme != "https":
        errors.append(invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not parts.host:
        errors.append(invalid(path, "", f"host must be specified{_FORM}"))
    if parts.userinfo is not None:
        errors.append(invalid(path, parts.userinfo, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.raw_query:
        errors.append(invalid(path, parts.raw_query, "query parameters are not permitted in the URL"))
    return errors


def validate_service(service: Obj, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "namespace") if not service[field]]
    port = service.get("port") or 0
    if not 0 < port <= HIGHEST_PORT:
        why = f"port is not valid: must be between 1 and {HIGHEST_PORT}, inclusive"
        errors.append(invalid(f"{path}.port", port, why))
    return errors + _validate_path(service.get("path") or "", f"{path}.path")


def _validate_path(url_path: str, path: str) -> list[FieldError]:
    if url_path in {"", "/"}:
        return []
    if url_path == "//":
        return [invalid(path, url_path, "segment[0] may not be empty")]
    errors = [] if url_path.startswith("/") else [invalid(path, url_path, "must start with a '/'")]
    for i, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        problems = [f": {problem}" for problem in dns1123_subdomain(segment)] if segment else [" may not be empty"]
        errors += [invalid(path, url_path, f"segment[{i}]{problem}") for problem in problems]
    return errors
