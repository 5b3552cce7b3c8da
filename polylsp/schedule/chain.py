"""Chains of directly nested loops, fresh names for an edit, and the locality of loops.

Loops that a directive distributes are in no chain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import governing, pragmas_above
from polylsp.emit.c_syntax import Braces, LoopText, Part, loop_text
from polylsp.emit.c_text import Kept, Piece, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import (
    Assign,
    Call,
    Expr,
    Floating,
    Integer,
    Loop,
    Read,
    Type,
    Variable,
    is_wide,
    subexpressions,
)
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited
from polylsp.poly.scop import Access, Scop
from polylsp.schedule.statement_leaves import Leaf, Leaves, counter

# --------------------------------------------------------------------------------------------------
# Loops that stand directly in each other, as they are written and as they are modelled.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chain:
    """Loops, outermost first, each of which is all that stands in the one around it."""

    ordinals: tuple[int, ...]
    texts: tuple[LoopText, ...]

    @property
    def leaf(self) -> Leaf:
        """The body of the innermost loop, as one leaf."""
        parts = self.texts[-1].parts
        first, last = parts[0].whole, parts[-1].whole
        return Leaf(first.cover(last), self.ordinals)

    @property
    def body(self) -> Kept:
        """The text of that body."""
        return kept(self.texts[-1].parts)

    @property
    def braces(self) -> tuple[Braces, ...]:
        """Brace style of each loop."""
        return tuple(text.braces for text in self.texts)

    def part(self, first: int, last: int) -> Chain:
        """The loops `first` up to, not including, `last`."""
        return Chain(self.ordinals[first:last], self.texts[first:last])


def chain_around(subject: Subject, ordinal: int) -> Chain | Declined:
    """The longest chain with a loop in it; none of them is handed out by a directive."""
    found = _grown(subject, ordinal)
    if isinstance(found, Chain) and is_directed(subject, found.texts[0]):
        return Declined("A directive stands before the loop: remove it, change the loops, then add it anew.")
    return found


def _grown(subject: Subject, ordinal: int) -> Chain | Declined:
    """The longest chain with a loop in it; a directive may stand before the outermost one."""
    own = opened(subject, ordinal)
    if isinstance(own, Declined):
        return own
    ordinals, texts = [ordinal], [own]
    while (parent := subject.known(ordinals[0]).parent) and not is_directed(subject, texts[0]):
        outer = opened(subject, parent)
        if isinstance(outer, Declined) or not _is_all_of(texts[0], outer):
            break
        ordinals.insert(0, parent)
        texts.insert(0, outer)
    while (inner := _only_loop(subject, ordinals[-1], texts[-1])) is not None:
        text = opened(subject, inner)
        if isinstance(text, Declined):
            break
        ordinals.append(inner)
        texts.append(text)
    return Chain(tuple(ordinals), tuple(texts))


def opened(subject: Subject, ordinal: int) -> LoopText | Declined:
    """A loop that can be taken apart: one with a counter, whose header and body are understood."""
    facts = subject.known(ordinal)
    name = facts.iterator or facts.kind
    if facts.misfit:
        return Declined(f"The loop `{name}` cannot be rewritten: {facts.misfit}.")
    text = loop_text(subject, ordinal)
    if isinstance(text, LoopText) and not text.parts:
        return Declined(f"The loop `{name}` does nothing.")
    return text


def chain_inside(subject: Subject, ordinal: int) -> Chain | Declined:
    """The longest chain with a loop in it, inside of the loops that a directive before it hands out."""
    whole = _grown(subject, ordinal)
    if isinstance(whole, Declined) or not is_directed(subject, whole.texts[0]):
        return whole
    inside = whole.part(_handed_out(subject, whole.texts[0]), len(whole.ordinals))
    if ordinal not in inside.ordinals:
        return Declined("A directive stands before the loop: remove it, change the loops, then add it anew.")
    return inside


def several(subject: Subject, ordinal: int, chain: Chain | Declined) -> Chain | Declined:
    """A chain with a loop in it, if it has more than this loop."""
    if isinstance(chain, Chain) and len(chain.ordinals) < 2:
        name = subject.known(ordinal).iterator
        return Declined(f"No other loop stands directly inside or around `{name}`, with nothing beside it.")
    return chain


def rewritten(
    subject: Subject,
    texts: tuple[LoopText, ...],
    pieces: tuple[Piece, ...] | Declined,
    assumptions: Iterable[Assumption],
    *remarks: str,
) -> Answer:
    """The edit with pieces in the place of the outermost of some loops."""
    if isinstance(pieces, Declined):
        return pieces
    made = replaced(subject, texts[0], pieces, style_of(subject, texts))
    return Edited((made,), tuple(assumptions), remarks)


def _handed_out(subject: Subject, text: LoopText) -> int:
    """Largest number of loops that the directives before a loop cover."""
    words = [each.words for each in pragmas_above(subject, text.span.start)]
    counts = [n for each in words for n in re.findall(r"(?:collapse|ordered|tile)\W+(\w+)", each)]
    return max([1, *(int(n) if n.isdigit() else 99 for n in counts)])


def is_directed(subject: Subject, text: LoopText) -> bool:
    """True if a directive or a vendor's hint stands before a loop, be it in a branch that is not compiled
    here (`#ifdef _OPENMP`)."""
    return next(governing(subject, text.span.start), None) is not None


def comments(subject: Subject, part: Part) -> tuple[str, str]:
    """Comments before a statement, and those after it."""
    before = subject.text[part.whole.start : part.core.start]
    return before.strip(), subject.text[part.core.end : part.whole.end].strip()


def chain_comments(subject: Subject, chain: Chain, depth: int) -> tuple[str, str]:
    """Comments before and after a loop; those about the outermost one stay where they are."""
    return comments(subject, chain.texts[depth - 1].parts[0]) if depth else ("", "")


def _is_all_of(inner: LoopText, outer: LoopText) -> bool:
    return len(outer.parts) == 1 and outer.parts[0].core == inner.span and not outer.parts[0].directive


def _only_loop(subject: Subject, ordinal: int, text: LoopText) -> int | None:
    inside = [one for one in subject.facts.loops if one.parent == ordinal]
    if len(inside) != 1 or len(text.parts) != 1 or text.parts[0].directive:
        return None
    return inside[0].ordinal if subject.span(inside[0].site) == text.parts[0].core else None


# --- Headers -----------------------------------------------------------------------------


def header_values(subject: Subject, loop: Loop) -> Iterator[Expr]:
    """Expressions in the header of a loop: first value, bound, step."""
    if loop.condition is not None:
        yield loop.condition
    for each in walk(subject.function.body):
        if isinstance(each, Assign) and loop.header.first <= each.site.first <= loop.header.last:
            yield each.value


def uses(subject: Subject, inner: int, outer: int) -> bool:
    """True if the header of a loop depends on the counter of another."""
    wanted = counter(subject, outer)
    nodes = (n for value in header_values(subject, subject.loop(inner)) for n in subexpressions(value))
    return any(isinstance(n, Read) and n.place.variable == wanted for n in nodes)


def unstable(subject: Subject, ordinals: tuple[int, ...]) -> Declined | None:
    """Reason why the headers of loops cannot be evaluated elsewhere among them: they name variables that the
    loops may change, that are visible only inside, or that have the name of another loop's counter."""
    counters = {counter(subject, o) for o in ordinals}
    changed = effects(*(subject.loop(o) for o in ordinals)).scalars - {each.name for each in counters}
    for ordinal in ordinals:
        for value in header_values(subject, subject.loop(ordinal)):
            for node in subexpressions(value):
                moves = isinstance(node, Read) and (node.place.steps or node.place.variable.name in changed)
                if moves or (isinstance(node, Call) and not node.pure):
                    shown = subject.source(node.site)
                    return Declined(f"`{shown}` in the header of a loop may change while the loops run.")
                if isinstance(node, Read) and is_homonym(node.place.variable, counters):
                    return Declined(f"There are two variables `{node.place.variable.source_name}` here.")
    return None


