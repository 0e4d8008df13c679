"""What the store holds of a namespace that this server does not serve.

Another server's resources, while that one is away and nobody knows them any more, or those of a program that was here
before. Discovery cannot tell of them; the store can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable

from controlplane.apimachinery.status import timeout
from controlplane.apiserver.registry.table import ResourceTable, TableHolder
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.cache.slices import Slices
from controlplane.storage.kv.api import prefix_end

__all__ = ["left_behind"]


def left_behind(mirror: Mirror, tables: TableHolder) -> Callable[[str], Awaitable[Counter[str]]]:
    """Tells by a namespace's name what the store has of it and this server does not serve.

    What it makes raises APIError where the mirror cannot be proved current.
    """

    async def of_namespace(namespace: str) -> Counter[str]:
        if not await mirror.fresh(None):
            raise timeout("what the store has of the namespace could not be proved current", 1)
        return await _unserved(mirror, tables.current, namespace)

    return of_namespace


async def _unserved(mirror: Mirror, table: ResourceTable, namespace: str) -> Counter[str]:
    """How many objects there are, by the folder of their keys (``example.org/widgets``), as far as the mirror knows.

    It costs what there is in the store that is not served, whatever is.
    """
    own = {mirror.prefix + served.resource.key_prefix.encode() + b"/" for served in table.routes.values()}
    found: Counter[str] = Counter()
    slices, name, start = Slices(), namespace.encode(), mirror.prefix
    for prefix in [*sorted(own), prefix_end(mirror.prefix)]:
        for entry in mirror.image.index.scan(start, prefix):
            folder = _folder(entry.key[len(mirror.prefix) :].split(b"/"), name)
            if folder:
                found[folder.decode(errors="replace")] += 1
            if slices.due():
                await slices.rest()
        start = max(start, prefix_end(prefix))
    return found


def _folder(parts: list[bytes], namespace: bytes) -> bytes:
    """What comes before the namespace in a key that lies in it; ``b""`` for others.

    Keys are ``plural/namespace/name``, or ``group/plural/namespace/name``, and groups have a dot. kube-apiserver keeps
    a few native kinds one folder deeper (``services/specs``).
    """
    at = len(parts) - 2
    if at < 1 or parts[at] != namespace or at > 2 or (at == 1 and b"." in parts[0]):
        return b""
    return b"/".join(parts[:at])
