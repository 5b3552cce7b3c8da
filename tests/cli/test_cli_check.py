from __future__ import annotations

import errno
import io
import json
import os
import re
from pathlib import Path

import facts
import pytest

from polylsp.cli import check
from polylsp.cli.pool import Crashed, Finished
from polylsp.ide.diagnostics import SEVERITIES


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".c").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("known")
def test_text_names_the_place_and_sums_up(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE)
    ran = polylsp("check", "a.c")
    assert ran.status == 0 and ran.err == ""
    assert ran.out.startswith("a.c:4:5: sequential-loop\n    `i` cannot run in parallel")
    assert ran.out.endswith("a.c: 1 loop: 1 sequential\n\n")
    assert "\x1b" not in ran.out


@pytest.mark.usefixtures("known")
def test_a_folder_is_searched_in_order_and_each_file_is_checked_once(polylsp, tmp_path: Path) -> None:
    write(tmp_path, src__b=facts.RECURRENCE, src__a=facts.MANY, src__sub__c="", src__d="")
    (tmp_path / "src" / ".hidden").mkdir()
    (tmp_path / "src" / ".hidden" / "x.c").write_text("")
    (tmp_path / "src" / "h.h").write_text("")
    (tmp_path / "src" / "d.c").rename(tmp_path / "src" / "d.txt")
    ran = polylsp("check", "--format", "json", "src", "src/a.c", "./src/../src/b.c", "src/h.h")
    paths = [each["path"] for each in json.loads(ran.out)["files"]]
    assert paths == ["src/a.c", "src/b.c", "src/sub/c.c", "src/h.h"]


def test_a_file_has_one_project_by_whatever_path_it_is_named(
    polylsp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "proj" / "include").mkdir(parents=True)
    (tmp_path / "proj" / "include" / "vec.h").write_text("typedef struct { double x[4]; } vec;\n")
    loop = "void f(vec *v) { for (int i = 0; i < 4; i++) v->x[i] = i; }\n"
    write(tmp_path / "proj", src__a=f'#include "vec.h"\n{loop}')
    (tmp_path / "elsewhere" / ".git").mkdir(parents=True)  # A project of its own.
    monkeypatch.chdir(tmp_path / "elsewhere")
    for path in ("../proj/src/a.c", str(tmp_path / "proj" / "src" / "a.c")):
        ran = polylsp("check", "--no-cache", path)
        assert ran.out.endswith("a.c: 1 loop: 1 parallel\n\n")


@pytest.mark.usefixtures("known")
def test_several_files_end_in_a_total(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE, b=facts.MANY)
    ran = polylsp("check", ".")
    assert ran.out.endswith("2 files: 10 loops: 5 parallel, 1 reduction, 2 sequential, 2 unknown\n")


def test_a_missing_header_is_told_once_for_all_files(polylsp, tmp_path: Path) -> None:
    write(
        tmp_path,
        a='#include "none.h"\n#include "other.h"\n',
        b='#include "none.h"\n',
        c='#include "none.h"\n',
    )
    ran = polylsp("check", ".")
    assert ran.out.count("missing-header") == 2 and "a.c:2:1" in ran.out
    assert "\n2 more warnings about the same missing headers: not shown.\n" in ran.out
    assert "not shown" not in polylsp("check", "a.c").out
    found = json.loads(polylsp("check", "--format", "json", ".").out)["files"]
    assert [len(each["diagnostics"]) for each in found] == [2, 1, 1]


