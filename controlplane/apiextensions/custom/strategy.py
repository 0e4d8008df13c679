"""The rules of custom objects: what a create and an update keep, and all that is checked.

Source: kubernetes/apiextensions-apiserver ``pkg/registry/customresource`` (strategy.go, status_strategy.go,
validator.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from controlplane.apiextensions.custom.paths import NestedTypeError, nested_int, nested_text
from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GVK, GroupResource, Obj
from controlplane.apimachinery.resource import Strategy
from controlplane.apimachinery.schema.correlation import ABSENT
from controlplane.apimachinery.schema.custom import CustomSchema, settle_numbers
from controlplane.apimachinery.status import forbidden
from controlplane.apimachinery.status import invalid as invalid_object
from controlplane.apimachinery.validation.field import FieldError, go_quoted, invalid
from controlplane.apimachinery.validation.metadata import validate_object_meta, validate_object_meta_update
from controlplane.apimachinery.validation.names import name_is_dns_subdomain, qualified_name

__all__ = ["CustomRules"]

_MAX_REPLICAS = 2**31 - 1
_STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


class CustomRules:
    """The rules of one version. ``has_status``: the status has a path of its own; ``scale``: the definition's, if it
    has one; ``terminating``: the definition is being deleted, so nothing new is accepted."""

    def __init__(
        self,
        schemas: VersionSchemas,
        gvk: GVK,
        gr: GroupResource,
        *,
        namespaced: bool,
        has_status: bool,
        scale: Obj | None,
        terminating: bool,
    ) -> None:
        self._schemas, self._version, self._gr, self._gvk = schemas, gvk.version, gr, gvk
        self._namespaced, self._has_status, self._scale = namespaced, has_status, scale
        self._terminating = terminating

    @property
    def schema(self) -> CustomSchema:
        return self._schemas.of(self._version)

    def strategy(self) -> Strategy:
        return Strategy(
            default=self._default,
            prepare_for_create=self._prepare_for_create,
            prepare_for_update=self._prepare_for_update,
            validate=lambda obj: self._when_ready(lambda: self._validate(obj)),
            validate_update=lambda obj, old: self._when_ready(lambda: self._validate_update(obj, old)),
            canonicalize=settle_numbers,
            load=self._load,
            warnings=lambda obj: list(_finalizer_warnings(meta.finalizers(obj))),
            update_warnings=lambda obj, old: [
                *self._let_off(obj, old),
                *_finalizer_warnings(sorted(set(meta.finalizers(obj)) - set(meta.finalizers(old)))),
            ],
            unconditional_update=False,
        )

    def status_strategy(self) -> Strategy:
        return Strategy(
            default=self._default,
            prepare_for_update=_keep_all_but_status,
            validate_update=lambda obj, old: self._when_ready(lambda: self._validate_status_update(obj, old)),
            update_warnings=self._let_off,
            canonicalize=settle_numbers,
            unconditional_update=False,
        )

    def _load(self, _raw: bytes) -> Callable[[], None] | None:
        return None if self._schemas.is_ready(self._version) else self._make_ready

    def _make_ready(self) -> None:
        self._schemas.of(self._version)
        for _ in self._schemas.ready_steps(self._version):
            pass

    def _default(self, obj: Obj) -> None:
        self.schema.default(obj)

    def _prepare_for_create(self, obj: Obj) -> None:
        if self._terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(self._gr, meta.name(obj), why)
        if self._has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def _prepare_for_update(self, obj: Obj, old: Obj) -> None:
        if self._has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if _without_metadata(obj) != _without_metadata(old):
            obj["metadata"]["generation"] = meta.generation(old) + 1

    def _when_ready(self, judge: Callable[[], list[FieldError]]) -> Iterable[FieldError | None]:
        """What ``judge`` finds, after the rules have been compiled, with breaks between them."""
        return judge() if self._schemas.is_ready(self._version) else self._made_ready(judge)

    def _made_ready(self, judge: Callable[[], list[FieldError]]) -> Iterator[FieldError | None]:
        yield from self._schemas.ready_steps(self._version)
        yield from judge()

    def _check_type(self, obj: Obj) -> None:
        """Raises APIError: an object of another kind or version, of which no more is judged."""
        wanted = {"kind": self._gvk.kind, "apiVersion": self._gvk.api_version}
        errors = [
            invalid(key, obj.get(key) or "", f"must be {value}")
            for key, value in wanted.items()
            if obj.get(key) != value
        ]
        if errors:
            raise invalid_object(self._gvk.group, obj["kind"], meta.name(obj), errors)

    def _validate(self, obj: Obj) -> list[FieldError]:
        self._check_type(obj)
        return [
            *validate_object_meta(obj["metadata"], namespaced=self._namespaced, validate_name=name_is_dns_subdomain),
            *self._value_errors(obj, None),
        ]

    def _validate_update(self, obj: Obj, old: Obj) -> list[FieldError]:
        self._check_type(obj)
        return [
            *validate_object_meta_update(obj["metadata"], old["metadata"]),
            *self._value_errors(obj, old),
        ]

    def _value_errors(self, obj: Obj, old: Obj | None) -> list[FieldError]:
        schema = self.schema
        if schema.fits(obj):
            errors = [*self._scale_errors(obj), *schema.embedded_errors(obj)]
            return self._judged(errors, obj, old)
        errors = [
            *(schema.validate(obj) if old is None else schema.validate_update(obj, old)),
            *self._scale_errors(obj),
            *schema.embedded_errors(obj),
            *schema.list_errors(obj, old),
        ]
        return self._judged(errors, obj, old)

    def _validate_status_update(self, obj: Obj, old: Obj) -> list[FieldError]:
        errors = validate_object_meta_update(obj["metadata"], old["metadata"])
        if "status" in obj:
            errors += self.schema.validate_status(obj["status"], old.get("status", ABSENT))
        errors += [*self._scale_status_errors(obj), *self.schema.list_errors(obj, old)]
        return self._judged(errors, obj, old)

    def _judged(self, errors: list[FieldError], obj: Obj, old: Obj | None) -> list[FieldError]:
        """The errors, and what the rules say."""
        rules = self._schemas.rules(self._version)
        return errors if rules is None else rules.complete(errors, obj, old)

    def _let_off(self, obj: Obj, old: Obj) -> list[str]:
        rules = self._schemas.rules(self._version)
        return [] if rules is None else rules.let_off(obj, old)

    def _scale_errors(self, obj: Obj) -> Iterator[FieldError]:
        if self._scale is not None:
            yield from _replicas_errors(obj, self._scale["specReplicasPath"])
            yield from self._scale_status_errors(obj)

    def _scale_status_errors(self, obj: Obj) -> Iterator[FieldError]:
        if self._scale is None:
            return
        yield from _replicas_errors(obj, self._scale["statusReplicasPath"])
        path = self._scale.get("labelSelectorPath")
        if path:
            try:
                nested_text(obj, path)
            except NestedTypeError as error:
                yield invalid(path, "", str(error))


def _replicas_errors(obj: Obj, path: str) -> Iterator[FieldError]:
    try:
        count = nested_int(obj, path) or 0
    except NestedTypeError as error:
        yield invalid(path, 0, str(error))
        return
    if count < 0:
        yield invalid(path, count, "should be a non-negative integer")
    elif count > _MAX_REPLICAS:
        yield invalid(path, count, f"should be less than or equal to {_MAX_REPLICAS}")


def _keep_all_but_status(obj: Obj, old: Obj) -> None:
    """Of what a client sends only the status counts, and who set it."""
    status: Any = obj.get("status", ABSENT)
    managed = obj["metadata"].get("managedFields")
    metadata = dict(old["metadata"])
    if managed is not None:
        metadata["managedFields"] = managed
    else:
        metadata.pop("managedFields", None)
    obj.clear()
    obj.update(old)
    obj["metadata"] = metadata
    if status is ABSENT:
        obj.pop("status", None)
    else:
        obj["status"] = status


def _without_metadata(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _finalizer_warnings(finalizers: Iterable[str]) -> Iterator[str]:
    path = "metadata.finalizers"
    for name in sorted(finalizers):
        for problem in qualified_name(name):
            yield f"{path}: {go_quoted(name)}: {problem}"
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            form = " including a path (/)" if "." in name else ""
            yield (
                f"{path}: {go_quoted(name)}: prefer a domain-qualified finalizer name{form} to avoid accidental "
                "conflicts with other finalizer writers"
            )
