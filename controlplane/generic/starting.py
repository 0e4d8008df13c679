"""What keeps a control plane from starting, told to its operator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["StartError", "given_by"]


class StartError(Exception):
    """The control plane cannot start; the message is one line for the operator: what, which value, what to do."""


@contextmanager
def given_by(flags: str, *errors: type[Exception]) -> Iterator[None]:
    """Such ``errors`` about a file, from the block, say by which flags the file was given.

    Raises:
        StartError: instead of them.
    """
    try:
        yield
    except errors as error:
        raise StartError(f"{flags}: {error}") from error
