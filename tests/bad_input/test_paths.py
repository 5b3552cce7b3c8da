"""Paths that lead to no text."""

from __future__ import annotations

import os
import subprocess
import sys
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


# --- what is no file -----------------------------------------------------------------------------

_COMMANDS = (
    ("check", "{}"),
    ("model", "{}"),
    ("explain", "{}:1"),
    ("offload", "{}:1", "--target", "openmp"),
    ("measure", "{}:1"),
)


@pytest.mark.parametrize("command", _COMMANDS, ids=[each[0] for each in _COMMANDS])
def test_a_pipe_is_not_waited_for(tell, command: tuple[str, ...]) -> None:
    os.mkfifo("pipe.c")
    status, out, err = tell(*(each.format("pipe.c") for each in command))
    assert (status, out, err) == (3, "", "polylsp: pipe.c: it is a named pipe, not a file\n")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/dev/zero", "it is a device, not a file"),
        ("/dev/null", "it is a device, not a file"),
        ("/proc/kmsg", "the kernel makes it as it is read, it is not a file"),
        ("/proc/self/maps", "the kernel makes it as it is read, it is not a file"),
    ],
)
def test_what_has_no_end_is_not_read(tell, target: str, why: str) -> None:
    Path("odd.c").symlink_to(target)
    status, out, err = tell("check", ".")
    assert status == 3
    assert err == f"polylsp: odd.c: {why}\n"
    assert "good.c: 1 loop: 1 parallel" in out


def test_a_file_that_is_too_large_is_not_read(tell) -> None:
    Path("large.c").write_text(FIRST + "/*" + " " * 2**20 + "*/")
    status, out, err = tell("check", "--max-file-mb", "1", ".")
    assert status == 3
    assert err == "polylsp: large.c: it is larger than 1 MiB (`max_file_mb`)\n"
    assert "good.c: 1 loop: 1 parallel" in out
    assert tell("check", "large.c")[0] == 0


def test_a_path_that_can_be_none(tell) -> None:
    status, _, err = tell("check", "a\0b.c")
    assert (status, err) == (2, "polylsp: a path contains a null character\n")
    status, _, err = tell("check", "x" * 5000 + ".c")
    assert status == 3 and "File name too long" in err


@pytest.mark.parametrize("name", ["pipe.h", "zero.h"])
def test_a_header_that_is_no_file_is_not_read(tell, name: str) -> None:
    os.mkfifo("pipe.h")
    Path("zero.h").symlink_to("/dev/zero")
    Path("includes.c").write_text(f'#include "{name}"\n{FIRST}')
    status, out, err = tell("check", "includes.c")
    assert (status, err) == (0, "")
    assert f"The header `{name}` cannot be read" in out and "not a file" in " ".join(out.split())
    assert "includes.c: 1 loop: 1 parallel" in out


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"], ids=["long", "nul"])
def test_a_header_with_an_impossible_name_is_not_found(tell, name: str) -> None:
    Path("includes.c").write_text(f'#include "{name}"\n{FIRST}')
    status, out, err = tell("check", "includes.c")
    assert (status, err) == (0, "")
    assert "includes.c: 1 loop: 1 parallel" in out


def test_a_header_that_is_too_large_is_told(tell) -> None:
    Path("large.h").write_text("/*" + " " * 2**20 + "*/")
    Path("includes.c").write_text(f'#include "large.h"\n{FIRST}')
    _, out, _ = tell("check", "--max-file-mb", "1", "includes.c")
    assert "could not be read: it is larger than 1 MiB" in " ".join(out.split())


def test_a_database_of_commands_that_is_a_pipe(tell) -> None:
    os.mkfifo("compile_commands.json")
    status, out, _ = tell("check", "good.c")
    assert status == 0 and "good.c: 1 loop: 1 parallel" in out
    status, out, _ = tell("check", "--compile-commands", "compile_commands.json", "good.c")
    assert status == 0 and "holds no compile_commands.json" in out


# --- where output goes ---------------------------------------------------------------------------


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Runs a line of a shell, in which `polylsp` is this one."""
    return subprocess.run(
        ["bash", "-c", f'polylsp() {{ {sys.executable} -m polylsp "$@"; }}; {line}'],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_a_full_device_is_told_in_a_line(tell, form: str) -> None:
    ran = shell(f"polylsp check --format {form} good.c > /dev/full")
    assert (ran.returncode, ran.stderr) == (3, "polylsp: standard output: No space left on device\n")


def test_output_that_is_closed_is_told_in_a_line(tell) -> None:
    ran = shell("polylsp check good.c >&-")
    assert (ran.returncode, ran.stderr) == (3, "polylsp: standard output is closed\n")
    ran = shell("polylsp check good.c | true; exit ${PIPESTATUS[0]}")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_closed_errors_do_not_go_to_the_output(tell) -> None:
    ran = shell("polylsp check gone.c 2>&-")
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "")


def test_a_name_cannot_speak_to_the_terminal(tell) -> None:
    name = "red\x1b[31m\x9b\u202e.c"
    Path(name).write_text(FIRST.replace("a[i] = 0.0", 'a[i] = f("\x1b]0;title\x07")'))
    _, out, err = tell("check", name, "gone\x1b[2J.c")
    assert "red␛[31m" in out and "gone␛[2J.c" in err
    assert all(each.isprintable() or each == "\n" for each in out + err)
