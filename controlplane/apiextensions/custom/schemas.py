"""The schemas of a custom resource's versions, each compiled when it is first needed and kept as long as it is
served."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from controlplane.apiextensions.rules.loading import language_steps
from controlplane.apiextensions.rules.presence import has_rules
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.custom import CustomSchema

if TYPE_CHECKING:
    from controlplane.apiextensions.rules.evaluation import SchemaRules

__all__ = ["VersionSchemas"]


class VersionSchemas:
    """``load``: the schema of a version by its name; ``keep_unknown``: see ``CustomSchema``."""

    __slots__ = ("_compiled", "_keep_unknown", "_ready", "_rules", "load")

    def __init__(self, load: Callable[[str], Obj], *, keep_unknown: bool) -> None:
        self.load, self._keep_unknown = load, keep_unknown
        self._compiled: dict[str, CustomSchema] = {}
        self._rules: dict[str, SchemaRules | None] = {}
        self._ready: set[str] = set()

    def of(self, version: str) -> CustomSchema:
        """A version's schema; of a version that there is not, one that keeps nothing."""
        schema = self._compiled.get(version)
        if schema is None:
            schema = self._compiled[version] = CustomSchema(self.load(version), keep_unknown=self._keep_unknown)
        return schema

    def rules(self, version: str) -> SchemaRules | None:
        """The rules of a version's schema; None if it has none, and the expression language stays unloaded."""
        if version not in self._rules:
            schema = self.load(version)
            self._rules[version] = _rules_of(schema) if has_rules(schema) else None
        return self._rules[version]

    def is_ready(self, version: str) -> bool:
        """Whether all rules of a version are compiled."""
        return version in self._ready

    def ready_steps(self, version: str) -> Iterator[None]:
        """Compile all rules of a version; there may be a break at each None."""
        if version not in self._rules:
            schema = self.load(version)
            yield None
            if has_rules(schema):
                yield from language_steps()
            self._rules[version] = _rules_of(schema) if has_rules(schema) else None
        rules = self._rules[version]
        if rules is not None:
            yield from rules.compile_steps()
        self._ready.add(version)


def _rules_of(schema: Obj) -> SchemaRules:
    from controlplane.apiextensions.rules import evaluation  # late: the expression language is heavy

    return evaluation.SchemaRules(schema)
