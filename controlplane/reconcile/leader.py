"""Leader election by a coordination.k8s.io/v1 Lease, understood by and fair to client-go's.

The holder writes its identity and renews; others watch the record by polling, and take it over when it has not changed
for its duration. Whether it has changed is measured by the observer's own monotonic clock, never by the times that are
written in it, so machines' clocks may differ; they must only run at about the same rate.

Guarantee (tests/property/reconcile/test_leader.py): no two lead at once, if a leader's work ends within
``lease_seconds - renew_deadline_seconds`` of being cancelled. A leader counts its time from before it sent its last
successful renewal, an observer from after it saw it; so the leader stops first.

Source: kubernetes/client-go ``tools/leaderelection`` (fields, order of steps, times and jitter). Stricter in two
places: client-go counts from the answer to a renewal, and releases without looking whose the lease is by then.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any

from controlplane.apimachinery.identity import Key, Obj
from controlplane.apimachinery.status import APIError
from controlplane.base import logs
from controlplane.base.clock import Clock, SystemClock, rfc3339_micro
from controlplane.base.tasks import TaskGroup
from controlplane.base.values import dataclass
from controlplane.base.waiting import within
from controlplane.client.errors import ClientError
from controlplane.client.resources import ResourceClient
from controlplane.reconcile import metrics

__all__ = ["ElectionTimes", "LeaderElector"]

JITTER = 1.2
"""Candidates try every ``retry_seconds``, stretched at random by up to this many times itself."""

GIVE_BACK_SECONDS = 2.0
"""How long a leader that ends tries to give its lease back: a server that is gone must not keep it."""

log = logs.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionTimes:
    """``lease_seconds``: how long others wait for a silent leader. ``renew_deadline_seconds``: how long a leader tries
    to renew before it stops. ``retry_seconds``: between tries."""

    lease_seconds: int = 15
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0

    def __post_init__(self) -> None:
        if self.retry_seconds <= 0:
            raise ValueError(f"retry_seconds must be above 0, is {self.retry_seconds}")
        if self.renew_deadline_seconds <= self.retry_seconds * JITTER:
            raise ValueError(
                f"renew_deadline_seconds must be above {JITTER} x retry_seconds: "
                f"{self.renew_deadline_seconds}, {self.retry_seconds}"
            )
        if self.lease_seconds <= self.renew_deadline_seconds:
            raise ValueError(
                f"lease_seconds must be above renew_deadline_seconds: "
                f"{self.lease_seconds}, {self.renew_deadline_seconds}"
            )


class LeaderElector:
    """One candidate for one lease. ``identity`` must be this process's alone (host name and a uuid)."""

    def __init__(
        self,
        leases: ResourceClient,
        key: Key,
        identity: str,
        *,
        times: ElectionTimes | None = None,
        labels: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if not identity:
            raise ValueError("a candidate needs an identity")
        self.key, self.identity = key, identity
        self.leading = False
        self._leases, self._labels = leases, dict(labels or {})
        self._times = times if times is not None else ElectionTimes()
        self._clock: Clock = clock if clock is not None else SystemClock()
        self._random = random if random is not None else Random()  # noqa: S311 - jitter, no secret
        self._lease: Obj | None = None
        self._observed_at = 0.0
        self._renewed_at = 0.0
        self._log = log.bind(lease=str(key), identity=identity)
        metrics.LEADER.labels_cached((key.name,)).set(0)

    @property
    def holder(self) -> str:
        """Who held the lease when it was last seen; ``""`` if nobody, or not seen yet."""
        return _spec(self._lease).get("holderIdentity") or ""

    async def lead(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Wait for the lease, run ``work`` while it is held, and return when it has been lost (and ``work`` has ended).

        Cancelled, or if ``work`` fails: the lease is given back once ``work`` has ended, and the cancellation or the
        error is raised. ``work`` is not expected to return.

        Raises:
            RuntimeError: ``work`` returned. Whatever ``work`` raises.
        """
        await self._acquire()
        self._set_leading(True)
        try:
            async with TaskGroup("leading") as group:
                group.start(_must_not_return(work()), name=self.key.name)
                await self._renew()
        finally:
            self._set_leading(False)
            await self._release()

    def _set_leading(self, leading: bool) -> None:  # noqa: FBT001
        self.leading = leading
        metrics.LEADER.labels_cached((self.key.name,)).set(int(leading))
        self._log.info("became leader" if leading else "stopped leading")

    async def _acquire(self) -> None:
        while not await self._try(self._times.renew_deadline_seconds):
            retry = self._times.retry_seconds
            await self._clock.sleep(retry * (1 + JITTER * self._random.random()))

    async def _renew(self) -> None:
        """Renew until that has failed for ``renew_deadline_seconds``, or somebody else is seen to hold the lease."""
        while (left := self._left_seconds()) > 0 and self.holder == self.identity:
            await self._clock.sleep(min(self._times.retry_seconds, left))
            if (left := self._left_seconds()) > 0:
                await self._try(left)
        self._log.warning("lost the lease", holder=self.holder)

    def _left_seconds(self) -> float:
        return self._renewed_at + self._times.renew_deadline_seconds - self._clock.monotonic()

    async def _try(self, seconds: float) -> bool:
        """Take or renew the lease within ``seconds``. Returns whether it is held now."""
        started, holder = self._clock.monotonic(), self.holder
        try:
            held = await within(self._clock, seconds, self._take())
        except (APIError, ClientError, TimeoutError) as e:
            self._log.info("lease not taken", error=e)
            held = False
        if held:
            self._renewed_at = started
        if self.holder != holder:
            self._log.info("new leader observed", holder=self.holder)
        return held

    async def _take(self) -> bool:
        """One attempt, in client-go's order: renew by what was last seen; else look, and take what is free."""
        if self.holder == self.identity and self._valid():
            try:
                await self._write(renewing=True)
            except (APIError, ClientError) as e:
                self._log.debug("renewal by what was last seen failed, looking", error=e)
            else:
                return True
        try:
            self._observe(await self._leases.get(self.key))
        except APIError as e:
            if e.code != 404:
                raise
            self._observe(await self._leases.create(self._new_lease()))
            return True
        renewing = self.holder == self.identity
        if self.holder and not renewing and self._valid():
            return False
        if renewing:
            metrics.LEADER_SLOW_PATH.labels_cached((self.key.name,)).inc()
        await self._write(renewing=renewing)
        return True

    def _valid(self) -> bool:
        """Whether the record last seen is younger than its duration, by our clock since we saw it change."""
        duration_seconds = _spec(self._lease).get("leaseDurationSeconds") or 0
        return self._observed_at + duration_seconds > self._clock.monotonic()

    def _observe(self, lease: Obj) -> None:
        if self._lease is None or _spec(lease) != _spec(self._lease):
            self._observed_at = self._clock.monotonic()
        self._lease = lease

    async def _write(self, *, renewing: bool) -> None:
        """Put our record in place of the one last seen, if that is still the stored one."""
        assert self._lease is not None
        old = _spec(self._lease)
        transitions = old.get("leaseTransitions") or 0
        spec = self._record(
            acquired=old.get("acquireTime") if renewing else None, transitions=transitions + (0 if renewing else 1)
        )
        self._observe(await self._leases.update(self._with_spec(self._lease, spec)))

    def _record(self, *, acquired: str | None = None, transitions: int = 0) -> Obj:
        now = rfc3339_micro(self._clock.now())
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._times.lease_seconds,
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }

    def _new_lease(self) -> Obj:
        return self._with_spec(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": self.key.name, "namespace": self.key.namespace},
            },
            self._record(),
        )

    def _with_spec(self, lease: Obj, spec: Obj) -> Obj:
        lease_meta = dict(lease["metadata"])
        if self._labels:
            lease_meta["labels"] = {**(lease_meta.get("labels") or {}), **self._labels}
        return {**lease, "metadata": lease_meta, "spec": spec}

    async def _release(self) -> None:
        """Give the lease back if it is still ours, so that another need not wait for it to expire; best effort."""
        try:
            await within(self._clock, GIVE_BACK_SECONDS, self._give_back())
        except (APIError, ClientError, TimeoutError) as e:
            self._log.warning("lease not given back, it will expire", error=e)

    async def _give_back(self) -> None:
        while True:
            lease = await self._leases.get(self.key)
            self._observe(lease)
            if self.holder != self.identity:
                return
            now = rfc3339_micro(self._clock.now())
            spec = {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "acquireTime": now,
                "renewTime": now,
                "leaseTransitions": _spec(lease).get("leaseTransitions") or 0,
            }
            try:
                self._observe(await self._leases.update(self._with_spec(lease, spec)))
            except APIError as e:
                if e.code != 409:  # 409: a renewal of ours was still under way, so look again
                    raise
            else:
                return


async def _must_not_return(work: Coroutine[Any, Any, None]) -> None:
    await work
    raise RuntimeError("the leader's work ended by itself")


def _spec(lease: Obj | None) -> Mapping[str, Any]:
    return (lease or {}).get("spec") or {}
