"""Paths that lead to no text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile import FIRST

from polylsp.cli import main
from polylsp.cli.files import files_of

Told = tuple[int, str, str]


@pytest.fixture
def tell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Runs a command beside a good file; the status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    Path("good.c").write_text(FIRST)

    def run(*arguments: str) -> Told:
        status = main(arguments)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_a_file_that_does_not_exist(tell) -> None:
    status, out, err = tell("check", "gone.c", "good.c")
    assert status == 3
    assert err == "polylsp: gone.c: No such file or directory\n"
    assert "good.c: 1 loop: 1 parallel" in out


def test_a_folder_with_the_name_of_a_file(tell) -> None:
    Path("folder.c").mkdir()
    Path("folder.c", "inner.c").write_text(FIRST)
    status, out, err = tell("check", "folder.c")
    assert (status, err) == (0, "")
    assert f"{Path('folder.c', 'inner.c')}: 1 loop: 1 parallel" in out


def test_a_folder_where_one_file_is_meant(tell) -> None:
    Path("folder.c").mkdir()
    status, out, err = tell("model", "folder.c")
    assert (status, out) == (3, "")
    assert err == "polylsp: folder.c: Is a directory\n"


def test_a_file_that_vanishes_between_finding_and_reading(tell, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sources").mkdir()
    for name in ("a.c", "b.c"):
        Path("sources", name).write_text(FIRST)

    def find_then_lose(paths: list[str]) -> list[str]:
        found = files_of(paths)
        Path("sources", "a.c").unlink()
        return found

    monkeypatch.setattr("polylsp.cli.check.files_of", find_then_lose)
    status, out, err = tell("check", "sources")
    assert status == 3
    assert err == f"polylsp: {Path('sources', 'a.c')}: No such file or directory\n"
    assert "b.c: 1 loop: 1 parallel" in out


def test_a_link_to_nowhere(tell) -> None:
    Path("link.c").symlink_to("nowhere.c")
    status, out, err = tell("check", ".")
    assert status == 3
    assert err == "polylsp: link.c: No such file or directory\n"
    assert "good.c: 1 loop: 1 parallel" in out


def test_a_folder_that_links_to_itself(tell) -> None:
    Path("again").symlink_to(".")
    status, out, _ = tell("check", ".")
    assert status == 0
    assert out.count("parallel-loop") == 1
