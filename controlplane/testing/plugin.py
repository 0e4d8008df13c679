"""The pytest plugin: fixtures that give a test a control plane of its own.

Installed with the distribution; in a test module:

    def test_my_operator(control_plane):
        subprocess.run(["kubectl", "--kubeconfig", control_plane.kubeconfig, "get", "ns"], check=True)

``control_plane`` is one plane for the whole session, emptied before each test that asks for it. ``new_control_plane``
makes as many as a test wants, each on a port and a store of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the plugin is loaded in every pytest run: a plane's imports wait until one is wanted
    from controlplane.testing.planes import ThreadedPlane

__all__ = ["control_plane", "control_plane_session", "new_control_plane"]


@pytest.fixture(scope="session")
def control_plane_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadedPlane]:
    """One plane for the session; prefer ``control_plane``, which is this one, emptied."""
    from controlplane.testing.planes import plane_in_thread

    with plane_in_thread(tmp_path_factory.mktemp("controlplane")) as plane:
        yield plane


@pytest.fixture
def control_plane(control_plane_session: ThreadedPlane) -> ThreadedPlane:
    """A plane that is empty but for the system namespaces."""
    control_plane_session.reset()
    return control_plane_session


@pytest.fixture
def new_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., ThreadedPlane]]:
    """A function that starts a plane (arguments as for ``plane_in_thread``); all are stopped after the test."""
    from controlplane.testing.planes import plane_in_thread

    with ExitStack() as stack:
        shared = tmp_path_factory.mktemp("controlplane-certs")

        def start(**arguments: Any) -> ThreadedPlane:
            arguments.setdefault("cert_dir", shared)
            return stack.enter_context(plane_in_thread(tmp_path_factory.mktemp("controlplane"), **arguments))

        yield start
