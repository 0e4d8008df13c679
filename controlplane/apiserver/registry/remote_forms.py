"""Objects in other versions, for what their owners own there, where somebody else brings them into these versions.

To tell who owns what is a function of values, which cannot wait. It is called with what forms there are; one that it
needs and that is not there is fetched, and it is called again. A form that cannot be had is an error of the function's.

Source: kubernetes/apimachinery ``pkg/util/managedfields`` converts as it goes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from controlplane.apimachinery.codec.json import dumps
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource
from controlplane.base.aside import aside, is_long
from controlplane.storage.errors import StorageError

__all__ = ["fetched_form", "with_forms"]

T = TypeVar("T")

_Forms = dict[tuple[str, bytes], Obj | StorageError]
_FORMS: ContextVar[_Forms] = ContextVar("forms")


class _Missing(Exception):
    """A form that is not there yet."""

    def __init__(self, obj: Obj, api_version: str) -> None:
        super().__init__(api_version)
        self.obj, self.api_version = obj, api_version


def fetched_form(obj: Obj, api_version: str) -> Obj:
    """An object in another version, inside ``with_forms``: a ``Resource.owned_form``."""
    obj = {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
    form = _FORMS.get({}).get((api_version, dumps(obj)))
    if form is None:
        raise _Missing(obj, api_version)
    if isinstance(form, StorageError):
        raise ValueError(str(form)) from form
    return form


async def with_forms(resource: Resource, make: Callable[[], T]) -> T:
    """What a function makes that may ask for objects in other versions, beside the loop if they are long. It has no
    effects before it is through."""
    fetch = resource.fetch_form
    if fetch is None:
        return await aside(make) if is_long() else make()
    forms: _Forms = {}
    while True:
        token = _FORMS.set(forms)
        try:
            return await aside(make) if is_long() else make()
        except _Missing as error:
            missing = error
        finally:
            _FORMS.reset(token)
        key = (missing.api_version, dumps(missing.obj))
        try:
            forms[key] = await fetch(missing.obj, missing.api_version)
        except StorageError as error:
            forms[key] = error
