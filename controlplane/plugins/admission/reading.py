"""Reading a plugin's configuration: what is not asked for is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from controlplane.plugins.admission.api import PluginConfigurationError

__all__ = ["Part", "read_configuration"]


class Part:
    """One object of a configuration, its fields taken out one by one."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, Mapping):
            raise PluginConfigurationError(f"{path or 'the configuration'}: must be an object")
        self._rest, self._path = dict(value), path

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self._path}.{name}" if self._path else name

    def text(self, name: str) -> str:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise PluginConfigurationError(f"{self.at(name)}: Invalid value: {value!r}: must be a string")
        return value or ""

    def integer(self, name: str) -> int:
        value = self._rest.pop(name, None)
        if value is not None and type(value) is not int:
            raise PluginConfigurationError(f"{self.at(name)}: Invalid value: {value!r}: must be an integer")
        return value or 0

    def texts(self, name: str) -> list[str]:
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise PluginConfigurationError(f"{self.at(name)}: must be a list of strings")
        return values

    def part(self, name: str) -> Part:
        return Part(self._rest.pop(name, None) or {}, self.at(name))

    def parts(self, name: str) -> list[Part]:
        return [Part(value, f"{self.at(name)}[{i}]") for i, value in enumerate(self._list(name))]

    def done(self) -> None:
        """Refuse what is left."""
        if self._rest:
            unknown = ", ".join(f'unknown field "{self.at(name)}"' for name in sorted(map(str, self._rest)))
            raise PluginConfigurationError(f"strict decoding error: {unknown}")

    def _list(self, name: str) -> list[Any]:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, list):
            raise PluginConfigurationError(f"{self.at(name)}: must be a list")
        return value or []


def read_configuration(value: Any, *, kind: str, api_versions: Collection[str]) -> Part:
    """A configuration of one kind.

    Raises:
        PluginConfigurationError: it is of another.
    """
    part = Part(value)
    given, api_version = part.text("kind"), part.text("apiVersion")
    if given != kind or api_version not in api_versions:
        raise PluginConfigurationError(
            f"is {given or 'no kind'} of {api_version or 'no apiVersion'}, must be {kind} of "
            f"{' or '.join(sorted(api_versions))}"
        )
    return part
