"""Several authorizers as one.

Source: kubernetes/apiserver ``pkg/authorization/union``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import AllowsAll, Attributes, Authorizer, Decision, DeniedByFailure
from controlplane.apiserver.authorization.metrics import DECISIONS
from controlplane.apiserver.authorization.rules import RuleResolver, Rules, joined
from controlplane.base import logs
from controlplane.base.metrics import CounterChild

__all__ = ["UnionAuthorizer"]

log = logs.get(__name__)


class UnionAuthorizer:
    """Asks in order; the first ALLOW or DENY counts. An authorizer that fails is passed over, and its error is raised
    if no other decides: a request may still be allowed by the rest, as upstream has it, but never by the failure. A
    failure that is a denial ends the search.

    ``authorizers``: name and authorizer, in order; the log calls them so. ``types``: of those whose decisions are
    counted, by name.
    """

    __slots__ = ("_authorizers", "_first")

    def __init__(self, authorizers: Sequence[tuple[str, Authorizer]], types: Mapping[str, str] | None = None) -> None:
        """Raises ValueError: a name is empty or used twice."""
        names = [name for name, _ in authorizers]
        if "" in names or len(set(names)) != len(names):
            raise ValueError(f"authorizers must have names of their own: {names}")
        counters = {name: _counters(type_, name) for name, type_ in (types or {}).items()}
        self._authorizers = tuple((name, authorizer, counters.get(name)) for name, authorizer in authorizers)
        self._first: Callable[[UserInfo], bool] = _nobody
        for _, first, counted in self._authorizers[:1]:
            if isinstance(first, AllowsAll) and counted is None:
                self._first = first.allows_all

    def allows_all(self, user: UserInfo) -> bool:
        """See ``AllowsAll``: by the first of them, if its decisions are not counted."""
        return self._first(user)

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        reasons: list[str] = []
        failure: Exception | None = None
        for name, authorizer, counters in self._authorizers:
            try:
                answer = await authorizer.authorize(attributes)
            except DeniedByFailure:
                if counters is not None:
                    counters[Decision.DENY].inc()
                raise
            except Exception as error:  # noqa: BLE001  # any failure of one is the same to the others; raised below
                log.warning("authorizer failed", authorizer=name, error=error)
                failure = failure or error
                continue
            if answer[0] is not Decision.NO_OPINION:
                if counters is not None:
                    counters[answer[0]].inc()
                return answer
            if answer[1]:
                reasons.append(answer[1])
        if failure is not None:
            raise failure
        return Decision.NO_OPINION, "\n".join(reasons)

    async def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        """See ``RuleResolver``: the rules of all that work by rules."""
        resolvers = [authorizer for _, authorizer, _ in self._authorizers if isinstance(authorizer, RuleResolver)]
        return joined([await resolver.rules_for(user, namespace) for resolver in resolvers])


def _nobody(_: UserInfo) -> bool:
    return False


def _counters(type_: str, name: str) -> dict[Decision, CounterChild]:
    decisions = ((Decision.ALLOW, "allowed"), (Decision.DENY, "denied"))
    return {decision: DECISIONS.labels_cached((type_, name, label)) for decision, label in decisions}
