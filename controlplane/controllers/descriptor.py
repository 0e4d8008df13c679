"""What a controller is before it runs: its name, what it needs served, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from controlplane.apimachinery.identity import GroupResource
from controlplane.base.clock import Clock, SystemClock
from controlplane.client.api import APIClient
from controlplane.reconcile.controller import Controller
from controlplane.reconcile.informers import InformerSet

__all__ = ["ControllerContext", "ControllerDescriptor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """What a controller is built from.

    ``client_for``: the client that acts as the controller of this name (its own service account).
    ``informers``: shared by all controllers of the process.
    """

    client_for: Callable[[str], APIClient]
    informers: InformerSet
    clock: Clock = field(default_factory=SystemClock)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerDescriptor:
    """One built-in controller.

    ``name``: that of its boolean, in flag spelling. ``needs``: the resources without which it is off.
    ``in_server``: it belongs to the server and always runs, on every replica; otherwise it is the controller manager's,
    can be turned off, and runs where the leader is.
    """

    name: str
    build: Callable[[ControllerContext], Controller[Any]]
    needs: tuple[GroupResource, ...] = ()
    in_server: bool = False
