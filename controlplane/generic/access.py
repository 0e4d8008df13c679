"""Who may do what: the authorizers of a completed config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

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
from controlplane.apiserver.options import MODES, RBAC
from controlplane.base.values import dataclass
from controlplane.client.errors import KubeconfigError
from controlplane.controllers.descriptor import DISCOVERY_RULES
from controlplane.generic.config import SOURCES, CompletedConfig
from controlplane.generic.controllers import controller_rules, served_resources, service_account
from controlplane.generic.starting import given_by
from controlplane.plugins.authorization.bootstrap.policy import Policy
from controlplane.plugins.authorization.bootstrap.selection import bootstrap_policy
from controlplane.plugins.authorization.configuration.chain import (
    WEBHOOK,
    Configured,
    ConfiguredAuthorizers,
    Makers,
    with_clients,
)
from controlplane.plugins.authorization.configuration.reading import ReadAuthorizers, read_authorizers
from controlplane.plugins.authorization.rbac.authorizer import RBACAuthorizer
from controlplane.plugins.authorization.rbac.escalation import EscalationGuards
from controlplane.plugins.authorization.rbac.index import RoleIndex
from controlplane.plugins.authorization.webhook.config import AuthorizerConfig
from controlplane.storage.cache.mirror import Mirror

__all__ = ["Access", "ReadAccess", "build_access", "policy_of", "read_access"]


class ReadAccess(NamedTuple):
    """The configured authorizers, in order; ``file``: what was read of them, None where flags say it."""

    configured: tuple[Configured, ...]
    file: ReadAuthorizers | None

    @property
    def by_roles(self) -> bool:
        """Whether roles decide."""
        return any(authorizer.type == RBAC for authorizer, _ in self.configured)


def read_access(config: CompletedConfig) -> ReadAccess:
    """Read the files that say who decides. Blocks.

    Raises:
        ConfigurationError, StartError: one cannot be used; the message names it.
    """
    if config.authorization_config_file:
        known = [mode for mode in MODES if mode != RBAC or config.serves_roles]
        file = read_authorizers(config.authorization_config_file, known)
        with given_by("--authorization-config", KubeconfigError):
            return ReadAccess(tuple(with_clients(file[0])), file)
    authorizers = [
        AuthorizerConfig(
            type=mode, name=mode.lower(), webhook=config.authorization_webhook if mode == WEBHOOK else None
        )
        for mode in config.modes
    ]
    with given_by("--authorization-webhook-config-file", KubeconfigError):
        return ReadAccess(tuple(with_clients(authorizers)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """``guards``: of the kinds that give access. ``index``: of roles and bindings. Both it and ``authorizer`` are to be
    closed."""

    authorizer: ConfiguredAuthorizers
    guards: Mapping[GroupResource, Guard]
    index: RoleIndex


def build_access(config: CompletedConfig, read: ReadAccess, mirror: Mirror) -> Access:
    """``system:masters`` first, then added authorizers, then the configured ones in order. Where roles do not decide,
    controllers have their rules without them; where nobody is configured, health and version are open to all."""
    index = RoleIndex(mirror, frozenset(resource.gr for resource in config.resources))
    first: list[tuple[str, Authorizer]] = [
        ("masters", MastersAuthorizer() if read.by_roles else ListedMastersAuthorizer())
    ]
    if not read.by_roles:
        grants = {
            service_account(name).name: (*rules, *DISCOVERY_RULES) for name, rules in controller_rules(config).items()
        }
        first.append(("controllers", GrantsAuthorizer(grants)))
    first += [(f"added-{at}", authorizer) for at, authorizer in enumerate(config.authorizers)]
    if not read.configured:
        first.append(("public-info", PublicInfoAuthorizer()))
    makers: Makers = {RBAC: lambda: RBACAuthorizer(index), "AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}
    authorizer = ConfiguredAuthorizers(first, read.configured, makers, clock=config.clock)
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
