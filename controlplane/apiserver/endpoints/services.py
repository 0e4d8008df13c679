"""What the verb handlers share: given once, when the server is put together."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import field

from controlplane.apimachinery.identity import GroupResource
from controlplane.apiserver.admission.api import Guard, Hook
from controlplane.apiserver.admission.chain import EMPTY, Chain
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.endpoints.calls import Calls
from controlplane.apiserver.registry.settings import RegistrySettings
from controlplane.apiserver.registry.table import TableHolder
from controlplane.base.values import dataclass

__all__ = ["Services"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """``calls``: who answers what is created and not kept. ``guards``: of single kinds. ``checks``: the same, of
    objects that are found valid, before the validating phase. ``authorizer`` is asked again where an update creates.
    ``min_request_timeout_seconds``: a watch that names no timeout lasts this long at least, and less than twice as
    long, at random, so that many do not end at once."""

    tables: TableHolder
    registry: RegistrySettings
    admission: Chain = EMPTY
    authorizer: Authorizer | None = None
    calls: Calls = field(default_factory=dict)
    guards: Mapping[GroupResource, Guard] = field(default_factory=dict)
    checks: Mapping[GroupResource, Hook] = field(default_factory=dict)
    min_request_timeout_seconds: float = 1800.0
    random: random.Random = field(default_factory=random.Random)
