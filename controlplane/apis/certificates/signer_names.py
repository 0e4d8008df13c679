"""Names of signers: a domain and a path, ``example.com/signer-name``.

Source: the behaviour of kubernetes' certificates API.
"""

from __future__ import annotations

from controlplane.apimachinery.validation.field import FieldError, go_quoted, invalid, required, too_long
from controlplane.apimachinery.validation.names import dns1123_label, dns1123_subdomain

__all__ = ["validate_signer_name"]

_DOMAIN_BYTES = 253
_NAME_BYTES = _DOMAIN_BYTES + 1 + _DOMAIN_BYTES + 63 + 1
"""A domain, a slash and a path, which may be a subdomain and a label with a dot between them."""


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        return [invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")]
    errors = [too_long(path, _DOMAIN_BYTES)] if len(domain.encode()) > _DOMAIN_BYTES else []
    labels = domain.split(".")
    errors += _first_problems(path, domain, {label: dns1123_label(label) for label in labels})
    if len(labels) == 1:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    errors += _first_problems(path, rest, {label: dns1123_subdomain(label) for label in rest.split(".")})
    if len(name.encode()) > _NAME_BYTES:
        errors.append(too_long(path, _NAME_BYTES))
    return errors


def _first_problems(path: str, segment: str, problems: dict[str, list[str]]) -> list[FieldError]:
    """What is wrong with the first label that something is wrong with."""
    label = next((label for label, found in problems.items() if found), "")
    return [
        invalid(path, segment, f"validating label {go_quoted(label)}: {problem}") for problem in problems.get(label, ())
    ]
