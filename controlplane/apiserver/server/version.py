"""What ``/version`` says: the Kubernetes version whose behaviour this server has, and what runs it.

Clients parse ``gitVersion`` as a semantic version and decide by ``major`` and ``minor`` what they may use.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import field

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.server.documents import indented
from controlplane.base.values import dataclass

__all__ = ["KUBERNETES_MINOR", "VersionInfo", "distribution_version"]

KUBERNETES_MINOR = 36

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def distribution_version() -> str:
    """This distribution's own version; ``0`` where it runs from a tree that was never installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("controlplane")
    except PackageNotFoundError:
        return "0"


def _platform() -> str:
    machine = platform.machine()
    return f"{sys.platform}/{_MACHINES.get(machine, machine)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionInfo:
    """Kubernetes' ``version.Info``; an embedding program may name its own commit and date."""

    major: str = "1"
    minor: str = str(KUBERNETES_MINOR)
    min_compatibility_minor: str = str(KUBERNETES_MINOR - 1)
    git_version: str = f"v1.{KUBERNETES_MINOR}.0+controlplane"
    git_commit: str = ""
    git_tree_state: str = ""
    build_date: str = ""
    runtime: str = field(default_factory=lambda: f"python{platform.python_version()}")
    compiler: str = field(default_factory=lambda: platform.python_implementation().lower())
    platform: str = field(default_factory=_platform)

    @property
    def release(self) -> str:
        """The version without what follows a dash or a plus: ``v1.36.0``."""
        return self.git_version.partition("-")[0].partition("+")[0]

    def to_json(self) -> Obj:
        """The object, field for field as Kubernetes names them."""
        return {
            "major": self.major,
            "minor": self.minor,
            "emulationMajor": self.major,
            "emulationMinor": self.minor,
            "minCompatibilityMajor": self.major,
            "minCompatibilityMinor": self.min_compatibility_minor,
            "gitVersion": self.git_version,
            "gitCommit": self.git_commit,
            "gitTreeState": self.git_tree_state,
            "buildDate": self.build_date,
            "goVersion": self.runtime,
            "compiler": self.compiler,
            "platform": self.platform,
        }

    def document(self) -> bytes:
        return indented(self.to_json())
