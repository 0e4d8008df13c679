"""The admission control configuration file: what single plugins are configured by.

Source: kubernetes/apiserver ``pkg/admission/config.go``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controlplane.apimachinery.identity import Obj
from controlplane.plugins.admission.api import PluginConfigurationError

__all__ = ["read_admission_configuration"]

KIND = "AdmissionConfiguration"
API_VERSIONS = ("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1")
_ENTRY = frozenset({"name", "path", "configuration"})


def read_admission_configuration(file: str) -> dict[str, Obj]:
    """Plugins' configurations by their names, in the file or in those that it names; none without a file. Blocks.

    Raises:
        PluginConfigurationError: a file that cannot be read, or is of another kind or shape.
    """
    if not file:
        return {}
    whole = _load(Path(file))
    if whole.get("kind") != KIND or whole.get("apiVersion") not in API_VERSIONS:
        raise PluginConfigurationError(
            f"{file}: is {whole.get('kind') or 'no kind'} of {whole.get('apiVersion') or 'no apiVersion'}, must be "
            f"{KIND} of one of {', '.join(API_VERSIONS)}"
        )
    _refuse_unknown(whole, frozenset({"kind", "apiVersion", "plugins"}), file)
    configurations: dict[str, Obj] = {}
    for i, entry in enumerate(whole.get("plugins") or ()):
        at = f"{file}: plugins[{i}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise PluginConfigurationError(f"{at}: must be an object with a name")
        _refuse_unknown(entry, _ENTRY, at)
        if entry["name"] in configurations:
            raise PluginConfigurationError(f"{at}: {entry['name']} is configured twice")
        found = _configuration(entry, Path(file).parent, at)
        if found is not None:
            configurations[entry["name"]] = found
    return configurations


def _configuration(entry: dict[str, Any], directory: Path, at: str) -> Obj | None:
    given, path = entry.get("configuration"), entry.get("path") or ""
    if given is not None:
        if not isinstance(given, dict):
            raise PluginConfigurationError(f"{at}.configuration: must be an object")
        return given
    if not path:
        return None
    if not isinstance(path, str):
        raise PluginConfigurationError(f"{at}.path: must be a string")
    return _load(directory / path)  # a path that begins with a slash stays as it is


def _load(path: Path) -> dict[str, Any]:
    from controlplane.apimachinery.codec import yaml  # late: few servers have such a file

    try:
        value, repeated = yaml.loads_strict(path.read_bytes())
    except OSError as error:
        raise PluginConfigurationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise PluginConfigurationError(f"{path}: not YAML or JSON: {error}") from error
    if repeated:
        raise PluginConfigurationError(f"{path}: {'; '.join(repeated)}")
    if not isinstance(value, dict):
        raise PluginConfigurationError(f"{path}: must be an object")
    return value


def _refuse_unknown(value: dict[str, Any], known: frozenset[str], at: str) -> None:
    if unknown := sorted(set(map(str, value)) - known):
        raise PluginConfigurationError(f"{at}: unknown fields: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
