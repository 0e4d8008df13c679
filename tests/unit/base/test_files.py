"""Files written whole: the old content or the new, private, and nothing left beside."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from controlplane.base.files import remove_leftovers, write_atomically


def test_new_content_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    before = path.open()
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert before.read() == "old"
    before.close()
    assert os.listdir(tmp_path) == ["file"]


def test_the_mode_can_be_told(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"", mode=0o644)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) & ~0o022 == 0o644


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(tmp_path / "directory", b"new")
    assert os.listdir(tmp_path) == ["directory"]


def test_a_file_left_by_a_crash_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".file.{os.getpid()}.tmp").write_text("half")
    write_atomically(tmp_path / "file", b"new")
    assert os.listdir(tmp_path) == ["file"]


def test_what_others_left_by_a_crash_can_be_removed(tmp_path: Path) -> None:
    for name in (".file[1].7.tmp", ".file1.7.tmp", "file[1]", "file[1].tmp"):
        (tmp_path / name).touch()
    remove_leftovers(tmp_path / "file[1]")
    assert sorted(os.listdir(tmp_path)) == [".file1.7.tmp", "file[1]", "file[1].tmp"]
