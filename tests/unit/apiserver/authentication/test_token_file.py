"""The token file: what it says, what is wrong with it, and that no token is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.apimachinery.user import UserInfo
from controlplane.apiserver.authentication.token_file import TokenFileAuthenticator, TokenFileError
from tests.aio import run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.csv"


def user_of(path: Path, text: str, token: str) -> UserInfo | None:
    path.write_text(text)
    return run(TokenFileAuthenticator.read(path).user_of(token))


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ('t0ken,alice,1,"dev,ops"\n', ("dev", "ops")),
        ("t0ken,alice,1,dev\r\n", ("dev",)),
        ("t0ken,alice,1\n", ()),
        ("t0ken,alice,1,\n", ()),
        ("\nother,bob,2\n\nt0ken,alice,1,dev,ignored\n", ("dev",)),
    ],
)
def test_lines(path: Path, text: str, groups: tuple[str, ...]) -> None:
    assert user_of(path, text, "t0ken") == UserInfo(name="alice", uid="1", groups=(*groups, "system:authenticated"))


@pytest.mark.parametrize("token", ["", "t0ke", "t0ken ", "T0KEN", "t0kené", "\udc80"])
def test_other_tokens_are_nobodys(path: Path, token: str) -> None:
    assert user_of(path, "t0ken,alice,1\n,empty,2\n", token) is None


def test_of_equal_tokens_the_last_counts_and_a_warning_names_the_line(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    user = user_of(path, "t0ken,alice,1\nt0ken,bob,2\n,carol,3\n", "t0ken")
    assert user is not None
    assert user.name == "bob"
    assert [(record.getMessage(), record.__dict__["fields"]["line"]) for record in caplog.records] == [
        ("duplicate token in the token file; the last line counts", 2),
        ("empty token in the token file is skipped", 3),
    ]
    assert "t0ken" not in str([record.__dict__ for record in caplog.records])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"t0ken,alice,1\ns3cret,bob\n",
            "tokens.csv:2: must have at least 3 columns (token, user name, user uid), found 2",
        ),
        (b't0ken,alice,1,"dev\n', "tokens.csv:1: unexpected end of data"),
        (b"\xff\xfe,a,b\n", "tokens.csv: not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_named_without_the_token(path: Path, data: bytes, message: str) -> None:
    path.write_bytes(data)
    with pytest.raises(TokenFileError) as caught:
        TokenFileAuthenticator.read(path)
    assert str(caught.value).endswith(message)
    assert "s3cret" not in str(caught.value)


def test_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises(TokenFileError, match=r"tokens\.csv: No such file or directory"):
        TokenFileAuthenticator.read(path)


def test_no_token_is_kept(path: Path) -> None:
    path.write_text("t0ken,alice,1\n")
    authenticator = TokenFileAuthenticator.read(path)
    assert b"t0ken" not in b"".join(authenticator._users)
