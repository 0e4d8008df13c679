"""A key rotation from its begin to its end, restartable at any point.

1. The new key is added behind the key that writes, and every live server has that configuration in force: all can read
   what is written under it.
2. The new key is put first, and every live server has that in force: nobody writes under the old one any more.
3. Every encrypted resource is migrated.
4. The raw store is read at one revision, and holds nothing under the old key.
5. The old key is removed, and every live server has that in force.

What the file says is where the rotation is; beside it lies a note of the new key's name while one is under way. No step
begins before the one before it is proved, so whoever is stopped, wherever it is, goes on by being started again.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from controlplane.apimachinery.codec import yaml
from controlplane.apimachinery.codec.parts import ConfigurationError
from controlplane.apimachinery.identity import Obj
from controlplane.apimachinery.server_identity import IDENTITY_NAMESPACE
from controlplane.base.clock import Clock
from controlplane.base.files import PRIVATE_MODE, remove_leftovers, write_atomically
from controlplane.client.api import APIClient
from controlplane.generic.rotation.document import (
    OldKey,
    Place,
    is_taken,
    new_key_added,
    new_key_first,
    old_keys,
    old_keys_removed,
    place_of,
    rotated,
)
from controlplane.generic.rotation.migrating import encrypted_resources, migrate
from controlplane.generic.rotation.raw import Found, left_under
from controlplane.generic.rotation.servers import LiveServer, Servers
from controlplane.storage.encryption.reading import digest_of, read_file
from controlplane.storage.kv.backends import KVOptions

__all__ = ["Rotation", "RotationFailed", "Store"]

_PASSES = 3
"""How often what is left under an old key is migrated again before that is an error: a server that was starting may
have written under it."""
_SHOWN = 5
_NOTE_BYTES = 4096
ASK_SECONDS = 1.0
"""How often the servers' leases are looked at."""


class RotationFailed(Exception):
    """The rotation cannot go on; the message says why, and nothing is lost by starting it again."""


class Store(NamedTuple):
    """Where the raw store is: its URL, how it is reached, and the prefix of all keys."""

    url: str
    options: KVOptions
    prefix: bytes


