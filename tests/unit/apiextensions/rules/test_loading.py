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


def test_the_engine_is_loaded_in_small_steps() -> None:
    source = """
import sys
import controlplane.apiextensions.source
from controlplane.apiextensions.rules.loading import language_steps
steps = language_steps()
count = 0
for _ in steps:
    count += 1
known = len(sys.modules)
import controlplane.apiextensions.rules.definition, controlplane.apiextensions.rules.evaluation
print(count > 30, len(sys.modules) - known, list(language_steps()))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "True 0 []\n"


def test_rules_are_compiled_with_breaks_before_the_first_object_is_judged() -> None:
    rule = [{"rule": "self != 'x'"}, {"rule": "self != 'y'"}]
    text: Obj = {"type": "string", "x-kubernetes-validations": rule}
    listed: Obj = {"type": "array", "items": {"type": "object", "additionalProperties": text}}
    schemas = VersionSchemas({"v1": {"type": "object", "properties": {"l": listed}}}.__getitem__, keep_unknown=False)
    assert not schemas.is_ready("v1")
    assert len(list(schemas.ready_steps("v1"))) >= len(rule)
    assert schemas.is_ready("v1")
    rules = schemas.rules("v1")
    assert rules is not None
    assert list(rules.compile_steps()) == []
    assert [error.field for error in rules.errors({"l": [{"a": "y"}]})] == ["l[0][a]"]


def test_a_version_has_the_rules_of_its_schema() -> None:
    ruled: Obj = {"type": "object", "x-kubernetes-validations": [{"rule": "self.kind == 'K'"}]}
    known: dict[str, Obj] = {"v1": ruled, "v2": {"type": "object"}}
    schemas = VersionSchemas(known.__getitem__, keep_unknown=False)
    assert schemas.rules("v2") is None
    rules = schemas.rules("v1")
    assert rules is not None
    assert [error.field for error in rules.errors({"kind": "L"})] == ["<nil>"]
    assert schemas.rules("v1") is rules
