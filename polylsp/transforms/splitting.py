"""Isolation of products: repeated distribution, index sets, strips, and expansion of scratch arrays.

Index set splitting divides a loop into the iterations below, at and above the counter of a loop
around it (Griebl, Feautrier and Lengauer 2000). Strips turn a scalar that loops with large strides
use into a small array, so that the loop along memory comes inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.dependence.privatisation import covered_in_iteration
from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.c_expressions import Linear, added, sum_text
from polylsp.emit.c_syntax import declaration_of, is_named_outside, removed
from polylsp.emit.c_text import REAL_WORDS, Made, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import declared_in, effects, loops_in, places_in, walk
from polylsp.ir.liveness import live_after_loops
from polylsp.ir.program import Assign, Block, Floating, Index, Loop, Place, Read, Statement, Variable
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.poly.scop import Memory, Scop
from polylsp.schedule.chain import (
    Chain,
    chain_around,
    chain_inside,
    fresh_name,
    is_directed,
    opened,
    unstable,
    walks_along,
)
from polylsp.schedule.loop_headers import Bounds, bounds_of, iterations, spelled
from polylsp.schedule.statement_leaves import counter, leaves_of, varies
from polylsp.transforms import block, distribute, expand, panel
from polylsp.transforms.composing import State, attempted, limited
from polylsp.transforms.tile import Axis, axis_of

# --------------------------------------------------------------------------------------------------
# Splits of loops one after the other, so that the products among them get separate loops.
# --------------------------------------------------------------------------------------------------


def products_alone(state: State, tile: int) -> bool:
    """Split all loops in a loop over tiles, in which loops over rows and columns are the outer ones; true if
    all deeper loops are then a product, whose tiles were generated."""
    split_all(state, lambda: _inside(state.subject, tile))
    around = {each.parent for each in state.subject.facts.loops}
    depth = state.subject.known(tile).depth + 2
    inside = (state.subject.known(each) for each in _inside(state.subject, tile) if each not in around)
    return panel.all_made(state, [chain_inside(state.subject, o.ordinal) for o in inside if o.depth > depth])


def _inside(subject: Subject, tile: int) -> list[int]:
    loops = (each.ordinal for each in subject.facts.loops)
    return [each for each in loops if any(o.ordinal == tile for o in subject.around(each))]


def split_all(state: State, loops: Callable[[], list[int]]) -> None:
    """As many loops as can be in place of some, inner ones first; `loops` says which there are now."""
    while any(state.make(edit) for edit in _splits(state, loops())):
        pass


def _splits(state: State, loops: list[int]) -> Iterator[Edited]:
    for ordinal in reversed(loops):
        answer = limited(state.settings, lambda o=ordinal: distribute.separated(state.subject, o))
        if isinstance(answer, Edited):
            yield answer


# --------------------------------------------------------------------------------------------------
# Parting: a loop that passes the value of a counter around it falls into the iterations below, that
# one, and those above, in the same order. Each part may then run in parallel (index set splitting:
# Griebl, Feautrier and Lengauer 2000).
# --------------------------------------------------------------------------------------------------


def parted(subject: Subject, ordinal: int, outer: int) -> Answer:
    """Loop `ordinal` in three, at the value of the counter of a loop around it."""
    text, around = opened(subject, ordinal), opened(subject, outer)
    if isinstance(text, Declined):
        return text
    if isinstance(around, Declined):
        return around
    if is_directed(subject, text):
        return Declined("A directive stands before the loop: remove it, cut the loop, then add it anew.")
    found = unstable(subject, (outer, ordinal)) or iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(found, Declined):
        return found
    name, at = found.counters[0], counter(subject, outer).source_name
    if not passes(subject, ordinal, outer):
        return Declined(f"The loop `{name}` does not always come to the value of `{at}`.")
    first, last = spelled(found, found.firsts[0]), spelled(found, found.lasts[0])
    start = f"{found.declared[0]} {name}".lstrip()
    alone = f"{'const ' if found.declared[0] else ''}{start} = {at};"
    pieces = (
        Made(
            f"for ({start} = {first}; {name} < {at}; {name}++)", (kept(text.parts),), text.braces, text.remark
        ),
        Made("", (kept(text.parts, (alone,)),)),
        Made(f"for ({start} = {at} + 1; {name} < {last}; {name}++)", (kept(text.parts),), text.braces),
    )
    made = replaced(subject, text, pieces, style_of(subject, [around, text]))
    return Edited((made,), (), (f"The loop `{name}` is cut where it comes to `{at}`.",))


def passes(subject: Subject, ordinal: int, outer: int) -> bool:
    """True if the counter of a loop takes the value of one around it each time the loop runs."""
    parent, nest = subject.known(ordinal).parent, subject.nest(ordinal)
    scop = nest[1].scop if nest is not None else None
    if scop is None or not {parent, outer, ordinal} <= scop.loops.keys():
        return False
    around = scop.loops[parent].domain
    here = around.add_dims(isl.dim_type.set, 1)
    depth = scop.loops[outer].domain.dim(isl.dim_type.set) - 1
    here = here.equate(isl.dim_type.set, depth, isl.dim_type.set, around.dim(isl.dim_type.set))
    inside = scop.loops[ordinal].domain
    return here.reset_tuple_id().is_subset(inside.reset_tuple_id())


# --------------------------------------------------------------------------------------------------
# Strips of a loop whose body holds a scalar for loops that jump through memory: within a strip the
# scalar becomes a small array, the body is split, and the loop that walks along memory comes
# inside.
# --------------------------------------------------------------------------------------------------


Step = Callable[[Subject], Answer]
"""An edit of the text that the previous step produced."""


def steps(subject: Subject, ordinal: int, settings: Settings) -> tuple[Step, ...] | Declined:
    """The edits that cut a loop into strips, which stand around the loop that it is in; expand the scalars of
    each strip; split it; and reorder each part."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 2 or chain.ordinals[-1] != ordinal:
        return Declined("The loop does not stand alone in another one.")
    inner = [each.ordinal for each in subject.facts.loops if each.parent == ordinal]
    found = subject.nest(ordinal)
    if found is None or not inner or any(walks_along(found[1].scop, each) for each in inner):
        return Declined("The loops inside walk along memory as they stand.")
    cut = ordinal + 1
    return (
        lambda now: _strips(now, chain.part(len(chain.ordinals) - 2, len(chain.ordinals)), settings),
        lambda now: expand.edit(now, cut, settings),
        lambda now: distribute.separated(now, cut),
        lambda now: _reordered(now, cut, settings),
    )


