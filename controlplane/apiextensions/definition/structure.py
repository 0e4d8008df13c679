"""Whether a definition's schemas are structural. Those of ``preserveUnknownFields: true`` need not be, which only older
servers have accepted.

Source: kubernetes/apiextensions-apiserver ``pkg/controller/nonstructuralschema``.
"""

from __future__ import annotations

from controlplane.apiextensions.definition.conditions import Condition
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.structural import structural_errors, unsupported_keyword
from controlplane.apimachinery.validation.field import invalid

__all__ = ["NON_STRUCTURAL", "structure_of"]

NON_STRUCTURAL = "NonStructuralSchema"


def structure_of(spec: Obj) -> Condition | None:
    """The condition that says what is wrong with the schemas of a served ``spec``; None where nothing can be."""
    if not spec.get("preserveUnknownFields"):
        return None
    texts = [str(invalid("spec.preserveUnknownFields", True, "must be false"))]
    for i, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        if why := unsupported_keyword(schema):
            said = f"failed to check validation schema for version {version.get('name')}: {why}"
            return Condition(NON_STRUCTURAL, "Unknown", "StructuralError", said)
        texts += map(str, structural_errors(schema, f"spec.versions[{i}].schema.openAPIV3Schema"))
    said = texts[0] if len(texts) == 1 else f"[{', '.join(dict.fromkeys(texts))}]"
    return Condition(NON_STRUCTURAL, "True", "Violations", said)
