from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from random import Random

import facts
import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.engine.queries import analyse
from polylsp.ide.diagnostics import LOOP_CODES, diagnostics, function_diagnostics
from polylsp.ide.hints import hints
from polylsp.ide.wording import overlap_words
from polylsp.ir.program import Rejection
from polylsp.ir.verdict import Assumption, Parallel, Reduction, Unknown, word
from polylsp.model.facts import Transform

DEFAULTS = Settings(findings="all")


def found(source, report, settings=DEFAULTS):
    return [(d.code, d.message) for d in diagnostics(source, report, settings)]


def one(verdict, transform=None):
    """The only finding for a loop over `i` with this verdict."""
    text = "void f(int n, double *x, double *y) { for (int i = 0; i < n; i++) x[i] = y[i]; }"
    f = facts.function(text)
    f.loop("for (int i = 0; i < n; i++)", verdict(f) if callable(verdict) else verdict, body="y[i];")
    f.nest([1], transform=transform)
    (finding,) = diagnostics(Source(text), facts.report(f), Settings())
    return finding


def test_a_recurrence_names_both_accesses_and_an_example() -> None:
    source, report = facts.recurrence()
    (finding,) = diagnostics(source, report, Settings())
    assert finding.code == "sequential-loop"
    assert finding.severity == "hint"
    assert finding.message == (
        "`i` cannot run in parallel: `a[i - 1]` on line 5 reads what `a[i] = …` on line 5 wrote one "
        "iteration earlier (for example i = 1 writes a[1], i = 2 reads it)."
    )
    assert source.text[finding.span.start : finding.span.end] == "for (int i = 1; i < n; i++)"
    told = [(source.text[r.span.start : r.span.end], r.message) for r in finding.related]
    assert told == [
        ("a[i]", "`a` is first written here: `a[i] = …`"),
        ("a[i - 1]", "`a` is then read here: `a[i - 1]`"),
    ]


def test_each_loop_has_one_finding_with_the_code_of_its_verdict() -> None:
    assert found(*facts.many()) == [
        (
            "needs-restrict",
            "`i` can run in parallel if `x` and `y` do not overlap; declare them `restrict` to promise it.",
        ),
        ("parallel-band", "`i` and `j` can both run in parallel."),
        ("parallel-loop", "`j` can run in parallel."),
        (
            "reduction-loop",
            "`i` can run in parallel as a `+` reduction of `s`, once each iteration has its own `t`.",
        ),
        ("needs-privatization", "`k` can run in parallel once each iteration has its own `t`."),
        (
            "not-analyzable",
            "Unknown whether this `while` loop can run in parallel: `next` may change anything;"
            " declare it `pure`.",
        ),
        (
            "needs-interchange",
            "`i` cannot run in parallel as written, but it can after its loops are interchanged: "
            "`j` outside, `i` inside.",
        ),
        ("parallel-loop", "`j` can run in parallel."),
        (
            "needs-assumption",
            "`k` could run in parallel if `idx` has no repeated value: "
            "the subscript `idx[k]` is read from memory.",
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "code"),
    [("skew", "needs-skewing"), ("distribute", "needs-distribution"), ("none", "sequential-loop")],
)
def test_a_transform_that_exposes_parallelism_has_its_code(kind: str, code: str) -> None:
    def verdict(f):
        return facts.sequential(
            facts.flow(f.access("y[i]", "read"), f.access("x[i]", "write")), {"i": 0}, {"i": 1}
        )

    assert one(verdict, Transform(kind, "", "the wavefront i + j")).code == code  # type: ignore[arg-type]


