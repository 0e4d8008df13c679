"""The shape of the code: sizes, docstrings, explicit exports."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATED = ("_pb2.py", "_pb2.pyi")
SOURCES = sorted(
    path
    for package in ("controlplane", "sample-controlplane")
    for path in (ROOT / package).rglob("*.py")
    if not path.name.endswith(GENERATED)
)
WRITTEN = [path for path in SOURCES if path.stat().st_size]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", WRITTEN, ids=ids)
def test_module_is_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 600


def test_median_module_is_about_150_lines() -> None:
    sizes = [len(path.read_text().splitlines()) for path in WRITTEN if path.name != "__init__.py"]
    assert statistics.median(sizes) <= 200


@pytest.mark.parametrize("path", WRITTEN, ids=ids)
def test_module_says_what_it_is(path: Path) -> None:
    doc = ast.get_docstring(ast.parse(path.read_text()))
    assert doc, "a module opens with what it is, what it does not know, its guarantees and its source"


@pytest.mark.parametrize("path", [p for p in WRITTEN if not p.name.startswith("__")], ids=ids)
def test_module_names_its_public_surface(path: Path) -> None:
    tree = ast.parse(path.read_text())
    declared = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        ),
        None,
    )
    assert declared is not None, "__all__ is missing"
    names = {
        n
        for node in ast.walk(tree)
        for n in (
            [node.name]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            else [a.asname or a.name for a in node.names]
            if isinstance(node, (ast.Import, ast.ImportFrom))
            else [node.id]
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            else []
        )
    }
    assert sorted(set(declared) - names) == [], "__all__ names something that is not there"
    assert len(declared) == len(set(declared)), "__all__ names something twice"
