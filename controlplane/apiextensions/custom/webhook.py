"""Conversion by a webhook: between any two versions of a definition, in whichever of them an object is stored.

The webhook is asked where the versions differ. What is stored is first brought into the form of the schema it was
stored by; what comes back is checked, and pruned by the schema of its version, so nothing half converted is served or
stored.

Source: kubernetes/apiextensions-apiserver ``pkg/apiserver/conversion`` and ``pkg/apiserver/customresource_handler.go``
(schemaCoercingConverter).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from controlplane.apiextensions.custom.conversion import NoneConversion
from controlplane.apiextensions.custom.review import (
    CALL,
    INVALID,
    BadReview,
    conversion_review,
    converted_objects,
    kind_text,
)
from controlplane.apiextensions.custom.schemas import VersionSchemas
from controlplane.apiextensions.metrics import WEBHOOK_SECONDS, observe_conversion
from controlplane.apimachinery.codec.json import MalformedJSON, dumps, loads
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.decode import DecodeError
from controlplane.base.clock import Clock
from controlplane.client.webhook import WebhookAddress, WebhookCallFailed
from controlplane.storage.cache.remote import RemoteConversion
from controlplane.storage.cache.slices import Slices
from controlplane.storage.errors import ConversionFailed, Unreadable

__all__ = ["Caller", "WebhookConversion"]

TIMEOUT_SECONDS = 30.0
"""For one request, as upstream."""
ANSWER_LIMIT_BYTES = 4 << 20
"""The largest answer to a batch of a sixteenth of that; one object alone may be up to 1.5 MiB."""


class Caller(Protocol):
    """Who calls webhooks; see ``client.webhook.WebhookTransport.post``."""

    async def post(
        self, address: WebhookAddress, body: bytes, *, timeout_seconds: float, limit_bytes: int
    ) -> bytes: ...


class WebhookConversion(RemoteConversion):
    """See ``storage.cache.remote.RemoteConversion``. ``conversion``: the definition's, by webhook; ``name``: the
    definition's."""

    def __init__(
        self,
        schemas: VersionSchemas,
        storage_api_version: str,
        conversion: Obj,
        *,
        name: str,
        caller: Caller,
        clock: Clock,
    ) -> None:
        super().__init__()
        self._schemas, self._storage_api_version, self._name = schemas, storage_api_version, name
        self._caller, self._clock = caller, clock
        webhook = conversion.get("webhook") or {}
        self._review_versions: Sequence[str] = webhook.get("conversionReviewVersions") or ()
        self._address = WebhookAddress.of(webhook.get("clientConfig") or {})
        self._alone = NoneConversion(schemas, _version(storage_api_version))

    def needs(self, stored: str, wanted: str) -> bool:
        return stored != wanted

    def convert(self, data: bytes, stored: str, wanted: str) -> bytes:
        if stored != wanted:
            raise ConversionFailed(f"{stored} has not been converted to {wanted} yet")
        return self._alone.convert(data, stored, wanted)

    def to_storage(self, obj: Obj) -> Obj:
        return self._alone.to_storage(obj)

    async def convert_batch(self, batch: Sequence[tuple[bytes, str]], wanted: str) -> Sequence[bytes]:
        objects: list[Obj] = []
        slices = Slices()
        for data, stored in batch:
            try:
                obj: Obj = loads(data)
            except MalformedJSON as error:
                raise Unreadable(b"", str(error)) from error
            self._schemas.of(_version(stored)).read(obj)
            objects.append(obj)
            if slices.due():
                await slices.rest()
        return [dumps(obj) for obj in await self._convert(objects, wanted)]

    async def to_storage_remote(self, obj: Obj) -> Obj:
        if obj["apiVersion"] == self._storage_api_version:
            return obj
        return await self.fetch_form(obj, self._storage_api_version)

    async def fetch_form(self, obj: Obj, api_version: str) -> Obj:
        """An object in another version; ``obj`` is not changed.

        Raises:
            ConversionFailed.
        """
        (converted,) = await self._convert([obj], api_version)
        return converted

    async def _convert(self, objects: Sequence[Obj], wanted: str) -> Sequence[Obj]:
        """What the webhook makes of objects, none of which is in the version wanted.

        Raises:
            ConversionFailed.
        """
        started, failure = self._clock.monotonic(), CALL
        try:
            converted = await self._ask(objects, wanted)
            failure = ""
            return converted
        except BadReview as error:
            failure = error.failure
            raise ConversionFailed(str(error)) from error
        except WebhookCallFailed as error:
            raise ConversionFailed(f"conversion webhook for {kind_text(objects[0])} failed: {error}") from error
        finally:
            seconds = self._clock.monotonic() - started
            observe_conversion(seconds, failure)
            labels = (self._name, _version(objects[0]["apiVersion"]), _version(wanted), str(not failure).lower())
            WEBHOOK_SECONDS.labels_cached(labels).observe(seconds)

    async def _ask(self, objects: Sequence[Obj], wanted: str) -> Sequence[Obj]:
        uid = str(uuid.uuid4())
        body, api_version = conversion_review(self._review_versions, objects, wanted, uid)
        answer = await self._caller.post(
            self._address, body, timeout_seconds=TIMEOUT_SECONDS, limit_bytes=ANSWER_LIMIT_BYTES
        )
        schema, slices = self._schemas.of(_version(wanted)), Slices()
        converted: list[Obj] = []
        for obj in converted_objects(answer, objects, wanted, api_version, uid):
            try:
                schema.decode(obj)
            except DecodeError as error:
                text = f"conversion webhook for {kind_text(objects[0])} returned invalid object: {error}"
                raise BadReview(text, INVALID) from error
            converted.append(obj)
            if slices.due():
                await slices.rest()
        return converted


def _version(api_version: str) -> str:
    return api_version.rpartition("/")[2]
