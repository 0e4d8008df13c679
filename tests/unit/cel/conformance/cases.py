"""The conformance cases of google/cel-spec: where they are, and how one is run.

The files are not copied into this project. They are read from the folder that CONTROLPLANE_CEL_SPEC names (a checkout
of google/cel-spec, or its git directory), or from the mirror that the developers' tools fetch, if it is there.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from controlplane.cel.environment import Environment
from controlplane.cel.errors import CompileError, CostExceeded, EvalError
from controlplane.cel.functions import Library
from controlplane.cel.library.encoders import ENCODERS
from controlplane.cel.library.lists import lists
from controlplane.cel.library.maths import MATH
from controlplane.cel.library.net import CIDR, IP
from controlplane.cel.library.strings import strings
from controlplane.cel.program import ProgramError, compile_expression
from controlplane.cel.standard.comprehensions import BINDINGS, TWO_VARIABLES
from controlplane.cel.standard.library import STANDARD
from controlplane.cel.standard.optionals import OPTIONALS
from controlplane.cel.types import DYN, Type
from controlplane.cel.values import Value
from tests.unit.cel.conformance.textproto import Message, parse
from tests.unit.cel.conformance.values import Unsupported, declared_function, same, to_type, to_value

__all__ = ["Case", "cases", "outcome", "source"]

_FOLDER = "tests/simple/testdata"
_MIRROR = Path("/work/.mirror/google+cel-spec/repo")
_LIBRARIES = (
    STANDARD,
    OPTIONALS,
    TWO_VARIABLES,
    BINDINGS,
    strings(4),
    lists(3),
    MATH,
    ENCODERS,
    IP,
    CIDR,
)


class Case(NamedTuple):
    """One test of the specification; ``id`` is file/section/name, with a number where a section repeats a name."""

    id: str
    message: Message


def source() -> Path | None:
    """Where the specification is, if anywhere."""
    named = os.environ.get("CONTROLPLANE_CEL_SPEC")
    found = Path(named) if named else _MIRROR
    return found if found.exists() else None


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each file."""
    folder = root / _FOLDER
    if folder.is_dir():
        for path in sorted(folder.glob("*.textproto")):
            yield path.stem, path.read_text()
        return
    listed = _git(root, "ls-tree", "--name-only", "HEAD", f"{_FOLDER}/").split()
    for name in sorted(listed):
        if name.endswith(".textproto"):
            yield Path(name).stem, _git(root, "show", f"HEAD:{name}")


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout


@cache
def cases() -> tuple[Case, ...]:
    """All of them, in the order of the files."""
    root = source()
    found: list[Case] = []
    seen: dict[str, int] = {}
    for file, text in _texts(root) if root else ():
        for section in parse(text).get("section", []):
            for test in section.get("test", []):
                id_ = f"{file}/{section['name'][0].decode()}/{test['name'][0].decode()}"
                seen[id_] = seen.get(id_, 0) + 1
                found.append(Case(id_ if seen[id_] == 1 else f"{id_}#{seen[id_]}", test))
    return tuple(found)


def _text(message: Message, name: str) -> str:
    text: bytes = message.get(name, [b""])[0]
    return text.decode()


def _environment(message: Message) -> Environment:
    variables: dict[str, Type] = {_text(binding, "key"): DYN for binding in message.get("bindings", [])}
    functions = []
    for declared in message.get("type_env", []):
        name = _text(declared, "name")
        if "ident" in declared:
            variables[name] = to_type(declared["ident"][0]["type"][0])
        else:
            functions.append(declared_function(name, declared["function"][0]))
    environment = Environment(
        (*_LIBRARIES, Library(functions=tuple(functions))),
        variables=variables,
        container=_text(message, "container"),
        homogeneous_literals=False,
    )
    if message.get("disable_macros") == ["true"]:
        environment.macros = {}
    return environment


def _bindings(message: Message) -> dict[str, Value]:
    return {_text(binding, "key"): to_value(binding["value"][0]["value"][0]) for binding in message.get("bindings", [])}


def outcome(case: Case) -> str:
    """``""`` if it passes, else what was found instead."""
    message = case.message
    fails = "eval_error" in message or "any_eval_errors" in message
    try:
        program = compile_expression(_text(message, "expr"), _environment(message))
        typed = message.get("typed_result", [{}])[0]
        if "deduced_type" in typed and program.type != to_type(typed["deduced_type"][0]):
            return f"type {program.type}"
        if message.get("check_only") == ["true"]:
            return ""
        bindings = _bindings(message)
        if missing := set(program.environment.variables) - set(bindings):
            raise Unsupported(f"no value for {missing}")
        found = program.evaluate(bindings)
    except Unsupported as error:
        return f"unsupported: {error}"
    except (CompileError, ProgramError) as error:
        wanted = fails and (isinstance(error, ProgramError) or "no matching overload" in str(message["eval_error"]))
        return "" if wanted else f"refused: {error}".split("\n")[0]
    except (EvalError, CostExceeded) as error:
        return "" if fails else f"error: {error}"
    if fails:
        return f"no error but {found!r}"
    return _compared(found, message.get("value", typed.get("result", [{"bool_value": ["true"]}]))[0])


def _compared(found: Value, message: Message) -> str:
    try:
        wanted = to_value(message)
    except Unsupported as error:
        return f"unsupported: {error}"
    return "" if same(found, wanted) else f"{found!r} instead of {wanted!r}"
