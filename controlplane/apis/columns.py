"""The table columns that nearly every kind has."""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.resource import Column

__all__ = ["AGE", "NAME"]

NAME = Column(name="Name", cell=meta.name, format="name", description="Name of the object, unique in its namespace.")
AGE = Column(name="Age", cell=meta.creation_timestamp, age=True, description="How long ago the object was created.")
