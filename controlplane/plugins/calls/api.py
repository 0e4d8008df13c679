"""What answers to calls are built from, and how one is named in a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.tokens import TokenUnion
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.endpoints.calls import Answerer, CallKey
from controlplane.base.clock import Clock
from controlplane.base.values import dataclass
from controlplane.storage.api import Storage

__all__ = ["CallDescriptor", "CallServices"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallServices:
    """``storage_of`` finds the storage of a served resource by group and plural, None if it is not served now.
    ``tokens`` knows whose a token is; ``issuer`` gives tokens."""

    tokens: TokenUnion
    issuer: TokenIssuer
    service_accounts: ServiceAccountConfig
    authorizer: Authorizer
    storage_of: Callable[[str, str], Storage | None]
    clock: Clock


class CallDescriptor(NamedTuple):
    """Who answers the calls of one kind."""

    key: CallKey
    build: Callable[[CallServices], Answerer]
