"""Text from standard input, under a file's name."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import facts
import pytest


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Makes some bytes the standard input."""
    return lambda data: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_the_text_is_checked_and_not_the_file(polylsp, tmp_path: Path, given: Any, known: Any) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.c").write_text(facts.MANY)
    (tmp_path / "src" / ".polylsp.toml").write_text("cache_kb = 7")
    given(facts.RECURRENCE.encode())
    ran = polylsp("check", "--stdin-filename", "src/a.c", "-")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("src/a.c:4:5: sequential-loop\n")
    assert ran.out.endswith("src/a.c: 1 loop: 1 sequential\n\n")
    ((path, settings),) = known
    assert path == "src/a.c" and settings.cache_kb == 7


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("name", ["lost.c", "lost/folder/a.c"])
def test_the_file_need_not_be_there(polylsp, given: Any, name: str) -> None:
    given(facts.RECURRENCE.encode())
    ran = polylsp("check", "--format", "json", "-", "--stdin-filename", name)
    (file,) = json.loads(ran.out)["files"]
    assert ran.status == 0 and file["path"] == name and len(file["loops"]) == 1


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("data", ["/* naïve */".encode("latin-1"), b"", b"\x00", "int x;".encode("utf-16")])
def test_any_encoding_is_text(polylsp, given: Any, data: bytes) -> None:
    given(data)
    ran = polylsp("check", "--stdin-filename", "a.c", "-")
    assert (ran.status, ran.err) == (0, "")


def test_a_notebook_has_cells(polylsp, given: Any) -> None:
    given(b"{}")
    ran = polylsp("check", "--stdin-filename", "a.ipynb", "-")
    assert ran.status == 3 and ran.err.startswith("polylsp: a.ipynb: ") and ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-"], "--stdin-filename gives its name"),
        (["--stdin-filename", "a.c"], "name no other path than -"),
        (["--stdin-filename", "a.c", "-", "b.c"], "name no other path than -"),
        (["--stdin-filename", "a.c", "--fix", "-"], "is not edited"),
        (["--stdin-filename", "a.c", "--diff", "-"], "is not edited"),
    ],
)
def test_wrong_usage(polylsp, given: Any, arguments: list[str], words: str) -> None:
    given(facts.RECURRENCE.encode())
    ran = polylsp("check", *arguments)
    assert (ran.status, ran.out) == (2, "") and words in ran.err and ran.err.count("\n") == 1


def test_what_cannot_be_read(polylsp, given: Any) -> None:
    ran = polylsp("check", "--stdin-filename", "a.rs", "-")
    assert ran.status == 3 and ran.err.startswith("polylsp: a.rs: not a C or Python file")
    given(b" " * (2**20 + 1))
    ran = polylsp("check", "--max-file-mb", "1", "--stdin-filename", "a.c", "-")
    assert (ran.status, ran.err) == (3, "polylsp: a.c: it is larger than 1 MiB (`max_file_mb`)\n")
