"""DELETE of a collection: everything that a list with the same options would show."""

from __future__ import annotations

from controlplane.apimachinery.identity import Key
from controlplane.apiserver.endpoints.admit import Admission
from controlplane.apiserver.endpoints.body import read_delete_options
from controlplane.apiserver.endpoints.delete import options_object
from controlplane.apiserver.endpoints.list import respond_list
from controlplane.apiserver.endpoints.options import list_options
from controlplane.apiserver.endpoints.selection import namespace_of, page_of, predicate_of
from controlplane.apiserver.endpoints.services import Services
from controlplane.apiserver.endpoints.shape import Target
from controlplane.apiserver.registry.collection import Selection, delete_collection
from controlplane.apiserver.registry.create import Admit
from controlplane.client.negotiation import Answer
from controlplane.client.request import Request, Response

__all__ = ["deletecollection"]


async def deletecollection(services: Services, request: Request, target: Target, answer: Answer) -> Response:
    """Delete a collection and answer with the list of what was deleted.

    Raises:
        APIError: bad options or selectors; what the first object refused answers with.
    """
    options = list_options(request.query)
    predicate = predicate_of(target, options)
    page = page_of(target, options)
    delete_options = await read_delete_options(request)
    admission = Admission(services, request, target, options_object(delete_options), dry_run=delete_options.dry_run)

    def admit(_key: Key) -> Admit | None:
        return admission.validate_delete("")  # plugins are told the request's name, and there is none

    selection = Selection(namespace_of(target), predicate, page.fresh, page.limit, page.continue_key)
    result = await delete_collection(services.registry, target.served, selection, delete_options, admit=admit)
    return await respond_list(services, request, target, result, answer, counted=not predicate.signature)
