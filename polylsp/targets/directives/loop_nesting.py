"""Loop nests for directives: loops that collapse, their levels on a device, trip counts and work.

gcc runs iterations of a nest that OpenACC collapses if two of its loops end more than a step before
they start, so trip counts must be proven. Work is an over-approximated count of operations, the
third of Polly-ACC's guards (Grosser and Hoefler, Polly-ACC, ICS 2016, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from polylsp.emit.affine_bounds import Names, constant, largest, quotient, smallest, spelled
from polylsp.emit.c_pragmas import Stretch, keeps_apart, stretch_of
from polylsp.emit.footprint import entered, iterations
from polylsp.emit.source_names import names_at
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Declare,
    Expr,
    If,
    Loop,
    Place,
    Read,
    Site,
    Statement,
    subexpressions,
    within,
)
from polylsp.ir.verdict import Parallel
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Scop, ScopStatement
from polylsp.schedule.statement_leaves import counter, has_few_bits

# --------------------------------------------------------------------------------------------------
# Nesting of the loops under a directive: those that share it (`collapse`), and the balance of their
# work.
# --------------------------------------------------------------------------------------------------


_SET = isl.dim_type.set


def inner_loops(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The loops directly inside a loop."""
    return tuple(each for each in subject.facts.loops if each.parent == ordinal)


def collapsible(subject: Subject, root: LoopFacts) -> tuple[LoopFacts, ...]:
    """The loops, `root` first, of which one directive can make a single loop: each parallel, perfectly
    nested, with bounds that do not depend on the ones around it (OpenMP 5.2, 4.4.3). Counters of fewer than
    32 bits stay apart: gcc counts the iterations of the single loop in their type, in which these may not fit
    (seen with gcc 12)."""
    found = [root]
    while (inner := _only_loop(subject.loop(found[-1].ordinal))) is not None:
        facts = subject.known(inner.ordinal)
        if not _joins(facts, root) or not _is_rectangular(subject, inner, root):
            break
        if has_few_bits(subject, root.ordinal) or has_few_bits(subject, facts.ordinal):
            break
        if keeps_apart(subject, found[-1], facts):
            break
        found.append(facts)
    return tuple(found)


def limited(loops: tuple[LoopFacts, ...], most: int) -> tuple[LoopFacts, ...]:
    """No more of the loops that can share a directive than the user wants, if that is a number."""
    return loops[:most] if most else loops


def _only_loop(loop: Loop) -> Loop | None:
    """The loop that is all of a body."""
    inside = list(_statements(loop.body))
    loops = [each for each in inside if isinstance(each, Loop)]
    if len(loops) != 1:
        return None
    header = loops[0].header
    rest = [each for each in inside if each is not loops[0]]
    starts = all(
        isinstance(each, (Assign, Declare))
        and header.first <= each.site.first
        and each.site.last <= header.last
        for each in rest
    )
    return loops[0] if starts else None


def _statements(block: Block) -> Iterable[Statement]:
    for each in block.statements:
        if isinstance(each, Block):
            yield from _statements(each)
        else:
            yield each


def _joins(inner: LoopFacts, root: LoopFacts) -> bool:
    """True if the directive on `root` covers all requirements of the inner loop."""
    if not isinstance(inner.verdict, Parallel) or not isinstance(root.verdict, Parallel) or inner.misfit:
        return False
    own = {*inner.verdict.private, *inner.verdict.reductions, *inner.verdict.assumptions}
    said = {*root.verdict.private, *root.verdict.reductions, *root.verdict.assumptions}
    return own <= said and set(inner.verdict.lastprivate) <= set(root.verdict.private) | {inner.iterator}


def _is_rectangular(subject: Subject, inner: Loop, root: LoopFacts) -> bool:
    """True if the first and last value and the step are the same in all iterations of the loops around."""
    changed = effects(subject.loop(root.ordinal)).scalars
    return not any(
        isinstance(node, Read)
        and node.place.variable.name in changed - {counter(subject, inner.ordinal).name}
        for value in _header_values(subject, inner)
        for node in subexpressions(value)
    )


def _header_values(subject: Subject, loop: Loop) -> Iterable[Expr]:
    if loop.condition is not None:
        yield loop.condition
    for each in loop.step.statements:
        if isinstance(each, Assign):
            yield each.value
    around = subject.loop(subject.known(loop.ordinal).parent)
    for each in _statements(around.body):
        header = loop.header
        if isinstance(each, Assign) and header.first <= each.site.first and each.site.last <= header.last:
            yield each.value


def is_uneven(scop: Scop, root: int) -> bool:
    """True if iterations of a loop do different amounts of work: loops inside it have bounds that depend on
    its iterator."""
    return any(
        root in statement.loops and _depends(statement.domain, statement.loops.index(root))
        for statement in scop.statements
    )


def _depends(domain: isl.Set, depth: int) -> bool:
    """True if the extent of a dimension inside the one at `depth` varies with its value."""
    return any(_extent_depends(domain, depth, inner) for inner in range(depth + 1, domain.dim(_SET)))


