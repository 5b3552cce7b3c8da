"""Content of the drawing beside the text."""

from __future__ import annotations

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse, iteration_space
from polylsp.ide.lookup import loop_at
from polylsp.ide.loop_view import View, view
from polylsp.ide.measured import measured_bars
from polylsp.model.iteration_points import IterationSpace
from polylsp.model.measurement import Figure, Measurement, Missing, Times

SWEEP = """\
void sweep(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = a[i-1][j]
                + a[i][j-1];
}
"""
FIGURE = Figure("openmp", "directives", Times(0.5, 0.4, 0.6, 9), 2.0, 1.9, 2.1, "faster", 0.0)
MISSING = Missing("cuda", "directives", "there is no GPU")
MEASURED = Measurement(
    "sweep", 1, (), Times(1.0, 0.9, 1.1, 9), (FIGURE,), (MISSING,), "gcc", "a processor", 2, 0.0
)


def shown(text: str, at: str, measured: dict[tuple[str, int], Measurement] | None = None) -> View:
    report, source = analyse("/a.c", text, Settings()), Source(text)
    found = loop_at(source, report, text.index(at))
    assert found is not None
    placed, loop = found
    space = iteration_space("/a.c", text, Settings(), placed.answer.facts.name, loop.ordinal, None)
    drawn = space if isinstance(space, IterationSpace) else space.message
    return view(source, placed, loop, drawn, measured or {})


def test_arrows_lead_to_the_accesses_in_the_text() -> None:
    found = shown(SWEEP, "int j")
    ends = {(each.kind, each.source.text, each.sink.text) for each in found.dependences}
    assert ("flow", "a[i][j] = …", "a[i][j-1]") in ends
    for ray in found.rays:
        (moved,) = {(ray.sink[0] - ray.source[0], ray.sink[1] - ray.source[1])}
        for number in ray.between:
            between = found.dependences[number]
            assert between.kind == ray.kind == "flow"
            assert SWEEP[between.sink.span.start : between.sink.span.end] == between.sink.text
            assert moved == ((1, 0) if "i-1" in between.sink.text else (0, 1))
    assert {number for ray in found.rays for number in ray.between} == {0, 1}


def test_orders_in_words() -> None:
    written, skewed = shown(SWEEP, "int i").orders
    assert written.words == "As it is written, one after the other"
    assert skewed.words.startswith("Skewed, by the wavefront")
    rows = shown(SWEEP.replace("a[i-1][j]", "a[i][j]"), "int i").orders[1]
    assert rows.words == "`i` in parallel"


def test_a_cursor_in_a_body_means_the_innermost_loop() -> None:
    found = shown(SWEEP, "+ a[i][j-1]")
    assert found.ordinal == 2 and found.iterators == ("i", "j")


def test_what_cannot_be_drawn_keeps_the_sentence_of_its_loop() -> None:
    found = shown(SWEEP.replace("a[i-1][j]", "g(a)"), "int i")
    assert found.space is None and "`g`" in found.reason and "`i`" in found.sentence
    assert found.rays == found.orders == ()


def test_times_of_the_loop_around_are_shown() -> None:
    assert shown(SWEEP, "int j").bars == ()
    found = shown(SWEEP, "int j", {("sweep", 1): MEASURED, ("other", 1): MEASURED})
    assert [(bar.words, bar.seconds, bar.note) for bar in found.bars] == [
        ("original", 1.0, "1 s"),
        ("OpenMP", 0.5, "500 ms, 2.0×"),
    ]
    assert found.bars == tuple(measured_bars(MEASURED))
