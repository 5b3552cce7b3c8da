"""Scratch arrays, which each iteration of a loop fills before it reads them, and which order the iterations
needlessly (Feautrier, ICS 1988: array expansion)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.effects import effects, loops_in, places_in, walk
from polylsp.analysis.liveness import live_after_loops
from polylsp.analysis.private import covered_in_iteration
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.bounds import Bounds, bounds_of
from polylsp.codegen.transform.chain import Chain, chain_around, opened, unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.expression import Linear
from polylsp.model.action import Declined
from polylsp.model.program import (
    Assign,
    Block,
    Declare,
    Floating,
    Index,
    Loop,
    Place,
    Read,
    Statement,
    Variable,
)
from polylsp.model.scop import Memory, Scop

_TYPES = {32: "float", 64: "double"}


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
    if not isinstance(kind, Floating) or kind.bits not in _TYPES:
        return None
    memory = _memory(found[1].scop, subject.loop(root), variable)
    if memory is None or not all(_is_column(subject, row, place, width) for place in places):
        return None
    if not covered_in_iteration(Conflicts(found[1].scop), memory, row):
        return None
    after = live_after_loops(subject.function, ())[root]
    own = variable.storage == "local" and not variable.escapes and not {variable.name, "*"} & after
    # A macro may say something else when the program is compiled.
    declared = variable.bytes if variable.storage == "local" and not subject.macros else None
    known = [] if declared is None else [declared * 8 // kind.bits]
    if width.keys() <= {""}:
        known.append(width.get("", 0))
    longest = min(known, default=None)
    return Scratch(chain, bounds, variable, fill, width, _TYPES[kind.bits], not own, longest)


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
    declared = {each.variable.source_name for each in walk(loop) if isinstance(each, Declare)}
    changed = {each.target.variable.source_name for each in walk(loop) if isinstance(each, Assign)}
    names = {str(term) for term in width if term}
    return all(name.isidentifier() for name in names) and names.isdisjoint(declared | changed)
