"""What a list, watch or deletecollection selects: namespace, predicate, revision and page, from its options.

Source: kubernetes/apiserver ``pkg/endpoints/handlers/get.go`` (listOpts) and ``pkg/storage/interfaces.go``
(ValidateListOptions).
"""

from __future__ import annotations

from typing import NamedTuple

from controlplane.apimachinery.identity import Key
from controlplane.apimachinery.selectors import fields, labels
from controlplane.apimachinery.selectors.fields import FieldSelector, parse_field_selector, unknown_field
from controlplane.apimachinery.selectors.labels import SelectorError, parse_label_selector
from controlplane.apimachinery.status import bad_request
from controlplane.apiserver.endpoints import continue_token
from controlplane.apiserver.endpoints.options import ListOptions, parse_uint
from controlplane.apiserver.endpoints.shape import Shape, Target
from controlplane.storage.api import ANY, CONSISTENT, Entry, Freshness, Match, Predicate
from controlplane.storage.objects.predicate import make_predicate

__all__ = ["Page", "namespace_of", "next_token", "page_of", "predicate_of"]


def namespace_of(target: Target) -> str | None:
    """The namespace to look in; None is all, or the resource has none."""
    return target.namespace or None


def predicate_of(target: Target, options: ListOptions) -> Predicate:
    """What objects must match.

    Raises:
        APIError: 400, with the reason a selector cannot be read or used.
    """
    resource = target.served.resource
    label_selector, field_selector = labels.EVERYTHING, fields.EVERYTHING
    try:
        if options.label_selector:
            label_selector = parse_label_selector(options.label_selector)
        if options.field_selector:
            field_selector = parse_field_selector(options.field_selector)
    except SelectorError as error:
        raise bad_request(str(error)) from error
    for requirement in field_selector.requirements:
        if requirement.field not in resource.field_labels:
            raise bad_request(unknown_field(requirement.field, resource.field_labels, native=resource.native))
    if target.shape is Shape.OBJECT:
        field_selector = _of_name(field_selector, target.name)
    return make_predicate(label_selector, field_selector, resource.attributes)


def _of_name(selector: FieldSelector, name: str) -> FieldSelector:
    """The selector of one object that is watched by its path."""
    if selector.empty:
        return FieldSelector((fields.FieldRequirement("metadata.name", "=", name),))
    if selector.exact("metadata.name") != name:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    return selector


class Page(NamedTuple):
    """Which state to list and where in it to begin."""

    fresh: Freshness
    limit: int
    continue_key: bytes | None


def page_of(target: Target, options: ListOptions) -> Page:
    """Which part of which state to list.

    A limit without a match makes a resource version exact; with resource version 0 the limit is ignored, since the
    whole list is at hand.

    Raises:
        APIError: 400 for a bad resource version or continue token.
    """
    given = options.resource_version
    if options.continue_token:
        token = continue_token.decode(options.continue_token)
        if given not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        fresh = Freshness(token.revision, Match.EXACT) if token.revision > 0 else CONSISTENT
        return Page(fresh, options.limit, _start_key(target, token.start))
    try:
        revision = parse_uint(given)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from error
    if not given:
        return Page(CONSISTENT, options.limit, None)
    if revision == 0:
        return Page(ANY, 0, None)
    exact = options.resource_version_match == "Exact" or (not options.resource_version_match and options.limit > 0)
    return Page(Freshness(revision, Match.EXACT if exact else Match.NOT_OLDER_THAN), options.limit, None)


def _start_key(target: Target, start: str) -> bytes:
    namespace, name = target.namespace, start
    if target.shape is Shape.EVERYWHERE:
        namespace, _, name = start.partition("/")
    return target.served.storage.store_key(Key(namespace, name))


def next_token(target: Target, revision: int, last: Entry) -> str:
    """The token of the page after ``last``."""
    return continue_token.encode(continue_token.Continue(revision, _after(target, last)))


def _after(target: Target, last: Entry) -> str:
    key = target.served.storage.key_of(last)
    return f"{key.namespace}/{key.name}\0" if target.shape is Shape.EVERYWHERE else f"{key.name}\0"
