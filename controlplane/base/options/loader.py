"""Load options: flags over environment over file over defaults; every problem at once; every value's source kept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from controlplane.base.options.file import read_file
from controlplane.base.options.model import OptionGroup, Problem
from controlplane.base.options.sources import Given, read_environment, read_flags
from controlplane.base.options.specs import ENV_PREFIX, Option, options_of, show
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
    given: Mapping[tuple[str, ...], Given]
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
    given: dict[tuple[str, ...], Given] = {}
    config = flags.config or environment.config
    if config is not None:
        file = read_file(specs, *config)
        problems += file.problems
        given.update(file.given)
    given.update(environment.given)
    given.update(flags.given)
    options, bad, value_problems = _build(model, given)
    problems += value_problems
    problems += _cross_problems(options, specs, given, bad)
    if problems:
        raise OptionsError(problems)
    return Loaded(options=options, given=given, specs=tuple(specs))


def _build(model: type[M], given: Mapping[tuple[str, ...], Given]) -> tuple[M, set[tuple[str, ...]], list[str]]:
    """The model; what is refused is left at its default and reported, so that the rest can be judged too."""
    bad: set[tuple[str, ...]] = set()
    problems: list[str] = []

    def build(group: type[OptionGroup], path: tuple[str, ...]) -> OptionGroup:
        depth = len(path)
        below = {p: g for p, g in given.items() if p[:depth] == path}
        values: dict[str, Any] = {}
        for name, field in group.model_fields.items():
            here = (*path, name)
            if isinstance(field.annotation, type) and issubclass(field.annotation, OptionGroup):
                if any(p[: depth + 1] == here for p in below):
                    values[name] = build(field.annotation, here)
            elif here in below:
                values[name] = below[here].value
        if not values:
            return group.model_construct()
        try:
            return group.model_validate(values)
        except ValidationError as error:
            wrong = {str(detail["loc"][0]) for detail in error.errors(include_url=False)}
            reasons = {
                str(detail["loc"][0]): str(detail["ctx"]["error"])
                for detail in error.errors(include_url=False)
                if detail["type"] == "value_error"
            }
        for name in group.model_fields:
            if name in wrong:
                item = given[(*path, name)]
                bad.add(item.option.path)
                why = reasons.get(name, f"must be {item.option.allowed}")
                value = show(item.value, item.option.kind)
                problems.append(f"{_subject(item.option, item)}: invalid value {value!r}: {why}")
        return group.model_validate({name: value for name, value in values.items() if name not in wrong})

    built = build(model, ())
    assert isinstance(built, model)
    return built, bad, problems


def _subject(option: Option, given: Given | None) -> str:
    """How a message names an option: where it was said, and its flag if that was elsewhere."""
    if given is None or given.origin.startswith("-"):
        return given.origin if given is not None else f"--{option.flag}"
    return f"{given.origin} (--{option.flag})"


def _cross_problems(
    top: OptionGroup,
    specs: Sequence[Option],
    given: Mapping[tuple[str, ...], Given],
    bad: set[tuple[str, ...]],
) -> Iterator[str]:
    by_path = {option.path: option for option in specs}
    by_flag = {option.flag: option for option in specs}

    def subject(problem: Problem, path: tuple[str, ...]) -> Option | None:
        dotted = tuple(problem.option.split("."))
        return by_path.get((*path, problem.option)) or by_path.get(dotted) or by_flag.get(problem.option)

    def walk(group: OptionGroup, path: tuple[str, ...]) -> Iterator[str]:
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