@pytest.mark.usefixtures("known")
def test_the_current_folder_is_checked_where_no_path_is_named(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE)
    assert polylsp("check").out == polylsp("check", ".").out != ""


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (["--select", "needs-interchange"], {"needs-interchange"}),
        (["--select", "reduction-loop,parallel-band"], {"reduction-loop", "parallel-band"}),
        (["--select", "parallel-loop", "--ignore", "parallel-loop"], set()),
        (["--severity", "error"], set()),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_findings_are_chosen_by_code_and_severity(
    polylsp, tmp_path: Path, options: list[str], codes: set[str], form: str
) -> None:
    write(tmp_path, a=facts.MANY)
    ran = polylsp("check", "--format", form, *options, "a.c")
    if form == "json":
        (file,) = json.loads(ran.out)["files"]
        assert {each["code"] for each in file["diagnostics"]} == codes and len(file["loops"]) == 9
    else:
        assert set(re.findall(r"^a\.c:\d+:\d+: (?:\w+: )?([\w-]+)$", ran.out, re.MULTILINE)) == codes


@pytest.mark.usefixtures("known")
def test_ignored_findings_are_left_out_and_all_others_stay(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.MANY)
    every, less = (
        polylsp("check", "--setting", "findings=all", *each, "a.c").out
        for each in ([], ["--ignore", "parallel-loop"])
    )
    assert "parallel-loop" in every and "parallel-loop" not in less and "reduction-loop" in less


def test_a_code_that_no_finding_has_is_wrong_usage(polylsp) -> None:
    ran = polylsp("check", "--select", "paralel-loop")
    assert ran.status == 2 and "paralel-loop is no code of a finding" in ran.err


@pytest.mark.usefixtures("known")
def test_quiet_leaves_out_summaries_and_statistics_findings(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE, b=facts.MANY)
    quiet = polylsp("check", "--quiet").out
    assert "a.c:4:5: sequential-loop" in quiet and "1 loop:" not in quiet and "2 files" not in quiet
    numbers = polylsp("check", "--statistics").out.splitlines()
    assert "a.c:4:5" not in "".join(numbers) and numbers[-1].startswith("2 files: 10 loops")
    counts = [int(each.split()[0]) for each in numbers[:-1]]
    assert counts == sorted(counts, reverse=True) and any(
        each.endswith("  sequential-loop") for each in numbers
    )


def test_a_folder_that_is_not_there_is_told(polylsp) -> None:
    ran = polylsp("check", "lost/")
    assert (ran.status, ran.err) == (3, "polylsp: lost/: No such file or directory\n")


def test_options_become_settings(polylsp, tmp_path: Path, known) -> None:
    write(tmp_path, a="")
    polylsp("check", "-I", "inc", "-Iother", "-D", "N=100", "-DFAST", "--compile-commands", "build", "a.c")
    ((path, settings),) = known
    assert path == "a.c"
    assert settings.include_paths == ("inc", "other")
    assert settings.defines == ("N=100", "FAST")
    assert settings.compile_commands == "build"


@pytest.mark.usefixtures("known")
def test_what_cannot_be_read_is_reported_and_the_rest_goes_on(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE, broken="boom")
    (tmp_path / "x.rs").write_text("")
    ran = polylsp("check", "lost.c", "a.c", "x.rs", "broken.c")
    assert ran.status == 3
    assert "polylsp: lost.c: No such file or directory\n" in ran.err
    assert "polylsp: x.rs: not a C or Python file" in ran.err
    assert "broken.c: internal error" in ran.err and "RuntimeError: a bug" in ran.err
    assert "a.c:4:5: sequential-loop" in ran.out
    assert ran.out.endswith("1 file: 1 loop: 1 sequential\n")


