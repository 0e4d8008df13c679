"""Everything that derives from an option's one field: flag, environment variable, file key, type, allowed values."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from controlplane.base.options.durations import DurationMark, format_duration
from controlplane.base.options.model import FLAG, SHORT, OptionGroup
from controlplane.base.values import dataclass

__all__ = ["ENV_PREFIX", "FieldPath", "Kind", "Option", "camel", "kebab", "options_of", "show"]

ENV_PREFIX = "CONTROLPLANE_"

FieldPath = tuple[str, ...]
"""Names a field: field names from the top model."""


class Kind(Enum):
    """How an option's value is written; the value is the word for it in help and docs, as pflag has it."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STRING = "string"
    DURATION = "duration"
    LIST = "strings"
    MAP = "map"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as all sources see it.

    ``flag`` without dashes; ``env`` the variable; ``file_key`` the dotted
    path in the file. ``group``: the class that declares it; ``group_title`` for headings. ``allowed``: "an integer
    from 1 to 65535".
    """

    path: FieldPath
    flag: str
    short: str
    env: str
    file_key: str
    kind: Kind
    default: Any
    description: str
    allowed: str
    group: type[OptionGroup]
    group_title: str

    @property
    def default_text(self) -> str:
        return show(self.default, self.kind)


def kebab(name: str) -> str:
    return name.replace("_", "-")


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def env_name(flag: str, prefix: str = ENV_PREFIX) -> str:
    """``secure-port`` -> ``CONTROLPLANE_SECURE_PORT``; ``etcd.compaction`` -> ``CONTROLPLANE_ETCD__COMPACTION``."""
    return prefix + flag.replace(".", "__").replace("-", "_").upper()


def options_of(model: type[OptionGroup], *, env_prefix: str = ENV_PREFIX) -> list[Option]:
    """The options of a top model, in order of declaration.

    Raises:
        TypeError: a field of a type that cannot be an option. ValueError: two options share a name.
    """
    options = list(_walk(model, (), "", env_prefix))
    owners: dict[str, Option] = {}
    for option in options:
        for name in (option.flag, option.short or option.flag, option.env):
            other = owners.setdefault(name, option)
            if other is not option:
                raise ValueError(
                    f"option {name!r} is declared twice: by {'.'.join(other.path)} and by {'.'.join(option.path)}"
                )
    return options


def _walk(model: type[OptionGroup], path: FieldPath, title: str, env_prefix: str) -> Iterator[Option]:
    for name, field in model.model_fields.items():
        here = (*path, name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, OptionGroup):
            group = field.annotation
            yield from _walk(group, here, group.title or name.replace("_", " ").capitalize(), env_prefix)
            continue
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        flag = str(extra.get(FLAG) or ".".join(kebab(part) for part in here))
        kind = _kind(field, here)
        yield Option(
            path=here,
            flag=flag,
            short=str(extra.get(SHORT, "")),
            env=env_name(flag, env_prefix),
            file_key=".".join(camel(part) for part in here),
            kind=kind,
            default=field.get_default(call_default_factory=True, validated_data={}),
            description=field.description or "",
            allowed=_allowed(field, kind),
            group=model,
            group_title=title or model.title or "General",
        )


_SCALARS: dict[Any, Kind] = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}


def _kind(field: FieldInfo, path: FieldPath) -> Kind:
    if any(isinstance(mark, DurationMark) for mark in field.metadata):
        return Kind.DURATION
    annotation = _without_none(field.annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    origin = get_origin(annotation)
    if origin is Literal:
        return Kind.CHOICE
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return Kind.MAP
    if isinstance(origin, type) and issubclass(origin, (Sequence, frozenset, set)):
        return Kind.LIST
    raise TypeError(f"{'.'.join(path)}: {annotation!r} cannot be the type of an option")


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        if len(inner) == 1:
            return inner[0]
    return annotation


_NOUN = {
    Kind.BOOL: "true or false",
    Kind.INT: "an integer",
    Kind.FLOAT: "a number",
    Kind.STRING: "a text",
    Kind.DURATION: "a duration such as 300ms, 10s or 1m30s",
    Kind.LIST: "a list of texts",
    Kind.MAP: "a map such as a=true,b=false",
}


def _allowed(field: FieldInfo, kind: Kind) -> str:
    if kind is Kind.CHOICE:
        return "one of " + ", ".join(str(choice) for choice in get_args(_without_none(field.annotation)))
    bounds = {
        name: getattr(mark, name)
        for mark in field.metadata
        for name in ("ge", "gt", "le", "lt", "pattern", "min_length", "max_length")
        if getattr(mark, name, None) is not None
    }
    noun = _NOUN[kind]
    if "ge" in bounds and "le" in bounds:
        return f"{noun} from {show(bounds['ge'], kind)} to {show(bounds['le'], kind)}"
    words = {
        "ge": "at least",
        "gt": "greater than",
        "le": "at most",
        "lt": "less than",
        "pattern": "matching",
        "min_length": "of a length of at least",
        "max_length": "of a length of at most",
    }
    limits = [
        f"{words[name]} {bound if name in ('pattern', 'min_length', 'max_length') else show(bound, kind)}"
        for name, bound in bounds.items()
    ]
    return " ".join([noun, " and ".join(limits)]) if limits else noun


def show(value: Any, kind: Kind) -> str:
    """A value as it would be written on the command line; ``""`` for none."""
    if value is None:
        return ""
    if kind is Kind.DURATION and isinstance(value, (int, float)) and not isinstance(value, bool):
        return format_duration(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={show(item, Kind.STRING)}" for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(show(item, Kind.STRING) for item in value)
    return str(value)
