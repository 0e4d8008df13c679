"""Which front proxies are believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from controlplane.base.options import OptionGroup, Problem, option

__all__ = ["RequestHeaderOptions"]


class RequestHeaderOptions(OptionGroup):
    """Proxies that authenticate users for this server and name them in headers."""

    title: ClassVar[str] = "Front proxies"

    client_ca_file: str = option(
        "",
        flag="requestheader-client-ca-file",
        description="authority of the proxies' client certificates, PEM; without it no proxy is believed",
    )
    allowed_names: tuple[str, ...] = option(
        (),
        flag="requestheader-allowed-names",
        description="common names that a proxy's certificate may have; none is any that the authority has signed",
    )
    username_headers: tuple[str, ...] = option(
        (), flag="requestheader-username-headers", description="headers with the user's name; X-Remote-User is common"
    )
    uid_headers: tuple[str, ...] = option(
        (), flag="requestheader-uid-headers", description="headers with the user's uid; X-Remote-Uid is common"
    )
    group_headers: tuple[str, ...] = option(
        (), flag="requestheader-group-headers", description="headers with a group each; X-Remote-Group is common"
    )
    extra_headers_prefix: tuple[str, ...] = option(
        (),
        flag="requestheader-extra-headers-prefix",
        description="beginnings of headers with more about the user; X-Remote-Extra- is common",
    )

    def problems(self) -> Iterator[Problem]:
        for name in ("username_headers", "uid_headers", "group_headers", "extra_headers_prefix"):
            values: tuple[str, ...] = getattr(self, name)
            if any(not value.strip() for value in values):
                yield Problem(name, "a header's name must not be empty")
        if self.client_ca_file and not self.username_headers:
            yield Problem("username_headers", "must be given with --requestheader-client-ca-file")