@pytest.mark.usefixtures("known")
def test_json_and_sarif_stay_whole_when_a_file_fails(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE)
    ran = polylsp("check", "--format", "json", "a.c", "lost.c")
    assert ran.status == 3
    assert [each["path"] for each in json.loads(ran.out)["files"]] == ["a.c"]
    ran = polylsp("check", "--format", "sarif", "a.c", "lost.c")
    assert ran.status == 3
    (run,) = json.loads(ran.out)["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["sequential-loop"]
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "lost.c" in told["message"]["text"]


@pytest.mark.usefixtures("known")
def test_findings_of_severity_error_give_status_1(polylsp, tmp_path: Path, monkeypatch) -> None:
    write(tmp_path, a=facts.RECURRENCE)
    monkeypatch.setitem(SEVERITIES, "sequential-loop", "error")
    ran = polylsp("check", "a.c")
    assert ran.status == 1 and ran.out.startswith("a.c:4:5: error: sequential-loop")


@pytest.mark.usefixtures("known")
def test_latin_1_is_ordinary_input(polylsp, tmp_path: Path, known) -> None:
    (tmp_path / "a.c").write_bytes("/* naïve */ void f(void) {}".encode("latin-1"))
    assert polylsp("check", "a.c").status == 0


@pytest.mark.usefixtures("known")
def test_a_limit_on_files_takes_no_memory(polylsp, tmp_path: Path) -> None:
    write(tmp_path, a=facts.RECURRENCE)
    assert polylsp("check", "--max-file-mb", "999999999", "a.c").status == 0
    (tmp_path / "a.c").write_bytes(b" " * (2**20 + 1))
    ran = polylsp("check", "--max-file-mb", "1", "a.c")
    assert (ran.status, ran.err) == (3, "polylsp: a.c: it is larger than 1 MiB (`max_file_mb`)\n")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.py", b"x = '\xe9'", "not UTF-8, and it declares no other encoding"),
        ("a.py", b"x = 1\ny = 1\nz = 1\n# \xe9", "line 4 is not UTF-8, the encoding of the file"),
        ("a.py", b"# coding: nonsense\n", "its encoding is not known"),
        ("a.py", b"# coding: ascii\n\n\n# \xe9", "line 4 is not ASCII, the encoding of the file"),
    ],
)
@pytest.mark.parametrize("command", ["check", "model", "report"])
def test_a_wrong_encoding_is_one_line(
    polylsp, tmp_path: Path, name: str, data: bytes, words: str, command: str
) -> None:
    (tmp_path / name).write_bytes(data)
    ran = polylsp(command, name)
    assert (ran.status, ran.out, ran.err) == (3, "", f"polylsp: {name}: {words}\n")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("data", [b"# coding: latin-1\nx = '\xe9'", b"\xef\xbb\xbfx = 1", "é = 1".encode()])
