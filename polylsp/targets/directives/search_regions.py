"""Parallel regions for searches of an extremum with its position, which no clause of OpenMP combines.

Each thread searches its part of the iterations in copies of its own. The copies are combined in a critical
section, where equal extrema are decided by the iteration: the result is that of one thread, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.analysis.dependence.loop_idioms import Search, searches, with_names
from polylsp.analysis.scop.reductions import conversions, lossy
from polylsp.analysis.scop.summaries import Calls
from polylsp.emit.c_pragmas import Clause, Directive
from polylsp.emit.c_syntax import LoopText, undirected
from polylsp.emit.c_text import Made, Piece, Written, element_words, kept_statement, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.program import Assign, Read, Variable, stripped
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
    combined: list[_Combined] = []
    for search in searches(subject.loop(root.ordinal), Calls()):
        one = _combined(subject, root, search, [name for each in combined for name in each.shared])
        if isinstance(one, Declined):
            return one
        combined.append(one)
    assert isinstance(root.verdict, Parallel)
    expected = {each.carried for each in root.verdict.reductions if each.carried}
    if {tuple(s.target.variable.source_name for s in one.search.carried) for one in combined} != expected:
        return Declined(f"What the loop `{root.iterator}` searches depends on what functions do.")
    return replaced(subject, text, _pieces(subject, text, directive, combined), style_of(subject, [text]))


def _combined(
    subject: Subject, root: LoopFacts, search: Search, taken: Sequence[str]
) -> _Combined | Declined:
    found = subject.nest(root.ordinal)
    if search.variable is not None:
        own = search.variable.source_name
    else:
        own = subject.source(search.extremum.site)
        if subject.is_from_macro(search.extremum.site):
            return Declined(f"A macro writes `{own}`, which is compared: write the macro out first.")
    sign = "<" if search.operator == "min" else ">"
    if not search.strict:
        return Declined(
            f"The loop `{root.iterator}` keeps the last of equal values of `{own}`: compare "
            f"with `{sign}` to keep the first, which threads can find together."
        )
    iterator = counter(subject, root.ordinal)
    place = next((s.target.variable for s in search.carried if _keeps(s, iterator)), None)
    if place is None or found is None:
        return Declined(
            f"Which of equal values of `{own}` comes first cannot be told: keep "
            f"`{iterator.source_name}` beside it."
        )
    renamed: dict[str, str] = {}
    for name in (v.source_name for v in search.variables):
        others = {*taken, *renamed.values()}
        renamed[name] = fresh_name(subject, f"{name}_all", f"{name}_of_all", taken=others)
    best, at = with_names(own, renamed), place.source_name
    order = "<" if found[1].scop.loops[root.ordinal].step > 0 else ">"
    precedes = f"{own} {sign} {best} || ({own} == {best} && {at} {order} {renamed[at]})"
    if search.variable is None:
        # The element at the first position may not exist where no iteration reads it.
        moved = " || ".join(f"{name} != {other}" for name, other in renamed.items())
        precedes = f"({moved}) && ({precedes})" if len(renamed) > 1 else f"{moved} && ({precedes})"
    return _Combined(search, tuple(renamed.values()), precedes)


def _keeps(assign: Assign, iterator: Variable) -> bool:
    """True if an assignment stores the value of a counter as it is."""
    value = stripped(assign.value)
    is_counter = isinstance(value, Read) and value.place.variable == iterator and not value.place.steps
    return is_counter and not lossy(conversions(assign.value, assign.target.type))


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
