"""How the process writes its logs."""

from __future__ import annotations

from typing import ClassVar, Literal

from controlplane.base.options import OptionGroup, option

__all__ = ["LogOptions"]


class LogOptions(OptionGroup):
    """Form and amount of logs, which go to standard error."""

    title: ClassVar[str] = "Logs"

    logging_format: Literal["text", "json"] = option("text", flag="logging-format", description="form of log lines")
    verbosity: int = option(
        2, flag="v", short="v", ge=0, le=10, description="amount of logs; from 4 on each request and decision"
    )
