"""Configuration files of Kubernetes' kinds, read strictly: what is not asked for is unknown, and an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ConfigurationError", "Part", "read_document"]


class ConfigurationError(Exception):
    """The configuration cannot be used; the message says what is wrong, and where."""


def read_document(content: bytes, kind: str, api_versions: Sequence[str]) -> Part:
    """The whole of a YAML or JSON file that is one object of ``kind``, in one of ``api_versions``.

    Raises:
        ConfigurationError: not YAML, a field twice, or of another kind.
    """
    from controlplane.apimachinery.codec import yaml  # late: few servers have such a file

    try:
        value, repeated = yaml.loads_strict(content)
    except ValueError as error:
        raise ConfigurationError(f"not YAML or JSON: {error}") from error
    if repeated:
        raise ConfigurationError("; ".join(repeated))
    whole = Part(value, "")
    given, api_version = whole.text("kind"), whole.text("apiVersion")
    if given != kind or api_version not in api_versions:
        known = api_versions[0] if len(api_versions) == 1 else f"one of {', '.join(api_versions)}"
        raise ConfigurationError(
            f"is {given or 'no kind'} of {api_version or 'no apiVersion'}, must be {kind} of {known}"
        )
    return whole


class Part:
    """One object of the file; what is not asked for is unknown."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, Mapping):
            raise ConfigurationError(f"{path or 'the document'}: must be an object")
        self._rest, self._path = dict(value), path

    def has(self, name: str) -> bool:
        return self._rest.get(name) is not None

    def text(self, name: str) -> str:
        return self.optional(name) or ""

    def optional(self, name: str) -> str | None:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise ConfigurationError(f"{self._at(name)}: must be a string")
        return value

    def flag(self, name: str) -> bool:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, bool):
            raise ConfigurationError(f"{self._at(name)}: must be true or false")
        return bool(value)

    def integer(self, name: str) -> int | None:
        value = self._rest.pop(name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ConfigurationError(f"{self._at(name)}: must be an integer")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        if not all(isinstance(value, str) for value in values):
            raise ConfigurationError(f"{self._at(name)}: must be a list of strings")
        return tuple(values)

    def part(self, name: str) -> Part:
        return Part(self._rest.pop(name, None) or {}, self._at(name))

    def parts(self, name: str) -> list[Part]:
        return [Part(value, f"{self._at(name)}[{i}]") for i, value in enumerate(self._list(name))]

    def done(self) -> None:
        """Raises ConfigurationError if there is more than was asked for."""
        if self._rest:
            unknown = ", ".join(f'unknown field "{self._at(name)}"' for name in sorted(map(str, self._rest)))
            raise ConfigurationError(f"strict decoding error: {unknown}")

    def _list(self, name: str) -> list[Any]:
        value = self._rest.pop(name, None)
        if value is not None and not isinstance(value, list):
            raise ConfigurationError(f"{self._at(name)}: must be a list")
        return value or []

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name
