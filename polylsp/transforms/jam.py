"""Unroll and jam: several iterations of outer loops run together in the innermost one, so that shared
elements are loaded once and stays in registers (Callahan, Carr and Kennedy, PLDI 1990)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_expressions import Linear, added, extremum, sum_text
from polylsp.emit.c_pragmas import Clause, Directive
from polylsp.emit.c_text import Made, Piece, Written, directives, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import Chain, chain_inside, fresh_name, several, type_words, unstable
from polylsp.schedule.loop_headers import Bounds, bounds_of, header, start
from polylsp.schedule.statement_leaves import (
    LeafDependence,
    Leaves,
    backward,
    leaves_of,
    listed,
    refusal,
    varies,
)
from polylsp.transforms.scalar_replacement import Body, Held, Offsets, Registers, body_of, never_empty

_FACTORS = {1: (4,), 2: (4, 2)}
"""Unroll factors of each jammed loop: as many as let sums and factors fit 16 registers."""
_MOST = 16

ONE_BY_ONE = "The setting `unroll_factors` lets the iterations of these loops run one by one."


@dataclass(frozen=True, slots=True)
class Jam:
    """A chain whose outer loops run several iterations together: `factors`, one for each but the innermost.
    `vector`: the iterations of the innermost loop do not depend on each other."""

    subject: Subject
    chain: Chain
    found: Leaves
    body: Body
    bounds: tuple[Bounds, ...]
    factors: tuple[int, ...]
    vector: bool

    @property
    def counters(self) -> tuple[str, ...]:
        """The names of the counters, outermost first."""
        return tuple(each.name for each in self.bounds)


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The innermost loop of the chain around `ordinal`, with several iterations of one or two around it."""
    chain = several(subject, ordinal, chain_inside(subject, ordinal))
    if isinstance(chain, Declined):
        return chain
    refused: Declined | None = None
    for count in (3, 2):
        if len(chain.ordinals) >= count:
            jam = _jam(subject, chain.part(len(chain.ordinals) - count, len(chain.ordinals)), settings)
            if isinstance(jam, Jam):
                return _edited(jam)
            refused = jam
    assert refused is not None
    return refused


def held(subject: Subject, chain: Chain) -> Answer:
    """A loop with its sums of array elements in variables, if the vector unit can add them up."""
    jam = understood(subject, chain, ())
    if isinstance(jam, Declined):
        return jam
    answer = _edited(jam)
    if "simd" in answer.parts and not jam.vector:
        return answer
    return Declined(f"What the loop `{jam.counters[-1]}` adds to is used in other ways too.")


def wanted_factors(settings: Settings, usual: tuple[int, ...]) -> tuple[int, ...]:
    """Unroll factors of some loops: the user's, or the usual ones."""
    given = (*settings.unroll_factors, *(1 for _ in usual))[: len(usual)]
    return tuple(min(max(each, 1), _MOST) for each in given) if settings.unroll_factors else usual


def _jam(subject: Subject, chain: Chain, settings: Settings) -> Jam | Declined:
    if any(loop.parent == chain.ordinals[-1] for loop in subject.facts.loops):
        return Declined("There are loops beside each other in the innermost loop: split it first.")
    jam = understood(subject, chain, (1,) * (len(chain.ordinals) - 1))
    if isinstance(jam, Declined):
        return jam
    chosen = _factors(jam.found, jam.bounds, jam.body, settings)
    if isinstance(chosen, LeafDependence):
        return refusal(jam.found, f"Running iterations of the loops {listed(jam.counters)} together", chosen)
    return chosen if isinstance(chosen, Declined) else replace(jam, factors=chosen)


