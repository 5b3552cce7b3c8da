"""The iterations and arrows of a drawing, against what the loops do when they run."""

from __future__ import annotations

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import iteration_space
from polylsp.ir.program import Rejection
from polylsp.model.iteration_points import IterationSpace, Order, Point

SEIDEL = """\
void f(int tsteps, int n, double a[n][n]) {
    for (int t = 0; t < tsteps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = a[i-1][j] + a[i][j-1] - a[i][j] + a[i][j+1] + a[i+1][j];
}
"""
JACOBI = """\
void f(int tsteps, int n, double a[n], double b[n]) {
    for (int t = 0; t < tsteps; t++) {
        for (int i = 1; i < n - 1; i++)
            b[i] = a[i-1] + a[i] + a[i+1];
        for (int i = 1; i < n - 1; i++)
            a[i] = b[i];
    }
}
"""
MATMUL = """\
void f(int n, double a[n][n], double b[n][n], double c[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            c[i][j] = 0;
            for (int k = 0; k < n; k++)
                c[i][j] += a[i][k] * b[k][j];
        }
}
"""


def asked(
    text: str, ordinal: int = 1, dimensions: tuple[str, str] | None = None
) -> IterationSpace | Rejection:
    return iteration_space("/a.c", text, Settings(), "f", ordinal, dimensions)


def space(text: str, ordinal: int = 1, dimensions: tuple[str, str] | None = None) -> IterationSpace:
    found = asked(text, ordinal, dimensions)
    assert isinstance(found, IterationSpace), found
    return found


def ends(found: IterationSpace, kind: str) -> set[tuple[Point, Point]]:
    return {(arrow.source, arrow.sink) for arrow in found.arrows if arrow.kind == kind}


def steps(found: IterationSpace, *vectors: Point) -> set[tuple[Point, Point]]:
    """The arrows along these vectors from each point to each point."""
    moved = ((p, (p[0] + x, p[1] + y)) for p in found.points for x, y in vectors)
    return {(source, sink) for source, sink in moved if sink in found.points}


def test_the_wavefront_of_a_sweep_in_place() -> None:
    found = space(SEIDEL, 2)
    assert found.dimensions == ("i", "j") and dict(found.sizes)["t"] == 0
    assert ends(found, "flow") == ends(found, "anti") == steps(found, (1, 0), (0, 1))
    assert not ends(found, "output")


def test_a_loop_inside_the_drawn_ones_is_projected_out() -> None:
    found = space(SEIDEL, 1)
    n, tsteps = dict(found.sizes)["n"], dict(found.sizes)["tsteps"]
    assert found.dimensions == ("t", "i") and found.complete
    assert found.points == tuple((t, i) for t in range(tsteps) for i in range(1, n - 1))
    assert ends(found, "flow") == steps(found, (0, 1), (1, 0), (1, -1))
    assert ends(found, "output") == steps(found, (1, 0))


def test_a_loop_between_the_drawn_ones_is_projected_out() -> None:
    found = space(SEIDEL, 3, ("t", "j"))
    assert ends(found, "flow") == steps(found, (0, 1), (1, 0), (1, -1))


@pytest.mark.parametrize("ordinal", [1, 2, 3])
def test_loops_side_by_side_with_one_iterator_are_drawn_together(ordinal: int) -> None:
    found = space(JACOBI, ordinal)
    assert found.dimensions == ("t", "i")
    assert ends(found, "flow") == steps(found, (1, -1), (1, 0), (1, 1))


def test_a_triangle() -> None:
    found = space("""\
void f(int n, double a[n][n], double x[n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            x[i] -= a[i][j] * x[j];
}
""")
    n = dict(found.sizes)["n"]
    assert found.points == tuple((i, j) for i in range(n) for j in range(i)) and len(found.points) >= 10
    passed_on = {((j, j - 1), (i, j)) for i in range(n) for j in range(1, i)}
    assert ends(found, "flow") == steps(found, (0, 1)) | passed_on


def test_a_stride_stays_in_the_values() -> None:
    found = space("void f(int n, double *a) { for (int i = 0; i < n; i += 4) a[i + 4] = a[i]; }\n")
    assert [x for x, _ in found.points] == list(range(0, dict(found.sizes)["n"], 4))
    assert 4 <= len(found.points) <= 8
    assert ends(found, "flow") == steps(found, (4, 0)) and len(found.arrows) == len(found.points) - 1


