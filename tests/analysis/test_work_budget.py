"""Limits of the analysis count work, and cost the smallest piece."""

from __future__ import annotations

from functools import partial

import islpy as isl
import pytest

from polylsp.analysis import function_facts
from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.scop.walk_state import Parameters
from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, subject_of
from polylsp.ir.verdict import Parallel, Sequential, Unknown, Verdict
from polylsp.model.facts import FunctionFacts
from polylsp.poly.budget import Budget, Exhausted, apart, budgeted, costly, file_size
from tests.loud import quiet


def work(operations: int) -> str:
    for _ in range(operations):
        isl.Val(1)
    return "done"


def test_work_within_the_limit_is_counted() -> None:
    budget = Budget(1000)
    assert budget.run(lambda: work(500)) == "done"
    assert 500 <= budget.spent < 550


def test_a_piece_that_takes_more_is_given_up() -> None:
    budget = Budget(1000)
    assert budget.run(lambda: work(1500)) == Exhausted("piece")
    assert budget.run(lambda: work(900)) == "done"


@pytest.mark.parametrize("limit", range(1, 90))
def test_a_limit_may_end_any_call_of_isl(limit: int) -> None:
    """islpy raises nothing where isl cannot make a text, or a number of one."""

    def texts() -> list[str]:
        return [f"{isl.Val(k).to_python()} {isl.Val(k).to_str()}" for k in range(9)]

    whole = [f"{k} {k}" for k in range(9)]
    assert budgeted(limit, texts) in (whole, Exhausted())
    assert Budget(limit).run(texts) in (whole, Exhausted("piece"))
    assert Budget(500).run(lambda: costly(500 // limit, texts)) in (whole, Exhausted())


def test_an_error_that_is_not_of_isl_passes() -> None:
    def fails() -> str:
        raise TypeError

    with pytest.raises(TypeError):
        Budget(1000).run(fails)
    with pytest.raises(TypeError):
        budgeted(1000, fails)


def test_an_error_of_isl_costs_a_piece() -> None:
    budget = Budget(1000)
    with quiet():
        assert budget.run(lambda: isl.Set("{ no set")) == Exhausted("error")
    assert budget.run(lambda: work(900)) == "done"


def test_an_error_of_isl_costs_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    real = function_facts.verdict

    def fails_on_the_second(conflicts: Conflicts, ordinal: int, scalars: LoopScalars) -> Verdict:
        if ordinal == 2:
            isl.Set("{ no set")
        return real(conflicts, ordinal, scalars)

    monkeypatch.setattr(function_facts, "verdict", fails_on_the_second)
    loops = "".join(f"for (int i = 0; i < n; i++) a[i] = {k};\n" for k in range(3))
    with quiet():
        report = analyse("a.c", f"void f(int n, int *a) {{\n{loops}}}\n", Settings(cache=False))
    first, second, third = (loop.verdict for loop in report.functions[0].answer.facts.loops)
    assert isinstance(first, Parallel) and isinstance(third, Parallel)
    assert isinstance(second, Unknown) and second.rejection.code == "internal-error"


def test_all_pieces_together_have_a_limit() -> None:
    budget = Budget(1000)
    outcomes = [budget.run(lambda: work(900)) for _ in range(8)]
    assert outcomes[:4] == ["done"] * 4
    assert outcomes[4:] == [Exhausted("all")] * 4
    assert budget.spent <= budget.whole


def test_after_costly_pieces_the_cheap_ones_have_what_they_need() -> None:
    budget = Budget(1000)
    outcomes = [budget.run(partial(work, operations)) for operations in (900, 10) * 12]
    assert outcomes[1::2] == ["done"] * 12
    assert outcomes[-2] == Exhausted("all")


def test_work_inside_of_other_work_counts_for_both() -> None:
    budget = Budget(1000)

    def outer() -> str:
        inner = budget.run(lambda: work(400), share=2)
        assert inner == "done"
        return work(700)

    assert budget.run(outer) == Exhausted("piece")
    assert budget.run(lambda: work(600), share=2) == Exhausted("piece")


def test_operations_on_deep_nests_count_for_more() -> None:
    budget = Budget(1000)
    assert budget.run(lambda: work(200), depth=12) == "done"
    assert budget.spent >= 800
    assert budget.run(lambda: work(300), depth=12) == Exhausted("piece")


def test_costly_operations_get_fewer() -> None:
    budget = Budget(1000)
    assert budget.run(lambda: costly(10, lambda: work(80))) == "done"
    assert budget.run(lambda: costly(10, lambda: work(200))) == Exhausted("piece")


def test_remembered_work_has_budgets_of_its_own() -> None:
    def outer() -> str:
        inner = apart(lambda: Budget(1000).run(lambda: work(900)))
        assert inner == "done"
        return work(80)

    assert budgeted(100, outer) == "done"
    assert budgeted(100, lambda: apart(lambda: work(10)) and work(200)) == Exhausted()


CHECKED = """#include <stdio.h>
void f(int n, double *a, double limit) {
    for (int i = 0; i < n; i++) {
        if (a[i] > limit)
            fprintf(stderr, "too large: %d\\n", i);
        a[i] = limit - a[i];
    }
}
"""


def test_an_analysis_without_presumptions_has_budgets_of_its_own() -> None:
    """An edit that is tried asks for it inside of its own, small budget."""
    settings = Settings(cache=False)
    start = analyse("a.c", CHECKED, settings).functions[0].start
    subject = subject_of("a.c", CHECKED, settings, "f", start)
    assert subject is not None
    strict = budgeted(5, lambda: subject.strict)
    assert not isinstance(strict, Exhausted) and strict is not subject
    assert len(strict.facts.nests) == len(strict.nests) and strict.facts.loops


def test_functions_of_a_large_file_share_its_operations() -> None:
    assert file_size(1) == file_size(64)
    assert Budget(1000, file_size(65)).whole == Budget(1000).whole // 2
    assert Budget(1000, file_size(100)) == Budget(1000, file_size(128))


def only(text: str, settings: Settings | None = None, *, schedules: bool = False) -> FunctionFacts:
    report = analyse("/a.c", text, settings or Settings(), schedules=schedules)
    return report.functions[-1].answer.facts


def branches(count: int) -> str:
    """Branches with too many paths to distinguish, each with a loop, and a plain loop."""
    parts = "".join(
        f"if (c >= {k + 9}) {{ s = n; c = c - {k}; }} else s = {k};\n"
        f"if ((c / {k + 2}) % 2 == 1) {{ t = 1; u = h; }} else {{ t = h + {k}; u = n; }}\n"
        f"for (int i = t; i <= u; i++) for (int j = s; j < n; j++) a[i * n + j] = b[j];\n"
        for k in range(count)
    )
    return (
        "void f(int n, int h, int c, double *restrict a, double *restrict b) {\n"
        f"int s, t, u;\n{parts}for (int i = 0; i < n; i++) b[i] = 0;\n}}\n"
    )


def codes(facts: FunctionFacts) -> list[str]:
    verdicts = [loop.verdict for loop in facts.loops]
    return [v.rejection.code if isinstance(v, Unknown) else type(v).__name__ for v in verdicts]


def test_branches_that_explode_cost_no_plain_loop() -> None:
    found = only(branches(6))
    assert codes(found)[-1] == "Parallel"
    assert "budget" not in codes(found)


def test_a_limit_costs_the_smallest_piece() -> None:
    few = Settings(max_operations=100_000)
    found = only(branches(6), few)
    assert codes(found)[-1] == "Parallel"


def test_answers_and_operations_are_the_same_each_time() -> None:
    few = Settings(max_operations=30_001)
    first, second = (only(branches(5) + f"// {k}\nint g{k};\n", few) for k in range(2))
    assert codes(first) == codes(second)
    assert first.operations == second.operations > 0


def test_raising_the_limit_helps() -> None:
    counts = [
        codes(only(branches(6), Settings(max_operations=n))).count("budget") for n in (200, 2000, 200_000)
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 0 and counts[-1] == 0


SCATTERED = """
void f(int w, int h, float p[w][h], float q[w][h], float r[w][h], float s[w][h]) {
    for (int t = 0; t < 10; t++)
        for (int i = 1; i < w - 1; i++)
            for (int j = 1; j < h - 1; j++) {
                p[i][j] = p[i - 1][j - 1] + p[i + 1][j + 1] + r[i][j - 1];
                r[i][j] = p[i][j - 1] + s[i - 1][j];
                s[i][j] = r[i - 1][j + 1] + p[i][j];
                q[i][j] = r[i + 1][j] + s[i][j - 1] + q[i - 1][j + 1];
                p[j][i] = q[i][j] + p[j - 1][i];
                r[j][i] += s[j][i] + q[j + 1][i - 1];
                s[i][j] += r[j][i] * q[i][j];
                q[j][i] += p[i][j] * s[j][i];
            }
}
"""


def test_a_schedule_that_takes_too_much_leaves_the_verdicts() -> None:
    """isl's scheduler takes ten seconds here, in a few operations."""
    found = only(SCATTERED, schedules=True)
    assert all(isinstance(loop.verdict, Sequential) for loop in found.loops)
    (nest,) = found.nests
    assert nest.transform is not None and nest.transform.kind == "none-found"


def test_calls_of_calls_have_summaries_of_bounded_size() -> None:
    chain = "static void f0(int n, double *a) { a[n] = n; }\n"
    for k in range(1, 60):
        chain += f"static void f{k}(int n, double *a) {{ f{k - 1}(n, a); f{k - 1}(n + 1, a); }}\n"
    found = only(chain + "void g(int n, double *a) { for (int i = 0; i < n; i++) f59(100 * i, a); }\n")
    assert [type(loop.verdict) for loop in found.loops] == [Parallel]
    found = only(chain + "void g(int n, double *a) { for (int i = 0; i < n; i++) f59(i, a); }\n")
    assert [type(loop.verdict) for loop in found.loops] == [Sequential]


def test_a_nest_of_many_loops_is_answered_or_given_up() -> None:
    headers = "".join(f"for (int i{k} = 0; i{k} < n; i{k}++)\n" for k in range(40))
    index = " + ".join(f"i{k}" for k in range(40))
    text = f"void f(int n, double *a) {{ {headers} a[{index}] = 0; }}\n"
    plain = "void g(int n, double *a) { for (int i = 0; i < n; i++) a[i] = 0; }\n"
    settings = Settings(max_operations=100_000)
    report = analyse("/a.c", text + plain, settings, schedules=False)
    deep, last = (placed.answer.facts for placed in report.functions)
    assert set(codes(deep)) <= {"budget", "Sequential", "Parallel"}
    assert codes(last) == ["Parallel"]


def test_code_after_the_last_loop_takes_no_operations() -> None:
    """Only loops have verdicts: returns without end behind them cost nothing."""
    loop = "for (int i = 0; i < n; i++) x[i] = 0;"
    exits = [f"if (n == {k} && x[{k}] > m) {{ g(n); return {k}; }}" for k in range(60)]
    returns, head = " ".join(exits), "void g(int); int f(int n, int m, int *x) {"
    small, large = (only(f"{head} {loop} g(n); {end} return 0; }}") for end in (exits[0], returns))
    assert large.operations <= small.operations + 10
    assert only(f"{head} {returns} return 0; }}").operations == 0


def test_a_loop_after_many_early_returns_is_decided() -> None:
    """The values that reach it have more convex pieces than are followed: its verdict rests on none."""
    returns = " ".join(f"if (n != {3 * k} && m != {5 * k}) g(n); else return;" for k in range(40))
    loop = "for (int i = 0; i < n; i++) x[i] = {};"
    head = "void g(int); void f(int n, int m, int *x) {"
    parallel = only(f"{head} {returns} {loop.format('i')} }}")
    assert isinstance(parallel.loops[0].verdict, Parallel)
    sequential = only(f"{head} {returns} {loop.format('i == 0 ? 1 : x[i - 1] + 1')} }}")
    assert not isinstance(sequential.loops[0].verdict, Parallel)


def test_an_early_return_is_still_known_after_others() -> None:
    """A condition that few pieces express is followed, beside those that are not."""
    returns = " ".join(f"if (m == {3 * k} && q != {5 * k}) return;" for k in range(40))
    loop = "for (int i = 0; i < n; i++) x[i] = x[i + k];"
    head = "void g(int); void f(int n, int k, int m, int q, int *x) { g(n);"
    found = only(f"{head} if (k != 0) return; g(n); {returns} g(n); {loop} }}")
    assert isinstance(found.loops[0].verdict, Parallel)
    without = only(f"{head} {returns} g(n); {loop} }}")
    assert not isinstance(without.loops[0].verdict, Parallel)


def test_names_of_values_take_time_in_proportion() -> None:
    """The same variable gets a new value after each unknown call."""
    parameters = Parameters()
    names = [parameters.fresh_name("n") for _ in range(3000)]
    assert names[:3] == ["n", "n_2", "n_3"]
    assert len(set(names)) == 3000
    tried: list[str] = []
    parameters.dimensions = _Counting(tried)  # type: ignore[assignment]
    assert parameters.fresh_name("n") == "n_3001"
    assert len(tried) <= 2


class _Counting(set[str]):
    """A set that records what it was asked for."""

    def __init__(self, tried: list[str]) -> None:
        super().__init__()
        self._tried = tried

    def __contains__(self, name: object) -> bool:
        self._tried.append(str(name))
        return super().__contains__(name)
