"""Where option values come from: the command line and the environment (the file is ``file``).

A source turns what it finds into ``Given`` values, not yet checked against their types, and problems. Texts become
lists, maps and booleans here, because how they are written is the source's matter; numbers are the model's.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from controlplane.base.options.specs import FieldPath, Kind, Option
from controlplane.base.values import dataclass

__all__ = ["Given", "Read", "from_text", "nearest", "read_environment", "read_flags"]


class Given(NamedTuple):
    """A value for an option. ``origin`` names where it was said, as a message would: ``--secure-port``,
    ``CONTROLPLANE_SECURE_PORT``, ``plane.yaml:3: secureServing.securePort``."""

    option: Option
    value: Any
    origin: str


@dataclass(slots=True)
class Read:
    """What one source gave. ``problems`` are whole lines. ``asked``: ``help`` or ``version`` on the command line.
    ``config``: the file that this source names, with the origin."""

    given: dict[FieldPath, Given] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    asked: str = ""
    config: tuple[str, str] | None = None


def nearest(name: str, known: Iterable[str], *, common: str = "") -> str:
    """``; did you mean X?`` if there is a name like it. ``common``: a beginning that all share, which says nothing."""
    import difflib  # only where something is wrong already

    names = [other.removeprefix(common) for other in known]
    close = difflib.get_close_matches(name.removeprefix(common), names, n=1, cutoff=0.7)
    return f"; did you mean {common}{close[0]}?" if close else ""


_TRUE = frozenset({"1", "t", "true"})
_FALSE = frozenset({"0", "f", "false"})


def from_text(option: Option, text: str) -> Any:
    """The value that a text says: booleans as Go reads them, lists by commas, maps by commas and ``=``.

    What is not of that form is returned as it is, for the type to refuse.
    """
    kind = option.kind
    if kind is Kind.BOOL:
        lower = text.lower()
        return True if lower in _TRUE else False if lower in _FALSE else text
    if kind is Kind.LIST:
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind is Kind.MAP:
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        return {key.strip(): value.strip() for key, _, value in pairs} if all(eq for _, eq, _ in pairs) else text
    return text


def read_flags(options: Sequence[Option], argv: Sequence[str]) -> Read:
    """Read a command line: ``--x v``, ``--x=v``; booleans ``--x``, ``--x=false``, ``--no-x``; lists and maps add up
    over repeated flags, of others the last one counts; ``--config``, ``--help``, ``--version`` besides."""
    return _FlagReader(options).read(argv)


class _FlagReader:
    def __init__(self, options: Sequence[Option]) -> None:
        self._known = {f"--{option.flag}": option for option in options}
        self._known.update({f"-{option.short}": option for option in options if option.short})
        self._read = Read()

    def read(self, argv: Sequence[str]) -> Read:
        words = deque(argv)
        while words:
            word = words.popleft()
            if not word.startswith("-") or word == "-":
                self._read.problems.append(
                    f"unexpected argument {word!r}; a boolean flag takes its value as --flag=value"
                )
                continue
            name, equals, text = word.partition("=")
            value = text if equals else None
            if name in ("--help", "-h"):
                self._read.asked = "help"
            elif name == "--version":
                self._read.asked = self._read.asked or "version"
            elif name == "--config":
                self._config(value if value is not None else _next(words))
            elif (option := self._known.get(name)) is not None:
                if value is None and option.kind is not Kind.BOOL:
                    value = _next(words)
                self._option(option, name, value)
            else:
                self._other(name, value)
                if value is None and words and not words[0].startswith("-"):
                    words.popleft()  # most likely the unknown flag's value: not a problem of its own
        return self._read

    def _config(self, path: str | None) -> None:
        if path:
            self._read.config = (path, "--config")
        else:
            self._read.problems.append("--config: needs a value: the path of a YAML file")

    def _option(self, option: Option, name: str, text: str | None) -> None:
        if text is None:
            if option.kind is not Kind.BOOL:
                self._read.problems.append(f"{name}: needs a value: {option.allowed}")
                return
            text = "true"
        value = from_text(option, text)
        before = self._read.given.get(option.path)
        if before is not None:
            if isinstance(value, list) and isinstance(before.value, list):
                value = before.value + value
            elif isinstance(value, dict) and isinstance(before.value, dict):
                value = before.value | value
        self._read.given[option.path] = Given(option, value, name)

    def _other(self, name: str, value: str | None) -> None:
        """``--no-x``, or nothing that is known."""
        option = self._known.get("--" + name.removeprefix("--no-")) if name.startswith("--no-") else None
        if option is None:
            self._read.problems.append(f"{name}: unknown flag{nearest(name, self._known)}")
        elif option.kind is not Kind.BOOL:
            self._read.problems.append(f"{name}: --{option.flag} is not a boolean; write --{option.flag}=value")
        elif value is not None:
            self._read.problems.append(f"{name}: takes no value; write --{option.flag}={value}")
        else:
            self._read.given[option.path] = Given(option, False, name)


def _next(words: deque[str]) -> str | None:
    return words.popleft() if words else None


def read_environment(options: Sequence[Option], environ: Mapping[str, str], prefix: str) -> Read:
    """Read the variables that begin with ``prefix``.

    Left alone are ``<prefix>TEST_…`` (test runs have their own) and what Kubernetes sets in every pod of a namespace
    with a Service of that name (``<prefix>SERVICE_HOST``, ``<prefix>PORT_6443_TCP``, …).
    """
    read = Read()
    known = {option.env: option for option in options}
    foreign = re.compile(
        re.escape(prefix) + r"(TEST_.*|SERVICE_(HOST|PORT(_.*)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
    )
    for name in sorted(environ):
        if not name.startswith(prefix):
            continue
        option = known.get(name)
        if option is not None:
            read.given[option.path] = Given(option, from_text(option, environ[name]), name)
        elif name == prefix + "CONFIG":
            read.config = (environ[name], name)
        elif not foreign.fullmatch(name):
            hint = nearest(name, known, common=prefix)
            read.problems.append(f"{name}: unknown environment variable{hint}")
    return read
