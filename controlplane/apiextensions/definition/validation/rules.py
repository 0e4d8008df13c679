"""The form of rules in CEL: what can be said of them without reading the expressions.

Source: kubernetes/apiextensions-apiserver ``pkg/apis/apiextensions/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.apiextensions.definition.validation.field_paths import FieldPathError, resolve_field_path
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.structural import unsupported_keyword
from controlplane.apimachinery.validation.field import FieldError, invalid, not_supported, required

__all__ = ["rule_errors"]

_REASONS = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]


def rule_errors(schema: Obj, path: str) -> Iterator[FieldError]:
    """What is wrong with the rules of one schema."""
    for i, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _one(rule, schema, f"{path}.x-kubernetes-validations[{i}]")


def _has_newlines(text: str) -> bool:
    return "\n" in text or "\r" in text


def _one(rule: Obj, schema: Obj, at: str) -> Iterator[FieldError]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    trimmed = message.strip()
    if not text:
        yield required(f"{at}.rule", "rule is not specified")
    elif message and not trimmed:
        yield invalid(f"{at}.message", message, "must be non-empty if specified")
    elif _has_newlines(trimmed):
        yield invalid(f"{at}.message", message, "must not contain line breaks")
    elif _has_newlines(text) and not trimmed:
        yield required(f"{at}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        yield required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{at}.reason", reason, _REASONS)
    field_path = rule.get("fieldPath") or ""
    if not field_path:
        return
    if not field_path.strip():
        yield invalid(f"{at}.fieldPath", field_path, "must be non-empty if specified")
    if _has_newlines(field_path):
        yield invalid(f"{at}.fieldPath", field_path, "must not contain line breaks")
    try:
        resolve_field_path(field_path, schema)
    except FieldPathError:
        if not unsupported_keyword(schema):  # then nobody looks
            yield invalid(f"{at}.fieldPath", field_path, "must be a valid path")
