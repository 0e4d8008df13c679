"""Resources by the names that people use."""

from __future__ import annotations

from collections.abc import Iterable

from controlplane.client.discovery import APIResource

__all__ = ["NoSuchResource", "resource_named"]


class NoSuchResource(LookupError):
    """The server has no such resource, or more than one by this name; the message says which there are."""


def resource_named(resources: Iterable[APIResource], name: str) -> APIResource:
    """The resource that a person names by its plural (with or without its group) or its kind. Of several versions the
    first; where groups share a name, the core group's.

    Raises:
        NoSuchResource.
    """
    wanted, _, group = name.lower().partition(".")
    found = {
        resource.gvr.gr: resource
        for resource in reversed(list(resources))
        if wanted in (resource.gvr.resource, resource.kind.lower()) and (not group or resource.gvr.group == group)
    }
    if "" in {gr.group for gr in found} and not group:
        found = {gr: resource for gr, resource in found.items() if not gr.group}
    if len(found) != 1:
        options = ", ".join(str(gr) for gr in found) or "none"
        raise NoSuchResource(f"{name!r} names no single resource of the server; there is: {options}")
    return next(iter(found.values()))
