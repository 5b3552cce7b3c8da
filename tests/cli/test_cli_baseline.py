"""Baselines: findings that are known are neither shown nor counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RACE = """\
void sum(int n, double *a) {
    #pragma omp parallel for
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}
"""
LOOP = """\
    for (int i = 1; i < n; i++)
        a[i] = a[i - 1];
"""
TWICE = f"void chain(int n, double *a) {{\n{LOOP}{LOOP}}}\n"
PYTHON = """\
import numpy as np

def chain(a: np.ndarray):
    for i in range(1, len(a)):
        a[i] = a[i - 1] // 2
"""


@pytest.fixture(autouse=True)
def project(polylsp, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "race.c").write_text(RACE)
    (tmp_path / "src" / "chain.c").write_text(TWICE)
    (tmp_path / "src" / "chain.py").write_text(PYTHON)


def shown(ran) -> list[tuple[str, str]]:
    files = json.loads(ran.out)["files"]
    return [(each["path"], found["code"]) for each in files for found in each["diagnostics"]]


def test_known_findings_are_neither_shown_nor_counted(polylsp) -> None:
    before = polylsp("check", "--format", "json", "src")
    assert before.status == 1 and len(shown(before)) == 5
    written = polylsp("check", "--write-baseline", "known.json", "src")
    assert (written.status, written.out, written.err) == (0, "known.json: 5 findings written\n", "")
    for form in ("json", "sarif", "text"):
        ran = polylsp("check", "--format", form, "--baseline", "known.json", "src")
        assert ran.status == 0 and "sequential-loop" not in ran.out and "wrong-pragma" not in ran.out
    assert ran.out.endswith("3 files: 4 loops: 4 sequential\n5 known findings are not shown (known.json)\n")
    numbers = polylsp("check", "--statistics", "--baseline", "known.json", "src")
    assert numbers.out.startswith("3 files")
    assert "known" not in polylsp("check", "--quiet", "--baseline", "known.json", "src").out


def test_neither_lines_nor_comments_nor_the_working_folder_matter(
    polylsp, tmp_path: Path, monkeypatch
) -> None:
    polylsp("check", "--write-baseline", "known.json", "src")
    race = "int above;\n\n/* more */\n" + RACE.replace("a[i] +=", "a[i]  +=").replace(
        "i++) {", "i++)   { // a comment\n"
    )
    (tmp_path / "src" / "race.c").write_text(race)
    (tmp_path / "src" / "chain.py").write_text("# above\n" + PYTHON.replace("len(a)):", "len(a)):  # steps"))
    monkeypatch.chdir(tmp_path / "src")
    ran = polylsp("check", "--format", "json", "--baseline", "../known.json", ".")
    assert (ran.status, shown(ran)) == (0, [])


@pytest.mark.parametrize(
    ("file", "old", "new", "code"),
    [
        ("race.c", "a[i] += a[i - 1]", "a[i] += 2 * a[i - 1]", "wrong-pragma"),
        ("race.c", "#pragma omp parallel for", "#pragma omp parallel for simd", "wrong-pragma"),
        ("race.c", "void sum", "void total", "wrong-pragma"),
        ("chain.c", "a[i - 1];\n}", "2 * a[i - 1];\n}", "sequential-loop"),
        ("chain.py", "// 2", "// 3", "sequential-loop"),
    ],
)
def test_another_text_or_function_is_another_finding(
    polylsp, tmp_path: Path, file: str, old: str, new: str, code: str
) -> None:
    polylsp("check", "--write-baseline", "known.json", "src")
    path = tmp_path / "src" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    ran = polylsp("check", "--format", "json", "--baseline", "known.json", "src")
    found = shown(ran)
    assert found[0] == (f"src/{file}", code) and {path for path, _ in found} == {f"src/{file}"}
    assert ran.status == (1 if code == "wrong-pragma" else 0)
    assert len(found) == (2 if file == "race.c" and "simd" not in new else 1)


def test_another_file_is_another_finding(polylsp, tmp_path: Path) -> None:
    polylsp("check", "--write-baseline", "known.json", "src")
    (tmp_path / "src" / "race.c").rename(tmp_path / "src" / "other.c")
    ran = polylsp("check", "--format", "json", "--baseline", "known.json", "src")
    assert shown(ran) == [("src/other.c", "wrong-pragma"), ("src/other.c", "sequential-loop")]
    assert ran.status == 1


def test_equal_findings_are_counted(polylsp, tmp_path: Path) -> None:
    polylsp("check", "--write-baseline", "known.json", "src")
    path = tmp_path / "src" / "chain.c"
    path.write_text(TWICE.replace(LOOP, LOOP + LOOP, 1))
    ran = polylsp("check", "--format", "json", "--baseline", "known.json", "src")
    assert shown(ran) == [("src/chain.c", "sequential-loop")]


def test_a_baseline_is_the_same_each_time_and_has_what_is_shown(polylsp, tmp_path: Path) -> None:
    polylsp("check", "--write-baseline", "one.json", "src")
    polylsp("check", "--write-baseline", "two.json", "src/race.c", "src/chain.c", "src/chain.py")
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    first = json.loads((tmp_path / "one.json").read_text())["findings"][0]
    assert {**first, "digest": ""} == {
        "file": "src/chain.c", "function": "chain", "code": "sequential-loop",
        "text": "for (int i = 1; i < n; i++)", "digest": "", "count": 2,
    }  # fmt: skip
    polylsp("check", "--severity", "error", "--write-baseline", "one.json", "src")
    (only,) = json.loads((tmp_path / "one.json").read_text())["findings"]
    assert only["code"] == "wrong-pragma"


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"version": 1}', "[" * 100_000, '{"version": 1, "findings": [1]}', "\x00\xff",
        '{"version": 1, "findings": [{"file": 1, "code": "", "function": "", "digest": "", "text": ""}]}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_baseline(polylsp, tmp_path: Path, text: str) -> None:
    (tmp_path / "known.json").write_text(text)
    ran = polylsp("check", "--baseline", "known.json", "src")
    expected = "polylsp: known.json: not a baseline as --write-baseline makes them\n"
    assert (ran.status, ran.out, ran.err) == (2, "", expected)


def test_files_that_cannot_be_read_or_written(polylsp, tmp_path: Path) -> None:
    ran = polylsp("check", "--baseline", "lost.json", "src")
    assert (ran.status, ran.out, ran.err) == (2, "", "polylsp: lost.json: No such file or directory\n")
    ran = polylsp("check", "--write-baseline", "lost/known.json", "src")
    assert (ran.status, ran.err) == (2, "polylsp: lost/known.json: not written: No such file or directory\n")
    (tmp_path / "known.json").write_text('{"version": 2}')
    ran = polylsp("check", "--baseline", "known.json", "src")
    assert ran.status == 2 and "another version" in ran.err


def test_a_baseline_of_some_files_is_not_written(polylsp, tmp_path: Path) -> None:
    ran = polylsp("check", "--write-baseline", "known.json", "src", "lost.c")
    assert ran.status == 3 and "not written: not all files were checked" in ran.err
    assert not (tmp_path / "known.json").exists()


@pytest.mark.parametrize("other", ["--fix", "--diff", "--write-baseline=x"])
def test_a_baseline_goes_with_nothing_that_writes(polylsp, other: str) -> None:
    assert polylsp("check", "--baseline", "known.json", other, "src").status == 2
