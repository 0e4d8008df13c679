"""Who may do what: the authorizers of a completed config."""

from __future__ import annotations

from controlplane.apiserver.authorization.always import AlwaysAllow, AlwaysDeny
from controlplane.apiserver.authorization.api import Authorizer
from controlplane.apiserver.authorization.grants import GrantsAuthorizer
from controlplane.apiserver.authorization.masters import MastersAuthorizer
from controlplane.apiserver.authorization.public_info import PublicInfoAuthorizer
from controlplane.apiserver.authorization.union import UnionAuthorizer
from controlplane.generic.config import CompletedConfig
from controlplane.generic.controllers import controller_grants

__all__ = ["build_authorizer"]

_MODES: dict[str, type[AlwaysAllow | AlwaysDeny]] = {"AlwaysAllow": AlwaysAllow, "AlwaysDeny": AlwaysDeny}


def build_authorizer(config: CompletedConfig) -> Authorizer:
    """``system:masters`` first, then added authorizers, then the modes in order; without any mode, health and version
    are open to all."""
    chain: list[tuple[str, Authorizer]] = [("masters", MastersAuthorizer())]
    chain.append(("controllers", GrantsAuthorizer(controller_grants(config))))
    chain += [(f"added-{at}", authorizer) for at, authorizer in enumerate(config.authorizers)]
    if not config.authorization_modes:
        chain.append(("public-info", PublicInfoAuthorizer()))
    chain += [(mode, _MODES[mode]()) for mode in config.authorization_modes]
    return UnionAuthorizer(chain)
