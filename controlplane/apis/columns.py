"""The table columns that nearly every kind has."""

from __future__ import annotations

from controlplane.apimachinery import meta
from controlplane.apimachinery.resource import Column

__all__ = ["AGE", "CREATED_AT", "NAME"]

NAME = Column(name="Name", cell=meta.name, format="name", description="Name of the object, unique in its namespace.")
CREATED_AT = Column(
    name="Created At", cell=meta.creation_timestamp, type="date", description="When the object was created."
)
"""Of kinds that have nothing more to show."""
AGE = Column(name="Age", cell=meta.creation_timestamp, age=True, description="How long ago the object was created.")
