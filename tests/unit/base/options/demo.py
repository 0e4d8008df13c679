"""A small top model for the loader's tests, with one option of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from controlplane.base.options import Duration, OptionGroup, Problem, group, option


class ServingOptions(OptionGroup):
    title: ClassVar[str] = "Secure serving"
    port: int = option(6443, ge=1, le=65535, flag="secure-port", description="The port to serve on.")
    address: str = option("127.0.0.1", flag="bind-address", description="The address to serve on.")
    cert_file: str = option("", flag="tls-cert-file", description="Certificate.")
    key_file: str = option("", flag="tls-private-key-file", description="Key.")

    def problems(self) -> Iterator[Problem]:
        if self.cert_file and not self.key_file:
            yield Problem("cert_file", f"{self.cert_file!r} needs --tls-private-key-file")
        if self.address == "nowhere":
            yield Problem("bind-address", "'nowhere' is no address")


class StoreOptions(OptionGroup):
    servers: tuple[str, ...] = option((), flag="etcd-servers", description="Endpoints.")
    timeout: Duration = option(60.0, ge=1, description="Timeout.")
    compaction: Literal["auto", "off"] = option("auto", description="Who compacts.")
    ratio: float = option(0.5, gt=0, lt=1, description="Ratio.")


class ControllerOptions(OptionGroup):
    garbage_collector: bool = option(True, description="Whether to collect garbage.")
    gates: dict[str, bool] = option({}, flag="feature-gates", description="Gates.")
    verbosity: int = option(2, flag="verbosity", short="v", description="Verbosity.")


class DemoOptions(OptionGroup):
    serving: ServingOptions = group(ServingOptions)
    store: StoreOptions = group(StoreOptions)
    controllers: ControllerOptions = group(ControllerOptions)

    def problems(self) -> Iterator[Problem]:
        if self.store.servers and self.store.compaction == "off":
            yield Problem("store.compaction", "'off' cannot be used with --etcd-servers")
