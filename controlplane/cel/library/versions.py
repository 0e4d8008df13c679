"""Semantic versions: read strictly or leniently, compared by precedence.

Source: semver.org 2.0.0; error texts and limits of blang/semver ``v4``; the lenient reading of kubernetes/apiserver
``pkg/cel/library/semverlib.go``.
"""

from __future__ import annotations

from functools import total_ordering
from typing import ClassVar

from controlplane.cel.library.go_text import go_quoted
from controlplane.cel.types import Type, object_type

__all__ = ["Version", "normalized", "parse_version"]

_DIGITS = frozenset("0123456789")
_ALPHANUMERIC = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
_MAX_UINT64 = 2**64 - 1


@total_ordering
class Version:
    """A version. Build metadata has no precedence: versions that differ in it alone are equal."""

    __slots__ = ("build", "major", "minor", "patch", "pre")
    cel_type: ClassVar[Type] = object_type("kubernetes.Semver")

    def __init__(
        self, major: int, minor: int, patch: int, pre: tuple[int | str, ...] = (), build: tuple[str, ...] = ()
    ) -> None:
        self.major = major
        self.minor = minor
        self.patch = patch
        self.pre = pre
        self.build = build

    def _precedence(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int | str], ...]]:
        """Numbers sort below texts, fewer parts below more, and a release above its own previews."""
        parts = tuple((isinstance(part, str), part) for part in self.pre)
        return self.major, self.minor, self.patch, not self.pre, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._precedence() == other._precedence()

    def __lt__(self, other: Version) -> bool:
        return self._precedence() < other._precedence()

    def __hash__(self) -> int:
        return hash(self._precedence())

    def __str__(self) -> str:
        pre = "-" + ".".join(map(str, self.pre)) if self.pre else ""
        build = "+" + ".".join(self.build) if self.build else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}{build}"

    def __repr__(self) -> str:
        return f"Version({str(self)!r})"


def parse_version(text: str) -> Version:
    """Read a version as semver.org writes it.

    Raises:
        ValueError: with the message of blang/semver.
    """
    if not text:
        raise ValueError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise ValueError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major number", "Major number")
    minor = _number(parts[1], "minor number", "Minor number")
    rest, plus, build_text = parts[2].partition("+")
    patch_text, dash, pre_text = rest.partition("-")
    patch = _number(patch_text, "patch number", "Patch number")
    pre = tuple(_preview(part) for part in pre_text.split(".")) if dash else ()
    build = tuple(build_text.split(".")) if plus else ()
    for part in build:
        if not part:
            raise ValueError("Build meta data is empty")
        if not _ALPHANUMERIC.issuperset(part):
            raise ValueError(f"Invalid character(s) found in build meta data {go_quoted(part)}")
    return Version(major, minor, patch, pre, build)


def normalized(text: str) -> str:
    """The text of a version written loosely: ``v1.02`` becomes ``1.2.0``.

    Raises:
        ValueError: it is short, and has a preview or build part all the same.
    """
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped[:1] in _DIGITS else "0" + stripped
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _number(text: str, name: str, capitalized: str) -> int:
    if not _DIGITS.issuperset(text):
        raise ValueError(f"Invalid character(s) found in {name} {go_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise ValueError(f"{capitalized} must not contain leading zeroes {go_quoted(text)}")
    return _uint64(text)


def _uint64(text: str) -> int:
    if not text:
        raise ValueError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _MAX_UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {go_quoted(text)}: value out of range")
    return int(text)


def _preview(part: str) -> int | str:
    if not part:
        raise ValueError("Prerelease is empty")
    if _DIGITS.issuperset(part):
        if len(part) > 1 and part[0] == "0":
            raise ValueError(f"Numeric PreRelease version must not contain leading zeroes {go_quoted(part)}")
        return _uint64(part)
    if not _ALPHANUMERIC.issuperset(part):
        raise ValueError(f"Invalid character(s) found in prerelease {go_quoted(part)}")
    return part
