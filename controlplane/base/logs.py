"""Structured logs: a constant message plus keys, to stderr, as text or JSON; the standard library's logging below.

    log = logs.get(__name__).bind(controller="namespace")
    log.info("namespace emptied", deleted=17, elapsed_seconds=0.42)

Text lines have klog's shape (``I1130 08:15:00.123456 module] "message" key="value"``), JSON lines Kubernetes' keys
(``ts``, ``level``, ``logger``, ``msg``). Values of keys that name secrets are never written, whoever passes them.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any, Literal, TextIO

__all__ = ["DEBUG_VERBOSITY", "Logger", "Seldom", "configure", "get"]

DEBUG_VERBOSITY = 4
"""``--v`` from which debug lines appear, as klog's habit is."""

SELDOM_SECONDS = 60.0
SELDOM_TEXTS = 64

_SECRET_KEYS = frozenset(
    {"authorization", "bearer", "client_secret", "cookie", "key_data", "password", "private_key", "token"}
)
_LETTER = {logging.DEBUG: "D", logging.INFO: "I", logging.WARNING: "W", logging.ERROR: "E"}
_levels: dict[str, int] = {"level": logging.INFO}
_packages: set[str] = set()


class Logger:
    """Writes under one name, with bound keys. Cheap when its level is off: no formatting, no record."""

    __slots__ = ("_bound", "_std")

    def __init__(self, std: logging.Logger, bound: Mapping[str, Any]) -> None:
        self._std, self._bound = std, bound

    def bind(self, **keys: Any) -> Logger:
        """A logger that adds these keys to every line."""
        return Logger(self._std, {**self._bound, **keys})

    @property
    def debugging(self) -> bool:
        """Whether debug lines are written: ask before computing what only they need."""
        return self._std.isEnabledFor(logging.DEBUG)

    def debug(self, msg: str, **keys: Any) -> None:
        """A decision not to act, a detail."""
        if self._std.isEnabledFor(logging.DEBUG):
            self._write(logging.DEBUG, msg, keys)

    def info(self, msg: str, **keys: Any) -> None:
        """A change of state."""
        if self._std.isEnabledFor(logging.INFO):
            self._write(logging.INFO, msg, keys)

    def warning(self, msg: str, **keys: Any) -> None:
        """Degraded, and recovering by itself."""
        if self._std.isEnabledFor(logging.WARNING):
            self._write(logging.WARNING, msg, keys)

    def error(self, msg: str, *, exc_info: BaseException | None = None, **keys: Any) -> None:
        """A person must act. ``exc_info``: write this exception's traceback too."""
        if self._std.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, msg, keys, exc_info)

    def exception(self, msg: str, **keys: Any) -> None:
        """``error`` with the traceback of the exception being handled."""
        if self._std.isEnabledFor(logging.ERROR):
            self._write(logging.ERROR, msg, keys, sys.exc_info()[1])

    def _write(self, level: int, msg: str, keys: dict[str, Any], error: BaseException | None = None) -> None:
        fields = {**self._bound, **keys} if self._bound else keys
        self._std.log(level, msg, exc_info=error, extra={"fields": fields}, stacklevel=3)


class Seldom:
    """Warnings that would come with every request: each text at most once a minute."""

    __slots__ = ("_log", "_said")

    def __init__(self, log: Logger) -> None:
        self._log = log
        self._said: dict[str, float] = {}

    def warning(self, msg: str, **keys: Any) -> None:
        """As ``Logger.warning``."""
        text, now = f"{msg} {keys}", time.monotonic()
        if now - self._said.get(text, -SELDOM_SECONDS) < SELDOM_SECONDS:
            return
        if len(self._said) >= SELDOM_TEXTS:
            self._said.clear()
        self._said[text] = now
        self._log.warning(msg, **keys)


def get(name: str) -> Logger:
    """The logger of a module: ``get(__name__)``."""
    package = name.partition(".")[0]
    if package not in _packages:
        _packages.add(package)
        logging.getLogger(package).setLevel(_levels["level"])
    return Logger(logging.getLogger(name), {})


def configure(
    *,
    format: Literal["text", "json"] = "text",  # noqa: A002  # the option's name
    verbosity: int = 2,
    stream: TextIO | None = None,
) -> None:
    """Send all logs of the process to ``stream`` (stderr). May be called again; the last call counts.

    ``verbosity``: as ``--v``: debug lines from ``DEBUG_VERBOSITY`` up. Foreign libraries show warnings and errors only.
    """
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JSONFormatter() if format == "json" else TextFormatter())
    root = logging.getLogger()
    for old in [h for h in root.handlers if isinstance(h.formatter, (JSONFormatter, TextFormatter))]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    _levels["level"] = logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO
    for package in _packages:
        logging.getLogger(package).setLevel(_levels["level"])


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields: dict[str, Any] = getattr(record, "fields", {})
    return {key: "REDACTED" if key in _SECRET_KEYS else value for key, value in fields.items()}


class TextFormatter(logging.Formatter):
    """One line a record; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%m%d %H:%M:%S", time.localtime(record.created))
        letter = _LETTER.get(record.levelno, "E")
        head = f"{letter}{stamp}.{int(record.created % 1 * 1e6):06d} {record.name}] {_quoted(record.getMessage())}"
        line = "".join([head, *(f" {key}={_plain(value)}" for key, value in _fields(record).items())])
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JSONFormatter(logging.Formatter):
    """One JSON object a line; ``ts`` in seconds since 1970; a traceback is the key ``stacktrace``."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "ts": round(record.created, 6),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def _plain(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    return _quoted(value if isinstance(value, str) else str(value))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
