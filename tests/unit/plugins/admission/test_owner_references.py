from typing import Any

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authorization.api import Attributes, Decision
from controlplane.plugins.admission import owner_references
from tests.aio import run
from tests.unit.apiserver.plane import PLUGINS, running_plane

CONFIG_MAPS = "/api/v1/namespaces/ns/configmaps"


class Some:
    """Allows all but what is named: by the user's name, ``verb resource/subresource`` is missing."""

    async def authorize(self, attributes: Attributes) -> tuple[Decision, str]:
        place = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
        if attributes.user.name == f"{attributes.verb} {place}":
            return Decision.NO_OPINION, "not you"
        return Decision.ALLOW, ""


def owner(uid: str = "u", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "name": "s", "uid": uid, **more}


def owned(name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name, "ownerReferences": list(owners)}}


def test_owners_are_set_by_those_who_may_delete_and_block_by_those_who_may_hold_the_owner() -> None:
    async def scenario() -> None:
        async with running_plane(plugins=(*PLUGINS, owner_references.PLUGIN), authorizer=Some()) as plane:
            await plane.namespace("ns")
            undeleting, unholding = UserInfo(name="delete configmaps"), UserInfo(name="update secrets/finalizers")
            refused = await plane.call("POST", CONFIG_MAPS, owned("a", owner()), user=undeleting)
            assert refused.message == (
                'configmaps "a" is forbidden: cannot set an ownerRef on a resource you can\'t delete: not you, <nil>'
            )
            assert (await plane.call("POST", CONFIG_MAPS, owned("a"), user=undeleting)).status == 201
            assert (await plane.call("POST", CONFIG_MAPS, owned("b", owner()), user=unholding)).status == 201
            blocking = owned("b", owner(blockOwnerDeletion=True))
            refused = await plane.call("PUT", f"{CONFIG_MAPS}/b", blocking, user=unholding)
            assert refused.message == (
                'configmaps "b" is forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource '
                "you can't set finalizers on: not you, <nil>"
            )
            assert (await plane.call("PUT", f"{CONFIG_MAPS}/b", blocking)).status == 200
            labelled = {"metadata": {**blocking["metadata"], "labels": {"x": "y"}}}
            assert (await plane.call("PUT", f"{CONFIG_MAPS}/b", labelled, user=unholding)).status == 200
            unknown = owned("c", owner(kind="Nothing", blockOwnerDeletion=True))
            refused = await plane.call("POST", CONFIG_MAPS, unknown)
            assert refused.message.endswith('no matches for kind "Nothing" in version "v1"')

    run(scenario())
