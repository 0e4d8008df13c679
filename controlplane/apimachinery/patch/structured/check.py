"""Does an object fit its type: what an apply must hold before anything is merged.

Source: texts of sigs.k8s.io/structured-merge-diff ``typed`` validation.
"""

from __future__ import annotations

from typing import Any

from controlplane.apimachinery.patch.structured.elements import path_text
from controlplane.apimachinery.patch.structured.errors import TypeMismatch
from controlplane.apimachinery.patch.structured.types import ListType, MapType, Type
from controlplane.apimachinery.patch.structured.values import item_element, kind_of
from controlplane.apimachinery.validation.field import go_quoted, go_value

__all__ = ["check_type"]


def check_type(value: Any, type_: Type, *, allow_duplicates: bool = False) -> None:
    """Check a whole value.

    Args:
        allow_duplicates: items of one identity may stand twice in a set or a list of maps (what is stored may have
            them; what is applied may not).

    Raises:
        TypeMismatch: every problem, each with its path.
    """
    problems: list[str] = []
    _check(value, type_, "", problems, allow_duplicates=allow_duplicates)
    if problems:
        raise TypeMismatch(problems)


def _check(value: Any, type_: Type, path: str, problems: list[str], *, allow_duplicates: bool) -> None:
    if value is None or type_.free:
        return
    kind = type_.only or kind_of(value, type_)
    if kind == "map" and type_.map is not None:
        if isinstance(value, dict):
            _check_map(value, type_.map, path, problems, allow_duplicates=allow_duplicates)
        else:
            problems.append(_problem(path, f"expected map, got {_shown(value)}"))
    elif kind == "list" and type_.list is not None:
        if isinstance(value, list):
            _check_list(value, type_.list, path, problems, allow_duplicates=allow_duplicates)
        else:
            problems.append(_problem(path, f"expected list, got {_shown(value)}"))
    else:
        text = _scalar_problem(type_.scalar or "untyped", value)
        if text:
            problems.append(_problem(path, text))


def _check_map(
    value: dict[str, Any], type_: MapType, path: str, problems: list[str], *, allow_duplicates: bool
) -> None:
    for name, item in value.items():
        field = type_.known.get(name) or type_.field(name)
        if field is None:
            problems.append(f"{path}.{name}: field not declared in schema")
            return
        if item is None or field.free or (type(item) is str and field.scalar == "string"):
            continue
        _check(item, field, f"{path}.{name}", problems, allow_duplicates=allow_duplicates)


def _check_list(value: list[Any], type_: ListType, path: str, problems: list[str], *, allow_duplicates: bool) -> None:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if not type_.associative:
            _check(item, type_.element, f"{path}[{index}]", problems, allow_duplicates=allow_duplicates)
            continue
        try:
            element = item_element(type_, item)
        except ValueError as err:
            problems.append(_problem(path, f"element {index}: {err}"))
            return
        below = path + path_text((element,))
        if element in seen and not allow_duplicates:
            problems.append(_problem(path, f"duplicate entries for key {path_text((element,))}"))
        seen.add(element)
        _check(item, type_.element, below, problems, allow_duplicates=allow_duplicates)


def _scalar_problem(scalar: str, value: Any) -> str:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if scalar == "numeric" and not number:
        return f"expected numeric (int or float), got {_go_type(value)}"
    if scalar == "string" and not isinstance(value, str):
        return f"expected string, got {_go_value(value)}"
    if scalar == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_shown(value)}"
    if scalar == "untyped" and isinstance(value, (dict, list)):
        return f"expected any scalar, got {_shown(value)}"
    return ""


def _problem(path: str, text: str) -> str:
    return f"{path}: {text}" if path else text


def _shown(value: Any) -> str:
    """A value as upstream's %v prints a wrapped one."""
    return f"&{{{go_value(value)}}}"


def _go_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def _go_value(value: Any) -> str:
    """A value as upstream's %#v prints a wrapped one."""
    return f"&value.valueUnstructured{{Value:{_go_syntax(value)}}}"


def _go_syntax(value: Any) -> str:
    match value:
        case None:
            return "interface {}(nil)"
        case str():
            return go_quoted(value)
        case list():
            return f"[]interface {{}}{{{', '.join(map(_go_syntax, value))}}}"
        case dict():
            fields = ", ".join(f"{go_quoted(key)}:{_go_syntax(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{fields}}}"
    return go_value(value)
