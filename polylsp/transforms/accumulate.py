"""Scalar replacement of reductions: an accumulated array element or member stays in a variable.

Applies to loop-invariant places that a run of the loop updates by one operator and uses for nothing
else (Callahan, Carr and Kennedy, PLDI 1990). Accesses that happen although the loop might not run
are assumptions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import surrounded, undirected
from polylsp.emit.c_text import element_words, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import declared_in, effects, places_in, walk
from polylsp.ir.induction import same_element
from polylsp.ir.program import (
    Assign,
    Block,
    Declare,
    If,
    Jump,
    Loop,
    Place,
    Read,
    Site,
    Statement,
    constant_extents,
    subexpressions,
    subscripts,
)
from polylsp.ir.verdict import Assumption, Parallel, ReductionOperator
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.poly.scop import Access, Memory, Scop, without_name
from polylsp.schedule.chain import fresh_name

# --------------------------------------------------------------------------------------------------
# Element of an array that a place denotes, in each run of a loop, even if the loop does not reach
# it.
# --------------------------------------------------------------------------------------------------


_IN, _SET = isl.dim_type.in_, isl.dim_type.set


def element_in(scop: Scop, access: Access, ordinal: int) -> isl.Map | None:
    """`{ [iterators of the loops around the loop] -> A[x] }`, for an access to the same element in all of a
    run of the loop; `None` where this is undetermined."""
    statement = scop.statements[access.statement]
    depth = statement.loops.index(ordinal)
    if not access.exact:
        return None
    relation = access.relation.gist_domain(statement.domain)
    relation = relation.project_out(_IN, depth, relation.dim(_IN) - depth)
    if relation.has_tuple_id(_IN):
        relation = relation.reset_tuple_id(_IN)
    anywhere = isl.Set.universe(relation.domain().get_space())
    return relation if relation.is_single_valued() and anywhere.is_subset(relation.domain()) else None


def runs(scop: Scop, access: Access, ordinal: int) -> isl.Set:
    """The iterations of the loops around the loop in which it gets to an access, perhaps."""
    statement = scop.statements[access.statement]
    depth, domain = statement.loops.index(ordinal), statement.domain
    return without_name(domain.project_out(_SET, depth, domain.dim(_SET) - depth))


def around(scop: Scop, access: Access, ordinal: int) -> isl.Set:
    """The iterations of the loops around the loop, in some of which it may not be reached."""
    loops = scop.statements[access.statement].loops
    depth = loops.index(ordinal)
    return without_name(scop.loops[loops[depth - 1]].domain) if depth else isl.Set("{ [] }")


# --------------------------------------------------------------------------------------------------
# Loop-invariant array elements and members in which a loop accumulates.
# --------------------------------------------------------------------------------------------------


_ACCUMULATORS_IN = isl.dim_type.in_


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A place that one run of a loop updates by one operator and uses for nothing else. `text` is how it is
    written; `spans` are where the loop names it, in the file."""

    place: Place
    text: str
    spans: tuple[Span, ...]
    operator: ReductionOperator
    accesses: tuple[Access, ...]


def accumulators(subject: Subject, ordinal: int) -> list[Accumulator] | Declined:
    """Loop-invariant array elements and members in which a loop accumulates, or the reason why there is
    nothing to rewrite."""
    facts = subject.known(ordinal)
    name, found = facts.iterator or facts.kind, subject.nest(ordinal)
    if not isinstance(facts.verdict, Parallel) or found is None:
        return _not_parallel(subject, ordinal)
    scop = found[1].scop
    if any(isinstance(s, Jump) and s.kind == "return" for s in walk(subject.loop(ordinal))):
        return Declined(f"`return` leaves the loop `{name}`: what was added up until then would be lost.")
    reduced = _updated(scop, ordinal)
    if not reduced:
        return Declined(f"The loop `{name}` adds nothing up in an element of an array or a structure.")
    result: list[Accumulator] = []
    refused: list[Declined] = []
    for memory in reduced:
        one = _of_memory(subject, scop, ordinal, memory)
        if isinstance(one, Declined):
            refused.append(one)
        else:
            result += one
    return result or refused[0]


def _updated(scop: Scop, ordinal: int) -> list[Memory]:
    """Memories of which a loop updates elements, apart from plain variables."""
    found = {
        a.memory.name: a.memory
        for a in _inside(scop, ordinal)
        if a.kind == "write" and a.update is not None and a.memory.shape and not _is_own(a, scop, ordinal)
    }
    return list(found.values())