def test_counting_down() -> None:
    found = space("""\
void f(int n, double a[n][n]) {
    for (int i = n - 1; i >= 0; i--)
        for (int j = n - 3; j >= 0; j -= 2)
            a[i][j] = a[i][j + 2];
}
""")
    n = dict(found.sizes)["n"]
    assert set(found.points) == {(i, j) for i in range(n) for j in range(n - 3, -1, -2)}
    assert ends(found, "flow") == steps(found, (0, -2))


def test_one_loop_has_one_dimension_and_a_reduction_its_flow() -> None:
    found = space(
        "double f(int n, double *a) { double s = 0; for (int i = 0; i < n; i++) s += a[i]; return s; }\n"
    )
    assert found.dimensions == ("i", "") and {y for _, y in found.points} == {0}
    assert ends(found, "flow") == steps(found, (1, 0))
    assert {arrow.kind for arrow in found.arrows} == {"flow"}


def test_an_inner_loop_with_what_is_around_it() -> None:
    assert space(MATMUL, 1).dimensions == ("i", "j") and not space(MATMUL, 1).arrows
    found = space(MATMUL, 3)
    assert found.dimensions == ("j", "k") and ends(found, "flow") == steps(found, (0, 1))


def test_the_first_name_goes_across() -> None:
    found, turned = (space(MATMUL, 1, names) for names in (("i", "k"), ("k", "i")))
    assert turned.dimensions == ("k", "i") and ends(turned, "flow") == steps(turned, (1, 0))
    assert {(y, x) for x, y in turned.points} == set(found.points)


def test_a_variable_that_each_iteration_sets_first_draws_nothing() -> None:
    text = (
        "void f(int n, double *a) {{ {} for (int i = 1; i < n; i++) {{ {} t = a[i - 1]; a[i] = t * t; }} }}\n"
    )
    outside, inside = space(text.format("double t;", "")), space(text.format("", "double"))
    assert ends(outside, "flow") == ends(inside, "flow") and {a.kind for a in outside.arrows} == {"flow"}
    assert len(outside.arrows) == len(inside.arrows)


def test_constant_bounds_are_cut_to_the_iterations_that_run_first() -> None:
    found = space("""\
double g[1000][1000];
void f(void) {
    for (int i = 1; i < 1000; i++)
        for (int j = 998; j > 0; j--)
            g[i][j] = g[i - 1][j + 1];
}
""")
    assert not found.complete
    assert found.points == tuple((i, j) for i in range(1, 7) for j in range(993, 999))
    assert ends(found, "flow") == steps(found, (1, -1))


def test_iterators_that_are_not_there() -> None:
    found = asked(MATMUL, 1, ("x", "i"))
    assert isinstance(found, Rejection)
    assert found.message == "`x` is not an iterator of this nest: the iterators are `i`, `j` and `k`"


def test_iterators_that_do_not_span_a_plane() -> None:
    twice = asked(MATMUL, 1, ("i", "i"))
    assert isinstance(twice, Rejection) and "given twice" in twice.message
    beside = asked(
        "void f(int n, double *a) { for (int t = 0; t < n; t++) {"
        " for (int i = 0; i < n; i++) a[i] = t; for (int j = 0; j < n; j++) a[j] = t; } }\n",
        1,
        ("i", "j"),
    )
    assert isinstance(beside, Rejection) and "not one inside the other" in beside.message


def test_what_cannot_be_modelled_says_why() -> None:
    found = asked("void g(double *); void f(int n, double *a) { for (int i = 0; i < n; i++) g(a); }\n")
    assert isinstance(found, Rejection) and found.code == "unknown-call" and "`g`" in found.message


def test_the_limit_on_work_is_kept() -> None:
    found = iteration_space("/a.c", SEIDEL, Settings(max_operations=50), "f", 1, None)
    assert isinstance(found, Rejection) and found.code == "budget"


def begun(order: Order) -> dict[Point, int]:
    """The step in which each point runs, where each has one."""
    found = {point: number for number, step in enumerate(order.steps) for point in step}
    assert sum(map(len, order.steps)) == len(found)
    return found


def test_arrows_name_the_two_accesses() -> None:
    found = space("void f(int n, double *a) { for (int i = 2; i < n; i++) a[i] = a[i - 1] + a[i - 2]; }\n")
    read = {(sink.text, sink.kind) for a in found.arrows if a.accesses for sink in a.accesses[1:]}
    assert read == {("a[i - 1]", "read"), ("a[i - 2]", "read")}
    near = [a for a in found.arrows if a.sink[0] - a.source[0] == 1]
    assert {a.accesses[1].text for a in near if a.accesses} == {"a[i - 1]"}


