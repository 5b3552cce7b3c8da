"""Feasibility of each action, before it is offered: no offer is in vain, and none costs the analysis."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.edits import feasibility
from polylsp.emit.subject import Again, Subject
from polylsp.engine import queries
from polylsp.ide.actions import Offer, function_offers, offers
from polylsp.ide.lightbulb import lightbulb, safe_fixes
from polylsp.model.action import Ask, Declined, Edited
from polylsp.model.facts import Feasibility, FileReport
from tests.loud import quiet

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("**/*.c"))
SWEEP = """\
void sweep(int n, double a[n][n]) {
    for (int i = 1; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
}
"""
STEPS = """\
void steps(int n, double a[n]) {
    for (int i = 0; i < n; i++)
        a[i] *= 2;
}
"""


def listed(text: str, report: FileReport, settings: Settings) -> list[Offer]:
    """Everything that is offered on some loop of a text."""
    headers = [p.span(one.header).start for p in report.functions for one in p.answer.facts.loops]
    source = Source(text)
    found = (
        (
            *offers(source, report, settings, Span(at, at)),
            *function_offers(source, report, settings, Span(at, at)),
        )
        for at in headers
    )
    return [each for some in found for each in some]


BLOCKS = """\
#include <string.h>
void copy(unsigned char *d, const unsigned char *s, unsigned char *end) {
    do { memcpy(d, s, 8); d += 8; s += 8; } while (d < end);
}
"""
"""No bound but that of a stride."""


def test_no_edit_of_blocks_without_an_end_fails() -> None:
    report = queries.analyse("tried.c", BLOCKS, Settings(max_seconds=200.0), edits=True)
    assert report.functions[-1].answer.feasibility is not None


@pytest.mark.sweep(7)
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_is_offered_on_a_sample_can_be_had_and_what_is_disabled_cannot(path: Path) -> None:
    # However slow the machine is, all edits are tried.
    text, settings = path.read_text(), Settings(max_seconds=200.0)
    report = queries.analyse(str(path), text, settings, edits=True)
    once = {(o.ask.action, o.ask.starts, o.title, o.disabled): o for o in listed(text, report, settings)}
    for offer in once.values():
        answer = queries.edit(str(path), text, settings, offer.ask)
        assert isinstance(answer, Declined if offer.disabled else Edited), offer
        assert not offer.disabled or answer == Declined(offer.disabled)


def test_edits_are_tried_only_where_that_is_wanted() -> None:
    for wanted, known in ((False, False), (True, True), (False, True)):
        report = queries.analyse("tried.c", SWEEP, Settings(), edits=wanted)
        (placed,) = report.functions
        assert (placed.answer.feasibility is not None) == known


def test_one_that_was_tried_has_another_key() -> None:
    plain, tried = (queries.analyse("key.c", SWEEP, Settings(), edits=edits) for edits in (False, True))
    assert plain.functions[0].answer.key != tried.functions[0].answer.key
    again = queries.analyse("key.c", SWEEP, Settings(), schedules=False)
    assert again.functions[0].answer == tried.functions[0].answer


def test_an_analysis_that_is_called_off_stops_between_two_edits() -> None:
    class Stop(BaseException):
        pass

    calls: list[str] = []

    def observe(key: str, name: str, done: int, total: int) -> None:
        calls.append(name)
        if len(calls) == 4:
            raise Stop

    with pytest.raises(Stop):
        queries.analyse("stopped.c", SWEEP, Settings(), edits=True, observe=observe)
    assert calls == ["sweep"] * 4
    report = queries.analyse("stopped.c", SWEEP, Settings(), edits=True)
    assert report.functions[0].answer.feasibility is not None


def test_an_edit_that_fails_costs_the_analysis_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug in an edit")

    monkeypatch.setattr(feasibility, "answer", fail)
    with quiet():
        report = queries.analyse("failed.c", STEPS, Settings(), edits=True)
    (placed,) = report.functions
    assert placed.answer.feasibility == Feasibility()
    titles = [each.title for each in listed(STEPS, report, Settings()) if not each.disabled]
    assert titles[0] == "Run `i` in parallel with OpenMP" and len(titles) == 3


def test_without_time_nothing_is_tried_and_directives_are_offered_all_the_same() -> None:
    settings = Settings(max_seconds=0.0)
    report = queries.analyse("late.c", STEPS + SWEEP, settings, edits=True)
    assert [each.answer.feasibility for each in report.functions] == [None] * 2
    assert len(listed(STEPS + SWEEP, report, settings)) == 3


@pytest.mark.parametrize("called_off", [False, True])
def test_an_edit_of_several_steps_ends_between_two_of_them(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, called_off: bool
) -> None:
    class Stop(BaseException):
        pass

    def read_again(subject: Subject, ask: Ask, _settings: Settings, again: Again) -> Declined:
        if ask.action == "restructure":
            assert again(subject.text) is not None
            now = float("inf")
            monkeypatch.setattr(feasibility, "process_time", lambda: 0.0 if called_off else now)
            stops.append(called_off)
            again(subject.text)
            pytest.fail("the text was read once more")
        return Declined("not this one")

    def observe(key: str, name: str, done: int, total: int) -> None:
        if any(stops):
            raise Stop

    stops: list[bool] = []
    monkeypatch.setattr(feasibility, "answer", read_again)
    with pytest.raises(Stop) if called_off else nullcontext():
        report = queries.analyse(f"steps{called_off}.c", SWEEP, Settings(), edits=True, observe=observe)
        assert report.functions[0].answer.feasibility is not None
    assert stops == [called_off] and not caplog.records


def test_what_stands_elsewhere_has_no_bearing_on_it() -> None:
    before = queries.analyse("moved.c", SWEEP, Settings(), edits=True)
    above = "static void twice(double *p);\n\n"
    after = queries.analyse("moved.c", above + SWEEP, Settings(), edits=True)
    assert after.functions[-1].answer is before.functions[-1].answer


def test_lines_in_a_reason_are_those_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_subject: object, ask: Ask, _settings: object, again: object) -> Declined:
        return Declined(f"`{ask.action}` is not for line 2.")

    monkeypatch.setattr(feasibility, "answer", refuse)
    for above in (0, 3):
        text = "\n" * above + STEPS
        report = queries.analyse("lines.c", text, Settings(), edits=True)
        reasons = [each.disabled for each in listed(text, report, Settings())]
        names = ("openmp", "openacc", "openmp-target")
        assert reasons == [f"`{name}` is not for line {2 + above}." for name in names]


def test_work_is_known_where_it_is_a_number() -> None:
    text = STEPS + STEPS.replace("steps", "few").replace("i < n", "i < 50")
    report = queries.analyse("work.c", text, Settings(), edits=True)
    known = [each.answer.feasibility for each in report.functions]
    assert [each.operations for each in known if each is not None] == [(), ((1, 50),)]
    assert [each.preferred for each in listed(text, report, Settings())] == [True, *[False] * 5]


def test_threads_that_start_in_each_time_step_are_not_preferred() -> None:
    step = "        for (int i = 1; i < n - 1; i++)\n            {} = ({}[i - 1] + {}[i] + {}[i + 1]) / 3;\n"
    text = (
        "void f(int n, int steps, double *restrict a, double *restrict b) {\n"
        "    for (int t = 0; t < steps; t++) {\n"
        f"{step.format('b[i]', *'aaa')}{step.format('a[i]', *'bbb')}    }}\n}}\n"
    )
    report = queries.analyse("often.c", text, Settings(), edits=True)
    at = text.index("for (int i")
    inner = Span(at, at)
    source = Source(text)
    found = lightbulb(source, report, Settings(), inner, makes_files=False)
    fixes = [each.ask.action for each in found if isinstance(each, Offer) and each.kind == "quickfix"]
    (directive,) = (each for each in found if isinstance(each, Offer) and each.ask.action == "openmp")
    assert fixes[0] == "restructure" and not directive.preferred
    assert directive.title.endswith("(starts threads in each iteration of `t`)")
    assert safe_fixes(source, report, Settings(), ["directives"]).asks == ()


@pytest.mark.parametrize(
    ("between", "first"),
    [("", ["restructure", "overlap-check"]), ("double first = c[0];", ["overlap-check", "restructure"])],
    ids=["under a check", "on an assumption"],
)
def test_a_product_is_restructured_first_if_a_check_finds_its_arrays_apart(
    between: str, first: list[str]
) -> None:
    text = f"""double f(int n, double *c, const double *a, const double *b) {{
    for (int i = 0; i < n * n; i++)
        c[i] = 0.0;
    {between}
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                c[i * n + j] += a[i * n + k] * b[k * n + j];
    return {"first" if between else "0.0"};
}}
"""
    report = queries.analyse("product.c", text, Settings(), edits=True)
    at = text.index("for (int i = 0; i < n; i++)")
    found = lightbulb(Source(text), report, Settings(), Span(at, at), makes_files=False)
    fixes = [each for each in found if isinstance(each, Offer) and each.kind == "quickfix"]
    assert [each.ask.action for each in fixes if each.ask.action in first] == first
    assert fixes[0].ask.action == first[0] and fixes[0].preferred


def test_sums_for_the_vector_unit_come_first_in_nests() -> None:
    text = """void f(int n, double *restrict y, double *restrict z, double (*restrict a)[n], double *x) {
    for (int k = 0; k < n; k++)
        z[k] = 2 * k;
    for (int i = 0; i < n; i++) {
        double s = 0;
        for (int j = 0; j < n; j++)
            s += a[i][j] * x[j];
        y[i] = s;
    }
}
"""
    report = queries.analyse("vector.c", text, Settings(), edits=True)

    def fixes(header: str) -> list[tuple[str, bool]]:
        at = text.index(header)
        found = lightbulb(Source(text), report, Settings(), Span(at, at), makes_files=False)
        offers = [o for o in found if isinstance(o, Offer) and o.kind == "quickfix" and not o.disabled]
        return [(each.ask.action, each.preferred) for each in offers]

    assert fixes("for (int k")[0] == ("openmp", True)
    assert fixes("for (int i")[:2] == [("restructure", True), ("openmp", False)]


def test_a_wavefront_alone_is_not_preferred() -> None:
    text = """void paths(int n, int p[n][n]) {
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                p[i][j] = p[i][j] < p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j];
}
"""
    report = queries.analyse("paths.c", text, Settings(), edits=True)
    at = text.index("for (int i")
    found = lightbulb(Source(text), report, Settings(), Span(at, at), makes_files=False)
    preferred = {o.ask.action: o.preferred for o in found if isinstance(o, Offer) and o.kind == "quickfix"}
    assert preferred["restructure"] and not preferred.get("skew", False)


SWEEPS = """\
def sweep(steps, a, b):
    for t in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
"""


def test_a_trial_that_runs_out_of_operations_leaves_nothing_behind() -> None:
    """A trial analyses the text that the edit works on; the edit must not get that answer, cut short."""
    settings = Settings(cache=False)
    found = queries.analyse("sweep.py", SWEEPS, settings, edits=True).functions[0]
    ask = Ask("numba", "sweep", found.start, found.answer.facts.loops[0].ordinal)
    assert isinstance(queries.edit("sweep.py", SWEEPS, settings, ask), Edited)
