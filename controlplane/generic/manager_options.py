"""The options of a process that runs controllers and no server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.apiserver.options import LogOptions
from controlplane.base.options import Duration, OptionGroup, Problem, group, option
from controlplane.controllers.descriptor import ControllerDescriptor
from controlplane.generic.builtin import CONTROLLERS, built_in_controllers
from controlplane.generic.controller_options import ControllerBooleans, controller_toggle
from controlplane.reconcile.leader import ElectionTimes
from controlplane.storagemigration.settings import MigrationOptions

__all__ = ["ElectionOptions", "ManagerOptions", "SigningOptions"]


class ElectionOptions(OptionGroup):
    """How processes agree on which of them runs the controllers."""

    title: ClassVar[str] = "Leader election"

    leader_elect: bool = option(
        True,
        flag="leader-elect",
        description="work only while holding the lease, so that one of several processes does",
    )
    lease_duration: Duration = option(
        15.0, flag="leader-elect-lease-duration", ge=1, description="how long others wait for a silent leader"
    )
    renew_deadline: Duration = option(
        10.0, flag="leader-elect-renew-deadline", gt=0, description="how long a leader tries to renew before it stops"
    )
    retry_period: Duration = option(2.0, flag="leader-elect-retry-period", gt=0, description="time between tries")
    resource_name: str = option(
        "kube-controller-manager", flag="leader-elect-resource-name", description="the lease's name"
    )
    resource_namespace: str = option(
        "kube-system", flag="leader-elect-resource-namespace", description="the lease's namespace"
    )

    def times(self) -> ElectionTimes:
        """Raises ValueError: they contradict each other."""
        return ElectionTimes(
            lease_seconds=int(self.lease_duration),
            renew_deadline_seconds=self.renew_deadline,
            retry_seconds=self.retry_period,
        )

    def problems(self) -> Iterator[Problem]:
        try:
            self.times()
        except ValueError as error:
            yield Problem("renew_deadline", str(error))


class SigningOptions(OptionGroup):
    """What controllers vouch for and sign with. One that lacks its file does not run."""

    title: ClassVar[str] = "Keys of controllers"

    root_ca_file: str = option(
        "",
        flag="root-ca-file",
        description="PEM certificates that the API server is verified with, for kube-root-ca.crt and tokens in secrets",
    )
    account_key_file: str = option(
        "",
        flag="service-account-private-key-file",
        description="private key (PEM) that tokens in secrets are signed with; the server must verify by it",
    )
    cluster_cert_file: str = option(
        "",
        flag="cluster-signing-cert-file",
        description="authority (PEM certificate) that signs certificate requests; the server must trust it for clients",
    )
    cluster_key_file: str = option("", flag="cluster-signing-key-file", description="its private key (PEM)")

    def problems(self) -> Iterator[Problem]:
        if bool(self.cluster_cert_file) != bool(self.cluster_key_file):
            given, other = (
                ("cluster_cert_file", "--cluster-signing-key-file")
                if self.cluster_cert_file
                else ("cluster_key_file", "--cluster-signing-cert-file")
            )
            yield Problem(given, f"needs {other}")


_FILES = {
    "root-ca-certificate-publisher": ("root_ca_file", "--root-ca-file"),
    "service-account-tokens": ("account_key_file", "--service-account-private-key-file"),
    "certificate-signing": ("cluster_cert_file", "--cluster-signing-cert-file and --cluster-signing-key-file"),
}
"""The files without which controllers do not run."""


class ManagerOptions(OptionGroup):
    """The options of a controller manager."""

    kubeconfig: str = option("", flag="kubeconfig", description="file that says which API server, and as whom")
    context: str = option("", flag="context", description="the context in it; empty is its current one")
    use_service_account_credentials: bool = option(
        False,
        flag="use-service-account-credentials",
        description="each controller acts as its own service account, with a token that is asked for as --kubeconfig's",
    )
    election: ElectionOptions = group(ElectionOptions)
    signing: SigningOptions = group(SigningOptions)
    controllers: ControllerBooleans = group(ControllerBooleans)
    storage_migration: MigrationOptions = group(MigrationOptions)
    logs: LogOptions = group(LogOptions)

    def problems(self) -> Iterator[Problem]:
        if not self.kubeconfig:
            yield Problem("kubeconfig", "must be given")
        for descriptor in CONTROLLERS:
            path = controller_toggle(descriptor.name)
            asked: bool | None = getattr(self.controllers, path.partition(".")[2])
            if asked and descriptor.in_server:
                yield Problem(path, "belongs to the API server and runs in it")
            field, flags = _FILES.get(descriptor.name, ("", ""))
            if asked and field and not getattr(self.signing, field):
                yield Problem(path, f"needs {flags}")

    def wanted(self) -> list[ControllerDescriptor]:
        """The controllers that are to run, if the server has what they need."""
        return [
            descriptor
            for descriptor in built_in_controllers(self.storage_migration)
            if not descriptor.in_server
            and getattr(self.controllers, controller_toggle(descriptor.name).partition(".")[2]) is not False
        ]
