"""One row of the targets: what was measured, against what, and whether it reaches the target."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Row"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """``value`` against ``target``: at least it, or at most it (``at_most``); ``unit`` says what both are."""

    name: str
    value: float
    target: float
    unit: str
    at_most: bool = False
    detail: dict[str, Any] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target

    def show(self) -> str:
        sign = "<=" if self.at_most else ">="
        mark = "reached" if self.reached else "MISSED "
        figures = f"{self.value:>10.3f}  {sign} {self.target:g} {self.unit}"
        return f"{mark}  {self.name:<56} {figures}   {json.dumps(self.detail)}"

    def line(self) -> str:
        return json.dumps({**asdict(self), "reached": self.reached})
