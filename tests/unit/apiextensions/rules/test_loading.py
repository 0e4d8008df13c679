"""The expression language is loaded when the first rule comes, not when the server starts."""

from __future__ import annotations

import subprocess
import sys

from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apimachinery.identity import Obj


def test_nothing_loads_the_engine_before_there_are_rules() -> None:
    source = "import sys, controlplane.apiextensions.source; print('controlplane.cel.program' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_version_has_the_rules_of_its_schema() -> None:
    ruled: Obj = {"type": "object", "x-kubernetes-validations": [{"rule": "self.kind == 'K'"}]}
    known: dict[str, Obj] = {"v1": ruled, "v2": {"type": "object"}}
    schemas = VersionSchemas(known.__getitem__, keep_unknown=False)
    assert schemas.rules("v2") is None
    rules = schemas.rules("v1")
    assert rules is not None
    assert [error.field for error in rules.errors({"kind": "L"})] == ["<nil>"]
    assert schemas.rules("v1") is rules
