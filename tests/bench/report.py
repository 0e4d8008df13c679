"""One row of the targets: what was measured, against what, and whether it reaches the target."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Row"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """``value`` against ``target``: at least it, or at most it (``at_most``); ``unit`` says what both are. ``scales``:
    the target is of another machine, so the value is judged scaled to that one by ``factor`` (``tests.bench.machine``).
    """

    name: str
    value: float
    target: float
    unit: str
    at_most: bool = False
    scales: bool = False
    factor: float = 1.0
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def judged(self) -> float:
        """The value as it is compared with the target."""
        if not self.scales:
            return self.value
        return self.value / self.factor if self.at_most else self.value * self.factor

    @property
    def reached(self) -> bool:
        return self.judged <= self.target if self.at_most else self.judged >= self.target

    def show(self) -> str:
        sign = "<=" if self.at_most else ">="
        mark = "reached" if self.reached else "MISSED "
        figures = f"{self.judged:>10.3f}  {sign} {self.target:g} {self.unit}"
        raw = f"  (here {self.value:.3f}, machine x{self.factor:.2f})" if self.scales else ""
        return f"{mark}  {self.name:<56} {figures}{raw}   {json.dumps(self.detail)}"

    def line(self) -> str:
        return json.dumps({**asdict(self), "judged": self.judged, "reached": self.reached})
