"""The administrator's token: random, private, kept, and refused by name where it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.base.tls.admin_token import ensure_admin_token
from controlplane.base.tls.pki import PKIError


def test_it_is_made_once_and_private(tmp_path: Path) -> None:
    made = ensure_admin_token(tmp_path / "certs")
    file = tmp_path / "certs" / "admin.token"
    assert len(made) == 43
    assert file.stat().st_mode & 0o777 == 0o600
    assert ensure_admin_token(tmp_path / "certs") == made
    assert ensure_admin_token(tmp_path / "others") != made


def test_a_file_that_others_could_read_is_closed(tmp_path: Path) -> None:
    made = ensure_admin_token(tmp_path)
    (tmp_path / "admin.token").chmod(0o644)
    assert ensure_admin_token(tmp_path) == made
    assert (tmp_path / "admin.token").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "short\n", "two tokens of which each would be long enough alone\n", "ä" * 40])
def test_what_is_no_token_is_refused_and_kept(tmp_path: Path, content: str) -> None:
    (tmp_path / "admin.token").write_text(content, encoding="utf-8")
    with pytest.raises(PKIError, match=r"admin\.token: must hold one bearer token"):
        ensure_admin_token(tmp_path)
    assert (tmp_path / "admin.token").read_text(encoding="utf-8") == content


def test_a_place_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "admin.token").mkdir()
    with pytest.raises(PKIError, match=r"admin\.token"):
        ensure_admin_token(tmp_path)