def _is_own(access: Access, scop: Scop, ordinal: int) -> bool:
    """True if each iteration of the loop has a private variable, declared in it."""
    return access.memory.scoped > scop.statements[access.statement].loops.index(ordinal)


def _inside(scop: Scop, ordinal: int) -> Iterator[Access]:
    return (a for a in scop.accesses if ordinal in scop.statements[a.statement].loops)


def _of_memory(subject: Subject, scop: Scop, ordinal: int, memory: Memory) -> list[Accumulator] | Declined:
    """The accumulators in one array or structure: all that the loop does with it."""
    loop, name = subject.loop(ordinal), memory.path
    accesses = [a for a in _inside(scop, ordinal) if a.memory is memory]
    groups: list[list[Access]] = []
    places = {place.site: place for place in places_in(loop) if place.variable == memory.variable}
    others = [a for a in accesses if a.update is None]
    for access in (a for a in accesses if a.update is not None):
        place = places.get(access.site)
        if place is None or memory.follows_pointers:
            return Declined(f"`{access.text}` is reached in a way that cannot be kept in a variable.")
        moving = _moving(subject, loop, place) or _local_name(subject, loop, place)
        if moving:
            return Declined(
                f"`{access.text}` is another element when `{moving}` changes: "
                "ask for the innermost loop that adds up in one element."
            )
        same = next((g for g in groups if same_element(places[g[0].site], place)), None)
        groups.append([access]) if same is None else same.append(access)
    joined = _joined(scop, ordinal, groups)
    if joined is None or any(len({a.update for a in g}) > 1 for g in joined):
        return Declined(f"Which elements of `{name}` the loop adds up in is not told apart.")
    for other in others:
        if not all(_is_another(scop, ordinal, group[0], other) for group in joined):
            line = subject.line_number(other.site)
            return Declined(
                f"`{other.text}` on line {line} is used in the loop that adds up in `{name}`: "
                "it could be the same element."
            )
    return _accumulators(subject, joined, places)


def _accumulators(
    subject: Subject, groups: Iterable[list[Access]], places: dict[Site, Place]
) -> list[Accumulator] | Declined:
    found: list[Accumulator] = []
    for group in groups:
        sites = list(dict.fromkeys(a.site for a in group))
        if not all(subject.is_written_out(site) for site in sites):
            return Declined(f"`{group[0].text}` stands inside a macro: write it out first.")
        spans = tuple(sorted({subject.span(site) for site in sites}))
        update = group[0].update
        assert update is not None
        found.append(Accumulator(places[sites[0]], subject.source(sites[0]), spans, update, tuple(group)))
    return found


def _joined(scop: Scop, ordinal: int, groups: list[list[Access]]) -> list[list[Access]] | None:
    """The groups, where those of one element are joined; `None` if two might be one element."""
    result: list[list[Access]] = []
    for group in groups:
        found = [(one, _are_one(scop, ordinal, one[0], group[0])) for one in result]
        if any(same is None for _, same in found):
            return None
        home = next((one for one, same in found if same), None)
        if home is None:
            result.append(list(group))
        else:
            home += group
    return result


def _are_one(scop: Scop, ordinal: int, one: Access, other: Access) -> bool | None:
    """True if two places are one element in each run of the loop that gets to either of them, false if in
    none of these; `None` if undetermined."""
    places = [element_in(scop, each, ordinal) for each in (one, other)]
    if places[0] is None or places[1] is None:
        return None
    reached = runs(scop, one, ordinal).union(runs(scop, other, ordinal))
    first, second = (each.intersect_domain(reached) for each in places if each is not None)
    if first.is_equal(second):
        return True
    return False if first.intersect(second).is_empty() else None


def _is_another(scop: Scop, ordinal: int, update: Access, other: Access) -> bool:
    """True if an access never gets to the element that a run of the loop updates."""
    place = element_in(scop, update, ordinal)
    if place is None or not other.exact:
        return False
    depth = scop.statements[other.statement].loops.index(ordinal)
    reached = other.relation.project_out(
        _ACCUMULATORS_IN, depth, other.relation.dim(_ACCUMULATORS_IN) - depth
    )
    reached = reached.reset_tuple_id(_ACCUMULATORS_IN) if reached.has_tuple_id(_ACCUMULATORS_IN) else reached
    return place.intersect(reached).is_empty()


