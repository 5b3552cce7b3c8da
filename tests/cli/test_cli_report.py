"""The ranking of loops by what running them in parallel would gain."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from polylsp.cli import report
from polylsp.model.action import Answer, Ask
from tests.loud import quiet

SOURCE = """\
#define N 2000
#define FEW 10
static double a[N][N], b[N][N], c[N];
int next(void);

void swapped(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = b[j][i];
}

void steps(int n, double *x, double *y) {
    for (int t = 0; t < 100; t++) {
        for (int i = 0; i < n; i++)
            x[i] = y[i];
        for (int i = 0; i < n; i++)
            y[i] = 0.5 * x[i];
    }
}

double line(void) {
    double s = 0;
    for (int i = 0; i < 10 * N; i++)
        s += c[i % N];
    return s;
}

void few(void) {
    for (int i = 0; i < FEW; i++)
        c[i] = 0;
}

void running(int n, double *restrict x) {
    #pragma omp parallel for
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i * n + j] = 0;
}

void inside(int n, double x[n][n]) {
    for (int i = 0; i < n; i++)
        #pragma omp parallel for
        for (int j = 0; j < n; j++)
            x[i][j] = 0;
}

void chain(int n, double *x) {
    for (int i = 1; i < n; i++)
        x[i] = x[i - 1];
}

void unknown(int n, double *x) {
    for (int i = 0; i < n; i++)
        x[i] = next();
}

void rows(int n, const int *restrict start, const double *restrict v, double *restrict y) {
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int k = start[i]; k < start[i + 1]; k++)
            s += v[k];
        y[i] = s;
    }
}

const double *walk(int n, const double *restrict x, double *restrict y) {
    while (n--)
        y[n] = *x++;
    return x;
}
"""


@pytest.fixture
def ranking(polylsp, tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "a.c").write_text(SOURCE)
    ran = polylsp("report", "--format", "json", "a.c")
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


def line(found: dict[str, Any]) -> str:
    return SOURCE.splitlines()[found["range"]["start"]["line"]].strip()


def test_loops_are_ranked_by_their_work(ranking: dict[str, Any]) -> None:
    found = [(each["function"], each["work"]) for each in ranking["loops"]]
    assert found[0] == ("swapped", {"operations": 4_000_000, "factors": []})
    assert found[1] == ("line", {"operations": 20_000, "factors": []})
    assert found[2:4] == 2 * [("steps", {"operations": 100, "factors": ["n"]})]
    assert found[4] == ("walk", {"operations": 1, "factors": ["n"]})
    assert found[5] == ("rows", None)
    assert [each["rank"] for each in ranking["loops"]] == [1, 2, 3, 4, 5, 6]


def test_the_outermost_useful_loop_of_each_nest_is_named(ranking: dict[str, Any]) -> None:
    assert [line(each) for each in ranking["loops"][:3]] == [
        "for (int i = 0; i < N; i++)",
        "for (int i = 0; i < 10 * N; i++)",
        "for (int i = 0; i < n; i++)",
    ]
    assert [each["verdict"] for each in ranking["loops"][:2]] == ["parallel", "reduction"]


def test_what_runs_in_parallel_or_does_too_little_is_counted_only(ranking: dict[str, Any]) -> None:
    functions = {each["function"] for each in ranking["loops"]}
    assert not functions & {"running", "inside", "few", "chain", "unknown"}
    assert (ranking["running"], ranking["small"]) == (3, 1)
    assert ranking["unknown"] == {"unknown-call": 1}
    assert ranking["verdicts"]["unknown"] == 1


def test_every_command_makes_an_edit_under_the_condition_that_is_named(
    polylsp, ranking: dict[str, Any]
) -> None:
    commands = [each for each in ranking["loops"] if each["command"]]
    assert len(commands) == 5
    for each in commands:
        _, *arguments = shlex.split(each["command"])
        ran = polylsp(*arguments)
        assert ran.status == 0 and "+    #pragma omp parallel for" in ran.out.replace("+        #", "+    #")
        condition = each["condition"]
        told = [each for each in ran.err.splitlines() if each.startswith("polylsp: right only if ")]
        assert told == ([f"polylsp: right only if {condition}"] if condition else [])
    assert any(each["condition"] == "`x` and `y` do not overlap" for each in commands)
    (other,) = (each for each in ranking["loops"] if not each["command"])
    assert other["function"] == "walk" and other["obstacle"].startswith("A directive cannot stand before")


@pytest.mark.usefixtures("ranking")
def test_text_is_at_most_100_columns_and_says_the_same(polylsp, monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in ("200", "100", "60"):
        monkeypatch.setenv("COLUMNS", columns)
        text = polylsp("report", "a.c").out
        assert max(map(len, text.splitlines())) <= min(int(columns), 100)
    places = re.findall(r"^ *(\d+)\. (\S+)", text, re.MULTILINE)
    assert places[0] == ("1", "a.c:7") and len(places) == 6
    headings = [each for each in text.splitlines() if each.endswith(":") and not each.startswith(" ")]
    assert [each.split()[0] for each in headings[:3]] == ["By", "Sizes", "Work"]
    assert "about 4,000,000 operations" in text and "about `100 * n` operations" in text
    assert "1  unknown-call" in text and "3 in or under a parallel directive" in text


@pytest.mark.usefixtures("ranking")
def test_a_project_decides_what_is_too_little_and_the_top_is_cut(polylsp, tmp_path: Path) -> None:
    text = polylsp("report", "--top", "2").out
    assert "  2. a.c:23" in text and "  3. " not in text
    assert "4 more, which rank lower: --top 6 shows all" in text
    (tmp_path / ".polylsp.toml").write_text("parallel_threshold = 100_000")
    found = json.loads(polylsp("report", "--format", "json").out)
    assert [each["function"] for each in found["loops"]][:2] == ["swapped", "steps"] and found["small"] == 2


def test_python(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text(
        "import numpy as np\n\ndef scale(a: np.ndarray, k: float):\n    for i in range(len(a)):\n"
        "        a[i] = k * a[i]\n"
    )
    (found,) = json.loads(polylsp("report", "--format", "json", ".").out)["loops"]
    assert found["command"] == "polylsp offload 'a b.py:4' --target numba"
    assert found["work"] == {"operations": 1, "factors": ["a.shape[0]"]}


def test_a_profile_decides_the_order_and_names_hot_loops(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    number = {
        name: SOURCE.splitlines().index(f"void {name}") + 2 for name in ("few(void) {", "swapped(void) {")
    }
    chain = SOURCE.splitlines().index("void chain(int n, double *x) {") + 2
    stacks = f"""main;few (a.c:{number["few(void) {"]}) 60
