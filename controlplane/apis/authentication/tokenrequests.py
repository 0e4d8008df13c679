"""Token requests: what is posted to a service account's ``token`` to be given a token. Nothing of them is kept.

Source: the behaviour of kubernetes' authentication.k8s.io/v1 TokenRequest.
"""

from __future__ import annotations

from controlplane.apimachinery.codec.messages import message_of
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.resource import Resource, ResourceVersion, Strategy
from controlplane.apimachinery.schema.native import always, array, integer, pointer, record, string, time
from controlplane.apimachinery.validation.field import FieldError, invalid
from controlplane.apis.authentication.user_info import GROUP

__all__ = ["TOKEN_REQUESTS"]

DEFAULT_SECONDS = 3600
SHORTEST_SECONDS = 600
LONGEST_SECONDS = 2**32

_SCHEMA = record(
    {
        "spec": record(
            {
                "audiences": array(string(), "For whom the token is to be good; the API server if empty."),
                "expirationSeconds": pointer(
                    integer("How long the token is to be good; the server may shorten it.", bits=64)
                ),
                "boundObjectRef": always(
                    pointer(
                        record(
                            {
                                "kind": string("Pod, Secret or Node."),
                                "apiVersion": string("Group and version of the object."),
                                "name": string("Name of the object."),
                                "uid": string("UID of the object.", go_type="types.UID"),
                            },
                            "The object whose end is to be the token's.",
                            go_type="v1.BoundObjectReference",
                        )
                    )
                ),
            },
            "What token is asked for.",
            go_type="v1.TokenRequestSpec",
            required=("audiences",),
        ),
        "status": record(
            {
                "token": string("The token."),
                "expirationTimestamp": time("When the token ends."),
            },
            "What token is given.",
            go_type="v1.TokenRequestStatus",
            required=("token", "expirationTimestamp"),
        ),
    },
    "A request for a token.",
    go_type="v1.TokenRequest",
    required=("spec",),
)

_MESSAGE = message_of(
    _SCHEMA,
    {
        "TokenRequest": "metadata spec status",
        "TokenRequestSpec": "audiences - boundObjectRef expirationSeconds",
        "BoundObjectReference": "kind apiVersion name uid",
        "TokenRequestStatus": "token expirationTimestamp",
    },
)


def _default(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = DEFAULT_SECONDS


def _validate(obj: Obj) -> list[FieldError]:
    seconds = obj["spec"]["expirationSeconds"]
    if seconds < SHORTEST_SECONDS:
        why = "may not specify a duration less than 10 minutes"
    elif seconds > LONGEST_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
    else:
        return []
    return [invalid("spec.expirationSeconds", seconds, why)]


TOKEN_REQUESTS = Resource(
    group=GROUP,
    plural="tokenrequests",
    singular="tokenrequest",
    kind="TokenRequest",
    namespaced=True,
    verbs=("create",),
    stored=False,
    key_prefix="",
    storage_version="v1",
    versions=(ResourceVersion(name="v1", schema=_SCHEMA, message=_MESSAGE),),
    strategy=Strategy(default=_default, validate=_validate),
)
"""No resource of its own: the kind of ``serviceaccounts/token``."""
