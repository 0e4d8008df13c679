"""The library of semantic versions.

Source: kubernetes/apiserver ``pkg/cel/library/semverlib.go`` (version 1), costs of its ``cost.go``.
"""

from __future__ import annotations

from collections.abc import Callable

from controlplane.cel.errors import EvalError
from controlplane.cel.functions import Function, Library, Overload
from controlplane.cel.library.costs import nominal, scanned, scanning
from controlplane.cel.library.versions import Version, normalized, parse_version
from controlplane.cel.types import BOOL, INT, STRING, Type
from controlplane.cel.values import INT_MAX, UINT_MAX

__all__ = ["SEMVER"]

_SEMVER = Version.cel_type


def _read(text: str, *, normalize: bool) -> Version:
    return parse_version(normalized(text) if normalize else text)


def _semver(text: str, normalize: bool = False) -> Version:  # noqa: FBT001, FBT002 - arguments of the expression
    try:
        return _read(text, normalize=normalize)
    except ValueError as error:
        raise EvalError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002
    try:
        _read(text, normalize=normalize)
    except ValueError:
        return False
    return True


def _int64(number: int) -> int:
    """Numbers of versions have 64 bits without a sign; upstream lets the highest wrap."""
    return number if number <= INT_MAX else number - UINT_MAX - 1


def _number(name: str, get: Callable[[Version], int]) -> Function:
    overload = Overload(
        f"semver_{name}", (_SEMVER,), INT, lambda version: _int64(get(version)), member=True, estimate=nominal
    )
    return Function(name, (overload,))


def _comparison(name: str, id_: str, result: Type, impl: Callable[[Version, Version], object]) -> Function:
    return Function(name, (Overload(id_, (_SEMVER, _SEMVER), result, impl, member=True, estimate=nominal),))


SEMVER = Library(
    (
        Function(
            "semver",
            (
                Overload("string_to_semver", (STRING,), _SEMVER, _semver, cost=scanned(), estimate=scanning()),
                Overload(
                    "string_bool_to_semver", (STRING, BOOL), _SEMVER, _semver, cost=scanned(), estimate=scanning()
                ),
            ),
        ),
        Function(
            "isSemver",
            (
                Overload("is_semver_string", (STRING,), BOOL, _is_semver, cost=scanned(), estimate=scanning()),
                Overload(
                    "is_semver_string_bool", (STRING, BOOL), BOOL, _is_semver, cost=scanned(), estimate=scanning()
                ),
            ),
        ),
        _comparison("isGreaterThan", "semver_is_greater_than", BOOL, lambda version, other: version > other),
        _comparison("isLessThan", "semver_is_less_than", BOOL, lambda version, other: version < other),
        _comparison(
            "compareTo", "semver_compare_to", INT, lambda version, other: (version > other) - (version < other)
        ),
        _number("major", lambda version: version.major),
        _number("minor", lambda version: version.minor),
        _number("patch", lambda version: version.patch),
    ),
    types={"kubernetes.Semver": _SEMVER},
)