def test_encodings_of_python(polylsp, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.py").write_bytes(data)
    ran = polylsp("check", "a.py")
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("command", ["check", "report"])
def test_a_folder_that_cannot_be_read_is_told_and_the_rest_goes_on(
    polylsp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    write(tmp_path, a=facts.RECURRENCE, closed__b=facts.RECURRENCE)
    scandir = os.scandir

    def refusing(path: str = "."):
        if Path(path).name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    ran = polylsp(command, ".")
    assert (ran.status, ran.err) == (3, "polylsp: closed: Permission denied\n")
    assert "a.c" in ran.out or command == "report"


@pytest.mark.parametrize("command", ["model", "explain"])
def test_a_folder_is_no_file(polylsp, tmp_path: Path, command: str) -> None:
    (tmp_path / "src").mkdir()
    ran = polylsp(command, "src:1" if command == "explain" else "src")
    assert (ran.status, ran.out, ran.err) == (3, "", "polylsp: src: Is a directory\n")


def test_an_empty_path_is_wrong_usage(polylsp) -> None:
    ran = polylsp("check", "")
    assert (ran.status, ran.out, ran.err) == (2, "", "polylsp: a path is empty\n")


@pytest.mark.usefixtures("known")
def test_an_empty_folder_is_mentioned(polylsp, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = polylsp("check", "empty")
    assert (ran.status, ran.out, ran.err) == (0, "", "polylsp: no C or Python files in empty\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("known", "polylsp")
@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_on_a_terminal(
    tmp_path: Path, monkeypatch, environment: dict[str, str], coloured: bool
) -> None:
    from polylsp.cli import main

    write(tmp_path, a=facts.RECURRENCE)
    out = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", out)
    assert main(["check", "a.c"]) == 0
    assert ("\x1b[" in out.getvalue()) == coloured
    assert "sequential-loop" in out.getvalue()


@pytest.mark.usefixtures("known", "polylsp")
def test_the_bar_is_drawn_only_on_a_terminal(tmp_path: Path, monkeypatch, capsys) -> None:
    from polylsp.cli import main

    write(tmp_path, a=facts.RECURRENCE, b=facts.RECURRENCE)
    assert main(["check", "a.c", "b.c"]) == 0
    assert capsys.readouterr().err == ""
    err = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr("sys.stderr", err)
    assert main(["check", "a.c", "b.c"]) == 0
    assert "2/2 files, 2 loops" in err.getvalue()
    assert "files" not in capsys.readouterr().out.split("2 files")[0]


def test_a_terminal_that_knows_few_characters_gets_question_marks(tmp_path: Path, monkeypatch, known) -> None:
    from polylsp.cli import main

    write(tmp_path, a=facts.RECURRENCE)
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", out)
    assert main(["check", str(tmp_path / "a.c")]) == 0
    assert b"`a[i] = ?`" in out.buffer.getvalue()  # type: ignore[attr-defined]


def test_a_dead_process_costs_one_file(polylsp, tmp_path: Path, monkeypatch) -> None:
    write(tmp_path, a="", b="")
    news = [(1, Crashed("the analysis process died")), (0, check.Head("c")), (1, Finished()), (0, Finished())]
    monkeypatch.setattr(check, "stream", lambda *_: iter(news))
    ran = polylsp("check", "--jobs", "2", "a.c", "b.c")
    assert ran.status == 3
    assert ran.err == "polylsp: b.c: the analysis process died\n"


FOUR = "".join(
    f"void f{k}(int n, double *a)\n{{\n    for (int i = 1; i < n; i++)\n        a[i] = a[i - 1];\n}}\n"
    for k in range(4)
)


@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_findings_are_in_the_order_of_the_text_in_whatever_order_they_come(
    polylsp, tmp_path: Path, monkeypatch, form: str
) -> None:
    write(tmp_path, a=FOUR, b=FOUR)
    expected = polylsp("check", "--format", form, "a.c", "b.c")

    def shuffled(work, tasks, *_: object):
        first, second = (check.check_file(task, frozenset(), lambda *_: None) for task in tasks)
        yield from (
            (0, first[0]),
            (0, first[4]),
            (1, second[0]),
            (1, second[3]),
            (0, first[1]),
            (1, second[1]),
        )
        yield from ((0, first[0]), (0, first[3]), (1, second[4]), (1, second[2]), (1, Finished()))
        yield from ((0, first[3]), (0, first[2]), (0, Finished()))

    monkeypatch.setattr(check, "stream", shuffled)
    assert polylsp("check", "--format", form, "a.c", "b.c") == expected
    assert expected.out.count("sequential") >= 8


def test_findings_are_printed_as_soon_as_none_can_come_before_them(
    polylsp, tmp_path: Path, monkeypatch, capsys
) -> None:
    write(tmp_path, a=FOUR, b=FOUR)
    lines: list[list[int]] = []

    def told() -> None:
        lines.append([int(found) for found in re.findall(r"^\w\.c:(\d+):", capsys.readouterr().out, re.M)])

    def watched(work, tasks, *_: object):
        first, second = (check.check_file(task, frozenset(), lambda *_: None) for task in tasks)
        for news in (first[0], first[1], first[3], first[2]):
            yield 0, news
            told()
        yield 1, second[0]
        yield 1, second[1]
        told()
        yield 0, first[4]
        yield 0, Finished()
        told()
        yield from ((1, second[k]) for k in (2, 3, 4))
        yield 1, Finished()

    monkeypatch.setattr(check, "stream", watched)
    assert polylsp("check", "a.c", "b.c").status == 0
    assert lines == [[], [3], [], [8, 13], [], [18, 3]]