def understood(subject: Subject, chain: Chain, factors: tuple[int, ...]) -> Jam | Declined:
    """Chain with the analyses that copies of its body need."""
    body = body_of(subject, chain)
    if isinstance(body, Declined):
        return body
    found = unstable(subject, chain.ordinals) or leaves_of(subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    bounds = _bounds(subject, chain)
    if isinstance(bounds, Declined):
        return bounds
    vector = varies(found, len(bounds) - 1) is None
    return Jam(subject, chain, found, body, bounds, factors, vector)


def _bounds(subject: Subject, chain: Chain) -> tuple[Bounds, ...] | Declined:
    names = tuple(subject.known(o).iterator or "" for o in chain.ordinals)
    result: list[Bounds] = []
    for k, (ordinal, text) in enumerate(zip(chain.ordinals, chain.texts, strict=True)):
        own = bounds_of(subject, ordinal, text, names[:k])
        if own is None:
            header = subject.text[text.header.start : text.header.end]
            return Declined(f"New bounds cannot be computed from `{header}`: it has to count up by one.")
        result.append(own)
    return tuple(result)


def _factors(
    found: Leaves, bounds: tuple[Bounds, ...], body: Body, settings: Settings
) -> tuple[int, ...] | LeafDependence | Declined:
    """Unroll factors of each loop, or the obstacle. Bounds that depend on a loop's counter are possible for
    the innermost loop, if the other's iterations are independent."""
    inner = len(bounds) - 1
    shared = [any(own.name not in m.counters for m in body.mentions) for own in bounds[:inner]]
    if not any(shared):
        return Declined("What one iteration of these loops loads is of no use to another one.")
    broken: LeafDependence | None = None
    possible: list[bool] = []
    for k in range(inner):
        free = varies(found, k) is None
        against = None if free else _against(found, k, inner)
        broken = broken or against
        middle = any(each.depends_on(bounds[k].name) for each in bounds[k + 1 : inner])
        triangular = bounds[inner].depends_on(bounds[k].name)
        possible.append(
            shared[k] and against is None and not middle and (not triangular or (free and k == 0))
        )
        if triangular and not one_sided(bounds[inner], bounds[k].name):
            possible[-1] = False
    if not any(possible):
        return broken or Declined(
            "The bounds of these loops depend on each other in a way that is not handled."
        )
    if inner == 2 and not possible[0]:
        return Declined("The outer loop has to stay as it is.")
    factors = wanted_factors(settings, _FACTORS[sum(possible)])
    if max(factors) == 1:
        return Declined(ONE_BY_ONE)
    values = iter(factors)
    return tuple(next(values) if each else 1 for each in possible)


def _against(found: Leaves, first: int, inner: int) -> LeafDependence | None:
    """A dependence that runs backward in one of the loops from `first` on."""
    for k in range(first, inner + 1):
        broken = backward(found, k)
        if broken is not None:
            return broken
    return None


def one_sided(bounds: Bounds, counter: str) -> bool:
    """True if a counter moves only the beginning of a loop, or only its end, and up."""
    first, last = ([each.get(counter, 0) for each in side] for side in (bounds.firsts, bounds.lasts))
    return not (any(first) and any(last)) and all(each >= 0 for each in (*first, *last))


# --- Text --------------------------------------------------------------------------------


def _edited(jam: Jam) -> Edited:
    pieces = tuple(_level(jam, 0, ({},)))
    parent = jam.chain.texts[0].node.parent
    if len(pieces) > 1 and parent is not None and parent.type == "compound_statement":
        pieces = (Made("", pieces),)
    made = replaced(jam.subject, jam.chain.texts[0], pieces, style_of(jam.subject, jam.chain.texts))
    shown = " and ".join(
        f"{factor} iterations of `{name}`"
        for name, factor in zip(jam.counters, jam.factors, strict=False)
        if factor > 1
    )
    remarks = [f"Runs {shown} together."] if shown else []
    vectorised = list(directives(pieces))
    if vectorised and not jam.vector:
        remarks.append(f"The sums over `{jam.counters[-1]}` are added up in another order.")
    return Edited((made,), jam.found.assumptions, tuple(remarks), ("simd",) if vectorised else ())


def _level(jam: Jam, depth: int, copies: Sequence[Offsets]) -> Iterator[Piece]:
    """The loops from a depth on, for some copies of the body."""
    if depth == len(jam.factors):
        yield from _innermost(jam, copies)
        return
    own, factor = jam.bounds[depth], jam.factors[depth]
    braces = jam.chain.braces[depth]
    if factor == 1:
        yield Made(header(own), tuple(_level(jam, depth + 1, copies)), braces)
        return
    several = [{**copy, own.name: n} for copy in copies for n in range(factor)]
    lines, end = named(jam, own.lasts, "<", f"{own.name}_end")
    yield from lines
    yield Written(f"{start(own)};")
    main = f"for (; {own.name} < {sum_text(added(end, {'': factor - 1}, -1))}; {own.name} += {factor})"
    yield Made(main, tuple(_level(jam, depth + 1, several)), braces)
    rest = f"for (; {own.name} < {sum_text(end)}; {own.name}++)"
    yield Made(rest, tuple(_rest(jam, depth + 1, copies)), braces)


def named(jam: Jam, operands: Sequence[Linear], order: str, name: str) -> tuple[list[Piece], Linear]:
    """Extremum of some sums, in a variable where there are several."""
    if len(operands) == 1:
        return [], operands[0]
    words, name = type_words(jam.subject, jam.chain), fresh_name(jam.subject, name)
    return [Written(f"const {words} {name} = {extremum(list(operands), order)};")], {name: 1}


def _rest(jam: Jam, depth: int, copies: Sequence[Offsets]) -> Iterator[Piece]:
    """The loops from a depth on for the iterations that are left over."""
    if len(copies) > 1:
        yield from _level(jam, depth, copies)
        return
    body: Piece = jam.chain.body
    for k in reversed(range(depth, len(jam.bounds))):
        text = jam.chain.texts[k]
        words = jam.subject.text[text.header.start : text.header.end]
        body = Made(words, (body,), jam.chain.braces[k], text.remark)
    yield body


def _innermost(jam: Jam, copies: Sequence[Offsets]) -> Iterator[Piece]:
    """Innermost loop over the iterations common to all copies, and before or after it those of some
    copies."""
    own, outer = jam.bounds[-1], jam.counters[0]
    rows = sorted({copy.get(outer, 0) for copy in copies}) if own.depends_on(outer) else [0]
    if len(rows) == 1:
        yield from _main(jam, own, copies)
        return
    each = {row: own.at(outer, row) for row in rows}
    alone = {row: [c for c in copies if c.get(outer, 0) == row] for row in rows}
    if any(first.get(outer) for first in own.firsts):
        lines, first = named(jam, each[rows[-1]].firsts, ">", f"{own.name}_first")
        yield from lines
        for row in rows[:-1]:
            before = replace(own, firsts=each[row].firsts, lasts=(*own.lasts, first))
            yield _plain(jam, before, alone[row])
        yield from _main(jam, replace(own, firsts=(first,)), copies, ragged=True)
        return
    lines, last = named(jam, own.lasts, "<", f"{own.name}_last")
    yield from lines
    yield from _main(jam, replace(own, lasts=(last,)), copies, ragged=True)
    for row in rows[1:]:
        yield _plain(jam, replace(own, firsts=(*own.firsts, last), lasts=each[row].lasts), alone[row])


def _plain(jam: Jam, bounds: Bounds, copies: Sequence[Offsets]) -> Piece:
    return Made(header(bounds), tuple(_statements(jam, copies, {})), jam.chain.braces[-1])


def _main(jam: Jam, bounds: Bounds, copies: Sequence[Offsets], ragged: bool = False) -> Iterator[Piece]:
    """The innermost loop over iterations that all copies have."""
    held = Registers(jam.found, jam.body, jam.counters).held(copies)
    before, top, end, behind = (
        tuple(Written(line) for line in lines) for lines in (held.before, held.top, held.end, held.behind)
    )
    body = (*top, *_statements(jam, copies, held.names), *end)
    loop = Made(header(bounds), body, jam.chain.braces[-1])
    pieces: tuple[Piece, ...] = (*before, *_simd(jam, held), loop, *behind)
    if (before or behind) and (ragged or not never_empty(jam.found)):
        yield Made(f"if ({bounds.first} < {bounds.last})", pieces, "same line")
    else:
        yield from pieces


def _simd(jam: Jam, held: Held) -> tuple[Directive, ...]:
    """The directive that hands the innermost loop to the vector unit; none if its iterations need each other
    for more than sums, which then are added up in another order."""
    if any(_meets_at_times(each.pairs, len(jam.bounds) - 1) for each in jam.found.dependences):
        return ()
    if jam.vector:
        return (Directive("omp", "simd"),)
    if not held.sums or not _only_adds(jam, held):
        return ()
    return (Directive("omp", "simd", (Clause("reduction", tuple(held.sums), "+"),)),)


def _meets_at_times(pairs: isl.Map, last: int) -> bool:
    """True if iterations that run together use one element in some iterations of the innermost loop, and not
    in others. gcc 12 takes such accesses as independent if the iterations are declared so, and loads before
    it has stored."""
    same = pairs.equate(isl.dim_type.in_, last, isl.dim_type.out, last).project_out(isl.dim_type.out, last, 1)
    equal = same.wrap().flatten().remove_divs().affine_hull()
    return bool(equal.involves_dims(isl.dim_type.set, last, 1))


def _only_adds(jam: Jam, held: Held) -> bool:
    """True if iterations of the innermost loop only pass on sums in variables."""
    verdict = jam.subject.known(jam.chain.ordinals[-1]).verdict
    if not isinstance(verdict, Parallel) or any(each.operator != "+" for each in verdict.reductions):
        return False
    last = len(jam.bounds) - 1
    for each in jam.found.dependences:
        same = each.pairs.is_subset(each.pairs.equate(isl.dim_type.in_, last, isl.dim_type.out, last))
        ends = {jam.subject.span(end.site) for end in (each.first, each.second)}
        if not same and not (each.updates and ends <= held.places):
            return False
    return True


def _statements(jam: Jam, copies: Sequence[Offsets], names: dict[str, str]) -> Iterator[Piece]:
    for copy in copies:
        for span in jam.body.statements:
            yield Written(jam.body.copy(span, copy, names))
