"""The sources' values as pydantic-settings merges and checks them.

Imported when options are loaded only: a plane that is composed in code never pays for the import.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

from pydantic import create_model
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from controlplane.base.options.model import OptionGroup, group
from controlplane.base.options.sources import Given
from controlplane.base.options.specs import FieldPath, Kind

__all__ = ["merged"]

M = TypeVar("M", bound=OptionGroup)

TOP = "options"


def merged(model: type[M], sources: Sequence[Mapping[FieldPath, Given]], *, without: Collection[FieldPath] = ()) -> M:
    """The top model, filled from the sources, the first of which counts most.

    Args:
        without: options that no source fills.

    Raises:
        pydantic.ValidationError: with every value that is refused; its locations begin with ``TOP``.
    """
    fields: dict[str, Any] = {TOP: (model, group(model))}
    settings = create_model(f"{model.__name__}Settings", __base__=_Settings, **fields)
    settings.given = tuple({path: item for path, item in source.items() if path not in without} for source in sources)
    return cast(M, getattr(settings(), TOP))


class _Settings(BaseSettings):
    model_config = SettingsConfigDict(extra="forbid", defer_build=True, validate_default=False)

    given: ClassVar[tuple[Mapping[FieldPath, Given], ...]] = ()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Ours in place of the library's: those know neither kube-apiserver's spellings nor where a value was said."""
        return tuple(_Source(settings_cls, given) for given in cls.given)


class _Source(PydanticBaseSettingsSource):
    """What one source gave, nested by field names."""

    def __init__(self, settings_cls: type[BaseSettings], given: Mapping[FieldPath, Given]) -> None:
        super().__init__(settings_cls)
        self._given = given

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        return self._nested().get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._nested()

    def _nested(self) -> dict[str, Any]:
        nested: dict[str, Any] = {}
        for path, item in self._given.items():
            if item.option.kind is Kind.MAP and _has(self.current_state, (TOP, *path)):
                continue  # pydantic-settings would join the two; what is said of an option counts as a whole
            within = nested
            for name in (TOP, *path[:-1]):
                within = within.setdefault(name, {})
            within[path[-1]] = item.value
        return nested


def _has(nested: Mapping[str, Any], path: FieldPath) -> bool:
    for name in path[:-1]:
        nested = nested.get(name, {})
    return path[-1] in nested
