"""An operator as its author would write it, run by ``kopf run`` in a process of its own (test_kopf.py).

Environment:
    OPERATOR_JOURNAL: a file that gets a line for each call of a handler.
    OPERATOR_RESOURCE: what is watched, ``widgets.example.org`` or ``configmaps``.
    OPERATOR_SECTION: the field of the object that its color is in.
    OPERATOR_STUCK: where set, deletions do not get done until the operator is started without it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import kopf

JOURNAL = Path(os.environ["OPERATOR_JOURNAL"])
RESOURCE = os.environ["OPERATOR_RESOURCE"]
SECTION = os.environ["OPERATOR_SECTION"]
FINALIZER = "example.org/operator"


def note(what: str, name: str, color: str) -> None:
    with JOURNAL.open("a") as journal:
        journal.write(f"{what} {name} {color}\n")


def color_of(body: kopf.Body) -> str:
    return str(body[SECTION]["color"])


def paint(patch: kopf.Patch, color: str) -> None:
    """Write the color to the status, or where the kind has none, to a label."""
    if SECTION == "spec":
        patch.status["painted"] = color
    else:
        patch.metadata.labels["painted"] = color


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.finalizer = FINALIZER
    # what is kept about an object goes to its annotations, so that it works for kinds without a status, too
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="operator.example.org")
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="operator.example.org")
    settings.networking.error_backoffs = [0.1] * 100


@kopf.on.create(RESOURCE)
def created(name: str, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    paint(patch, color_of(body))
    note("create", name, color_of(body))


@kopf.on.update(RESOURCE, field=f"{SECTION}.color")
def updated(name: str, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    paint(patch, color_of(body))
    note("update", name, color_of(body))


@kopf.on.resume(RESOURCE)
def resumed(name: str, body: kopf.Body, **_: Any) -> None:
    note("resume", name, color_of(body))


@kopf.on.delete(RESOURCE)
def deleted(name: str, body: kopf.Body, **_: Any) -> None:
    if os.environ.get("OPERATOR_STUCK"):
        note("stuck", name, color_of(body))
        raise kopf.TemporaryError("not now", delay=600)
    note("delete", name, color_of(body))
