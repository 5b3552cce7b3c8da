"""Obstacles to a directive before a loop, independent of its verdict."""

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Parallel
from polylsp.model.facts import LoopFacts


def loop(body: str) -> LoopFacts:
    text = f"double a[100];\nvoid f(int n, int m) {{\n    for (int i = 0; i < n; i++) {{ {body} }}\n}}\n"
    return analyse("a.c", text, Settings(), schedules=False).functions[0].answer.facts.loops[0]


def test_a_parallel_loop_that_a_break_leaves_cannot_have_a_directive() -> None:
    found = loop("if (i > m) break; a[i] = i;")
    assert isinstance(found.verdict, Parallel)
    assert "`break`" in str(found.misfit)


def test_a_break_of_an_inner_loop_does_not_matter() -> None:
    found = loop("for (int j = 0; j < 9; j++) { if (j > i) break; a[i] += j; }")
    assert isinstance(found.verdict, Parallel)
    assert found.misfit is None
