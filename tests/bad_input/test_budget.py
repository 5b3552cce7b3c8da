"""Nests that cost more than they are worth: given up, and everything else is answered."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import Checked, function

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Parallel, Sequential, Unknown

MINMAX = "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n#define MAX(a, b) ((a) > (b) ? (a) : (b))\n"
PARAMETERS = "int n, int m, double *a"


def _clamped() -> str:
    """Bounds out of minima and maxima of the loops around, with strides."""
    headers = "for (int i0 = 0; i0 < n; i0 += 2)\n"
    for k in range(1, 6):
        low = f"MAX(MAX(i{k - 1} / 3, n / {k + 1} - i{k - 1}), MAX(i{k - 1} - m, 0))"
        high = f"MIN(MIN(n - i{k - 1}, m / {k + 2} + i{k - 1}), MIN(2 * i{k - 1} + {k}, n))"
        headers += f"for (int i{k} = {low}; i{k} < {high}; i{k} += {k + 2})\n"
    return headers + "a[i0 + i1 - i2 + i3 - i4 + i5] = a[i5 - i4 + 2 * i3 - i2 + i1 / 2 + i0 % 7];"


def _disjunctions() -> str:
    headers = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++)\n" for k in range(4))
    parts = [
        f"(i{k % 4} * {k + 3} > i{(k + 1) % 4} * {k + 2} + {k} || i{(k + 2) % 4} % {2 * k + 3} != {k})"
        for k in range(6)
    ]
    return f"{headers}if ({' && '.join(parts)})\na[i0 + i1 + i2 + i3] += a[2 * i0 + 3 * i1 - i2 - i3];"


def _moduli() -> str:
    """Integer points that are hard to find: few, and far from each other."""
    headers = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++)\n" for k in range(5))
    parts = [
        f"(i{k} * {p} + i{(k + 1) % 5} * {q}) % {r} < {s}"
        for k, (p, q, r, s) in enumerate(
            [(3, 7, 97, 5), (5, 11, 89, 4), (13, 3, 83, 7), (17, 5, 79, 9), (19, 2, 101, 6)]
        )
    ]
    write = "a[(i0 * 3 + i1 * 5 + i2 * 7 + i3 * 11 + i4 * 13) / 17]"
    read = "a[(i0 * 2 + i1 * 3 + i2 * 5 + i3 * 7 + i4 * 11) / 13 + 1]"
    return f"{headers}if ({' && '.join(parts)})\n{write} = {read};"


def _strides() -> str:
    """A deep nest that is not rectangular, with large strides."""
    strides = (101, 103, 107, 109, 113, 127, 131, 137)
    headers = "".join(
        f"for (int i{k} = {f'i{k - 1}' if k else 0}; i{k} < n; i{k} += {stride})\n"
        for k, stride in enumerate(strides)
    )
    write = " + ".join(f"{k + 2} * i{k}" for k in range(8))
    read = " - ".join(f"{k + 3} * i{k}" for k in range(8))
    return f"{headers}a[{write}] = a[{read}];"


def _squares() -> str:
    squares = "".join(f"int k{k + 1} = k{k} * k{k};\n" for k in range(30))
    return f"for (int i = 0; i < n; i++) {{ int k0 = i;\n{squares} a[k30] = i; }}"


def _choices() -> str:
    choices = "".join(f"k = k > {k} ? k - {k} : {k} - k;\n" for k in range(1, 30))
    return f"for (int i = 0; i < n; i++) {{ int k = i;\n{choices} a[k] = i; }}"


@pytest.mark.parametrize("body", [_clamped(), _disjunctions()], ids=["clamped", "disjunctions"])
def test_a_nest_that_takes_too_many_operations_is_given_up(check, body: str) -> None:
    settings = "findings=all", "max_seconds=120", "max_operations=300000"
    given = (part for one in settings for part in ("--setting", one))
    found = check(MINMAX + function(body, PARAMETERS), *given)
    assert found.keeps_the_good_ones()
    assert "budget" in found.verdicts("odd")
    given_up = [said for said in found.messages("not-analyzable") if "isl operations" in said]
    assert len(given_up) == found.verdicts("odd").count("budget")
    assert all("polylsp.max_operations" in said for said in given_up)


def test_a_value_of_too_many_cases_is_not_followed(check) -> None:
    found = check(function(_choices(), PARAMETERS))
    assert found.keeps_the_good_ones()
    assert found.verdicts("odd") == ["non-affine-subscript"]


@pytest.mark.parametrize("body", [_moduli(), _strides(), _squares()], ids=["moduli", "strides", "squares"])
def test_a_nest_that_takes_too_long_is_given_up(tmp_path: Path, body: str) -> None:
    """Here a single step takes for ever, and no count of steps can stop it."""
    found = check_in_a_process(tmp_path, function(body, PARAMETERS))
    assert found.keeps_the_good_ones()
    assert set(found.verdicts("odd")) <= {"budget", "parallel", "sequential", "non-affine-subscript"}


def check_in_a_process(folder: Path, text: str) -> Checked:
    """As `check`, but what hangs, or wants all memory, can be ended."""
    (folder / "bad.c").write_text(text)
    command = [sys.executable, "-m", "polylsp", "check", "--format", "json", "bad.c"]
    command += ["--setting", "max_seconds=3"]
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=500,
            preexec_fn=_limit_memory,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.fail("the analysis does not come to an end")
    assert "internal error" not in ran.stderr, ran.stderr
    (found,) = json.loads(ran.stdout)["files"]
    return Checked(ran.returncode, found, ran.stderr)


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))


MIXED = """\
#define MAX(a, b) ((a) > (b) ? (a) : (b))
static void row(int n, double *x, int i) { for (int j = 0; j < n; j++) x[i * n + j] = 0.0; }
void clear(int n, double *x) { for (int i = 0; i < n; i++) row(n, x, i); }
void sweep(int n, double a[n][n])
{
    for (int t = 0; t < n; t++)
        for (int i = MAX(1, t - 3); i < n - 1; i += 2)
            for (int j = 1; j < n - 1; j++) {
                double s = a[i - 1][j] + a[i][j - 1];
                if (j % 3 == 1) a[i][j] = s;
            }
}
double sum(int n, const double *x) { double s = 0.0; for (int i = 0; i < n; i++) s += x[i]; return s; }
"""


def test_wherever_the_budget_ends(tmp_path: Path) -> None:
    """The last operation may be any, and stops nothing but its nest."""
    operations = 1
    seen: set[str] = set()
    while operations < 2_000_000:
        report = analyse(str(tmp_path / "mixed.c"), MIXED, Settings(max_operations=operations))
        verdicts = [loop.verdict for placed in report.functions for loop in placed.answer.facts.loops]
        assert len(verdicts) == 6
        for verdict in verdicts:
            match verdict:
                case Unknown(rejection=rejection):
                    seen.add(rejection.code)
                case Parallel() | Sequential():
                    seen.add("decided")
        operations = operations * 6 // 5 + 1
    assert seen >= {"budget", "decided"}
