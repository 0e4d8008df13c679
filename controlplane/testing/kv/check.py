"""The conformance suite of the KV seam: ``await check_kv(factory)``, or one pytest case a check:

    @pytest.mark.parametrize("check", KV_CHECKS, ids=str)
    def test_my_backend_conforms(check):
        asyncio.run(check.run(open_my_store, reopen=open_it_again))

Checks rely on ``storage/kv/api.py`` alone, so they run on any backend. Each is named for one guarantee.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controlplane.base.values import dataclass
from controlplane.testing.kv import lifetimes, reads, watches, writes
from controlplane.testing.kv.scenario import PATIENCE_SECONDS, Factory, Reopen, Scenario

__all__ = ["KV_CHECKS", "Check", "CheckFailed", "check_kv"]


class CheckFailed(AssertionError):
    """Some checks failed; ``failures``: name -> what was raised."""

    def __init__(self, failures: dict[str, Exception]) -> None:
        lines = [f"{name}: {type(error).__name__}: {error}" for name, error in failures.items()]
        super().__init__("\n".join([f"{len(failures)} KV checks failed:", *lines]))
        self.failures = failures


@dataclass(frozen=True, slots=True)
class Check:
    """One guarantee. ``durable``: only for backends that can be opened again; skipped where no ``reopen`` is given."""

    name: str
    durable: bool
    body: Callable[[Scenario], Awaitable[None]]

    def __str__(self) -> str:
        return self.name

    async def run(
        self, factory: Factory, *, reopen: Reopen | None = None, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        """Open a store, check it, close it. ``patience_seconds``: how long to wait for what must come.

        Raises:
            AssertionError: the guarantee does not hold; the message says what was seen.
            TimeoutError: what must come did not.
        """
        if self.durable and reopen is None:
            return
        scenario = Scenario(await factory(), reopen, patience_seconds=patience_seconds)
        try:
            await self.body(scenario)
        finally:
            await scenario.kv.close()


KV_CHECKS: tuple[Check, ...] = (
    *(Check(body.__name__, durable=False, body=body) for body in writes.CHECKS),
    *(Check(body.__name__, durable=False, body=body) for body in reads.CHECKS),
    *(Check(body.__name__, durable=False, body=body) for body in watches.CHECKS),
    *(Check(body.__name__, durable=False, body=body) for body in lifetimes.CHECKS),
    *(Check(body.__name__, durable=True, body=body) for body in lifetimes.DURABLE_CHECKS),
)


async def check_kv(
    factory: Factory, *, reopen: Reopen | None = None, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Run every check, one after another, each on a store of its own.

    Raises:
        CheckFailed: names all that failed.
    """
    failures: dict[str, Exception] = {}
    for check in KV_CHECKS:
        try:
            await check.run(factory, reopen=reopen, patience_seconds=patience_seconds)
        except Exception as error:  # noqa: BLE001  # whatever a backend raises fails its check, and all are reported
            failures[check.name] = error
    if failures:
        raise CheckFailed(failures)
