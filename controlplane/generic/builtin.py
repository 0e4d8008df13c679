"""The controllers that are built in, in the order in which they start: those of ``controllers/``, then the migrator."""

from __future__ import annotations

from controlplane.controllers.builtin import BUILTIN
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Runnable
from controlplane.storagemigration.controller import ACCOUNT, NAME, NEEDS, RULES, build
from controlplane.storagemigration.settings import MigrationOptions

__all__ = ["CONTROLLERS", "built_in_controllers", "migrator"]


def migrator(options: MigrationOptions) -> ControllerDescriptor:
    """The controller that migrates storage, at this pace."""

    def made(context: ControllerContext) -> Runnable:
        return build(context.client_for(NAME), context.informers, options, context.clock)

    return ControllerDescriptor(name=NAME, build=made, needs=NEEDS, account=ACCOUNT, rules=RULES)


def built_in_controllers(options: MigrationOptions) -> tuple[ControllerDescriptor, ...]:
    """All of them, the migrator with these options."""
    return (*BUILTIN, migrator(options))


CONTROLLERS = built_in_controllers(MigrationOptions())
"""All of them, as by default."""
