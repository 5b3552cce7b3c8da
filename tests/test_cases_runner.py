"""The runner of the suites can fail: on a wrong, a missing and an unneeded expectation."""

from __future__ import annotations

from pathlib import Path

import cases_expect
import pytest
from cases_markdown import cases, rewrite
from cases_runner import mismatches

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.ir.program import Rejection, Site
from polylsp.ir.verdict import (
    AccessPoint,
    Assumption,
    Dependence,
    Parallel,
    Reduction,
    Sequential,
    Unknown,
    Verdict,
    Witness,
)
from polylsp.model.facts import (
    FileProblem,
    FileReport,
    FunctionAnswer,
    FunctionFacts,
    LoopFacts,
    PlacedFunction,
)

SUITE = """# Suite

## Test
```c
void f(int n) {
    for (;;) LINE
        a[i] = a[i - 1];
}
```
"""
OVERLAP = Assumption("no-overlap", ("x", "y"), "`x` and `y` do not overlap")


def _report(text: str, verdict: Verdict) -> FileReport:
    """A report of one loop; its tokens are `f`, `for (;;)`, `a[i]` and `a[i - 1]`."""
    spans = [(text.index(t), text.index(t) + len(t)) for t in ("f(", "for (;;)", "a[i]", "a[i - 1]")]
    loop = LoopFacts(1, "for", "i", 1, 0, Site(1, 1), Site(1, 3), verdict)
    facts = FunctionFacts("f", Site(0, 0), (loop,), ())
    starts, ends = zip(*spans, strict=True)
    return FileReport("case.c", "c", (PlacedFunction(0, FunctionAnswer("key", facts, starts, ends)),))


def _recurrence() -> Sequential:
    write = AccessPoint("a", "a[i]", "write", Site(2, 2))
    read = AccessPoint("a", "a[i-1]", "read", Site(3, 3))
    dependence = Dependence("flow", write, read, 1, 1, ("<",), True)
    return Sequential(Witness(dependence, (("i", 1),), (("i", 2),), (("n", 3),)), (dependence,))


def _found(tmp_path: Path, comment: str, verdict: Verdict, options: str = "") -> list[str]:
    suite = tmp_path / "suite.md"
    suite.write_text(SUITE.replace("LINE", comment).replace("```c\n", f"```c {options}\n"))
    (case,) = cases(suite)

    def analyse(_path: str, text: str, _settings: Settings, **_: object) -> FileReport:
        return _report(text, verdict)

    return mismatches(case, analyse, tmp_path)


GOOD = [
    ("parallel", Parallel()),
    ("parallel|unknown", Parallel()),
    ('parallel assume("x", "overlap")', Parallel((OVERLAP,))),
    ("parallel private(t, u) lastprivate(x)", Parallel(private=("t", "u"), lastprivate=("x",))),
    ("reduction reduction(+: s)", Parallel(reductions=(Reduction("+", "s"),))),
    (
        "reduction reduction(&&: s) reduction(max: t)",
        Parallel(reductions=(Reduction("&&", "s"), Reduction("max", "t"))),
    ),
    ('sequential [flow] distance 1 "a[i - 1]" "a[i]"', _recurrence()),
    ("sequential", _recurrence()),
    (
        'unknown reject(unknown-call) "`g`"',
        Unknown(Rejection("unknown-call", Site(1, 1), "`g` is not known")),
    ),
    ('unknown help("x")', Unknown(Rejection("may-alias", Site(1, 1), "no"), (OVERLAP,))),
]
WRONG = [
    ("sequential", Parallel()),
    ("parallel", _recurrence()),
    ("parallel", Parallel(reductions=(Reduction("+", "s"),))),
    ("parallel", Parallel((OVERLAP,))),
    ("parallel", Parallel(private=("t",))),
    ("parallel private(t)", Parallel()),
    ("parallel lastprivate(t)", Parallel(private=("t",))),
    ('parallel assume("overlap") assume("wrap")', Parallel((OVERLAP,))),
    ("reduction", Parallel(reductions=(Reduction("+", "s"),))),
    ("reduction reduction(*: s)", Parallel(reductions=(Reduction("+", "s"),))),
    ("sequential [anti]", _recurrence()),
    ("sequential distance 2", _recurrence()),
    ('sequential "a[i + 1]"', _recurrence()),
    ("unknown reject(volatile)", Unknown(Rejection("unknown-call", Site(1, 1), "no"))),
    ('unknown "`h`"', Unknown(Rejection("unknown-call", Site(1, 1), "`g`"))),
    ('unknown help("x")', Unknown(Rejection("unknown-call", Site(1, 1), "`g`"))),
    ("perhaps", Parallel()),
    ("parallel really", Parallel()),
]


