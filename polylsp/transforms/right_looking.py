"""Right-looking form, in blocks, of recurrences over two counters (dynamic programming over intervals).

Each element is computed from terms that name elements before it in its row and below it in its column.
The loop over these terms jumps through memory. In the right-looking form an element that is complete is
at once handed to all that need it in its row, which are neighbours in memory. Blocks of rows and columns
on one diagonal do not depend on each other. Orders of updates as in Dongarra, Gustavson and Karp, SIAM
Review 1984; blocks on diagonals as in Wolf and Lam 1991.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_expressions import Linear, Opposite
from polylsp.emit.c_loops import Counter, Names, Scan, scanned
from polylsp.emit.c_loops import Leaf as Scanned
from polylsp.emit.c_syntax import LoopText, Part
from polylsp.emit.c_text import kept
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import (
    Chain,
    comments,
    fresh_name,
    is_directed,
    opened,
    rewritten,
    type_words,
    unstable,
    walks_along,
)
from polylsp.schedule.loop_headers import Iterations, counters, iterations, merged
from polylsp.schedule.statement_leaves import Leaf, Leaves, carried_at, leaves_of, violated

_BLOCK = 64
"""Rows, and columns, of a block."""

_PARALLEL, _TURN = 1, 5
"""Places in the new order of the loop over blocks that do not depend on each other, and of the dimension
that only orders the statements of one point."""


@dataclass(frozen=True, slots=True)
class _Statement:
    """A run of statements with the loops around it; `terms`: the loop over the terms is one of these;
    `early`: it comes before all terms of its block in the row, and not when its element is complete."""

    chain: Chain
    parts: tuple[Part, ...]
    terms: bool = False
    early: bool = False


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The loop `ordinal` over rows, the one over columns directly in it, and the one over terms in that, in
    right-looking form."""
    in_turn = _placed(subject, ordinal, settings, False)
    return in_turn if isinstance(in_turn, Edited) else _placed(subject, ordinal, settings, True)


def _placed(subject: Subject, ordinal: int, settings: Settings, early: bool) -> Answer:
    """The same; `early`: what the body begins with is separate, and comes before any term."""
    statements = _statements(subject, ordinal, early)
    if isinstance(statements, Declined):
        return statements
    terms = next(each for each in statements if each.terms)
    leaves = [
        Leaf(each.parts[0].whole.cover(each.parts[-1].whole), each.chain.ordinals, k)
        for k, each in enumerate(statements)
    ]
    found = unstable(subject, terms.chain.ordinals) or leaves_of(subject, leaves)
    if isinstance(found, Declined):
        return found
    _, column, term = terms.chain.ordinals
    if walks_along(found.scop, term) or not walks_along(found.scop, column, term):
        return Declined("The loop over the terms walks through memory in no larger steps than the other one.")
    size = settings.tile_sizes[0] if settings.tile_sizes else _BLOCK
    for offset in (0, -1, 1):
        dates = _dates(found, statements, offset, size)
        if _is_kept(found, dates):
            return _edited(found, statements, dates, offset, size)
    return Declined("Some element would be handed on before it is complete.")


# --- What there is -----------------------------------------------------------------------


def _statements(subject: Subject, ordinal: int, early: bool) -> tuple[_Statement, ...] | Declined:
    """The statements of the body of the loop over columns, with the loops around them: those before the
    terms (the first apart from the others, if it is to come `early`), the terms, and those after them."""
    texts: list[LoopText] = []
    for each in (ordinal, ordinal + 1):
        text = opened(subject, each)
        if isinstance(text, Declined):
            return text
        texts.append(text)
    chain = Chain((ordinal, ordinal + 1), tuple(texts))
    outer, inner = texts
    if is_directed(subject, outer) or any(part.fixed for part in (*outer.parts, *inner.parts)):
        return Declined("A directive stands before the loop: remove it, change the loops, then add it anew.")
    inside = [each.ordinal for each in subject.facts.loops if each.parent == ordinal + 1]
    alone = len(outer.parts) == 1 and outer.parts[0].core == inner.span
    if not alone or len(inside) != 1 or any(each.parent == inside[0] for each in subject.facts.loops):
        return Declined("These loops are not two, one in the other, with one over terms in them.")
    terms = opened(subject, inside[0])
    if isinstance(terms, Declined):
        return terms
    at = next((k for k, part in enumerate(inner.parts) if part.core == terms.span), None)
    free = next((each for each in chain.ordinals if isinstance(subject.known(each).verdict, Parallel)), None)
    if free is not None:
        return Declined(f"The loop `{subject.known(free).iterator}` can run in parallel as it stands.")
    if at is None or any(part.node.type == "declaration" for part in inner.parts):
        return Declined("The loop over the terms does not stand directly among the statements of an element.")
    whole = Chain((*chain.ordinals, inside[0]), (*texts, terms))
    first = int(early and at > 0)
    statements = (
        _Statement(chain, inner.parts[:first], early=True),
        _Statement(chain, inner.parts[first:at]),
        _Statement(whole, terms.parts, terms=True),
        _Statement(chain, inner.parts[at + 1 :]),
    )
    return tuple(each for each in statements if each.parts)


