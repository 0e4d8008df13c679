"""What a patch is made of, and what it makes."""

from __future__ import annotations

from collections.abc import Callable

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.managed_fields import FieldManager
from controlplane.apiserver.endpoints.options import WriteOptions
from controlplane.apiserver.endpoints.shape import Target
from controlplane.base.values import dataclass
from controlplane.client.request import Request

__all__ = ["Change", "Edit"]

Change = Callable[[Obj | None], Obj]
"""Makes the new object, decoded and with its managed fields set, from the stored one (None: there is none), which it
does not change and shares nothing with. May be called again. Raises APIError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One patch request. ``manager`` is who makes the change; ``warn`` drops what it was told before."""

    request: Request
    target: Target
    fields: FieldManager
    manager: str
    options: WriteOptions
    warn: Callable[[str], None]