def test_only_the_outermost_sequential_loop_carries_the_transform() -> None:
    source, report = facts.many()
    column = report.functions[3]
    loops = column.answer.facts.loops
    inner = replace(loops[1], verdict=loops[0].verdict)
    changed = replace(column.answer.facts, loops=(loops[0], inner, loops[2]))
    placed = replace(column, answer=replace(column.answer, held=changed))
    codes = [d.code for d in function_diagnostics(source, placed, DEFAULTS)]
    assert codes == ["needs-interchange", "sequential-loop", "needs-assumption"]


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (
            [("x", "y"), ("x", "z"), ("y", "z")],
            "`x`, `y` and `z` do not overlap; declare `x` and `y` `restrict` to promise it",
        ),
        (
            [("x", "y"), ("x", "z")],
            "`x` does not overlap `y` or `z`; declare `x` and `y` `restrict` to promise it",
        ),
        (
            [("a", "b"), ("c", "d")],
            "`a` and `b` do not overlap and `c` and `d` do not overlap; "
            "declare them `restrict` to promise it",
        ),
        (
            [("x", "y"), ("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")],
            "`x` and `y` do not overlap each other, `a` or `b`; declare `x` and `y` `restrict` to promise it",
        ),
        (
            [("x", "a"), ("x", "b"), ("y", "a"), ("y", "b")],
            "`x` and `y` do not overlap `a` or `b`; declare `x` and `y` `restrict` to promise it",
        ),
        (
            [("x", "y"), ("x", "a"), ("x", "b"), ("y", "a"), ("y", "b"), ("c", "a"), ("c", "d")],
            "`x` and `y` do not overlap each other, `a` or `b`, and `c` does not overlap `a` or `d`; "
            "declare `x` and `y` `restrict` to promise it",
        ),
    ],
)
def test_overlaps_are_told_together(pairs: list[tuple[str, str]], sentence: str) -> None:
    # `x` and `y` are the parameters of the function.
    finding = one(Parallel(tuple(facts.no_overlap(*pair) for pair in pairs)))
    assert finding.code == "needs-restrict"
    assert finding.message == f"`i` can run in parallel if {sentence}."


@pytest.mark.parametrize("seed", range(40))
def test_clauses_on_overlaps_say_all_pairs_and_no_other(seed: int) -> None:
    drawn = Random(seed)
    names = "abcdefg"[: drawn.randint(2, 7)]
    every = [*combinations(names, 2)]
    pairs = {frozenset(p) for p in drawn.sample(every, drawn.randint(1, len(every)))}
    said: set[frozenset[str]] = set()
    for clause in overlap_words([facts.no_overlap(*sorted(pair)) for pair in sorted(pairs, key=sorted)]):
        left, _, right = clause.partition("not overlap")
        group, others = (re.findall(r"`(\w)`", part) for part in (left, right))
        if not others or "each other" in right:
            said |= {frozenset(pair) for pair in combinations(group, 2)}
        said |= {frozenset((one, other)) for one in group for other in others}
    assert said == pairs


def test_an_assumption_of_another_kind_wins_over_restrict() -> None:
    distinct = Assumption("distinct-values", ("idx",), "`idx` has no repeated value")
    finding = one(Parallel((facts.no_overlap("x", "y"), distinct), ("t",), (), (Reduction("max", "m"),)))
    assert finding.code == "needs-assumption"
    assert finding.message == (
        "`i` can run in parallel as a `max` reduction of `m`, once each iteration has its own `t`, "
        "if `x` and `y` do not overlap and `idx` has no repeated value."
    )


def test_restrict_is_not_advised_for_what_has_no_name() -> None:
    finding = one(Parallel((facts.no_overlap("p->x", "y"),)))
    assert finding.code == "needs-assumption"
    assert finding.message == "`i` can run in parallel if `p->x` and `y` do not overlap."


def test_one_condition_left_is_singular() -> None:
    assumptions = tuple(Assumption("other", (name,), f"`{name}` is fine") for name in "abcd")
    assert one(Parallel(assumptions)).message.endswith("`c` is fine and 1 more condition holds.")


def test_many_assumptions_are_cut() -> None:
    assumptions = tuple(Assumption("other", (name,), f"`{name}` is fine") for name in "abcde")
    assert one(Parallel(assumptions)).message == (
        "`i` can run in parallel if `a` is fine, `b` is fine, `c` is fine and 2 more conditions hold."
    )


def test_lastprivate_says_that_the_value_is_needed() -> None:
    finding = one(Parallel((), ("t",), ("u",)))
    assert finding.code == "needs-privatization"
    assert finding.message == (
        "`i` can run in parallel once each iteration has its own `t` and `u` "
        "(the last value of `u` is needed after the loop)."
    )


