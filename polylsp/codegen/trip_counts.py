"""Trip counts of loops that share a directive: proofs that they run, and that a compiler may multiply their
trip counts without a look at the signs. gcc runs rounds of a nest that OpenACC collapses if two of its loops
end more than a step before they start.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import islpy as isl

from polylsp.codegen.affine import largest, smallest
from polylsp.codegen.footprint import entered, iterations
from polylsp.codegen.nesting import collapsible
from polylsp.codegen.stretch import stretch_of
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts


def multiplied(subject: Subject, root: LoopFacts) -> tuple[LoopFacts, ...]:
    """The loops, `root` first, of which one directive can make a single loop, no two of which can have
    negative trip counts in the same run."""
    loops = collapsible(subject, root)
    while len(loops) > 1 and not _have_a_product(subject, loops):
        loops = loops[:-1]
    return loops


def surely_run(subject: Subject, loops: tuple[LoopFacts, ...]) -> bool:
    """True if loops that share a directive have an iteration each time that the first of them begins."""
    found = _iterations(subject, loops)
    return found is not None and found[0].is_subset(found[1].params())


def _iterations(subject: Subject, loops: tuple[LoopFacts, ...]) -> tuple[isl.Set, isl.Set] | None:
    """The values of parameters at which loops may begin, and their iterations at these."""
    found = subject.nest(loops[0].ordinal)
    if found is None:
        return None
    scop, region = found[1].scop, stretch_of(subject, loops[0])
    where = entered(subject, scop, region).intersect(scop.defined)
    return where, iterations(scop, loops[-1].ordinal, region)


def _have_a_product(subject: Subject, loops: tuple[LoopFacts, ...]) -> bool:
    """True if the product of the trip counts is positive only where all of them are."""
    found = _iterations(subject, loops)
    if found is None:
        return False
    # Every other round is a round too: a trip count has the sign of the distance that the counter covers.
    where, inside = found[0], found[1].remove_divs()
    known = [*_distances(inside)]
    if len(known) < len(loops) or not _tell_when_nothing_runs(known, where.subtract(inside.params())):
        return False
    return not any(_both_negative(*pair, where) for pair in combinations(known, 2))


def _distances(inside: isl.Set) -> Iterator[isl.PwAff]:
    """Distance that each loop covers, its first and its last iteration included, where one expression gives
    it."""
    for k in range(inside.dim(isl.dim_type.set)):
        high, low = largest(inside, k), smallest(inside, k)
        if high is not None and low is not None:
            yield isl.PwAff.from_aff(high.sub(low).add_constant_val(isl.Val(1)))


def _tell_when_nothing_runs(distances: list[isl.PwAff], nothing: isl.Set) -> bool:
    """True if the distances are valid also where no iteration runs: the set of the iterations defines them
    for other values of the parameters."""
    for each in distances:
        nothing = nothing.subtract(each.neg().nonneg_set().params())
    return nothing.is_empty()


def _both_negative(one: isl.PwAff, other: isl.PwAff, where: isl.Set) -> bool:
    negative = one.neg().pos_set().params().intersect(other.neg().pos_set().params())
    return not negative.intersect(where).is_empty()