def _moving(subject: Subject, loop: Loop, place: Place) -> str:
    """A variable that chooses the element and that the loop may change; empty if there is none."""
    own = effects(loop)
    header = [
        s.target.variable.name
        for s in walk(subject.function.body)
        if isinstance(s, Assign) and loop.header.first <= s.site.first <= loop.header.last
    ]
    declared = {v.name for v in declared_in(loop)}
    changed = {*own.scalars, *header, *declared}
    written = {each.variable for each in own.places}
    reads = [n.place for e in subscripts(place) for n in subexpressions(e) if isinstance(n, Read)]
    for each in (place, *reads):
        variable = each.variable
        shared = variable.escapes or variable.storage in ("global", "static")
        homonyms = {v for v in own.variables if v.source_name == variable.source_name}
        if variable.name in changed or len(homonyms | {variable}) > 1:
            return variable.source_name
        if each is not place and (variable in written if each.steps else shared and own.calls):
            return variable.source_name
    pointer = place.variable.storage in ("global", "static") or place.variable.escapes
    return place.variable.source_name if pointer and own.calls else ""


def _local_name(subject: Subject, loop: Loop, place: Place) -> str:
    """A name in the text of a place that the loop declares; empty if there is none."""
    words = set(re.findall(r"[A-Za-z_]\w*", subject.source(place.site)))
    first, last = loop.site.first, loop.site.last
    inside = (
        s for s in walk(subject.function.body) if isinstance(s, Declare) and first <= s.site.first <= last
    )
    return next((s.variable.source_name for s in inside if s.variable.source_name in words), "")


# --- Why not -----------------------------------------------------------------------------


def _not_parallel(subject: Subject, ordinal: int) -> Declined:
    """Reason why the loop is no reduction: the use of a partial sum in between, or another obstacle."""
    facts, found = subject.known(ordinal), subject.nest(ordinal)
    name = facts.iterator or facts.kind
    inside = list(_inside(found[1].scop, ordinal)) if found is not None else []
    updated = {(a.memory.name, a.text) for a in inside if a.update is not None}
    for access in inside:
        own = (access.memory.name, access.text)
        if access.update is None and access.kind == "read" and own in updated:
            return Declined(
                f"`{access.text}` is read on line {subject.line_number(access.site)} of the loop that "
                "adds it up: each iteration needs the sum so far."
            )
    return Declined(f"The iterations of the loop `{name}` are not known to be free of each other.")


# --------------------------------------------------------------------------------------------------
# Safety of accessing an accumulator element also where the loop does not run.
# --------------------------------------------------------------------------------------------------


def doubt(subject: Subject, ordinal: int, one: Accumulator) -> Assumption | None:
    """Assumption where the element is read and written though the loop might not have done so."""
    found = subject.nest(ordinal)
    assert found is not None
    scop = found[1].scop
    if _is_set_beside(subject, ordinal, one.place) or _lies_inside(scop, ordinal, one.accesses[0]):
        return None
    if any(_is_surely_updated(scop, ordinal, each) for each in one.accesses):
        return None
    name = subject.known(ordinal).iterator or subject.known(ordinal).kind
    text = f"`{one.text}` may be read and written also where the loop `{name}` leaves it alone"
    return Assumption("in-bounds", (one.text,), text)


def _is_surely_updated(scop: Scop, ordinal: int, access: Access) -> bool:
    """True if the loop touches the element in each of its runs."""
    statement = scop.statements[access.statement]
    if not access.exact or statement.guards or access.kind != "write":
        return False
    reached = runs(scop, access, ordinal)
    if not statement.loops.index(ordinal):
        return scop.defined.is_subset(reached.params())
    return around(scop, access, ordinal).is_subset(reached)


def _lies_inside(scop: Scop, ordinal: int, access: Access) -> bool:
    """True if the element lies in an array of constant size, in all iterations of the loops around."""
    extents, place = _extents(access.memory), element_in(scop, access, ordinal)
    if extents is None or place is None or access.memory.scoped:
        return False
    elements = without_name(place.intersect_domain(around(scop, access, ordinal)).range())
    box = ", ".join(f"x{k}" for k in range(len(extents)))
    bounds = " and ".join(f"0 <= x{k} < {extent}" for k, extent in enumerate(extents))
    return elements.is_subset(isl.Set(f"{{ [{box}] : {bounds} }}"))