@pytest.mark.parametrize(("text", "verdict"), GOOD, ids=[text for text, _ in GOOD])
def test_a_right_expectation_passes(text: str, verdict: Verdict, tmp_path: Path) -> None:
    assert _found(tmp_path, f"// verdict: {text}", verdict) == []


@pytest.mark.parametrize(("text", "verdict"), WRONG, ids=[f"{text}-{k}" for k, (text, _) in enumerate(WRONG)])
def test_a_wrong_expectation_fails_at_its_line(text: str, verdict: Verdict, tmp_path: Path) -> None:
    (message,) = _found(tmp_path, f"// verdict: {text}", verdict)
    assert message.startswith(f"{tmp_path}/suite.md:6: ")


def test_the_message_tells_both_sides(tmp_path: Path) -> None:
    (message,) = _found(tmp_path, "// verdict: parallel", _recurrence())
    assert message.endswith('expected parallel; got sequential [flow] distance 1 "a[i]" "a[i - 1]"')


def test_a_loop_without_expectation_fails(tmp_path: Path) -> None:
    assert _found(tmp_path, "", Parallel()) == [f"{tmp_path}/suite.md:6: expected nothing; got parallel"]


def test_a_loop_without_expectation_passes_where_some_are_enough(tmp_path: Path) -> None:
    assert _found(tmp_path, "", Parallel(), "loops=some") == []


def test_an_expectation_without_a_loop_fails(tmp_path: Path) -> None:
    (message,) = _found(tmp_path, "// verdict: parallel // verdict: sequential", Parallel())
    assert "no loop on this line" in message


def test_an_expected_code_that_is_not_there_fails(tmp_path: Path) -> None:
    comment = "// verdict: parallel // code: needs-skewing // no-code: sequential-loop"
    (message,) = _found(tmp_path, comment, Parallel())
    assert "expected code needs-skewing" in message


@pytest.mark.parametrize("comment", ["", "// problem: missing-header", '// problem: syntax-error "other"'])
def test_an_unexpected_problem_fails(comment: str, tmp_path: Path) -> None:
    suite = tmp_path / "suite.md"
    suite.write_text(f"```c\nint x; {comment}\n```\n")
    problem = FileProblem("syntax-error", Span(0, 3), "not C")
    found = mismatches(cases(suite)[0], lambda *_, **__: FileReport("case.c", "c", (), (problem,)), tmp_path)
    assert any("got problem syntax-error" in message for message in found)


def test_a_comment_on_a_line_of_its_own_speaks_of_the_line_below() -> None:
    (found,) = cases_expect.expectations("// verdict: parallel\n// more\nfor (;;)\n")
    assert (found.line, found.written) == (2, 0)


def test_headings_name_cases_and_headers_go_with_the_next_one(tmp_path: Path) -> None:
    suite = tmp_path / "suite.md"
    suite.write_text("# A\n```c file=x.h\nint x;\n```\n```c\n```\n```c\nint y;\n```\n```isl\n# d\n```\n")
    first, second = cases(suite)
    assert (first.title, first.headers, second.title) == ("A", (("x.h", "int x;\n"),), "A (2)")
    assert (second.headers, second.program.text, second.about[0].line) == ((), "int y;\n", 11)


def test_update_rewrites_one_golden_fence(tmp_path: Path) -> None:
    suite = tmp_path / "suite.md"
    fence = "```golden hover f 1\nbefore\n```\n"
    suite.write_text(f"```c\n```\n{fence}```c\n```\n{fence}")
    second = cases(suite)[1]
    rewrite(second.path, second.about[0], "after\n")
    assert suite.read_text() == f"```c\n```\n{fence}```c\n```\n{fence.replace('before', 'after')}"