main;chain (a.c:{chain}) 30
main;swapped (a.c:{number["swapped(void) {"] + 2}) 10
"""
    (tmp_path / "stacks.txt").write_text(stacks)
    ran = polylsp("report", "--profile", "stacks.txt", "--format", "json", "a.c")
    found = json.loads(ran.out)
    assert [each["function"] for each in found["loops"][:3]] == ["few", "swapped", "line"]
    assert found["loops"][0]["samples"] == {"fraction": 0.6, "of": "loop"} and found["small"] == 0
    assert found["loops"][2]["samples"] is None
    (hot,) = found["hot"]
    assert (hot["verdict"], hot["range"]["start"]["line"] + 1) == ("sequential", chain)
    text = polylsp("report", "--profile", "stacks.txt", "a.c").out
    assert text.startswith("By samples of the profile:")
    assert "`i` of `few`: 60% of the samples" in text and "Not in the profile:" in text
    assert f"a.c:{chain}  sequential, 30% of the samples" in text


def test_what_is_no_profile_is_refused(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    ran = polylsp("report", "--profile", "a.c", "a.c")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("polylsp: a.c: ") and ran.err.count("\n") == 1


def test_files_that_cannot_be_read_and_folders_without_files(polylsp, tmp_path: Path) -> None:
    ran = polylsp("report", "lost.c")
    assert (ran.status, ran.out, ran.err) == (3, "", "polylsp: lost.c: No such file or directory\n")
    ran = polylsp("report", ".")
    assert (ran.status, ran.out, ran.err) == (0, "", "polylsp: no C or Python files in .\n")
    (tmp_path / "a.c").write_text("void f(int n, double *x) { for (int i = 0; i < n; i++) x[i] = 0; }")
    ran = polylsp("report", "lost.c", "a.c")
    assert ran.status == 3 and "a.c:1" in ran.out


def test_a_loop_whose_edit_takes_too_long_is_listed_without(polylsp, tmp_path: Path, monkeypatch) -> None:
    def given_up(work, files, jobs, settings):
        key = f"estimate {SOURCE.index('void swapped')} 1"
        return (work(file, frozenset([key]), lambda *_: None) for file in files)

    monkeypatch.setattr(report, "results", given_up)
    (tmp_path / "a.c").write_text(SOURCE)
    found = json.loads(polylsp("report", "--format", "json", "a.c").out)["loops"]
    (one,) = (each for each in found if each["function"] == "swapped")
    assert one["work"] is None and one["command"] is None
    assert one["obstacle"] == "Its edit takes too long to make."
    assert len(found) == 6


def test_a_bug_costs_one_loop(polylsp, tmp_path: Path, monkeypatch) -> None:
    from polylsp.engine import queries

    def broken(path: str, text: str, settings: object, ask: Ask) -> Answer:
        if ask.function == "swapped":
            raise RuntimeError("a bug")
        return edit(path, text, settings, ask)

    edit = queries.edit
    monkeypatch.setattr(queries, "edit", broken)
    (tmp_path / "a.c").write_text(SOURCE)
    with quiet():
        ran = polylsp("report", "--format", "json", "a.c")
    found = json.loads(ran.out)["loops"]
    obstacles = {each["function"]: each["obstacle"] for each in found}
    assert ran.status == 0 and len(found) == 6 and obstacles["line"] is None
    assert obstacles["swapped"].startswith("An internal error of polylsp stopped")