def _extents(memory: Memory) -> tuple[int, ...] | None:
    """The constant extents of an array that is no parameter."""
    extents = constant_extents(memory.variable.type)
    plain = memory.variable.storage != "parameter" and memory.pointer is None and not memory.strides
    fits = extents is not None and len(extents) == memory.dimensions
    return extents if plain and fits and set(memory.shape) == {"[]"} else None


# --- What stands beside the loop ---------------------------------------------------------


def _is_set_beside(subject: Subject, ordinal: int, place: Place) -> bool:
    """True if a statement before the loop sets the element, and control gets from there to the loop."""
    block = _block(subject.function.body, ordinal) or ()
    wanted = {place.variable.name} | {
        n.place.variable.name for e in subscripts(place) for n in subexpressions(e) if isinstance(n, Read)
    }
    for statement in reversed(block):
        if isinstance(statement, Assign):
            if statement.target.steps and same_element(statement.target, place):
                return True
            if statement.target.variable.name in wanted:
                return False
        elif not _is_harmless(statement, wanted):
            return False
    return False


def _is_harmless(statement: Statement, wanted: set[str]) -> bool:
    """True if control passes through a statement, and it leaves some variables alone."""
    own = effects(statement)
    changed = own.scalars | {each.variable.name for each in own.places}
    return not isinstance(statement, (If, Loop)) and not own.calls and changed.isdisjoint(wanted)


def _block(block: Block, ordinal: int) -> tuple[Statement, ...] | None:
    """Statements before a loop in the body, or the branch, that it stands in."""
    for number, each in enumerate(block.statements):
        if isinstance(each, Loop) and each.ordinal == ordinal:
            return block.statements[:number]
        for inner in _inner(each):
            found = _block(inner, ordinal)
            if found is not None:
                return (*block.statements[:number], *found) if isinstance(each, Block) else found
    return None


def _inner(statement: Statement) -> tuple[Block, ...]:
    match statement:
        case Block():
            return (statement,)
        case If(_, then, otherwise, _):
            return then, otherwise
        case Loop():
            return (statement.body,)
        case _:
            return ()


# --------------------------------------------------------------------------------------------------
# Reduction in a local variable: an array element or member in which a loop accumulates stays in a
# variable while the loop runs (scalar replacement: Callahan, Carr and Kennedy, PLDI 1990).
# --------------------------------------------------------------------------------------------------


_NAMES: dict[ReductionOperator, str] = {
    "+": "sum", "*": "product", "min": "lowest", "max": "highest", "&": "bits", "|": "bits", "^": "bits",
    "&&": "all", "||": "any",
}  # fmt: skip


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """`double sum = c[i];` before the loop, `sum` in it, `c[i] = sum;` after it."""
    text = undirected(subject, ordinal)
    if isinstance(text, Declined):
        return text
    found = accumulators(subject, ordinal)
    if isinstance(found, Declined):
        return found
    edits: list[Replacement] = []
    before: list[str] = []
    after: list[str] = []
    for one, name in zip(found, _names(subject, found), strict=True):
        words = element_words(subject, one.place.variable, one.place.type)
        if words is None:
            return Declined(
                f"The type of `{one.text}` has no name here: keep the sum in a variable yourself."
            )
        before.append(f"{words} {name} = {one.text};")
        after.append(f"{one.text} = {name};")
        edits += [Replacement(span, name) for span in one.spans]
    around = surrounded(
        subject, subject.known(ordinal), text, before, after, style_of(subject, [text]).braces
    )
    if isinstance(around, Declined):
        return around
    doubts = [each for one in found if (each := doubt(subject, ordinal, one)) is not None]
    verdict = subject.known(ordinal).verdict
    assert isinstance(verdict, Parallel)
    ordered = tuple(sorted((*edits, *around), key=lambda each: each.span))
    return Edited(ordered, (*verdict.assumptions, *doubts))


def _names(subject: Subject, found: list[Accumulator]) -> list[str]:
    """A new name for each."""
    names: list[str] = []
    for one in found:
        plain = _NAMES[one.operator]
        longer = f"{one.place.variable.source_name}_{plain}"
        short = (plain,) if len(found) == 1 else ()
        names.append(fresh_name(subject, *short, longer, taken=names))
    return names