def is_homonym(variable: Variable, others: Collection[Variable]) -> bool:
    """True if a variable is none of some others, but has the name of one."""
    return variable not in others and variable.source_name in {each.source_name for each in others}


def dates_in_order(names: Sequence[str], order: Sequence[int]) -> isl.Map:
    """Dates that run loops in another order, given their signed names."""
    domain = ", ".join(f"i{k}" for k in range(len(names)))
    return isl.Map(f"{{ [{domain}] -> [{', '.join(names[k] for k in order)}] }}")


def signed_names(found: Leaves, leaf: Leaf) -> tuple[str, ...]:
    """`i0`, `i1`, …: the counters of the loops around a leaf, negated where they count down, so that they
    grow from one iteration to the next."""
    directions = [found.scop.loops[o].direction for o in leaf.loops]
    return tuple(f"i{k}" if direction > 0 else f"-i{k}" for k, direction in enumerate(directions))


# --------------------------------------------------------------------------------------------------
# Names and types for the declarations of an edit.
# --------------------------------------------------------------------------------------------------


def fresh_name(subject: Subject, *wanted: str, taken: Collection[str] = ()) -> str:
    """A name that the file does not use, and that is not taken: one of those wanted, or one with a number
    appended."""
    used = {*re.findall(r"\w+", subject.text), *taken}
    numbered = (f"{wanted[-1]}{k}" for k in range(2, len(used) + 3))
    return next(name for name in (*wanted, *numbered) if name not in used)


def type_words(subject: Subject, chain: Chain) -> str:
    """The type that holds sums of a chain's counters, in words."""
    types = [counter(subject, o).type for o in chain.ordinals]
    return "long" if any(map(is_wide, types)) else "int"