def _extent_depends(domain: isl.Set, depth: int, inner: int) -> bool:
    own = domain.project_out(_SET, inner + 1, domain.dim(_SET) - inner - 1)
    own = own.project_out(_SET, depth + 1, inner - depth - 1).reset_tuple_id()
    values = isl.Map.from_range(own).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, depth + 1)
    # Counted from the first one, so that a window that moves along is the same everywhere.
    counted = values.sum(values.lexmin().neg())
    anywhere = counted.eliminate(isl.dim_type.in_, depth, 1).intersect_domain(counted.domain())
    return not anywhere.is_subset(counted)


# --------------------------------------------------------------------------------------------------
# Mapping of a nest's loops to a device's groups and threads; the others stay in order.
# --------------------------------------------------------------------------------------------------


def inside(subject: Subject, loops: tuple[LoopFacts, ...]) -> tuple[LoopFacts, ...]:
    """All loops inside the innermost of `loops`, outermost first."""
    return tuple(_below(subject, loops[-1].ordinal))


def _below(subject: Subject, ordinal: int) -> Iterator[LoopFacts]:
    for inner in inner_loops(subject, ordinal):
        yield inner
        yield from _below(subject, inner.ordinal)


def vectors(subject: Subject, loops: tuple[LoopFacts, ...]) -> tuple[LoopFacts, ...]:
    """Outermost loops inside that can spread over the threads of a group: parallel without reductions,
    private variables or conditions."""
    found: list[LoopFacts] = []
    for inner in inside(subject, loops):
        covered = any(one.site.first <= inner.site.first <= one.site.last for one in found)
        if not covered and not inner.misfit and inner.verdict == Parallel(private=inner.terms.private):
            found.append(inner)
    return tuple(found)


# --------------------------------------------------------------------------------------------------
# Trip counts of loops that share a directive: proofs that they run, and that a compiler may
# multiply their trip counts without a look at the signs. gcc runs rounds of a nest that OpenACC
# collapses if two of its loops end more than a step before they start.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Amount of work of a loop: the third of Polly-ACC's guards, an over-approximated count of the
# operations (Grosser and Hoefler, Polly-ACC, ICS 2016, section 5).
# --------------------------------------------------------------------------------------------------


_PARAM = isl.dim_type.param
_FEW = 8
_UNKNOWN = 100
"""Iterations that a loop of a called function counts for, if its header does not say how many it has."""
_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Work:
    """Instances of the statement that runs most often, as a box around its iterations: a constant factor, and
    C expressions that are evaluated at run time. Loops around `root` do not count."""

    known: int
    factors: tuple[str, ...] = ()

    def condition(self, threshold: int) -> str:
        """Condition under which it is more than `threshold`, in C; empty if that is constant."""
        if not self.factors:
            return ""
        if len(self.factors) == 1:
            return f"{self.factors[0]} > {threshold // self.known}"
        first, *rest = (f"({factor})" if " " in factor else factor for factor in self.factors)
        product = " * ".join([f"(long long){first}", *rest])
        return f"{product} > {threshold // self.known}"


def work_of(subject: Subject, root: LoopFacts) -> Work | None:
    """Work of one run of a loop; `None` if its extents are undetermined."""
    nest = subject.nest(root.ordinal)
    return work_in(subject, nest[1].scop, stretch_of(subject, root), (root,)) if nest is not None else None


def work_in(subject: Subject, scop: Scop, place: Stretch, roots: tuple[LoopFacts, ...]) -> Work | None:
    """Work of some loops in one run of the code around them at `place`; `None` if their extents are
    undetermined."""
    ordinals, names = {root.ordinal for root in roots}, names_at(subject, scop, place.site)
    inside = [s for s in scop.statements if ordinals & set(s.loops)]
    return largest_of(
        _times(_work(s, place.depth(scop), scop, names), _called(subject, s.site)) for s in inside
    )


def whole_work(subject: Subject, root: LoopFacts) -> Work | None:
    """Work of a loop in all runs of it that one run of its nest makes, for people: numbers stand in the place
    of macros, and parameters as the model names them; `None` if its extents are undetermined."""
    nest = subject.nest(root.ordinal)
    if nest is None:
        return None
    scop = nest[1].scop
    products = {name: " * ".join(factors) for name, factors in scop.products.items()}
    names = Names({**scop.parameters, **products})
    return largest_of(_work(s, 0, scop, names) for s in scop.statements if root.ordinal in s.loops)


def _times(work: Work | None, count: int) -> Work | None:
    """So many times an amount of work."""
    return replace(work, known=work.known * count) if work is not None and count > 1 else work


def _called(subject: Subject, site: Site) -> int:
    """Iterations of the loops that one run of a statement makes in the functions that it calls."""
    statements = (s for s in walk(subject.function.body) if not isinstance(s, Block))
    inside = (s for s in statements if within(s.site, site))
    called = {node.function for s in inside for node in nodes(s) if isinstance(node, Call) and not node.pure}
    return _work_iterations(subject, frozenset(called), frozenset({subject.function.name}))


