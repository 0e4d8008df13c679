"""The options file: YAML, one mapping a group, keys in camelCase; problems name file, line and key.

secureServing:
  securePort: 6443
etcd-servers: [http://127.0.0.1:2379]      # a flag's name as a top-level key does too
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from controlplane.base.options.sources import Given, Read, from_text, nearest
from controlplane.base.options.specs import Kind, Option

if TYPE_CHECKING:
    import yaml

__all__ = ["read_file"]


def read_file(options: Sequence[Option], path: str, named_by: str) -> Read:
    """Read the file; ``named_by`` is where its name was said. Does not raise: what is wrong is a problem."""
    import yaml  # late: most starts have no file

    read = Read()
    try:
        text = Path(path).read_text(encoding="utf-8")
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark is not None else ""
        read.problems.append(f"{path}{line}: not YAML: {getattr(error, 'problem', None) or error}")
        return read
    except (OSError, ValueError) as error:  # no UTF-8, or a path that no file can have
        reason = error.strerror if isinstance(error, OSError) else str(error)
        read.problems.append(f"{named_by}: cannot read {path!r}: {reason}")
        return read
    if root is not None:
        _FileReader(options, path, loader, read).read(root)
    return read


class _FileReader:
    def __init__(self, options: Sequence[Option], path: str, loader: yaml.SafeLoader, read: Read) -> None:
        self._path, self._loader, self._read = path, loader, read
        self._by_key = {option.file_key: option for option in options}
        self._by_flag = {option.flag: option for option in options}
        self._groups = {key.rsplit(".", depth)[0] for key in self._by_key for depth in range(1, key.count(".") + 1)}

    def read(self, root: yaml.Node) -> None:
        self._mapping(root, "")

    def _mapping(self, node: yaml.Node, prefix: str) -> None:
        import yaml

        if not isinstance(node, yaml.MappingNode):
            where = f"{prefix}: must be a mapping of options" if prefix else "must be a mapping of groups of options"
            self._read.problems.append(f"{self._path}:{node.start_mark.line + 1}: {where}")
            return
        seen: set[str] = set()
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "(not a text)"
            full = f"{prefix}.{key}" if prefix else key
            origin = f"{self._path}:{line}: {full}"
            option = self._by_key.get(full) or (None if prefix else self._by_flag.get(key))
            if full in seen:
                self._read.problems.append(f"{origin}: is given twice")
            seen.add(full)
            if option is not None:
                self._option(option, value_node, origin)
            elif full in self._groups:
                self._mapping(value_node, full)
            else:
                self._unknown(origin, full, prefix)

    def _unknown(self, origin: str, full: str, prefix: str) -> None:
        common = f"{prefix}." if prefix else ""
        known = [name for name in (*self._by_key, *self._groups) if name.startswith(common)]
        hint = nearest(full, known if prefix else [*known, *self._by_flag], common=common)
        self._read.problems.append(f"{origin}: unknown key{hint}")

    def _option(self, option: Option, node: yaml.Node, origin: str) -> None:
        before = self._read.given.get(option.path)
        if before is not None:
            self._read.problems.append(f"{origin}: the same option as {before.origin}")
            return
        import yaml

        try:
            value: Any = self._loader.construct_document(node)
        except yaml.constructor.ConstructorError as error:
            self._read.problems.append(f"{origin}: {error.problem}")
            return
        if isinstance(value, str):
            value = from_text(option, value)
        elif value is None:
            value = [] if option.kind is Kind.LIST else {} if option.kind is Kind.MAP else ""
        elif isinstance(value, bool):
            value = value if option.kind is Kind.BOOL else node.value  # ``true`` is no number
        elif option.kind is Kind.STRING and isinstance(value, (int, float)):
            value = node.value  # a text is meant as it is written
        self._read.given[option.path] = Given(option, value, origin)
