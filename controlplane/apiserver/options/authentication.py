"""Who may be who."""

from __future__ import annotations

from typing import ClassVar

from controlplane.base.options import OptionGroup, option

__all__ = ["AuthenticationOptions"]


class AuthenticationOptions(OptionGroup):
    """Which credentials are accepted."""

    title: ClassVar[str] = "Authentication"

    client_ca_file: str = option(
        "",
        flag="client-ca-file",
        description="authority of client certificates, PEM (common name is the user, organizations are groups); "
        "without it one is made, and an admin certificate with it",
    )
    token_auth_file: str = option(
        "", flag="token-auth-file", description='file of static tokens, CSV: token,user,uid,"group1,group2"'
    )
    anonymous_auth: bool = option(
        True,
        flag="anonymous-auth",
        description="requests without credentials are system:anonymous in system:unauthenticated, else 401",
    )
