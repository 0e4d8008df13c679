"""How kinds show who somebody is.

Source: kubernetes' authentication.k8s.io/v1 UserInfo.
"""

from __future__ import annotations

from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.schema.native import array, mapping, record, string
from controlplane.apimachinery.user import UserInfo

__all__ = ["GROUP", "USER_INFO", "USER_INFO_NUMBERS", "shown_user"]

GROUP = "authentication.k8s.io"

USER_INFO = record(
    {
        "username": string("The name of the user, unique among all who are active."),
        "uid": string("Tells this user from another of the name."),
        "groups": array(string(), "The groups that the user is in."),
        "extra": mapping(array(string()), "What else the authenticator knows of the user."),
    },
    "Who somebody is.",
    go_type="v1.UserInfo",
)
USER_INFO_NUMBERS = {"UserInfo": "username uid groups extra"}


def shown_user(user: UserInfo) -> Obj:
    """A user as UserInfo; what is empty is left out."""
    shown: Obj = {}
    if user.name:
        shown["username"] = user.name
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in user.extra.items()}
    return shown
