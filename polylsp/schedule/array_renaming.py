"""Reads of a loop that could be from copies of arrays as these are before it: which they are, and where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, former_accesses
from polylsp.analysis.dependence.verdicts import assumptions
from polylsp.core.text import Span
from polylsp.emit.affine_bounds import alone
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.footprint import touched
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Assumption, Sequential
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts, is_governed
from polylsp.poly.scop import Access, Memory, Scop


@dataclass(frozen=True, eq=False)
class Former:
    """An array, the elements of it that are read from a copy, and where these reads name it. The iterators of
    loops around are parameters of `elements`."""

    memory: Memory
    elements: isl.Set
    names: tuple[Span, ...]

    @property
    def name(self) -> str:
        """Name in the source."""
        return self.memory.variable.source_name


@dataclass(frozen=True, eq=False)
class Formers:
    """Reads of a loop from copies, in a model of it, and the assumptions under which that preserves
    semantics."""

    loop: LoopFacts
    scop: Scop
    arrays: tuple[Former, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def remark(self) -> str:
        """Remark on the copies for the user."""
        names = " and ".join(f"`{each.name}`" for each in self.arrays)
        what = "The copy takes" if len(self.arrays) == 1 else "The copies take"
        return f"{what} memory like {names}, and time each time that the loop runs."


def formers_of(subject: Subject, ordinal: int) -> Formers | Declined:
    """The reads of a loop that are all that is in the way of running its iterations at once."""
    loop, found = subject.known(ordinal), subject.nest(ordinal)
    name = loop.iterator or loop.kind
    wanted = loop.verdict.former if isinstance(loop.verdict, Sequential) else ()
    if found is None or not wanted:
        return Declined(f"Copies of arrays would not let iterations of the loop `{name}` run at once.")
    if is_governed(subject.facts, ordinal):
        return Declined(f"A directive runs the loop `{name}`, or what is around it, in parallel already.")
    scop = found[1].scop
    conflicts = Conflicts(scop)
    reads = former_accesses(conflicts, ordinal, wanted)
    if not reads:
        # A model of the loop alone, which the verdict is from, may tell more than that of its nest.
        return Declined(f"What the loop `{name}` reads depends on the loops around: make the copy yourself.")
    arrays: list[Former] = []
    for memory in dict.fromkeys(access.memory for access in reads):
        one = _former(subject, scop, loop, [access for access in reads if access.memory is memory])
        if isinstance(one, Declined):
            return one
        arrays.append(one)
    return Formers(loop, scop, tuple(arrays), tuple(_assumed(conflicts, ordinal, arrays)))


def _former(subject: Subject, scop: Scop, loop: LoopFacts, reads: Sequence[Access]) -> Former | Declined:
    memory, name = reads[0].memory, reads[0].memory.variable.source_name
    spans = {access.site: subject.span(access.site) for access in reads}
    every = [access for access in scop.accesses if access.site in spans]
    plain = all(re.match(rf"{re.escape(name)}\s*\[", subject.text[s.start :]) for s in spans.values())
    if not name.isidentifier() or not plain or any(access not in reads for access in every):
        return Declined(
            f"`{reads[0].text}` is not written as an element of `{name}`: make the copy yourself."
        )
    elements = touched(scop, reads, stretch_of(subject, loop))
    if not _is_most(elements):
        return Declined(
            f"The loop `{loop.iterator}` reads a part of `{name}`, and a copy would be of all of it."
        )
    names = sorted(Span(span.start, span.start + len(name)) for span in spans.values())
    return Former(memory, elements, tuple(names))


def _is_most(elements: isl.Set) -> bool:
    """True if elements are neither those of one row or column, nor others in each iteration of the loops
    around: otherwise a copy of all takes longer than the loop."""
    elements = elements.gist_params(elements.params())
    parameters = range(elements.dim(isl.dim_type.param))
    around = [k for k in parameters if (elements.get_dim_name(isl.dim_type.param, k) or "").startswith("__")]
    if any(elements.involves_dims(isl.dim_type.param, k, 1) for k in around):
        return False
    count = elements.dim(isl.dim_type.set)
    return count == 1 or not any(alone(elements, k).is_singleton() for k in range(count))


def _assumed(conflicts: Conflicts, ordinal: int, arrays: Sequence[Former]) -> list[Assumption]:
    """Assumptions of the loop that concern the arrays."""
    paths = {each.memory.path for each in arrays}
    return [
        each
        for each in assumptions(conflicts, ordinal, set(), moved=True)
        if each.kind != "no-overlap" or not paths.isdisjoint(each.subjects)
    ]