@pytest.mark.parametrize(
    ("kind", "clause"),
    [
        ("anti", "`x[i] = …` on line 1 overwrites what `y[i]` on line 1 read 3 iterations earlier"),
        ("output", "`x[i] = …` on line 1 overwrites what it wrote in an earlier iteration"),
    ],
)
def test_anti_and_output_dependences_in_words(kind: str, clause: str) -> None:
    def verdict(f):
        write = f.access("x[i]", "write")
        first = f.access("y[i]", "read") if kind == "anti" else write
        distance = 3 if kind == "anti" else None
        return facts.sequential(facts.flow(write, first, kind=kind, distance=distance), {"i": 0}, {"i": 3})

    message = one(verdict).message
    verb = "reads" if kind == "anti" else "writes"
    what = "y[0]" if kind == "anti" else "x[0]"
    assert message == (
        f"`i` cannot run in parallel: {clause} (for example i = 0 {verb} {what}, i = 3 overwrites it)."
    )


def test_a_possible_dependence_is_said_with_may() -> None:
    def verdict(f):
        return facts.sequential(
            facts.flow(f.access("y[i]", "read"), f.access("x[i]", "write"), certain=False), {"i": 0}, {"i": 1}
        )

    assert "may read what" in one(verdict).message


def test_an_unknown_loop_points_at_the_obstacle() -> None:
    finding = one(lambda f: Unknown(Rejection("unknown-call", f.site("y[i]"), "`y` is a mystery.")))
    assert finding.message == "Unknown whether `i` can run in parallel: `y` is a mystery."
    assert finding.href.endswith("/ide/docs/unknown-call.md")
    assert [r.message for r in finding.related] == ["`y` is a mystery."]


def test_disabled_codes_are_not_shown() -> None:
    source, report = facts.many()
    settings = Settings(disabled_diagnostics=("parallel-loop", "needs-restrict"))
    codes = {code for code, _ in found(source, report, settings)}
    assert codes == {
        "parallel-band", "reduction-loop", "needs-privatization",
        "not-analyzable", "needs-interchange", "needs-assumption",
    }  # fmt: skip


def test_problems_have_their_own_code_and_severity() -> None:
    text = '#include "lost.h"\nvoid f(int n) { n = ; }\n'
    f = facts.function(text)
    f.problems.append(
        Rejection("syntax-error", f.site("n = ;"), "an expression is missing after `=`", "complete it")
    )
    header = facts.file_problem('"lost.h"', "missing-header", "`lost.h` was not found.", text)
    report = facts.report(f, problems=[header])
    missing, broken = diagnostics(Source(text), report, Settings())
    assert (missing.code, missing.severity, missing.message) == (
        "missing-header", "warning", "`lost.h` was not found.",
    )  # fmt: skip
    assert (broken.code, broken.severity) == ("syntax-error", "warning")
    assert broken.message == "An expression is missing after `=`. Complete it."
    assert text[broken.span.start : broken.span.end] == "n = ;"
    assert not diagnostics(
        Source(text), report, Settings(disabled_diagnostics=("missing-header", "syntax-error"))
    )


def test_what_is_wrong_with_a_function_is_not_said_again_of_its_loops() -> None:
    text = "void f(int n) { for (i = 0; i < n; i++) g(); for (j = 0; j < n; j++) n = ; }\n"
    f = facts.function(text)
    broken = Rejection("syntax-error", f.site(";", 6), "expected an expression before `;`")
    other = Rejection("unknown-call", f.site("g()"), "nothing is known of `g`")
    f.problems.append(broken)
    f.loop("for (i = 0; i < n; i++)", Unknown(other), body="g();")
    f.loop("for (j = 0; j < n; j++)", Unknown(broken), iterator="j", body="n = ;")
    source, report = Source(text), facts.report(f)
    assert found(source, report) == [
        ("not-analyzable", "Unknown whether `i` can run in parallel: nothing is known of `g`."),
        ("syntax-error", "Expected an expression before `;`."),
    ]


def test_every_code_of_the_table_is_of_a_known_severity() -> None:
    from polylsp.ide.diagnostics import SEVERITIES

    assert set(LOOP_CODES) <= set(SEVERITIES)


ESSENTIAL = """\
void f(int n, int m, double *a, double *b, double (*c)[64]) {
    for (int t = 0; t < m; t++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 64; j++)
                c[i][j] = t;
        for (int k = 0; k < 3; k++)
            a[k] = t;
    }
    for (int p = 0; p < n; p++)
        a[p] = b[p];
    for (int q = 0; q < n; q++)
        a[q] = b[q];
    for (int r = 1; r < n; r++)
        a[r] = a[r - 1];
}"""


