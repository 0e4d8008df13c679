"""``serviceaccounts/token``: gives a token.

Source: kubernetes' ``pkg/registry/core/serviceaccount/storage/token.go`` (its order and texts).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from copy import deepcopy

from controlplane.apimachinery import meta
from controlplane.apimachinery.identity import GroupResource, Key, Obj
from controlplane.apimachinery.status import APIError, bad_request, conflict, internal_error, invalid, not_found
from controlplane.apimachinery.validation import field
from controlplane.apis.authentication.tokenrequests import TOKEN_REQUESTS
from controlplane.apiserver.authentication.serviceaccounts.claims import Reference
from controlplane.apiserver.authentication.serviceaccounts.config import ServiceAccountConfig
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError
from controlplane.apiserver.endpoints.calls import Call
from controlplane.apiserver.registry.translate import translate
from controlplane.base.clock import Clock, rfc3339
from controlplane.storage.api import CONSISTENT, Storage
from controlplane.storage.errors import StorageError

__all__ = ["TokenRequests"]

_ACCOUNTS = GroupResource("", "serviceaccounts")


class TokenRequests:
    """``storage_of`` finds the storage of a served resource by group and plural."""

    __slots__ = ("_clock", "_config", "_issuer", "_storage_of")

    def __init__(
        self,
        config: ServiceAccountConfig,
        issuer: TokenIssuer,
        storage_of: Callable[[str, str], Storage | None],
        *,
        clock: Clock,
    ) -> None:
        self._config, self._issuer, self._storage_of, self._clock = config, issuer, storage_of, clock

    async def answer(self, obj: Obj, call: Call) -> Obj:
        """See ``Answerer``: 404 no such account or bound object, 409 another uid, 422 times out of bounds, 400 what a
        token cannot be bound to."""
        metadata, spec = meta.metadata(obj), obj["spec"]
        if metadata.get("name") and metadata["name"] != call.name:
            why = "must match the service account name if specified"
            raise _invalid(call.name, [field.invalid("metadata.name", metadata["name"], why)])
        account = await self._find(_ACCOUNTS, call.namespace, call.name)
        uid = meta.uid(account)
        asked_uid = metadata.get("uid")
        if asked_uid and asked_uid != uid:
            why = f"the UID in the token request ({asked_uid}) does not match the UID of the service account ({uid})"
            raise conflict(GroupResource(TOKEN_REQUESTS.group, TOKEN_REQUESTS.kind), call.name, why)
        if not spec.get("audiences"):
            spec["audiences"] = list(self._config.own_audiences)
        now = self._clock.now()
        metadata |= {
            "name": call.name,
            "namespace": call.namespace,
            "uid": uid,
            "creationTimestamp": rfc3339(int(now)),
        }
        obj["status"] = {"token": "", "expirationTimestamp": None}
        errors = [error for error in TOKEN_REQUESTS.strategy.validate(obj) if error is not None]
        if errors:
            raise _invalid("", errors)
        await call.admit(deepcopy(obj))
        secret = await self._bound(spec.get("boundObjectRef"), call.namespace)
        self._shorten(spec, call.warn)
        seconds = spec["expirationSeconds"]
        try:
            token = await self._issuer.give(
                namespace=call.namespace,
                account=Reference(call.name, uid),
                secret=secret,
                audiences=list(spec["audiences"]),
                now_seconds=int(now),
                seconds=seconds,
                new_id=lambda: str(uuid.uuid4()),
            )
        except KeyFileError as error:
            raise internal_error(f"failed to generate token: {error}") from error
        obj["status"] = {"token": token, "expirationTimestamp": rfc3339(int(now) + seconds)}
        return obj

    def _shorten(self, spec: Obj, warn: Callable[[str], None]) -> None:
        longest, asked = self._config.max_token_seconds, spec["expirationSeconds"]
        if longest and asked > longest:
            warn(f"requested expiration of {asked} seconds shortened to {longest} seconds")
            spec["expirationSeconds"] = longest

    async def _bound(self, reference: Obj | None, namespace: str) -> Reference | None:
        """The secret that the token is bound to; None: to none. Pods and nodes are none of a control plane's."""
        if reference is None:
            return None
        group, version = _group_and_version(reference.get("apiVersion") or "")
        kind, name, uid = (reference.get(key) or "" for key in ("kind", "name", "uid"))
        if group or kind not in {"Pod", "Node", "Secret"}:
            raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        if kind != "Secret":
            raise not_found(GroupResource("", f"{kind.lower()}s"), name)
        if not name:
            raise bad_request("Name parameter required.")
        found = meta.uid(await self._find(GroupResource("", "secrets"), namespace, name))
        if uid and uid != found:
            raise conflict(
                GroupResource(group, kind),
                name,
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated",
            )
        return Reference(name, found)

    async def _find(self, gr: GroupResource, namespace: str, name: str) -> Obj:
        storage = self._storage_of(*gr)
        if storage is None:
            raise not_found(gr, name)
        try:
            return await storage.decode(await storage.get(Key(namespace, name), CONSISTENT), "v1")
        except StorageError as error:
            raise translate(error, gr, name, "get") from error


def _invalid(name: str, errors: list[field.FieldError]) -> APIError:
    return invalid(TOKEN_REQUESTS.group, TOKEN_REQUESTS.kind, name, errors)


def _group_and_version(api_version: str) -> tuple[str, str]:
    """As upstream reads it: what cannot be read is neither."""
    match api_version.split("/"):
        case [version]:
            return "", version
        case [group, version]:
            return group, version
    return "", ""
