"""Load options: flags over environment over file over defaults; every problem at once; every value's source kept."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from controlplane.base.options.file import read_file
from controlplane.base.options.model import OptionGroup, Problem
from controlplane.base.options.sources import Given, read_environment, read_flags
from controlplane.base.options.specs import ENV_PREFIX, FieldPath, Option, options_of, show
from controlplane.base.values import dataclass

__all__ = ["Loaded", "OptionsError", "Setting", "load"]

M = TypeVar("M", bound=OptionGroup)


class OptionsError(Exception):
    """The options cannot be used; ``problems`` are lines, each naming its flag, variable or file key. A program
    prints them and exits with status 2."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class Setting(NamedTuple):
    """One option's value and where it came from; ``origin`` is ``default`` where nobody said anything."""

    option: Option
    value: Any
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Generic[M]):
    """The options, and where each value came from. ``asked``: ``help`` or ``version`` if the command line asks for
    it; ``options`` are then the defaults and nothing has been checked."""

    options: M
    given: Mapping[FieldPath, Given]
    asked: str = ""
    specs: tuple[Option, ...] = ()

    def settings(self) -> Iterator[Setting]:
        """All options with value and origin, in order of declaration (for ``explain`` and the start-up log)."""
        for option in self.specs:
            value: Any = self.options
            for name in option.path:
                value = getattr(value, name)
            given = self.given.get(option.path)
            yield Setting(option, value, given.origin if given is not None else "default")

    def is_set(self, *path: str) -> bool:
        """Whether somebody set this option (field names from the top), even to its default."""
        return path in self.given


def load(
    model: type[M],
    argv: Sequence[str],
    *,
    environ: Mapping[str, str] | None = None,
    env_prefix: str = ENV_PREFIX,
) -> Loaded[M]:
    """Load a top model.

    Args:
        argv: the command line without the program's name and subcommands.
        environ: the environment; None is the process's own.

    Raises:
        OptionsError: with all problems.
    """
    environ = os.environ if environ is None else environ
    specs = options_of(model, env_prefix=env_prefix)
    flags = read_flags(specs, argv)
    if flags.asked:
        return Loaded(options=model(), given={}, asked=flags.asked, specs=tuple(specs))
    environment = read_environment(specs, environ, env_prefix)
    problems = [*flags.problems, *environment.problems]
    sources = [flags.given, environment.given]
    config = flags.config or environment.config
    if config is not None:
        file = read_file(specs, *config)
        problems += file.problems
        sources.append(file.given)
    given = {path: item for source in reversed(sources) for path, item in source.items()}
    options, bad = _build(model, sources, given)
    problems += bad.values()
    problems += _nul_problems(given.values())
    problems += _cross_problems(options, specs, given, bad.keys())
    if problems:
        raise OptionsError(problems)
    return Loaded(options=options, given=given, specs=tuple(specs))


def _build(
    model: type[M], sources: Sequence[Mapping[FieldPath, Given]], given: Mapping[FieldPath, Given]
) -> tuple[M, dict[FieldPath, str]]:
    """The model, and the problems of what is refused; that is left at its default, so that the rest can be judged."""
    from controlplane.base.options.settings import merged  # late: a plane composed in code loads nothing

    try:
        return merged(model, sources), {}
    except ValidationError as error:
        details = error.errors(include_url=False)
    bad: dict[FieldPath, str] = {}
    for detail in details:
        # Its location: the merging model's one field, the option's path, and then what is within a list or a map.
        location = detail["loc"][1:]
        for path, item in given.items():
            if location[: len(path)] == path:
                why = detail["ctx"]["error"] if detail["type"] == "value_error" else f"must be {item.option.allowed}"
                value = show(item.value, item.option.kind)
                bad.setdefault(path, f"{_subject(item.option, item)}: invalid value {value!r}: {why}")
    return merged(model, sources, without=bad.keys()), bad


def _nul_problems(given: Iterable[Given]) -> Iterator[str]:
    """Texts that no path, name or address can be, and only an options file can hold."""
    for item in given:
        parts = item.value if isinstance(item.value, list) else [item.value]
        if any(isinstance(part, str) and "\0" in part for part in parts):
            value = show(item.value, item.option.kind)
            yield f"{_subject(item.option, item)}: invalid value {value!r}: must not contain a NUL character"


def _subject(option: Option, given: Given | None) -> str:
    """How a message names an option: where it was said, and its flag if that was elsewhere."""
    if given is None or given.origin.startswith("-"):
        return given.origin if given is not None else f"--{option.flag}"
    return f"{given.origin} (--{option.flag})"


def _cross_problems(
    top: OptionGroup,
    specs: Sequence[Option],
    given: Mapping[FieldPath, Given],
    bad: Collection[FieldPath],
) -> Iterator[str]:
    by_path = {option.path: option for option in specs}
    by_flag = {option.flag: option for option in specs}

    def subject(problem: Problem, path: FieldPath) -> Option | None:
        dotted = tuple(problem.option.split("."))
        return by_path.get((*path, problem.option)) or by_path.get(dotted) or by_flag.get(problem.option)

    def walk(group: OptionGroup, path: FieldPath) -> Iterator[str]:
        for problem in group.problems():
            option = subject(problem, path)
            if option is None:
                yield f"--{problem.option}: {problem.why}"
            elif option.path not in bad:
                yield f"{_subject(option, given.get(option.path))}: {problem.why}"
        for name in type(group).model_fields:
            value = getattr(group, name)
            if isinstance(value, OptionGroup):
                yield from walk(value, (*path, name))

    return walk(top, ())
