"""Static tokens from a CSV file: ``token,user,uid,"group1,group2"``.

Tokens are kept as keyed hashes, so that neither memory nor the time of a look-up tells anything of them. The file is
read at start only, as upstream does.

Source: kubernetes/apiserver ``pkg/authentication/token/tokenfile``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.api import authenticated
from controlplane.apiserver.authentication.tokens import TokenDigest
from controlplane.base import logs

__all__ = ["TokenFileAuthenticator", "TokenFileError"]

log = logs.get(__name__)


class TokenFileError(Exception):
    """The file cannot be used; the message names file and line, and no token."""


class TokenFileAuthenticator:
    """Knows a fixed set of tokens; see ``tokens.PlainTokens``."""

    __slots__ = ("_digest", "_users")

    def __init__(self) -> None:
        self._digest = TokenDigest()
        self._users: dict[bytes, UserInfo] = {}

    @classmethod
    def read(cls, path: Path) -> TokenFileAuthenticator:
        """Read the file. Blocks. An empty token is skipped and of equal tokens the last counts, both with a warning.

        Raises:
            TokenFileError: not readable, not CSV, or a line of fewer than three columns.
        """
        authenticator = cls()
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise TokenFileError(f"{path}: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise TokenFileError(f"{path}: not UTF-8 text") from error
        rows = csv.reader(text.splitlines(keepends=True), strict=True)
        try:
            for row in rows:
                if row:
                    authenticator._add(path, rows.line_num, row)
        except csv.Error as error:
            raise TokenFileError(f"{path}:{rows.line_num}: {error}") from error
        return authenticator

    def add(self, token: str, user: UserInfo) -> None:
        """Know one more token (the administrator's, a test's)."""
        self._users[self._digest(token)] = authenticated(user)

    async def user_of(self, token: str) -> UserInfo | None:
        return self._users.get(self._digest(token))

    def _add(self, path: Path, line: int, row: list[str]) -> None:
        if len(row) < 3:
            raise TokenFileError(
                f"{path}:{line}: must have at least 3 columns (token, user name, user uid), found {len(row)}"
            )
        token, name, uid, *rest = row
        if not token:
            log.warning("empty token in the token file is skipped", file=str(path), line=line)
            return
        if self._digest(token) in self._users:
            log.warning("duplicate token in the token file; the last line counts", file=str(path), line=line)
        groups = tuple(group for group in rest[0].split(",") if group) if rest else ()
        self.add(token, UserInfo(name=name, uid=uid, groups=groups))
