"""The flow schemas and priority levels that come with a server, and what flow schemas say of their priority levels."""

from controlplane.controllers.flow_control.bootstrap import DESCRIPTOR as BOOTSTRAP
from controlplane.controllers.flow_control.dangling import DESCRIPTOR as CONDITIONS

__all__ = ["BOOTSTRAP", "CONDITIONS"]
