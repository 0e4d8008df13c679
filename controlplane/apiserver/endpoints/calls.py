"""Calls: creations of what is answered and not kept (reviews, token requests), and who answers them.

Source: kubernetes/apiserver ``pkg/registry/rest`` (Creater and NamedCreater without a store behind them).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.user import UserInfo
from controlplane.base.values import dataclass

__all__ = ["Answerer", "Call", "CallKey", "Calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call. ``namespace`` and ``name`` are those of the path (``""``: it has none). ``admit`` asks the validating
    admission plugins, which every answerer does before it does anything; it raises APIError. ``warn`` adds a warning to
    the response."""

    user: UserInfo
    namespace: str
    name: str
    admit: Callable[[Obj], Awaitable[None]]
    warn: Callable[[str], None]


class Answerer(Protocol):
    """Answers the calls of one kind."""

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """The object to answer with; ``obj`` is decoded, defaulted and past mutating admission, and may be changed.

        Raises:
            APIError: what is asked cannot be answered.
        """


class CallKey(NamedTuple):
    """What calls are for. ``subresource`` ``""``: the resource itself."""

    group: str
    resource: str
    subresource: str = ""

    def __str__(self) -> str:
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{resource}/{self.subresource}" if self.subresource else resource


Calls = Mapping[CallKey, Answerer]