def _work_iterations(subject: Subject, names: frozenset[str], callers: frozenset[str]) -> int:
    """Iterations of the innermost loops of some functions; 1 where there are none."""
    found = 1
    for companion in subject.companions:
        name = companion.function.name
        if name in names - callers:
            found = max(found, _in_block(subject, companion.function.body, callers | {name}))
    return min(found, _MOST)


def _in_block(subject: Subject, block: Block, callers: frozenset[str]) -> int:
    """Iterations of the innermost loops of a block, and of those of the functions that it calls."""
    found, before = 1, dict[str, int]()
    for statement in block.statements:
        match statement:
            case Block():
                found = max(found, _in_block(subject, statement, callers))
            case If():
                parts = (statement.then, statement.otherwise)
                found = max(found, *(_in_block(subject, each, callers) for each in parts))
            case Loop():
                inner = _in_block(subject, statement.body, callers)
                found = max(found, inner * _trips(statement, before))
            case Assign(target=Place(variable=variable, steps=()), value=Constant(value=int() as value)):
                before[variable.name] = value
            case _:
                pass
        called = frozenset(n.function for n in nodes(statement) if isinstance(n, Call) and not n.pure)
        found = max(found, _work_iterations(subject, called, callers)) if called else found
    return found


def _trips(loop: Loop, before: Mapping[str, int]) -> int:
    """Number of iterations of a loop, where its header says it."""
    match loop.condition:
        case Binary(
            operator="<" | "<=",
            left=Read(place=Place(variable=variable, steps=())),
            right=Constant(value=int() as end),
        ) if variable.name in before:
            return max(1, end - before[variable.name])
        case _:
            return _UNKNOWN


def largest_of(works: Iterable[Work | None]) -> Work | None:
    """Largest of some amounts of work; `None` if one of them is undetermined."""
    found = list(works)
    told = [one for one in found if one is not None]
    if not told or len(told) < len(found):
        return None
    return max(told, key=lambda one: (len(one.factors), one.known))


def _work(statement: ScopStatement, depth: int, scop: Scop, names: Names) -> Work | None:
    domain = statement.domain
    # What the loops around fix is as unknown as a parameter, but cannot be written: a box around all.
    inside = domain.project_out(_SET, 0, depth) if depth else domain
    steps = [abs(scop.loops[ordinal].step) for ordinal in statement.loops[depth:]]
    found, valued = _box(inside, steps, names), names.valued()
    if found is None and valued is not None:
        found = _box(isl.Set(valued.told(inside).simple_hull()), steps, valued.names)
    if found is None and max(steps, default=1) > 1:
        # The last value of a loop with steps may have a remainder in it.
        found = _box(inside.remove_divs(), steps, names)
    return found


def _box(inside: isl.Set, steps: Sequence[int], names: Names) -> Work | None:
    known, factors = 1, list[str]()
    # Loops over tiles, and over the points of each: as many rounds as the loop had that was tiled.
    every = ((k, _tile_around(inside, k, steps)) for k, step in enumerate(steps) if step == 1)
    tiles = {k: around for k, around in every if around is not None}
    whole = set[int]()
    for around in tiles.values():
        known *= steps[around] if around in whole else 1
        whole |= {around}
    for k, step in enumerate(steps):
        if k in tiles:
            continue
        step = 1 if k in whole else step
        high, low = largest(inside, k), smallest(inside, k)
        if high is None or low is None:
            return None
        extent = high.sub(low).add_constant_val(isl.Val(1))
        fixed = constant(extent)
        # Few large steps count, rounded up.
        rest = step - 1 if step > _FEW else 0
        text = spelled(_rounded(extent).add_constant_val(isl.Val(rest)), names)
        text = text or quotient(extent, names, inside.params())
        if text is None:
            return None
        text = "" if text.isdigit() else text
        if fixed is not None and not text:
            rounds = max(1, -(-fixed // steps[k]))
            known *= rounds * steps[k] if k in whole else rounds
        if text:
            factors.append(text if step == 1 else f"({text}) / {step}" if " " in text else f"{text} / {step}")
    return Work(known, tuple(factors))


def _tile_around(inside: isl.Set, number: int, steps: Sequence[int]) -> int | None:
    """The loop whose value, and the next one, a loop inside of it stays between."""
    for k, step in enumerate(steps[:number]):
        space = inside.get_space()
        near = isl.Set.universe(space)
        for sign, most in ((1, 0), (-1, step - 1)) if step > 1 else ():
            bound = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(space))
            bound = bound.set_coefficient_val(_SET, number, isl.Val(sign))
            bound = bound.set_coefficient_val(_SET, k, isl.Val(-sign)).set_constant_val(isl.Val(most))
            near = near.add_constraint(bound)
        if step > 1 and inside.is_subset(near):
            return k
    return None


def _rounded(extent: isl.Aff) -> isl.Aff:
    """An extent without the few that it has more or less than a sum of parameters: `n - 2` is about `n`."""
    few = abs(int(str(extent.get_constant_val()))) <= _FEW
    positive = any(extent.get_coefficient_val(_PARAM, k).is_pos() for k in range(extent.dim(_PARAM)))
    return extent.set_constant_val(isl.Val(0)) if few and positive else extent