def _strips(subject: Subject, chain: Chain, settings: Settings) -> Answer:
    # The array is declared in the outer loop, which needs braces for that.
    texts = tuple(
        replace(text, braces="same line") if text.braces == "none" else text for text in chain.texts
    )
    chain = Chain(chain.ordinals, texts)
    found = unstable(subject, chain.ordinals) or leaves_of(subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    if varies(found, 1) is not None:
        return Declined("Iterations of the loop depend on each other.")
    plan = block.Plan(chain, found, points=(0, 1), tiles=(1,), free=frozenset({1}))
    return block.blocked(subject, plan, settings)


def _reordered(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The first of the loops that a loop has become with another one inside, in the better order."""
    parent = subject.known(ordinal).parent
    for loop in (each for each in subject.facts.loops if each.parent == parent):
        inner = next((each for each in subject.facts.loops if each.parent == loop.ordinal), None)
        chain = chain_inside(subject, inner.ordinal) if inner is not None else None
        if isinstance(chain, Chain) and loop.ordinal in chain.ordinals:
            plan = block.planned(subject, chain.part(chain.ordinals.index(loop.ordinal), len(chain.ordinals)))
            if isinstance(plan, block.Plan) and plan.reorders:
                return block.blocked(subject, plan, settings, tiled=False)
    return Declined("No loop inside the strips would better stand in another order.")


# --------------------------------------------------------------------------------------------------
# Expansion of scratch arrays in products: each row of a tile gets a copy.
#
# Every iteration fills the scratch array before it reads it, which orders iterations needlessly
# (Feautrier, ICS 1988: array expansion). Where the copies are too long for the stack, which the
# program finds out, the loops run unchanged.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Scratch:
    """An array with an element for each column, which every iteration of a chain's innermost loop sets and
    then reads. `fill` is a loop over all columns, up to `width`; `type` the elements' in words; `lasting`:
    the values of the last iteration may be read later; `longest`: the largest number of columns, where the
    loops or the array's declaration bound it."""

    chain: Chain
    bounds: tuple[Bounds, ...]
    variable: Variable
    fill: Loop
    width: Linear
    type: str
    lasting: bool
    longest: int | None


def scratch_of(subject: Subject, ordinal: int) -> Scratch | None:
    """The scratch array of a loop that has more than one loop inside, if there is just one."""
    chain = chain_around(subject, ordinal)
    if isinstance(chain, Declined) or chain.ordinals[-1] != ordinal:
        return None
    filled = [v for v in _written(subject, ordinal) if _fill(subject, ordinal, v) is not None]
    bounds = [bounds_of(subject, o, t, ()) for o, t in zip(chain.ordinals, chain.texts, strict=True)]
    known = tuple(each for each in bounds if each is not None and len(each.firsts) == len(each.lasts) == 1)
    if not filled or len(known) < len(bounds) or any(a.depends_on(b.name) for a in known for b in known):
        return None
    if unstable(subject, chain.ordinals) or isinstance(leaves_of(subject, [chain.leaf]), Declined):
        return None
    found = [one for v in filled if (one := _scratch(subject, chain, known, v)) is not None]
    return found[0] if len(found) == 1 else None


def _written(subject: Subject, ordinal: int) -> set[Variable]:
    return {place.variable for place in effects(subject.loop(ordinal)).places if len(place.steps) == 1}


def places_of(loop: Loop, variable: Variable) -> Iterator[Place]:
    """The places of a loop that are in a variable."""
    return (place for place in places_in(loop) if place.variable == variable)


def _scratch(
    subject: Subject, chain: Chain, bounds: tuple[Bounds, ...], variable: Variable
) -> Scratch | None:
    root, row, found = chain.ordinals[0], chain.ordinals[-1], subject.nest(chain.ordinals[0])
    fill = _fill(subject, row, variable)
    width = None if fill is None else _width(subject, fill)
    if found is None or fill is None or width is None or not _is_fixed(subject, root, width):
        return None
    places = list(places_of(subject.loop(root), variable))
    kind = places[0].type
    if not isinstance(kind, Floating) or kind.bits not in REAL_WORDS:
        return None
    memory = _memory(found[1].scop, subject.loop(root), variable)
    if memory is None or not all(_is_column(subject, row, place, width) for place in places):
        return None
    if not covered_in_iteration(Conflicts(found[1].scop), memory, row):
        return None
    after = live_after_loops(subject.function)[root]
    own = variable.storage == "local" and not variable.escapes and not {variable.name, "*"} & after
    # A macro may say something else when the program is compiled.
    declared = variable.bytes if variable.storage == "local" and not subject.macros else None
    known = [] if declared is None else [declared * 8 // kind.bits]
    if width.keys() <= {""}:
        known.append(width.get("", 0))
    longest = min(known, default=None)
    return Scratch(chain, bounds, variable, fill, width, REAL_WORDS[kind.bits], not own, longest)


def _memory(scop: Scop, loop: Loop, variable: Variable) -> Memory | None:
    """The memory of an array, if all that a loop does with it is to name its elements."""
    inside = [a for a in scop.accesses if loop.ordinal in scop.statements[a.statement].loops]
    accesses = [a for a in inside if a.memory.variable == variable]
    sites = {place.site for place in places_of(loop, variable)}
    if not accesses or any(a.site not in sites or a.indirect or not a.exact for a in accesses):
        return None
    memories = {a.memory.name: a.memory for a in accesses}
    return next(iter(memories.values())) if len(memories) == 1 else None


def _fill(subject: Subject, row: int, variable: Variable) -> Loop | None:
    """The first loop of a body that sets an element in each iteration."""
    for loop in _directly(subject.loop(row).body):
        inside = _directly(loop.body) if isinstance(loop, Loop) else ()
        if isinstance(loop, Loop) and any(
            isinstance(each, Assign) and each.target.variable == variable and each.operator is None
            for each in inside
        ):
            return loop
    return None


def _directly(block: Block) -> Iterator[Statement]:
    """The statements that run whenever a block does."""
    for each in block.statements:
        if isinstance(each, Block):
            yield from _directly(each)
        else:
            yield each


def _width(subject: Subject, loop: Loop) -> Linear | None:
    """Upper bound of a loop that counts from zero."""
    text = opened(subject, loop.ordinal)
    bounds = None if isinstance(text, Declined) else bounds_of(subject, loop.ordinal, text, ())
    if bounds is None or any(factor for first in bounds.firsts for factor in first.values()):
        return None
    return bounds.lasts[0] if len(bounds.lasts) == 1 else None


def _is_column(subject: Subject, row: int, place: Place, width: Linear | None) -> bool:
    """True if an element's only subscript is the counter of a loop over all columns."""
    if len(place.steps) != 1 or not isinstance(step := place.steps[0], Index):
        return False
    if not isinstance(step.subscript, Read):
        return False
    around = [each for each in loops_in(subject.loop(row).body) if _holds(each, place)]
    own = [each for each in around if _counts(each, step.subscript.place.variable)]
    starts = subject.text.startswith(f"{place.variable.source_name}[", subject.span(place.site).start)
    plain = starts and subject.is_written_out(place.site)
    return plain and len(own) == 1 and _width(subject, own[0]) == width


def _counts(loop: Loop, variable: Variable) -> bool:
    return any(isinstance(each, Assign) and each.target.variable == variable for each in loop.step.statements)


def _holds(loop: Loop, place: Place) -> bool:
    return loop.site.first <= place.site.first <= loop.site.last


def _is_fixed(subject: Subject, root: int, width: Linear) -> bool:
    """True if a sum is the same before the loops as anywhere in them."""
    loop = subject.loop(root)
    declared = {v.source_name for v in declared_in(loop)}
    changed = {each.target.variable.source_name for each in walk(loop) if isinstance(each, Assign)}
    names = {str(term) for term in width if term}
    return all(name.isidentifier() for name in names) and names.isdisjoint(declared | changed)


# --------------------------------------------------------------------------------------------------
# Products whose rows pass through a scratch array: in a tile of rows each gets a copy of it. Where
# copies would be too long for the stack, which the program finds out, the loops run as they did.
# --------------------------------------------------------------------------------------------------


_ROWS, _COLUMNS = 16, 512
"""Number of rows of a tile, and their largest length."""

_MOST = 1 << 13
"""Largest number of elements of all copies: 64 KB of doubles."""


def scratch_rows_made(state: State, ordinal: int) -> bool:
    """Tiles of the rows that a loop counts, each with its copy of a scratch array, if products come of it;
    whether the text is another one now."""
    return attempted(state, lambda tried: _is_made(tried, ordinal))


def _is_made(state: State, row: int) -> bool:
    rows = state.settings.tile_sizes[0] if state.settings.tile_sizes else _ROWS
    columns = min(_COLUMNS, _MOST // rows)
    one = limited(state.settings, lambda: scratch_of(state.subject, row))
    if not isinstance(one, Scratch) or not columns:
        return False
    if one.longest is not None and one.longest <= columns:
        columns = one.longest
    elif one.width.keys() <= {""} or not _has_versions(state, one, columns):
        return False
    short = limited(state.settings, lambda: scratch_of(state.subject, row))
    if not isinstance(short, Scratch):
        return False
    count = len(state.subject.facts.loops)
    if not state.make(limited(state.settings, lambda: _tiled(state, short))):
        return False
    # There is no loop over tiles where one holds all rows.
    if len(state.subject.facts.loops) != count + 1:
        return False
    if not state.make(limited(state.settings, lambda: _expanded(state.subject, short, row + 1, columns))):
        return False
    return products_alone(state, row)


def _has_versions(state: State, one: Scratch, columns: int) -> bool:
    """True if either version may run: one that never runs would pass every check."""
    root, count = one.chain.ordinals[0], len(state.subject.facts.loops)
    if not state.make(_versions(state.subject, one, columns)):
        return False
    other = root + len(state.subject.facts.loops) - count
    return all(_is_reached(state.subject, each) for each in (root, other))


def _is_reached(subject: Subject, ordinal: int) -> bool:
    found = subject.nest(ordinal)
    domain = None if found is None else found[1].scop.loops[ordinal].domain
    return domain is not None and domain.dim(isl.dim_type.set) > 0 and not domain.is_empty()


def _versions(subject: Subject, one: Scratch, columns: int) -> Edited:
    """The loops twice, the first time for rows that are short."""
    (text, *_) = one.chain.texts
    loop = Made(
        subject.text[text.header.start : text.header.end], (kept(text.parts),), text.braces, text.remark
    )
    condition = f"if ({sum_text(one.width)} <= {columns})"
    pieces = (Made(condition, (loop,), "same line", otherwise=(loop,)),)
    found = leaves_of(subject, [one.chain.leaf])
    assert not isinstance(found, Declined)
    return Edited((replaced(subject, text, pieces, style_of(subject, one.chain.texts)),), found.assumptions)


def _tiled(state: State, one: Scratch) -> Answer:
    """The rows in tiles."""
    depth = len(one.chain.ordinals) - 1
    chain = one.chain.part(depth, depth + 1)
    if chain.texts[0].braces == "none":
        return Declined("There is no room for a declaration.")
    found = leaves_of(state.subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    plan = block.Plan(chain, found, (0,), tiles=(0,), free=frozenset(), sizes=(_ROWS,))
    return block.blocked(state.subject, plan, state.settings)


def _expanded(subject: Subject, one: Scratch, row: int, columns: int) -> Answer:
    """A copy of the scratch array for each row of a tile."""
    text = opened(subject, row)
    axis = None if isinstance(text, Declined) else axis_of(subject, Chain((row,), (text,)), 0)
    if isinstance(text, Declined) or axis is None:
        return Declined("The size of a tile is unknown.")
    loop, name = subject.loop(row), one.variable.source_name
    copies = fresh_name(subject, f"{name}s", f"{name}_of")
    (variable,) = {v for v in subject.variables if v.name == one.variable.name}
    edits: list[Replacement] = []
    for span in sorted({subject.span(place.site) for place in places_of(loop, variable)}):
        edits.append(Replacement(Span(span.start, span.start + len(name)), f"{copies}[{axis.subscript}]"))
    start, end = text.span.start, text.span.end
    between = newline(subject.text) + subject.indentation(start)
    edits.insert(0, Replacement(Span(start, start), f"{one.type} {copies}[{axis.size}][{columns}];{between}"))
    declaration = declaration_of(subject, variable)
    if one.lasting:
        lines = _left(subject, one, axis, copies)
        edits.append(Replacement(Span(end, end), "".join(between + line for line in lines)))
    elif declaration is not None and not is_named_outside(subject, declaration, name, text.span):
        edits.append(removed(subject, [declaration]))
    edits.sort(key=lambda each: each.span)
    return Edited(tuple(edits), (), (f"Gives each of {axis.size} rows a copy of `{name}`.",))


def _left(subject: Subject, one: Scratch, axis: Axis, copies: str) -> tuple[str, ...]:
    """Lines that store the row that the last iteration leaves."""
    *outer, rows = one.bounds
    last = [f"{each.name} == {sum_text(added(each.lasts[0], {'': 1}, -1))}" for each in outer]
    last.append(f"{sum_text(added(axis.origin, {'': axis.size}, 1))} >= {sum_text(rows.lasts[0])}")
    row = sum_text(added(added(rows.lasts[0], {"": 1}, -1), axis.origin, -1))
    fill = opened(subject, one.fill.ordinal + 1)
    assert not isinstance(fill, Declined)
    column = subject.known(one.fill.ordinal + 1).iterator
    return (
        "/* What the last row leaves. */",
        f"if ({' && '.join(last)})",
        f"    {subject.text[fill.header.start : fill.header.end]}",
        f"        {one.variable.source_name}[{column}] = {copies}[{row}][{column}];",
    )
