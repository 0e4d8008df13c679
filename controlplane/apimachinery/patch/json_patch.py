"""JSON patch (RFC 6902), as the library behind Kubernetes applies it.

Where it departs from the RFC, clients have come to rely on it: replacing a missing key of an object adds it; testing a
missing key against null succeeds; list indices may be negative, counting from the end; a missing value is null.

The object and the operations given are never changed. Only the containers on the way to a change are copied, each at
most once a patch; everything else is shared with the original.

Source: RFC 6902, RFC 6901; the behaviour of gopkg.in/evanphx/json-patch.v4 and kubernetes/apiserver's limits.
"""

from __future__ import annotations

import re
from typing import Any

from controlplane.apimachinery.codec.json import MAX_DEPTH, TooDeep, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.patch.errors import MalformedPatch, PatchNotApplicable, TooManyOperations

__all__ = ["MAX_COPIED_BYTES", "MAX_OPERATIONS", "apply_json_patch"]

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""How much JSON all copy operations of one patch may duplicate: a short patch must not grow an object without bound."""

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_MISSING: Any = object()
_Container = dict[str, Any] | list[Any]


def apply_json_patch(obj: Obj, operations: Any) -> Obj:
    """Apply a decoded JSON patch.

    Returns:
        The new object; parts that did not change are shared with ``obj``.

    Raises:
        MalformedPatch: not a list of objects. TooManyOperations: over MAX_OPERATIONS.
        PatchNotApplicable: an operation failed; none has an effect.
    """
    if not isinstance(operations, list):
        raise MalformedPatch("a JSON patch must be an array of operations")
    for operation in operations:
        if not isinstance(operation, dict):
            raise MalformedPatch("each operation of a JSON patch must be an object")
    if len(operations) > MAX_OPERATIONS:
        raise TooManyOperations(MAX_OPERATIONS, len(operations))
    patching = _Patching(obj)
    for operation in operations:
        patching.apply(operation)
    if not isinstance(patching.root, dict):
        raise PatchNotApplicable("the patched object is not a JSON object")
    return patching.root


class _Patching:
    """One object while it is being patched. ``_own`` holds the containers made here, which may be changed, by id; it
    keeps them alive, so that an id means the same container throughout."""

    __slots__ = ("_copied_bytes", "_own", "root")

    def __init__(self, obj: Obj) -> None:
        self.root: Any = obj
        self._own: dict[int, _Container] = {}
        self._copied_bytes = 0

    def apply(self, operation: Obj) -> None:
        match operation.get("op"):
            case "add":
                self._add(_pointer(operation, "path"), operation.get("value"))
            case "remove":
                self._remove(_pointer(operation, "path"))
            case "replace":
                self._replace(_pointer(operation, "path"), operation.get("value"))
            case "move":
                source = _pointer(operation, "from")
                value = self._get(source)
                self._remove(source)
                self._add(_pointer(operation, "path"), None if value is _MISSING else value)
            case "copy":
                self._copy(_pointer(operation, "from"), _pointer(operation, "path"))
            case "test":
                self._test(_pointer(operation, "path"), operation.get("value"))
            case op:
                raise PatchNotApplicable(f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}")

    # ---- operations

    def _add(self, path: str, value: Any) -> None:
        parent, key = self._parent_to_change(path, "add")
        if isinstance(parent, dict):
            parent[key] = value
        elif key == "-":
            parent.append(value)
        else:
            parent.insert(_index(key, len(parent) + 1), value)

    def _remove(self, path: str) -> None:
        parent, key = self._parent_to_change(path, "remove")
        if isinstance(parent, list):
            del parent[_index(key, len(parent))]
        elif key in parent:
            del parent[key]
        else:
            raise PatchNotApplicable(f"Unable to remove nonexistent key: {key}: missing value")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, (dict, list)):
                raise PatchNotApplicable("replace operation value must be object or array")
            self.root = value
            return
        parent, key = self._parent_to_change(path, "replace")
        if isinstance(parent, dict):
            parent[key] = value
        else:
            parent[_index(key, len(parent))] = value

    def _copy(self, source: str, path: str) -> None:
        value = self._get(source)
        try:
            encoded = dumps(None if value is _MISSING else value)
        except TooDeep as e:
            raise PatchNotApplicable(str(e)) from None
        self._copied_bytes += len(encoded)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise PatchNotApplicable(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
            )
        self._add(path, loads(encoded))

    def _test(self, path: str, expected: Any) -> None:
        found = self.root if path == "" else self._get(path)
        if found is _MISSING:
            found = None
        if not _equal(found, expected):
            raise PatchNotApplicable(f"testing value {path} failed: test failed")

    # ---- finding places

    def _get(self, path: str) -> Any:
        """The value at a path; _MISSING for a key that its object lacks."""
        parts = _parts(path)
        value = self.root
        for part in parts[:-1]:
            value = _child(value, part)
            if not isinstance(value, (dict, list)):
                raise _no_path(path)
        if isinstance(value, list):
            return value[_index(parts[-1], len(value))]
        return value.get(parts[-1], _MISSING)

    def _parent_to_change(self, path: str, op: str) -> tuple[_Container, str]:
        """The container that holds a path's last part, with everything above it our own; and that part."""
        parts = _parts(path)
        container = self.root = self._made_own(self.root)
        for part in parts[:-1]:
            child = _child(container, part)
            if not isinstance(child, (dict, list)):
                raise _no_path(path, op)
            own = self._made_own(child)
            if isinstance(container, dict):
                container[part] = own
            else:
                container[_index(part, len(container))] = own
            container = own
        return container, parts[-1]

    def _made_own(self, container: _Container) -> _Container:
        if id(container) in self._own:
            return container
        own = container.copy()
        self._own[id(own)] = own
        return own


def _pointer(operation: Obj, field: str) -> str:
    pointer = operation.get(field)
    if not isinstance(pointer, str):
        raise PatchNotApplicable(f"operation missing {field} field: missing value")
    return pointer


def _no_path(path: str, op: str = "") -> PatchNotApplicable:
    subject = f"{op} operation does not apply: doc" if op else "doc"
    return PatchNotApplicable(f'{subject} is missing path: "{path}": missing value')


def _parts(path: str) -> list[str]:
    """The parts of a JSON pointer (RFC 6901), unescaped. What stands before the first slash is ignored."""
    parts = path.split("/")
    if not 2 <= len(parts) <= MAX_DEPTH + 1:  # nothing that can be stored is deeper
        raise _no_path(path)
    if "~" in path:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return parts[1:]


def _child(container: _Container, part: str) -> Any:
    if isinstance(container, dict):
        return container.get(part)
    return container[_index(part, len(container))]


def _index(key: str, length: int) -> int:
    """A list index below ``length``; negative ones count from the end."""
    if not _INDEX.fullmatch(key):
        raise PatchNotApplicable(f"value was not a proper array index: '{key}'")
    index = int(key)
    if not -length <= index < length:
        raise PatchNotApplicable(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _equal(left: Any, right: Any) -> bool:
    """Equal as JSON: unlike in Python, 1 is neither true nor 1.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_equal(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)
