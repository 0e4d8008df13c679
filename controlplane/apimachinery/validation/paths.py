"""Domain-prefixed paths: ``acme.io/foo``.

Source: kubernetes/apimachinery ``pkg/util/validation`` (IsDomainPrefixedPath; its texts).
"""

from __future__ import annotations

import re

from controlplane.apimachinery.validation.field import FieldError, invalid, required
from controlplane.apimachinery.validation.names import dns1123_subdomain, regex_error

__all__ = ["domain_prefixed_path"]

_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH_PATTERN = re.compile(_PATH)


def domain_prefixed_path(field: str, value: str) -> list[FieldError]:
    """What keeps a value from being a domain name, a slash and more."""
    if not value:
        return [required(field)]
    host, _, path = value.partition("/")
    if not host or not path:
        return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(field, host, problem) for problem in dns1123_subdomain(host)]
    if not _PATH_PATTERN.fullmatch(path):
        errors.append(invalid(field, path, regex_error("Invalid path", _PATH)))
    return errors