# --- The order ---------------------------------------------------------------------------


def _is_kept(found: Leaves, dates: Sequence[isl.Map]) -> bool:
    """True if an order keeps all dependences, but for updates that may change places, and blocks on a
    diagonal do not depend on each other."""
    ordered = replace(found, dependences=tuple(d for d in found.dependences if not d.exchangeable))
    return violated(ordered, dates) is None and carried_at(found, dates, _PARALLEL) is None


def _dates(found: Leaves, statements: Sequence[_Statement], offset: int, size: int) -> list[isl.Map]:
    """Schedule of each statement: `[diagonal, block of rows, row, stage, element in the row, turn, column]`.
    Rows, and elements of a row, are in the order of the source. Terms are taken when the loop over elements
    comes to the counter of the term plus `offset`."""
    row, column = (found.scop.loops[o].direction for o in statements[0].chain.ordinals[:2])
    of_row, of_column = (f"({size} * floor(i{k} / {size}))" for k in range(2))
    dates: list[isl.Map] = []
    for number, statement in enumerate(statements):
        names = ", ".join(f"i{k}" for k in range(len(statement.chain.ordinals)))
        element = f"{column} * (i2 + {offset})" if statement.terms else f"{column} * i1"
        turn_of = len(statements) if statement.terms else number
        turn = f"{int(not statement.early)}, {'0' if statement.early else element}, {turn_of}"
        blocks = f"{row} * {of_row} + {column} * {of_column}, {of_row}"
        dates.append(isl.Map(f"{{ [{names}] -> [{blocks}, {row} * i0, {turn}, {column} * i1] }}"))
    return dates


# --- Text --------------------------------------------------------------------------------


def _edited(
    found: Leaves, statements: Sequence[_Statement], dates: Sequence[isl.Map], offset: int, size: int
) -> Answer:
    subject = found.subject
    schedule = isl.UnionMap("{ }")
    texts: dict[str, str] = {}
    others: dict[str, Scanned] = {}
    for number, statement in enumerate(statements):
        points = iterations(subject, statement.chain, down=True)
        if isinstance(points, Declined):
            return points
        loops = _plain(subject, statement.chain, points)
        name = f"L{number}"
        own = dates[number].intersect_domain(merged(points, texts)).set_tuple_name(isl.dim_type.in_, name)
        schedule = schedule.union(own.to_union_map())
        others[name] = Scanned(loops, kept(statement.parts))
    terms = next(each for each in statements if each.terms)
    points = iterations(subject, terms.chain, down=True)
    assert not isinstance(points, Declined)
    row, column, element = _plain(subject, terms.chain, points)
    words = row.declared or type_words(subject, terms.chain)
    if offset:
        element = Counter(fresh_name(subject, f"{column.name}_done"), words)
    # Comments about the inner loops stand at the one over elements that are complete.
    outer, inner, innermost = terms.chain.texts
    of_terms = next(each for each in inner.parts if each.core == innermost.span)
    befores, afters = zip(comments(subject, outer.parts[0]), comments(subject, of_terms), strict=True)
    lead, after = ("\n".join(filter(None, each)) for each in (befores, reversed(afters)))
    element = replace(element, lead=lead, after=after)
    row_step, column_step = points.steps[:2]
    steps = {row.name: row_step, column.name: column_step, element.name: column_step}
    atoms = {**texts, **{name: Opposite(name) for name, step in steps.items() if step < 0}}
    front, block = (
        Counter(fresh_name(subject, *names), words)
        for names in (("w", "wave"), (row.name * 2, f"{row.name}_block"))
    )
    stage, turn = (Counter(fresh_name(subject, name), "int") for name in ("stage", "turn"))
    order = (front, block, row, stage, element, turn, column)
    body = kept(terms.parts)
    taken = [each.name for each in order]
    names = _names(subject, front, block, column, (row_step, column_step), words, taken)
    pieces = scanned(
        Scan(schedule, order, (), body, atoms, terms.chain.braces[:1], others, (3, _TURN), names)
    )
    remark = (
        f"Hands each element to all that need it in its row when it is complete; blocks of {size} by {size} "
        "elements on a diagonal can run in parallel."
    )
    return rewritten(subject, terms.chain.texts, pieces, found.assumptions, remark)


def _names(
    subject: Subject,
    front: Counter,
    block: Counter,
    column: Counter,
    directions: tuple[int, int],
    words: str,
    taken: Sequence[str],
) -> Names:
    """Variables of a block: its first column, and the bounds that its loops share."""
    row_direction, column_direction = directions
    used = [*taken]

    def fresh(wanted: str) -> str:
        used.append(fresh_name(subject, wanted, taken=used))
        return used[-1]

    start = fresh(column.name * 2 if len(column.name) == 1 else f"{column.name}_block")
    value: Linear = {front.name: column_direction, block.name: -row_direction * column_direction}
    return Names(block.name, words, start, value, front.name, fresh)


def _plain(subject: Subject, chain: Chain, points: Iterations) -> tuple[Counter, ...]:
    """The counters without the headers that their loops had."""
    return tuple(replace(each, header="", lead="", after="") for each in counters(subject, chain, points))
