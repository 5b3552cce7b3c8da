"""Files that are replaced as a whole, by processes that may be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from polylsp.core import source_files

KILLED = """
import os, signal, sys
from pathlib import Path
from polylsp.core import source_files as replacing
if sys.argv[2] == "named":
    replacing.os.__dict__.pop("O_TMPFILE", None)
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
replacing.replace_file(Path(sys.argv[1]), b"new")
"""


def kill_a_writer(target: Path, kind: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(target), kind], check=False)
    assert done.returncode == -signal.SIGKILL
    assert target.read_bytes() == b"old"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    made = tmp_path / "a[1].c"
    made.write_bytes(b"old")
    return made


@pytest.mark.skipif("not hasattr(os, 'O_TMPFILE')")
def test_a_writer_that_is_killed_leaves_nothing(target: Path) -> None:
    kill_a_writer(target, "unnamed")
    assert list(target.parent.iterdir()) == [target]


def test_what_one_has_left_is_removed_by_the_next(target: Path) -> None:
    kill_a_writer(target, "named")
    (left,) = [each for each in target.parent.iterdir() if each != target]
    source_files.replace_file(target, b"other")
    assert left.exists(), "its writer may be at work"
    os.utime(left, (0, 0))
    source_files.replace_file(target, b"new")
    assert list(target.parent.iterdir()) == [target] and target.read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["named", "unnamed"])
def test_a_failure_leaves_nothing(target: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    if kind == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)

    def fail(_handle: int) -> None:
        raise PermissionError

    with pytest.raises(PermissionError):
        source_files.replace_file(target, b"new", fail)
    assert list(target.parent.iterdir()) == [target] and target.read_bytes() == b"old"
    source_files.replace_file(target.with_name("fresh"), b"made")
    assert sorted(each.name for each in target.parent.iterdir()) == ["a[1].c", "fresh"]
