"""Controllers in a process of their own, against any API server that a kubeconfig leads to.

It waits for the server, learns what it serves, and runs what can work there: by default while it holds the lease by
which Kubernetes' own controller manager and our servers on shared stores agree, too.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from controlplane.apimachinery.identity import GVR, GroupResource, Key
from controlplane.apimachinery.status import APIError
from controlplane.apiserver.authentication.serviceaccounts.config import DEFAULT_ISSUER
from controlplane.apiserver.authentication.serviceaccounts.issuer import TokenIssuer
from controlplane.apiserver.authentication.serviceaccounts.keys import KeyFileError, read_keys
from controlplane.base import logs
from controlplane.base.clock import Clock, SystemClock
from controlplane.base.tls.context import TLSFilesError, check_pair, read_pool
from controlplane.client.api import APIClient
from controlplane.client.config import ClientConfig
from controlplane.client.discovery import discover
from controlplane.client.errors import ClientError, KubeconfigError
from controlplane.client.http import HTTPClient
from controlplane.client.kubeconfig import load_kubeconfig
from controlplane.client.resources import ResourceClient
from controlplane.client.token import AccountToken
from controlplane.controllers.descriptor import ControllerContext, ControllerDescriptor
from controlplane.controllers.keys import ControllerKeys
from controlplane.generic.manager_options import ElectionOptions, ManagerOptions, SigningOptions
from controlplane.generic.starting import StartError, given_by
from controlplane.reconcile.informers import InformerSet
from controlplane.reconcile.leader import LeaderElector
from controlplane.reconcile.manager import Manager

__all__ = ["ManagerFailed", "controller_manager"]

LEASES = GVR("coordination.k8s.io", "v1", "leases")
ACCOUNTS_NAMESPACE = "kube-system"
_ASK_AGAIN_SECONDS = 2.0

log = logs.get(__name__)


class ManagerFailed(Exception):
    """The controllers cannot run; the message is one line for the operator."""


@asynccontextmanager
async def controller_manager(options: ManagerOptions, *, clock: Clock | None = None) -> AsyncIterator[Manager]:
    """A manager with the controllers that can work against the server; ``await manager.run()`` inside the block.

    Raises:
        ManagerFailed: a file cannot be used, or there are no leases to be elected by.
    """
    clock = clock if clock is not None else SystemClock()
    try:
        config = await asyncio.to_thread(load_kubeconfig, Path(options.kubeconfig), context=options.context)
        keys = await asyncio.to_thread(_keys, options.signing)
    except (ClientError, StartError) as error:
        raise ManagerFailed(str(error)) from error
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(_client(config, "shared-informers", clock))
        except KubeconfigError as error:
            raise ManagerFailed(f"--kubeconfig: {error}") from error
        served = await _served(client, clock)
        descriptors = _selected(options, served, keys)
        clients: dict[str, APIClient] = {}
        for descriptor in descriptors:
            own = _client(config, descriptor.name, clock)
            if options.use_service_account_credentials:
                own = _account_client(config, descriptor, client, clock)
            clients[descriptor.name] = await stack.enter_async_context(own)
        elector = _elector(options.election, client, served, clock)
        manager = Manager("controllers", elector=elector)
        context = ControllerContext(
            client_for=clients.__getitem__,
            informers=InformerSet(client, clock=clock),
            served=served,
            keys=keys,
            clock=clock,
        )
        for descriptor in descriptors:
            manager.add(descriptor.build(context), leader_elected=elector is not None)
        yield manager


def _elector(
    options: ElectionOptions, client: APIClient, served: frozenset[GroupResource], clock: Clock
) -> LeaderElector | None:
    if not options.leader_elect:
        return None
    if LEASES.gr not in served:
        raise ManagerFailed(f"the server does not serve {LEASES.gr}: give --leader-elect=false")
    return LeaderElector(
        ResourceClient(client, LEASES, namespaced=True),
        Key(options.resource_namespace, options.resource_name),
        f"{socket.gethostname()}_{uuid.uuid4()}",
        times=options.times(),
        clock=clock,
    )


def _client(config: ClientConfig, name: str, clock: Clock) -> HTTPClient:
    return HTTPClient(config, user_agent=f"controlplane/controllers/{name}", clock=clock)


def _account_client(
    config: ClientConfig, descriptor: ControllerDescriptor, client: APIClient, clock: Clock
) -> HTTPClient:
    """A client that is the controller's service account and nobody else."""
    bare = replace(config, certificate=b"", key=b"", token="", token_file=None, impersonation=None)
    token = AccountToken(client, ACCOUNTS_NAMESPACE, descriptor.account, clock)
    return HTTPClient(bare, user_agent=f"controlplane/controllers/{descriptor.name}", clock=clock, token=token)


async def _served(client: APIClient, clock: Clock) -> frozenset[GroupResource]:
    """What the server serves; asked again and again until all of it can be told."""
    while True:
        try:
            found = await discover(client)
            if not found.failed:
                return frozenset(resource.gvr.gr for resource in found.resources)
            why = "; ".join(f"{gv}: {error}" for gv, error in found.failed.items())
        except (APIError, ClientError) as error:
            why = str(error)
        log.warning("it cannot be told what the server serves, asking again", error=why)
        await clock.sleep(_ASK_AGAIN_SECONDS)


def _selected(
    options: ManagerOptions, served: frozenset[GroupResource], keys: ControllerKeys
) -> list[ControllerDescriptor]:
    chosen = []
    for descriptor in options.wanted():
        missing = sorted(str(gr) for gr in set(descriptor.needs) - served)
        if missing:
            log.info("controller off", controller=descriptor.name, why=f"not served: {', '.join(missing)}")
        elif not descriptor.usable(keys):
            log.info("controller off", controller=descriptor.name, why="no key to sign with")
        else:
            chosen.append(descriptor)
    return chosen


def _keys(signing: SigningOptions) -> ControllerKeys:
    """Reads the files: blocks.

    Raises:
        StartError: one cannot be used.
    """
    authority = legacy_token = None
    if signing.cluster_cert_file:
        pair = (Path(signing.cluster_cert_file), Path(signing.cluster_key_file))
        with given_by("--cluster-signing-cert-file, --cluster-signing-key-file", TLSFilesError):
            check_pair(signing.cluster_cert_file, signing.cluster_key_file)
        authority = lambda: (pair[0].read_bytes(), pair[1].read_bytes())  # noqa: E731
    if signing.account_key_file:
        issuer = TokenIssuer(
            lambda: read_keys(signing_file=signing.account_key_file, key_files=()), issuer=DEFAULT_ISSUER
        )
        with given_by("--service-account-private-key-file", KeyFileError):
            issuer.load()
        legacy_token = issuer.give_legacy
    with given_by("--root-ca-file", TLSFilesError):
        root_ca_pem = read_pool(signing.root_ca_file) if signing.root_ca_file else b""
    return ControllerKeys(
        root_ca_pem=root_ca_pem,
        authority=authority,
        legacy_token=legacy_token,
    )
