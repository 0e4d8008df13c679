"""Who may do what: the authorizers of a completed config."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.apimachinery.identity import GroupResource
from controlplane.apis.builtin import BUILTIN
from controlplane.apis.rbac.rolebindings import ROLE_BINDINGS
from controlplane.apis.rbac.roles import ROLES
from controlplane.apiserver.admission.api import Guard
from controlplane.apiserver.authorization.always import AlwaysAllow, AlwaysDeny
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.authorization.grants import GrantsAuthorizer
from controlplane.apiserver.authorization.masters import ListedMastersAuthorizer, MastersAuthorizer
from controlplane.apiserver.authorization.public_info import PublicInfoAuthorizer
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.apiserver.options import RBAC
from controlplane.base.values import dataclass
from controlplane.generic.config import SOURCES, CompletedConfig
from controlplane.generic.controllers import controller_rules, served_resources, service_account
from controlplane.plugins.authorization.bootstrap.policy import Policy
from controlplane.plugins.authorization.bootstrap.selection import bootstrap_policy
from controlplane.plugins.authorization.rbac.authorizer import RBACAuthorizer
from controlplane.plugins.authorization.rbac.escalation import EscalationGuards
from controlplane.plugins.authorization.rbac.index import RoleIndex
from controlplane.storage.cache.mirror import Mirror

__all__ = ["Access", "build_access", "policy_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``guards``: of the kinds that give access. ``index``: of roles and bindings; to be closed."""

    authorizer: Authorizer
    guards: Mapping[GroupResource, Guard]
    index: RoleIndex


def build_access(config: CompletedConfig, mirror: Mirror) -> Access:
    """``system:masters`` first, then added authorizers, then the modes in order. Where roles do not decide, controllers
    have their rules without them; without any mode, health and version are open to all."""
    index = RoleIndex(mirror, frozenset(resource.gr for resource in config.resources))
    by_roles = RBAC in config.modes
    chain: list[tuple[str, Authorizer]] = [("masters", MastersAuthorizer() if by_roles else ListedMastersAuthorizer())]
    if not by_roles:
        grants = {service_account(name).name: rules for name, rules in controller_rules(config).items()}
        chain.append(("controllers", GrantsAuthorizer(grants)))
    chain += [(f"added-{at}", authorizer) for at, authorizer in enumerate(config.authorizers)]
    if not config.modes:
        chain.append(("public-info", PublicInfoAuthorizer()))
    chain += [(mode, _mode(mode, index)) for mode in config.modes]
    authorizer = UnionAuthorizer(chain)
    return Access(authorizer=authorizer, guards=EscalationGuards(index, authorizer).guards(), index=index)


def policy_of(config: CompletedConfig) -> Policy:
    """The roles and bindings that the server makes: what it could serve and does not is in none of them."""
    served = served_resources(config)
    known = {resource.gr for resource in BUILTIN} | {kind.resource.gr for source in SOURCES for kind in source.kinds}
    return bootstrap_policy(
        off=frozenset(known) - served,
        accounts=controller_rules(config),
        in_namespaces=ROLES.gr in served and ROLE_BINDINGS.gr in served,
    )


def _mode(name: str, index: RoleIndex) -> Authorizer:
    if name == RBAC:
        return RBACAuthorizer(index)
    return AlwaysAllow() if name == "AlwaysAllow" else AlwaysDeny()
