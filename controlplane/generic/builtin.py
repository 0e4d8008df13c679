"""The controllers that are built in, in the order in which they start: those of ``controllers/``, then migration."""

from __future__ import annotations

from controlplane.controllers.builtin import BUILTIN
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.reconcile.controller import Runnable
from controlplane.storagemigration import controller, trigger
from controlplane.storagemigration.settings import MigrationOptions

__all__ = ["CONTROLLERS", "built_in_controllers", "migration_trigger", "migrator"]


def migrator(options: MigrationOptions) -> ControllerDescriptor:
    """The controller that migrates storage, at this pace."""

    def made(context: ControllerContext) -> Runnable:
        client = context.client_for(controller.NAME)
        return controller.build(client, context.informers, options, context.clock)

    return ControllerDescriptor(
        name=controller.NAME, build=made, needs=controller.NEEDS, account=controller.ACCOUNT, rules=controller.RULES
    )


def migration_trigger(options: MigrationOptions) -> ControllerDescriptor:
    """The controller that starts migrations when servers have agreed."""

    def made(context: ControllerContext) -> Runnable:
        return trigger.build(context.client_for(trigger.NAME), context.informers, context.clock, options.settle)

    return ControllerDescriptor(
        name=trigger.NAME, build=made, needs=trigger.NEEDS, account=trigger.ACCOUNT, rules=trigger.RULES
    )


def built_in_controllers(options: MigrationOptions) -> tuple[ControllerDescriptor, ...]:
    """All of them, those that migrate with these options."""
    return (*BUILTIN, migrator(options), migration_trigger(options))


CONTROLLERS = built_in_controllers(MigrationOptions())
"""All of them, as by default."""
