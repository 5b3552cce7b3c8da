"""Parallel regions for searches of an extremum with its position, which no clause of OpenMP combines.

Each thread searches its part of the iterations in copies of its own. The copies are combined in a critical
section, where equal extrema are decided by the iteration: the result is that of one thread, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.dependence.loop_idioms import Search, searches, with_names
from polylsp.analysis.scop.reductions import conversions, lossy
from polylsp.analysis.scop.summaries import Calls
from polylsp.emit.c_pragmas import Clause, Directive
from polylsp.emit.c_syntax import LoopText, undirected
from polylsp.emit.c_text import Made, Piece, Written, element_words, kept_statement, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.program import Read, Variable, stripped
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Declined, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.schedule.chain import fresh_name
from polylsp.schedule.statement_leaves import counter

_OF_REGION = ("if", "firstprivate")
"""The clauses of the whole region; a loop in it takes the others."""


@dataclass(frozen=True, slots=True)
class _Combined:
    """A search, the names of the variables that are shared by the threads, and the text of the comparison in
    which a thread's extremum comes before the shared one."""

    search: Search
    shared: tuple[str, ...]
    precedes: str


def search_region(subject: Subject, root: LoopFacts, directive: Directive) -> Replacement | Declined:
    """A parallel region in the place of a loop that makes searches, in which the loop has the clauses of a
    `parallel for` directive."""
    text = undirected(subject, root.ordinal)
    if isinstance(text, Declined):
        return text
    taken: set[str] = set()
    combined: list[_Combined] = []
    for search in searches(subject.loop(root.ordinal), Calls()):
        one = _combined(subject, root, search, taken)
        if isinstance(one, Declined):
            return one
        taken.update(one.shared)
        combined.append(one)
    assert isinstance(root.verdict, Parallel)
    expected = {each.carried for each in root.verdict.reductions if each.carried}
    if {tuple(s.target.variable.source_name for s in one.search.carried) for one in combined} != expected:
        return Declined(f"What the loop `{root.iterator}` searches depends on what functions do.")
    return replaced(subject, text, _pieces(subject, text, directive, combined), style_of(subject, [text]))


def _combined(subject: Subject, root: LoopFacts, search: Search, taken: set[str]) -> _Combined | Declined:
    found, own = subject.nest(root.ordinal), search.extremum.variable.source_name
    if search.extremum.steps:
        own = subject.source(search.extremum.site)
        if subject.is_from_macro(search.extremum.site):
            return Declined(f"A macro writes `{own}`, which is compared: write the macro out first.")
    iterator = counter(subject, root.ordinal)
    place = next(
        (
            each
            for each in search.carried
            if isinstance(inner := stripped(each.value), Read)
            and (inner.place.variable, inner.place.steps) == (iterator, ())
            and not lossy(conversions(each.value, each.target.type))
        ),
        None,
    )
    if not search.strict:
        sign = "<" if search.operator == "min" else ">"
        return Declined(
            f"The loop `{root.iterator}` keeps the last of equal values of `{own}`: compare "
            f"with `{sign}` to keep the first, which threads can find together."
        )
    if place is None or found is None:
        return Declined(
            f"Which of equal values of `{own}` comes first cannot be told: keep "
            f"`{iterator.source_name}` beside it."
        )
    shared: list[str] = []
    for variable in search.variables:
        name = variable.source_name
        shared.append(fresh_name(subject, f"{name}_all", f"{name}_of_all", taken={*taken, *shared}))
    renamed = {v.source_name: name for v, name in zip(search.variables, shared, strict=True)}
    best = with_names(own, renamed)
    sign = "<" if search.operator == "min" else ">"
    order = "<" if found[1].scop.loops[root.ordinal].step > 0 else ">"
    at = place.target.variable.source_name
    comes_first = f"{own} {sign} {best} || ({own} == {best} && {at} {order} {renamed[at]})"
    if search.extremum.steps:
        # The element at the first position may not exist where no iteration reads it.
        moved = " || ".join(f"{name} != {other}" for name, other in renamed.items())
        comes_first = f"({moved}) && ({comes_first})" if len(renamed) > 1 else f"{moved} && ({comes_first})"
    return _Combined(search, tuple(shared), comes_first)


def _pieces(
    subject: Subject, text: LoopText, directive: Directive, combined: list[_Combined]
) -> tuple[Piece, ...]:
    pairs = [pair for one in combined for pair in zip(one.search.variables, one.shared, strict=True)]
    mine = Clause("firstprivate", tuple(variable.source_name for variable, _ in pairs))
    whole = (*(c for c in directive.clauses if c.name in _OF_REGION), mine)
    rest = tuple(c for c in directive.clauses if c.name not in _OF_REGION)
    region: list[Piece] = [
        Directive("omp", "for", (*rest, Clause("nowait"))),
        kept_statement(text.span),
    ]
    for one in combined:
        names = [v.source_name for v in one.search.variables]
        sets = (Written(f"{a} = {b};", True) for a, b in zip(one.shared, names, strict=True))
        region += [Directive("omp", "critical"), Made(f"if ({one.precedes})", tuple(sets))]
    return (
        *(
            Written(f"{_words(subject, variable)} {name} = {variable.source_name};")
            for variable, name in pairs
        ),
        Directive("omp", "parallel", whole),
        Made("", tuple(region)),
        *(Written(f"{variable.source_name} = {name};") for variable, name in pairs),
    )


def _words(subject: Subject, variable: Variable) -> str:
    words = element_words(subject, variable, variable.type)
    assert words is not None, "searches are about numbers"
    return words
