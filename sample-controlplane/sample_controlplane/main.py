"""The sample control plane: what a program is that composes one by public calls only.

sample-controlplane [flags]                  serve
sample-controlplane explain [flags]          what would be served and run, and why (--output json)
sample-controlplane controllers [flags]      controllers alone, against any server (--kubeconfig)
sample-controlplane why OBJECT [flags]       what blocks an object's deletion (--kubeconfig)
sample-controlplane migrate RESOURCE [flags] write all objects of a resource anew (--kubeconfig)
sample-controlplane storage-report [flags]   what is stored, by version and encryption key (--kubeconfig or --store)
sample-controlplane rotate-keys [flags]      a new encryption key in place of the old one (--kubeconfig)
sample-controlplane store check PATH         examine an embedded store
sample-controlplane store backup PATH TO     copy one, also while it is served
sample-controlplane store restore FROM PATH  put a copy back
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from controlplane.generic.command import serve_command
from sample_controlplane.options import SampleOptions

if TYPE_CHECKING:
    from controlplane.generic.config import Config

__all__ = ["configure", "main", "run"]

PROGRAM = "sample-controlplane"


def run(argv: list[str]) -> int:
    """Do what the command line says; returns the exit status."""
    if argv[:1] == ["store"]:
        from sample_controlplane.store import store_command

        return store_command(argv[1:], program=PROGRAM)
    if argv[:1] == ["controllers"]:
        from controlplane.generic.manager_command import manager_command

        return manager_command(argv[1:], program=f"{PROGRAM} controllers", usage=__doc__ or "")
    if argv[:1] == ["why"]:
        from controlplane.generic.why_command import why_command

        return why_command(argv[1:], program=f"{PROGRAM} why")
    if argv[:1] == ["migrate"]:
        from controlplane.generic.migrate_command import migrate_command

        return migrate_command(argv[1:], program=f"{PROGRAM} migrate")
    if argv[:1] == ["storage-report"]:
        from controlplane.generic.storage_report_command import storage_report_command

        return storage_report_command(argv[1:], program=f"{PROGRAM} storage-report")
    if argv[:1] == ["rotate-keys"]:
        from controlplane.generic.rotate_command import rotate_command

        return rotate_command(argv[1:], program=f"{PROGRAM} rotate-keys")
    if argv[:1] == ["explain"]:
        from controlplane.generic.explain import explain_command

        return explain_command(SampleOptions, argv[1:], program=f"{PROGRAM} explain", usage=__doc__ or "")
    return serve_command(SampleOptions, argv, program=PROGRAM, configure=configure, usage=__doc__ or "")


def configure(options: SampleOptions) -> Config:
    """The generic control plane, with the peer proxy where it is asked for.

    Raises:
        ConfigError: it lacks a file.
    """
    from controlplane.generic.config import config_of

    config = config_of(options)
    if options.peer_proxy.on:
        from controlplane.generic.peers import add_peer_proxy  # late: most servers have no peers

        add_peer_proxy(config, options.peer_proxy)
    return config


def main() -> None:
    """The console script."""
    raise SystemExit(run(sys.argv[1:]))
