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
from controlplane.apimachinery.validation.field import go_quoted

__all__ = ["MAX_COPIED_BYTES", "MAX_OPERATIONS", "apply_json_patch"]

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""How much JSON all copy operations of one patch may duplicate: a short patch must not grow an object without bound."""

_INDEX = re.compile(r"[+-]?[0-9]{1,18}")
_DIGITS = re.compile(r"[+-]?[0-9]+")
_NO_PATH = "operation missing path field"
_NO_FROM = "operation, missing from field"
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
                path = _pointer(operation, "path", "add operation failed to decode path")
                self._add(path, operation.get("value"), f"error in add for path: '{path}'")
            case "remove":
                self._remove(_pointer(operation, "path", "remove operation failed to decode path"))
            case "replace":
                path = _pointer(operation, "path", f"replace operation failed to decode path: {_NO_PATH}")
                self._replace(path, operation.get("value"))
            case "move":
                self._move(operation)
            case "copy":
                self._copy(operation)
            case "test":
                path = _pointer(operation, "path", f"test operation failed to decode path: {_NO_PATH}")
                self._test(path, operation.get("value"))
            case op:
                raise PatchNotApplicable(f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}")

    # ---- operations

    def _add(self, path: str, value: Any, doing: str, where: str = "") -> None:
        """``doing``: what an error begins with that the place is wrong; ``where``: what one says that there is none."""
        place = self._place(path, own=True)
        if place is None:
            raise _missing(where or f'add operation does not apply: doc is missing path: "{path}"')
        parent, key = place
        if isinstance(parent, dict):
            parent[key] = value
        elif key == "-":
            parent.append(value)
        else:
            if not _INDEX.fullmatch(key):
                doing = f"{doing}: value was not a proper array index: '{key}'"
            parent.insert(_index(key, len(parent) + 1, doing), value)

    def _remove(self, path: str) -> None:
        place = self._place(path, own=True)
        if place is None:
            raise _missing(f'remove operation does not apply: doc is missing path: "{path}"')
        _take(*place, f"error in remove for path: '{path}'")

    def _replace(self, path: str, value: Any) -> None:
        if path == "":
            if not isinstance(value, (dict, list)):
                raise PatchNotApplicable("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        place = self._place(path, own=True)
        if place is None:
            raise _missing(f"replace operation does not apply: doc is missing path: {path}")
        parent, key = place
        if isinstance(parent, dict):
            parent[key] = value
            return
        try:
            index = _index(key, len(parent), "")
        except PatchNotApplicable:
            raise _missing(f"replace operation does not apply: doc is missing key: {path}") from None
        parent[index] = value

    def _move(self, operation: Obj) -> None:
        source = _pointer(operation, "from", f"move operation failed to decode from: {_NO_FROM}")
        place = self._place(source, own=True)
        if place is None:
            raise _missing(f"move operation does not apply: doc is missing from path: {source}")
        parent, key = place
        value = _take(parent, key, f"error in move for path: '{key}'")
        path = _pointer(operation, "path", f"move operation failed to decode path: {_NO_PATH}")
        where = f"move operation does not apply: doc is missing destination path: {path}"
        self._add(path, value, f"error in move for path: '{path}'", where)

    def _copy(self, operation: Obj) -> None:
        source = _pointer(operation, "from", f"copy operation failed to decode from: {_NO_FROM}")
        place = self._place(source)
        if place is None:
            raise _missing(f"copy operation does not apply: doc is missing from path: {source}")
        value = _value(*place, f"error in copy for from: '{source}'")
        path = _pointer(operation, "path", "copy operation failed to decode path")
        try:
            encoded = dumps(value)
        except TooDeep as e:
            raise PatchNotApplicable(str(e)) from None
        self._copied_bytes += len(encoded)
        if self._copied_bytes > MAX_COPIED_BYTES:
            raise PatchNotApplicable(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self._copied_bytes}, exceeding the limit {MAX_COPIED_BYTES}"
            )
        where = f"copy operation does not apply: doc is missing destination path: {path}"
        self._add(path, loads(encoded), "error while adding value during copy", where)

    def _test(self, path: str, expected: Any) -> None:
        found = self.root
        if path:
            place = self._place(path)
            if place is None:
                raise _missing(f"test operation does not apply: is missing path: {path}")
            found = _value(*place, f"error in test for path: '{path}'")
        if not _equal(found, expected):
            raise PatchNotApplicable(f"testing value {path} failed: test failed")

    # ---- finding places

    def _place(self, path: str, *, own: bool = False) -> tuple[_Container, str] | None:
        """The container that holds a path's last part, and that part; None if the way there is cut. ``own``: it is to
        be changed, so it and everything above are made our own."""
        parts = _parts(path)
        if parts is None:
            return None
        if own:
            self.root = self._made_own(self.root)
        container = self.root
        for part in parts[:-1]:
            key: Any = part
            if isinstance(container, list):
                if not _INDEX.fullmatch(part) or not -len(container) <= int(part) < len(container):
                    return None
                key = int(part)
            elif part not in container:
                return None
            child = container[key]
            if not isinstance(child, (dict, list)):
                return None
            if own:
                child = container[key] = self._made_own(child)
            container = child
        return container, parts[-1]

    def _made_own(self, container: _Container) -> _Container:
        if id(container) in self._own:
            return container
        own = container.copy()
        self._own[id(own)] = own
        return own


def _pointer(operation: Obj, field: str, problem: str) -> str:
    pointer = operation.get(field)
    if not isinstance(pointer, str):
        raise _missing(problem)
    return pointer


def _missing(problem: str) -> PatchNotApplicable:
    return PatchNotApplicable(f"{problem}: missing value")


def _parts(path: str) -> list[str] | None:
    """The parts of a JSON pointer (RFC 6901), unescaped; None if it has none. What stands before the first slash is
    ignored."""
    parts = path.split("/")
    if not 2 <= len(parts) <= MAX_DEPTH + 1:  # nothing that can be stored is deeper
        return None
    if "~" in path:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    return parts[1:]


def _value(container: _Container, key: str, doing: str) -> Any:
    """What a container holds; None for a key that an object lacks."""
    if isinstance(container, dict):
        return container.get(key)
    return container[_index(key, len(container), doing)]


def _take(container: _Container, key: str, doing: str) -> Any:
    """Take out of a container what it holds."""
    if isinstance(container, list):
        return container.pop(_index(key, len(container), doing))
    if key not in container:
        raise _missing(f"{doing}: Unable to remove nonexistent key: {key}")
    return container.pop(key)


def _index(key: str, length: int, doing: str) -> int:
    """A list index below ``length``; negative ones count from the end. ``doing``: what an error begins with."""
    if not _INDEX.fullmatch(key):
        why = "value out of range" if _DIGITS.fullmatch(key) else "invalid syntax"
        raise PatchNotApplicable(f"{doing}: strconv.Atoi: parsing {go_quoted(key)}: {why}")
    index = int(key)
    if not -length <= index < length:
        raise PatchNotApplicable(f"{doing}: Unable to access invalid index: {index}: invalid index referenced")
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