class Rotation:
    """``file``: the servers' configuration. ``say`` is told what happens, for people. ``wait_seconds``: how long to
    wait for servers to take up a change."""

    def __init__(
        self,
        client: APIClient,
        file: Path,
        store: Store,
        *,
        key_name: str,
        clock: Clock,
        say: Callable[[str], None],
        wait_seconds: float,
    ) -> None:
        self._client, self._file, self._store, self._clock = client, file.resolve(), store, clock
        self._say, self._wait_seconds = say, wait_seconds
        self._note = self._file.with_name(f"{self._file.name}.rotation")
        self._name, self._servers = key_name, Servers(client, clock)

    async def run(self) -> None:
        """Do what is left to do.

        Raises:
            RotationFailed, MigrationFailed; StorageError, APIError, ClientError.
        """
        document = await self._read()
        note = await self._begin(document)
        try:
            while (place := place_of(document, self._name)) is not Place.ALONE:
                await self._step(place)
                document = await self._read()
            await self._in_force("5 of 5: every server has done without the old key")
            self._note.unlink()
        finally:
            os.close(note)

    async def _step(self, place: Place) -> None:
        """From one place of the new key to the next."""
        match place:
            case Place.ABSENT:
                await self._write(new_key_added(await self._read(), self._name))
            case Place.BEHIND:
                await self._in_force("1 of 5: every server can read what is written under the new key")
                await self._write(new_key_first(await self._read(), self._name))
            case Place.FIRST:
                await self._in_force("2 of 5: every server writes under the new key")
                gone = await self._rewrite(await self._read())
                await self._write(old_keys_removed(await self._read(), gone))

    async def _begin(self, document: Obj) -> int:
        """Find the new key's name: that of a rotation under way, or the one that is given.

        Returns:
            The note's descriptor, which keeps others from rotating as long as it is open.
        """
        note, known = await asyncio.to_thread(_taken_note, self._note)
        await asyncio.to_thread(remove_leftovers, self._file)  # keys stand in them
        try:
            if known:
                self._name = known
                self._say(f"going on with the rotation to key {known}")
                return note
            if is_taken(document, self._name):
                self._note.unlink()
                raise RotationFailed(f"{self._file} has a key {self._name} already: give another --key-name")
            os.write(note, json.dumps({"key": self._name}).encode())
            os.fsync(note)
            olds = ", ".join(map(str, old_keys(document, self._name)))
            self._say(f"key {self._name} takes over from {olds} in {self._file}")
            return note
        except BaseException:
            os.close(note)
            raise

    async def _rewrite(self, document: Obj) -> list[OldKey]:
        """Migrate, until the raw store holds nothing under the old keys, which are returned."""
        olds = old_keys(document, self._name)
        resources = await encrypted_resources(self._client, document, self._say)
        passes = 0
        while True:
            passes += 1
            await migrate(self._client, resources, self._say)
            self._say(f"3 of 5: migrated {', '.join(map(str, resources))}")
            found, seen = await left_under(olds, *self._store)
            if not found:
                self._say(f"4 of 5: of {seen} values in the store none is under {', '.join(map(str, olds))}")
                return olds
            self._say(f"still under an old key: {_listed(found)}")
            if passes == _PASSES:
                raise RotationFailed(
                    f"the old key stays: {_listed(found)} in the raw store. Resources that are not served (any more) "
                    "cannot be migrated: serve them, or delete these values; then start this again"
                )

    async def _in_force(self, done: str) -> None:
        """Wait until every live server says that it has the file in force as it is now."""
        digest = digest_of(await asyncio.to_thread(self._file.read_bytes))
        until = self._clock.monotonic() + self._wait_seconds
        said: list[str] | None = None
        while True:
            servers = await self._servers.now()
            late = [server for server in servers if server.digest != digest]
            waited_for = [server.id for server in late if not server.gone]
            if len(late) < len(servers) and not waited_for:
                gone = "".join(f"; {server.id} does not renew its lease: gone" for server in late)
                self._say(f"{done} (servers: {len(servers) - len(late)}, {digest}{gone})")
                return
            if waited_for != said:
                said = waited_for
                self._say(f"waiting until {digest} is in force on {', '.join(waited_for) or 'a server'}")
            if self._clock.monotonic() >= until:
                raise RotationFailed(self._why_late(late))
            await self._clock.sleep(ASK_SECONDS)

    def _why_late(self, late: Sequence[LiveServer]) -> str:
        if not late:
            return f"no server has an identity lease in {IDENTITY_NAMESPACE}, so it is not known who must be waited for"
        names = ", ".join(server.id for server in late)
        without = ", ".join(server.id for server in late if not server.digest)
        return (
            f"not in force within {self._wait_seconds:g} s on {names}"
            + (f", of which {without} say that they have no --encryption-provider-config" if without else "")
            + ". Servers take up a changed file with --encryption-provider-config-automatic-reload. "
            "Start this again to go on"
        )

    async def _read(self) -> Obj:
        document = await asyncio.to_thread(_document, self._file)
        if not rotated(document):
            why = "nothing is written under a key that stands in it; there is nothing to rotate"
            raise RotationFailed(f"{self._file}: {why}")
        return document

    async def _write(self, document: Obj) -> None:
        await asyncio.to_thread(_replace, self._file, document)


def _document(file: Path) -> Obj:
    """The configuration, which must be a sound one."""
    try:
        read_file(str(file), reload=True)
    except ConfigurationError as error:
        raise RotationFailed(str(error)) from error
    document: Obj = yaml.loads(file.read_bytes())
    return document


def _replace(file: Path, document: Obj) -> None:
    """Write a configuration in place of the file's, for the same readers."""
    was = file.stat()
    try:
        write_atomically(file, yaml.dumps(document), mode=stat.S_IMODE(was.st_mode), owner=(was.st_uid, was.st_gid))
    except OSError as error:
        raise RotationFailed(f"{file} cannot be replaced: {error.strerror or error}") from error


def _taken_note(note: Path) -> tuple[int, str]:
    """Open the note, made if there is none, and lock it: its descriptor, and the new key's name of a rotation under
    way, ``""`` if there is none.

    Raises:
        RotationFailed: somebody else rotates, or it is no note.
    """
    while True:
        try:
            descriptor = os.open(note, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_MODE)
        except OSError as error:
            raise RotationFailed(f"{note} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if note.exists() and note.stat().st_ino == os.fstat(descriptor).st_ino:
                content = os.read(descriptor, _NOTE_BYTES)
                return descriptor, str(json.loads(content)["key"]) if content else ""
        except BlockingIOError:
            os.close(descriptor)
            raise RotationFailed(f"another rotate-keys works on this file: it holds {note}") from None
        except (ValueError, KeyError, TypeError) as error:
            os.close(descriptor)
            why = f"{note} is no note of a rotation: {error}; remove it if none is under way"
            raise RotationFailed(why) from error
        os.close(descriptor)  # whoever held it has finished, and removed it


def _listed(found: Found) -> str:
    """What was found, for people: the first few."""
    parts = [f"{count} of {where} under {key}" for (key, where), count in sorted(found.items())]
    return ", ".join(parts[:_SHOWN]) + (f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else "")