def test_essential_findings_are_about_the_outermost_useful_loops() -> None:
    """Below `t`, which is sequential, `i` alone; the same `restrict` once; `r`, which cannot be parallel."""
    f = facts.function(ESSENTIAL)
    serial = facts.sequential(facts.flow(f.access("a[r - 1]", "read"), f.access("a[r]", "write")), {}, {})
    promise = Parallel(assumptions=(facts.no_overlap("a", "b"),))
    f.loop("for (int t = 0; t < m; t++)", serial, body="a[k] = t;\n    }")
    f.loop("for (int i = 0; i < n; i++)", Parallel(), parent=1, body="c[i][j] = t;")
    f.loop("for (int j = 0; j < 64; j++)", Parallel(), parent=2, body="c[i][j] = t;")
    f.loop("for (int k = 0; k < 3; k++)", Parallel(), parent=1, body="a[k] = t;")
    f.loop("for (int p = 0; p < n; p++)", promise, body="a[p] = b[p];")
    f.loop("for (int q = 0; q < n; q++)", promise, body="a[q] = b[q];")
    f.loop("for (int r = 1; r < n; r++)", serial, body="a[r] = a[r - 1];")
    source, report = Source(ESSENTIAL), facts.report(f)

    def lines(level: str) -> list[int]:
        found = diagnostics(source, report, Settings(findings=level))
        return [source.line_of(each.span.start) + 1 for each in found]

    assert lines("essential") == [3, 9, 13]
    assert lines("all") == [2, 3, 4, 6, 9, 11, 13]
    assert lines("off") == []


CHECKING = """\
import numpy as np

def agrees(a, b, c):
    for i in range(len(a)):
        np.testing.assert_allclose(a[i], b[i])
    for x in c:
        if x < 0:
            raise ValueError(x)
        for y in c:
            assert x <= y

def changes(a, b, steps):
    for i in range(len(a)):
        assert b[i] > 0
        a[i] = b[i]
    total = 0.0
    for i in range(len(a)):
        total += a[i]
        assert total > 0
    return total
"""


def test_loops_that_only_check_have_no_findings_unless_all_are_wanted() -> None:
    settings = Settings(cache=False)
    source, report = Source(CHECKING), analyse("checking.py", CHECKING, settings)

    def lines(level: str) -> list[int]:
        told = diagnostics(source, report, Settings(findings=level))
        hinted = hints(source, report, Span(0, len(CHECKING)), Settings(findings=level, hint_unknown=True))
        assert {source.line_of(each.offset) + 1 for each in hinted} == {
            source.line_of(each.span.start) + 1 for each in told
        }
        return [source.line_of(each.span.start) + 1 for each in told]

    assert lines("essential") == [13, 17]
    assert lines("all") == [4, 6, 9, 13, 17]
    words = [word(loop.verdict) for loop in report.functions[0].answer.facts.loops]
    assert words[0] == "parallel"


ASIDE = """def drawn(axes, curves, share):
    for i in range(3):
        if share in [True, "all"]:
            axes[i].tick_params(labelleft=False)
    for i in range(3):
        axes[i].plot(curves[i])
    for i in range(3):
        axes[i].label(f"curve {i + 1}" + curves[i].name)
    for i in range(3):
        axes[i].plot(2 * curves[i])
    for i in range(3):
        if curves[i] > 0:
            axes[i].show()
    for i in range(3):
        curves.append(axes.line(i))

def in_order(node, names: dict, n: int, curves):
    while node:
        node = node.next
    for i in range(n):
        print(i)
    text = ""
    for name in names:
        text = text + ", " + name
    lines = []
    for i in range(n):
        lines.append(str(i))
    for i in range(n):
        lines.append((i, text))
    for i in range(n):
        lines.append(2.0 * i)
    for i in range(1, n):
        curves[i] = curves[i - 1] + 1
    total = 0
    for i in range(n):
        total += i
    return lines, total
"""


def test_loops_that_compute_with_no_element_have_findings_only_if_all_are_wanted() -> None:
    source, report = Source(ASIDE), analyse("aside.py", ASIDE, Settings(cache=False))

    def lines(level: str) -> list[int]:
        found = diagnostics(source, report, Settings(findings=level))
        return [source.line_of(each.span.start) + 1 for each in found]

    assert lines("essential") == [9, 11, 14, 30, 32, 35]
    assert lines("all") == [2, 5, 7, 9, 11, 14, 18, 20, 23, 26, 28, 30, 32, 35]
