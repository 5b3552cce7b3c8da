from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.cli import offload

SAFE = """\
void scale(double a[1000][1000])
{
    for (int i = 0; i < 1000; i++)
        for (int j = 0; j < 1000; j++)
            a[i][j] *= 2;
}
"""
FIXED = SAFE.replace("    for (int i", "    #pragma omp parallel for\n    for (int i")
LACKING = """\
void twice(int n, const double *restrict a, double *restrict b)
{
    double t;
    #pragma omp parallel for
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t + t;
    }
}
"""
UNSAFE = {
    "a condition": "void f(int n, double *a, double *b)\n{\n"
    "    for (int i = 0; i < n; i++)\n        a[i] = b[i];\n}\n",
    "a sum": "double f(double a[90000])\n{\n    double s = 0;\n    for (int i = 0; i < 90000; i++)\n"
    "        s += a[i];\n    return s;\n}\n",
    "a recurrence": "void f(double a[90000])\n{\n    for (int i = 1; i < 90000; i++)\n"
    "        a[i] += a[i - 1];\n}\n",
    "little work": "void f(double a[9])\n{\n    for (int i = 0; i < 9; i++)\n        a[i] = 0;\n}\n",
    "ignored": SAFE.replace("    for (int i", "    // polylsp: ignore\n    for (int i"),
}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_this_process(work, tasks, *_: object):
        return (work(each, frozenset(), lambda *_: None) for each in tasks)

    monkeypatch.setattr(offload, "results", in_this_process)


def test_what_is_proven_safe_is_written(polylsp, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(SAFE)
    ran = polylsp("check", "--fix")
    assert path.read_text() == FIXED and ran.err == "polylsp: a.c: 1 safe fix applied\n"
    assert polylsp("check", "--fix").err == "" and path.read_text() == FIXED


def test_a_clause_that_is_lacking_is_added(polylsp, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(LACKING)
    polylsp("check", "--fix", "a.c")
    assert path.read_text() == LACKING.replace("parallel for", "parallel for private(t)")


@pytest.mark.parametrize("text", UNSAFE.values(), ids=list(UNSAFE))
def test_what_rests_on_something_is_left_alone(polylsp, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.c"
    path.write_text(text)
    assert polylsp("check", "--fix", "a.c").err == "" and path.read_text() == text


def test_a_diff_changes_nothing(polylsp, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(SAFE)
    ran = polylsp("check", "--diff", "a.c")
    assert path.read_text() == SAFE and ran.status == 0
    assert "+    #pragma omp parallel for\n" in ran.out and "parallel-band" not in ran.out


def test_what_cannot_be_read_is_told(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SAFE)
    for option in ("--diff", "--fix"):
        ran = polylsp("check", option, "lost.c", "a.c")
        assert ran.status == 3 and ran.err.count("lost.c: No such file or directory") == 1


def test_findings_that_are_not_selected_are_not_fixed(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SAFE)
    assert polylsp("check", "--diff", "--select", "incomplete-pragma", "a.c").out == ""


def test_a_file_that_cannot_be_written_is_told(polylsp, tmp_path: Path) -> None:
    path = tmp_path / "a.c"
    path.write_text(SAFE)
    path.chmod(0o444)
    ran = polylsp("check", "--fix", "a.c")
    assert ran.status == 3 and "not edited" in ran.err and path.read_text() == SAFE
