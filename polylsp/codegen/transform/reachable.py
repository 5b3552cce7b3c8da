"""Safety of accessing an accumulator element also where the loop does not run."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.analysis.induction import same_element
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.accumulators import Accumulator
from polylsp.codegen.transform.elements import around, element_in, runs, without_name
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.extents import constant_extents
from polylsp.model.program import Assign, Block, If, Loop, Place, Read, Statement
from polylsp.model.scop import Access, Memory, Scop
from polylsp.model.verdict import Assumption


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