# --------------------------------------------------------------------------------------------------
# Locality of an order of loops (McKinley, Carr and Tseng, TOPLAS 1996: loop cost), and the
# footprint of a tile.
# --------------------------------------------------------------------------------------------------


_IN, _OUT, _SET, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def loop_costs(scop: Scop, ordinals: Sequence[int]) -> tuple[int, ...]:
    """For each of some nested loops the cache lines that an iteration touches if the loop is innermost,
    over all accesses, in eighths of a line: the smaller the better."""
    inside = [a for a in scop.accesses if ordinals[-1] in scop.statements[a.statement].loops]
    return tuple(sum(_lines(scop, a, ordinal) for a in inside) for ordinal in ordinals)


def most_iterations(subject: Subject, ordinal: int) -> int | None:
    """Largest trip count of the loop in one iteration of those around it, if it is constant."""
    found = subject.nest(ordinal)
    domain = found[1].scop.loops[ordinal].domain if found is not None else None
    if domain is None or not domain.dim(_SET):
        return None
    outer = domain.dim(_SET) - 1
    counted = isl.Map.from_domain(domain).add_dims(_OUT, 1)
    counted = counted.equate(_IN, outer, _OUT, 0)
    counted = counted.project_out(_IN, outer, 1)
    apart = counted.reverse().apply_range(counted).deltas()
    apart = apart.project_out(_PARAM, 0, apart.dim(_PARAM))
    if apart.is_empty() or not apart.is_bounded():
        return None
    high = apart.dim_max_val(0)
    # isl's optimum can be wrong beside divisions: no point may lie beyond.
    within = apart.upper_bound_val(_SET, 0, high)
    return high.to_python() + 1 if apart.is_subset(within) else None


def walks_along(scop: Scop, ordinal: int, inner: int | None = None) -> bool:
    """True if each access inside of a loop, or of an `inner` one in it, is to the same element in the next
    iteration, or to its neighbour."""
    innermost = ordinal if inner is None else inner
    inside = [a for a in scop.accesses if innermost in scop.statements[a.statement].loops]
    return all(_lines(scop, a, ordinal) < 8 for a in inside)


def cost(costs: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Cost of an order of loops, from the innermost outwards."""
    return tuple(costs[k] for k in reversed(order))


def _lines(scop: Scop, access: Access, ordinal: int) -> int:
    """0 if the next iteration of the loop accesses the same element, 1 if its neighbour, 8 otherwise."""
    statement = scop.statements[access.statement]
    if not access.memory.dimensions:
        return 0
    at = statement.loops.index(ordinal)
    relation = access.relation.gist_domain(statement.domain)
    used = [
        k for k in range(access.memory.dimensions) if one_subscript(relation, k).involves_dims(_IN, at, 1)
    ]
    if not used:
        return 0
    return 1 if used == [access.memory.dimensions - 1] else 8


def depends_on(scop: Scop, access: Access, ordinal: int) -> bool:
    """True if an access inside of a loop is to another element in another iteration of it."""
    statement = scop.statements[access.statement]
    relation = access.relation.gist_domain(statement.domain)
    return relation.involves_dims(_IN, statement.loops.index(ordinal), 1)


def one_subscript(relation: isl.Map, number: int) -> isl.Map:
    """The relation to one subscript alone."""
    rest = relation.dim(_OUT) - number - 1
    return relation.project_out(_OUT, number + 1, rest).project_out(_OUT, 0, number)


# --- Tiles -------------------------------------------------------------------------------

_SIZES = (8, 16, 32, 64, 128, 256)


def tile_sizes(scop: Scop, chain: Chain, settings: Settings) -> tuple[int, ...]:
    """The extents of a tile: the user's, else the largest power of two with which the footprint of a tile
    fills no more than half of the cache."""
    count = len(chain.ordinals)
    if settings.tile_sizes:
        given = settings.tile_sizes
        return tuple(given[min(k, len(given) - 1)] for k in range(count))
    half = settings.cache_kb * 1024 // 2
    fitting = [size for size in _SIZES if _footprint(scop, chain, size) <= half]
    return (max(fitting, default=_SIZES[0]),) * count


def _footprint(scop: Scop, chain: Chain, size: int) -> int:
    """The bytes that a tile with sides of `size` touches, of each array once; loops inside the tile that
    are not part of it count as if they touched one element."""
    largest: dict[str, int] = {}
    for access in scop.accesses:
        statement = scop.statements[access.statement]
        if chain.ordinals[-1] not in statement.loops or not access.memory.dimensions:
            continue
        relation = access.relation.gist_domain(statement.domain)
        used = [o for o in chain.ordinals if relation.involves_dims(_IN, statement.loops.index(o), 1)]
        elements = size ** len(used)
        name = access.memory.name
        largest[name] = max(largest.get(name, 0), elements * _bytes(access.memory.element))
    return sum(largest.values())


def _bytes(element: Type) -> int:
    return element.bits // 8 if isinstance(element, (Integer, Floating)) else 8