def test_the_wavefront_lets_every_arrow_go_forward() -> None:
    found = space(SEIDEL, 2)
    assert found.written is not None and found.parallel is not None
    assert found.written.steps == tuple((point,) for point in found.points)
    assert found.parallel.is_wavefront and found.parallel.transform is not None
    assert found.parallel.transform.kind == "skew"
    step = begun(found.parallel)
    assert all(step[(i, j)] == i + j - 2 for i, j in found.points)
    assert all(step[arrow.source] < step[arrow.sink] for arrow in found.arrows)


def test_loops_that_are_parallel_as_written_run_at_once() -> None:
    found = space(JACOBI, 1)
    assert found.parallel is not None and found.parallel.free == ("i",) and found.parallel.is_wavefront
    assert all(len({t for t, _ in step}) == 1 for step in found.parallel.steps)
    whole = space(MATMUL, 1)
    assert whole.parallel is not None and whole.parallel.steps == (whole.points,)
    assert whole.parallel.free == ("i", "j") and not whole.parallel.is_wavefront


def test_what_is_written_inside_comes_back_to_a_point() -> None:
    found = space(JACOBI, 1).written
    assert found is not None and found.steps[:6] == (*(((0, i),) for i in range(1, 6)), ((0, 1),))


def test_other_orders_of_the_loops() -> None:
    rows = space(
        "void f(int n, double a[n][n]) {"
        " for (int i = 1; i < n; i++) for (int j = 0; j < n; j++) a[i][j] = a[i - 1][j]; }\n"
    )
    assert rows.parallel is not None and rows.parallel.transform is not None
    assert rows.parallel.transform.kind == "interchange"
    assert [{i for i, _ in step} for step in rows.parallel.steps] == [{i} for i, j in rows.points if j == 0]
    columns = space(
        "void f(int n, double a[n][n]) {"
        " for (int i = 0; i < n; i++) for (int j = 1; j < n; j++) a[j][i] = a[j - 1][i] + a[j][i]; }\n"
    )
    assert columns.parallel is not None and columns.parallel.free == ("i",)
    assert {j for (j,) in ({j for _, j in step} for step in columns.parallel.steps)} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize(
    "body",
    [
        "s += a[i] * a[i];",
        "a[i + 1] = a[i];",
        "a[0] = a[i];",
    ],
)
def test_no_order_is_claimed_where_no_points_may_run_at_once(body: str) -> None:
    text = f"double f(int n, double *a) {{ double s = 0; for (int i = 0; i < n; i++) {body} return s; }}\n"
    found = space(text)
    assert found.written is not None and found.parallel is None and found.tiles == ()


def test_sums_are_not_reordered_in_a_drawing() -> None:
    found = space("""\
void f(int n, double *s, double a[n][n]) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s[j] += a[i][j];
}
""")
    assert found.parallel is not None and found.parallel.free == ("j",)
    step = begun(found.parallel)
    assert all(step[arrow.source] < step[arrow.sink] for arrow in found.arrows) and found.arrows


def test_counting_down_runs_down() -> None:
    found = space("void f(int n, double *a) { for (int i = n - 1; i > 0; i--) a[i - 1] = a[i]; }\n")
    assert found.written is not None
    assert [x for step in found.written.steps for x, _ in step] == sorted((x for x, _ in found.points))[::-1]


def test_tiles_cover_the_points_and_no_arrow_enters_an_earlier_one() -> None:
    found = space(SEIDEL, 2)
    tile = {point: number for number, own in enumerate(found.tiles) for point in own}
    assert set(tile) == set(found.points) and sum(map(len, found.tiles)) == len(tile)
    assert all(tile[arrow.source] <= tile[arrow.sink] for arrow in found.arrows)


def test_loops_that_cannot_be_interchanged_have_no_tiles_along_them() -> None:
    found = space("""\
void f(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 0; j < n - 1; j++)
            a[i][j] = a[i - 1][j + 1] + a[i][j];
}
""")
    assert found.parallel is not None and found.parallel.free == ("j",) and found.tiles == ()


def test_a_sum_over_both_loops_is_not_drawn_in_tiles() -> None:
    found = space("""\
double f(int n, double a[n][n]) {
    double s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s += a[i][j];
    return s;
}
""")
    assert found.tiles == () and found.parallel is None and found.arrows
