"""The command line on real files, with the real analysis."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

PROGRAM = """\
#include <math.h>
#include "lost.h"

void sweep(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n; j++)
            a[i][j] = sqrt(a[i - 1][j]);
}

int broken(void) { return 1 + ; }

void scale(int n, double *a) {
    for (int i = 0; i < n; i++)
        a[i] *= 2.0;
}
"""


@pytest.fixture(autouse=True)
def program(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(PROGRAM)


def test_each_loop_has_its_verdict_and_a_broken_function_costs_only_itself(polylsp) -> None:
    ran = polylsp("check", "--setting", "findings=all", "--format", "json", "a.c")
    assert ran.status == 0 and ran.err == ""
    (file,) = json.loads(ran.out)["files"]
    assert [(loop["function"], loop["iterator"], loop["verdict"]) for loop in file["loops"]] == [
        ("sweep", "i", "sequential"),
        ("sweep", "j", "parallel"),
        ("scale", "i", "parallel"),
    ]
    found = {(each["code"], each["range"]["start"]["line"]) for each in file["diagnostics"]}
    assert {
        ("missing-header", 1),
        ("needs-interchange", 4),
        ("parallel-loop", 5),
        ("parallel-loop", 12),
    } <= found
    assert "syntax-error" in {code for code, _ in found}


def test_a_witness_is_a_real_conflict(polylsp) -> None:
    (file,) = json.loads(polylsp("check", "--format", "json", "a.c").out)["files"]
    witness = file["loops"][0]["witness"]
    assert witness["kind"] == "flow" and witness["distance"] == 1
    assert (witness["source"]["text"], witness["sink"]["text"]) == ("a[i][j]", "a[i - 1][j]")
    first, second = witness["source"]["iteration"], witness["sink"]["iteration"]
    assert (first["i"], first["j"]) == (second["i"] - 1, second["j"])
    assert max(second.values()) < witness["parameters"]["n"]


def test_several_processes_print_the_same(polylsp, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"b{number}.c").write_text(PROGRAM.replace("sweep", f"sweep{number}"))
    alone = polylsp("check", ".")
    together = polylsp("check", "--jobs", "2", ".")
    assert together == alone
    assert alone.out.index("b0.c:5:5") < alone.out.index("b1.c:5:5") < alone.out.index("b2.c:5:5")


def test_options_reach_the_analysis(polylsp, tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "lost.h").write_text("")
    (tmp_path / "d.c").write_text(
        "void f(double *a) { for (int i = 0; i < SIZE; i++) a[i] = a[i + SHIFT]; }\n"
    )
    ran = polylsp("check", "-I", "inc", "-DSIZE=100", "-D", "SHIFT=1", "--format", "json", "a.c", "d.c")
    first, second = json.loads(ran.out)["files"]
    assert "missing-header" not in {each["code"] for each in first["diagnostics"]}
    assert second["loops"][0]["witness"]["kind"] == "anti"


def test_sarif(polylsp) -> None:
    (run,) = json.loads(polylsp("check", "--format", "sarif", "a.c").out)["runs"]
    assert {"needs-interchange", "parallel-loop", "missing-header"} <= {
        each["ruleId"] for each in run["results"]
    }


def test_model_gives_every_relation_of_the_contract(polylsp) -> None:
    nests = json.loads(polylsp("model", "--format", "json", "a.c").out)["nests"]
    sweep = next(nest for nest in nests if nest["function"] == "sweep")
    assert "S0[i, j]" in sweep["domain"] and "a[" in sweep["must_writes"] and "a[" in sweep["reads"]
    assert all(
        isinstance(sweep[name], str) for name in ("context", "schedule", "may_writes", "flow", "false")
    )
    assert "sweep, loops i and j" in polylsp("model", "a.c").out


def test_explain_in_words_and_as_json(polylsp) -> None:
    ran = polylsp("explain", "a.c:5")
    assert ran.status == 0
    assert "`i` cannot run in parallel" in ran.out and "`S0` runs for each (i, j) with" in ran.out
    found = json.loads(polylsp("explain", "a.c:6", "--format", "json").out)
    assert found["loop"]["verdict"] == "parallel" and found["nest"]["transform"] == "interchange"


def test_a_picture_has_the_points_and_the_arrows(polylsp) -> None:
    ran = polylsp("explain", "a.c:5", "--format", "svg", "--dimensions", "j,i")
    assert ran.status == 0
    root = ElementTree.fromstring(ran.out)
    tags = [each.tag.rpartition("}")[2] for each in root.iter()]
    assert tags.count("circle") > 4 and tags.count("path") > 4


def test_a_picture_of_iterators_that_are_not_there_is_refused(polylsp) -> None:
    ran = polylsp("explain", "a.c:5", "--format", "svg", "--dimensions", "x,y")
    assert ran.status == 2 and ran.out == ""


def test_a_wrong_directive_is_an_error_and_an_incomplete_one_a_warning(polylsp, tmp_path: Path) -> None:
    head = "void f(int n, double *a, double s) {{\n#pragma omp parallel for\n"
    loop = head + "  for (int i = 1; i < n; i++) {}\n}}\n"
    (tmp_path / "wrong.c").write_text(loop.format("a[i] = a[i - 1];"))
    (tmp_path / "incomplete.c").write_text(loop.format("{ s = a[i]; a[i] = s * s; }"))
    ran = polylsp("check", "wrong.c")
    assert ran.status == 1
    assert "wrong.c:2:1: error: wrong-pragma\n    `omp parallel for` lets iterations of `i`" in ran.out
    ran = polylsp("check", "incomplete.c")
    assert ran.status == 0
    assert "incomplete.c:2:1: warning: incomplete-pragma\n    All iterations of `i` share `s`" in ran.out
    assert "needs-privatization" not in ran.out
