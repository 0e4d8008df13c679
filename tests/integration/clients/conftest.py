"""What all tests of foreign clients share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """Collect what the clients left open while their warnings are not yet errors, as in the tests that follow."""
    yield
    gc.collect()
