"""Which libraries an expression in Kubernetes has, by Kubernetes' version.

Source: kubernetes/apiserver ``pkg/cel/environment/base.go``.
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.cel.functions import Library
from controlplane.cel.library.authz import AUTHZ, AUTHZ_SELECTORS
from controlplane.cel.library.lists import KUBERNETES_LISTS, lists
from controlplane.cel.library.named_formats import FORMAT_LIBRARY
from controlplane.cel.library.net import CIDR, IP
from controlplane.cel.library.quantity import QUANTITY
from controlplane.cel.library.regex import REGEX
from controlplane.cel.library.semver import SEMVER
from controlplane.cel.library.sets import SETS
from controlplane.cel.library.strings import strings
from controlplane.cel.library.urls import URLS
from controlplane.cel.standard.comprehensions import TWO_VARIABLES
from controlplane.cel.standard.optionals import OPTIONALS

__all__ = ["LATEST", "libraries"]

LATEST = (1, 36)
"""The version whose libraries are known here."""


class _Versioned(NamedTuple):
    library: Library
    introduced: tuple[int, int]
    removed: tuple[int, int] | None = None


_BASE = (1, 0)
_LIBRARIES: tuple[_Versioned, ...] = (
    _Versioned(URLS, _BASE),
    _Versioned(REGEX, _BASE),
    _Versioned(KUBERNETES_LISTS, _BASE),
    _Versioned(AUTHZ, (1, 27)),
    _Versioned(OPTIONALS, (1, 28)),
    _Versioned(QUANTITY, (1, 28)),
    _Versioned(strings(0), _BASE, (1, 29)),
    _Versioned(strings(2), (1, 29)),
    _Versioned(SETS, (1, 29)),
    _Versioned(IP, (1, 30)),
    _Versioned(CIDR, (1, 30)),
    _Versioned(FORMAT_LIBRARY, (1, 31)),
    _Versioned(AUTHZ_SELECTORS, (1, 31)),
    _Versioned(TWO_VARIABLES, (1, 32)),
    _Versioned(SEMVER, (1, 33)),
    _Versioned(lists(3), (1, 34)),
)


def libraries(version: tuple[int, int] = LATEST) -> tuple[Library, ...]:
    """The libraries of a version of Kubernetes, beside the language itself.

    New expressions are accepted by the version before the server's own; stored ones run with all that is known.
    """
    return tuple(
        library
        for library, introduced, removed in _LIBRARIES
        if introduced <= version and not (removed and version >= removed)
    )
