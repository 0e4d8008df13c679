"""What a group of options is: a frozen pydantic model whose fields are the options, one field each.

    class EtcdOptions(OptionGroup):
        \"""Which etcd, and how to reach it.\"""
        servers: tuple[str, ...] = option((), flag="etcd-servers", description="etcd endpoints, scheme://host:port")
        compaction: Duration = option(300.0, ge=0, description="compaction interval; 0 leaves it to others")

    class MyOptions(OptionGroup):
        etcd: EtcdOptions = group(EtcdOptions)

One rule names everything: a field's flag is the one it declares, else its path in kebab case (``--etcd.compaction``).
The environment variable, the file key, help and docs follow from it (``specs``). An embedding program subclasses the
top model to add groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["FLAG", "SHORT", "OptionGroup", "Problem", "group", "option"]

FLAG = "flag"
SHORT = "short"


class Problem(NamedTuple):
    """What is wrong with an option. ``option``: the field's name in the group that says so, its path from the top
    (``etcd.servers``), or a flag without its dashes. ``why``: the value where it helps, what is allowed, the remedy."""

    option: str
    why: str


class OptionGroup(BaseModel):
    """A group of options, or the top model that holds the groups. Frozen; unknown names are refused.

    ``title`` heads its flags in the help; without it the field's name does.
    """

    # The schema is built when a value needs checking: a group left at its defaults costs nothing at start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, validate_default=False)

    title: ClassVar[str] = ""

    def problems(self) -> Iterable[Problem]:
        """Everything that is wrong across fields (one field's own bounds are declared with it)."""
        return ()


G = TypeVar("G", bound=OptionGroup)


def group(model: type[G]) -> G:
    """Declare a field that holds a group, at its defaults: ``etcd: EtcdOptions = group(EtcdOptions)``.

    The same as ``= EtcdOptions()``, but the defaults are not validated, which saves building the schema at import.
    """
    field: Any = Field(default_factory=model.model_construct)
    declared: G = field
    return declared


def option(
    default: Any,
    *,
    description: str,
    flag: str | None = None,
    short: str | None = None,
    **bounds: Any,
) -> Any:
    """Declare one option.

    Args:
        default: its value where nothing else is said.
        description: one line for help and docs: what it does, its unit, what 0 or empty means.
        flag: its flag without dashes, where it is not ``group.field`` (kube-apiserver's spelling).
        short: a one-letter flag besides.
        bounds: pydantic's own (``ge``, ``gt``, ``le``, ``lt``, ``pattern``, ``min_length``, ``max_length``).
    """
    extra: dict[str, Any] = {}
    if flag is not None:
        extra[FLAG] = flag
    if short is not None:
        extra[SHORT] = short
    return Field(default, description=description, json_schema_extra=extra, **bounds)
