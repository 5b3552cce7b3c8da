"""Parallel regions for searches of an extremum with its position, which no clause of OpenMP combines.

Each thread searches its part of the iterations in copies of its own. The copies are combined in a critical
section, where equal extrema are decided by the iteration: the result is that of one thread, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
class Combined:
    """A search whose extrema of parts of the iterations can be combined: the text of the extremum, the
    operator by which one comes before another, and the variable that has the iteration, by which the earlier
    of two is decided (`<` or `>`: `order`)."""

    search: Search
    extremum: str
    sign: str
    position: str
    order: str

    def precedes(self, one: Mapping[str, str], other: Mapping[str, str]) -> str:
        """The comparison by which the extremum that some names have comes before that of others."""
        mine, theirs = with_names(self.extremum, one), with_names(self.extremum, other)
        found = (
            f"{mine} {self.sign} {theirs} || "
            f"({mine} == {theirs} && {one[self.position]} {self.order} {other[self.position]})"
        )
        if self.search.variable is not None:
            return found
        # The element at the first position may not exist where no iteration reads it.
        moved = " || ".join(f"{one[name]} != {other[name]}" for name in one)
        return f"({moved}) && ({found})" if len(one) > 1 else f"{moved} && ({found})"


def search_region(subject: Subject, root: LoopFacts, directive: Directive) -> Replacement | Declined:
    """A parallel region in the place of a loop that makes searches, in which the loop has the clauses of a
    `parallel for` directive."""
    text = undirected(subject, root.ordinal)
    if isinstance(text, Declined):
        return text
    found = combined_searches(subject, root)
    if isinstance(found, Declined):
        return found
    return replaced(subject, text, _pieces(subject, text, directive, found), style_of(subject, [text]))


def combined_searches(subject: Subject, root: LoopFacts) -> list[Combined] | Declined:
    """The searches that a loop makes, in the order of the source."""
    combined: list[Combined] = []
    for search in searches(subject.loop(root.ordinal), Calls()):
        one = _combined(subject, root, search)
        if isinstance(one, Declined):
            return one
        combined.append(one)
    assert isinstance(root.verdict, Parallel)
    expected = {each.carried for each in root.verdict.reductions if each.carried}
    if {tuple(s.target.variable.source_name for s in one.search.carried) for one in combined} != expected:
        return Declined(f"What the loop `{root.iterator}` searches depends on what functions do.")
    return combined


def _combined(subject: Subject, root: LoopFacts, search: Search) -> Combined | Declined:
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
    order = "<" if found[1].scop.loops[root.ordinal].step > 0 else ">"
    return Combined(search, own, sign, place.source_name, order)


def _keeps(assign: Assign, iterator: Variable) -> bool:
    """True if an assignment stores the value of a counter as it is."""
    value = stripped(assign.value)
    is_counter = isinstance(value, Read) and value.place.variable == iterator and not value.place.steps
    return is_counter and not lossy(conversions(assign.value, assign.target.type))


def _pieces(
    subject: Subject, text: LoopText, directive: Directive, combined: Sequence[Combined]
) -> tuple[Piece, ...]:
    shared: dict[str, str] = {}
    variables = {v.source_name: v for one in combined for v in one.search.variables}
    for name in variables:
        shared[name] = fresh_name(subject, f"{name}_all", f"{name}_of_all", taken=list(shared.values()))
    mine = Clause("firstprivate", tuple(variables))
    whole = (*(c for c in directive.clauses if c.name in _OF_REGION), mine)
    rest = tuple(c for c in directive.clauses if c.name not in _OF_REGION)
    region: list[Piece] = [
        Directive("omp", "for", (*rest, Clause("nowait"))),
        kept_statement(text.span),
    ]
    for one in combined:
        names = [v.source_name for v in one.search.variables]
        precedes = one.precedes({n: n for n in names}, {n: shared[n] for n in names})
        sets = (Written(f"{shared[name]} = {name};", True) for name in names)
        region += [Directive("omp", "critical"), Made(f"if ({precedes})", tuple(sets))]
    return (
        *(Written(f"{words_of(subject, v)} {shared[name]} = {name};") for name, v in variables.items()),
        Directive("omp", "parallel", whole),
        Made("", tuple(region)),
        *(Written(f"{name} = {shared[name]};") for name in variables),
    )


def words_of(subject: Subject, variable: Variable) -> str:
    """The type of a variable of a search, in words."""
    words = element_words(subject, variable, variable.type)
    assert words is not None, "searches are about numbers"
    return words
