"""What is opened before a plane can be wired: its address, its keys, its store."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from controlplane.apimachinery.identity import Obj
from controlplane.apiserver.authentication.jwt.reading import ConfigurationError
from controlplane.apiserver.server.listen import PortUnavailable, bind
from controlplane.base.tls.context import TLSFilesError
from controlplane.base.tls.kubeconfig import KubeconfigError
from controlplane.base.tls.pki import PKIError
from controlplane.base.values import dataclass
from controlplane.generic.access import ReadAccess, read_access
from controlplane.generic.admission import read_admission_configuration
from controlplane.generic.authentication import Identities, read_identities
from controlplane.generic.config import CompletedConfig
from controlplane.generic.credentials import KeysDiffer, check_fingerprints
from controlplane.generic.encryption import open_encryption
from controlplane.generic.starting import StartError, given_by
from controlplane.plugins.admission.api import PluginConfigurationError
from controlplane.storage.cache.mirror import Mirror
from controlplane.storage.errors import StorageError
from controlplane.storage.kv.api import KV
from controlplane.storage.kv.backends import open_kv
from controlplane.storage.transform import IDENTITY

if TYPE_CHECKING:
    from controlplane.storage.encryption.encryption import Encryption

__all__ = ["Parts", "open_parts"]

_FOR_THE_OPERATOR = (
    PortUnavailable,
    PKIError,
    TLSFilesError,
    ConfigurationError,
    KubeconfigError,
    KeysDiffer,
    StorageError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a plane is wired from. ``thread``: for files. ``admission``: plugins' configurations, by name.
    ``access``: who decides."""

    listening: Sequence[socket.socket]
    kv: KV
    mirror: Mirror
    identities: Identities
    thread: ThreadPoolExecutor
    admission: Mapping[str, Obj]
    access: ReadAccess
    encryption: Encryption | None
    failed: asyncio.Future[BaseException]


async def open_parts(config: CompletedConfig, stack: AsyncExitStack) -> Parts:
    """Open what the config names; ``stack`` closes it.

    Raises:
        StartError: something cannot be used.
    """
    try:
        return await _open(config, stack)
    except _FOR_THE_OPERATOR as error:
        raise StartError(str(error)) from error


async def _open(config: CompletedConfig, stack: AsyncExitStack) -> Parts:
    loop = asyncio.get_running_loop()
    listening = [bind(config.host, config.port)]
    if config.peer_bind is not None:
        listening.append(bind(*config.peer_bind, flags="--peer-bind-address"))
    for one in listening:
        stack.callback(one.close)
    thread = ThreadPoolExecutor(1, thread_name_prefix="files")
    stack.callback(thread.shutdown)
    reading = loop.run_in_executor(thread, read_identities, config)  # while the store is opened
    try:
        kv = await (open_kv(config.store, config.kv) if config.open_store is None else config.open_store())
    except BaseException:
        await asyncio.wait([reading])
        reading.exception()
        raise
    stack.push_async_callback(kv.close)
    identities = await reading
    with given_by("--admission-control-config-file", PluginConfigurationError):
        admission = await loop.run_in_executor(thread, read_admission_configuration, config.admission_config_file)
    access = await loop.run_in_executor(thread, read_access, config)
    if kv.revision_nowait() is None:
        await check_fingerprints(kv, config, identities.credentials)
    encryption = await open_encryption(config, listening[0].getsockname()[1])
    if encryption is not None:
        stack.push_async_callback(encryption.close)
    failed: asyncio.Future[BaseException] = loop.create_future()
    mirror = Mirror(
        kv,
        prefix=config.prefix,
        clock=config.clock,
        transformer=encryption or IDENTITY,
        freeze=config.whole_process,
        on_failure=lambda error: None if failed.done() else failed.set_result(error),
    )
    stack.push_async_callback(mirror.close)
    try:
        async with asyncio.timeout(config.storage_initialization_seconds):
            await mirror.start()
    except TimeoutError:
        raise StartError(
            f"the store {config.store} did not answer within {config.storage_initialization_seconds:g} s"
        ) from None
    return Parts(
        listening=listening,
        kv=kv,
        mirror=mirror,
        identities=identities,
        thread=thread,
        admission=admission,
        access=access,
        encryption=encryption,
        failed=failed,
    )
