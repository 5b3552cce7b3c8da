"""Model of a single loop: all values that are fixed while it runs are parameters."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import islpy as isl

from polylsp.analysis.scop.call_effects import with_calls
from polylsp.analysis.scop.evaluation import value_of
from polylsp.analysis.scop.obstacles import flat
from polylsp.analysis.scop.paths import LoopEntry, sets_pointers
from polylsp.analysis.scop.regions import Nest, nest_of
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.symbolic_value import Compare, NotAffineError, Poly
from polylsp.analysis.scop.walk_scope import Scope, leads_away, one_of_several
from polylsp.analysis.scop.walk_state import ANYWHERE, At, Base, Opaque, Parameters, PointerValue, Value
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    If,
    Integer,
    Loop,
    Pointer,
    Read,
    Rejection,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    within,
)


def again(
    entry: LoopEntry, parameters: Parameters, calls: Calls, live: frozenset[str], *, bounded: bool = False
) -> Nest:
    """The model of one loop alone; `bounded` as in `nest_of`."""
    names = {f.dimension for f in entry.frames}
    own = with_calls(effects(entry.loop), calls)
    computed = _computed_before(entry)
    used = own.variables | calls.counters(own.calls) | effects(*computed).variables
    variables = {v.name: v for v in used}
    settled = _settled if entry.trusted else _forgotten
    environment = {
        n: settled(n, v, variables.get(n), entry.loop, parameters) for n, v in entry.environment.items()
    }
    active = entry.active if entry.trusted else isl.Set.universe(entry.active.get_space())
    space = active.move_dims(
        isl.dim_type.param, active.dim(isl.dim_type.param), isl.dim_type.set, 0, len(entry.frames)
    )
    for number, frame in enumerate(entry.frames):
        at = space.dim(isl.dim_type.param) - len(names) + number
        space = space.set_dim_name(isl.dim_type.param, at, frame.dimension)
    scope = Scope(parameters, environment, own, space, calls=calls, detail=entry.detail)
    scope.contents = entry.contents if entry.trusted else {}
    _relate(entry, computed, scope)
    if entry.trusted:
        _bound_from_below(entry, scope)
    around = tuple(a for f in entry.frames for a in f.assumptions if a.kind == "no-wrap")
    last, parameters.epoch = parameters.epoch, entry.epoch
    inherited = (*entry.inherited, *around)
    found = nest_of((entry.loop,), scope, live, inherited, bounded=bounded)
    parameters.epoch = last
    return found


def alone(nest: Nest, ordinal: int, calls: Calls, live: frozenset[str]) -> Nest | None:
    """The model of one loop of a nest in which each number that it leaves alone is a parameter, whatever was
    computed before the loop; `None` where the nest has no state before it."""
    entry = nest.entries.get(ordinal)
    if entry is None or not entry.trusted:
        return None
    own, parameters = effects(entry.loop), deepcopy(nest.parameters)
    environment = dict(entry.environment)
    for variable in own.variables:
        value = environment.get(variable.name)
        is_own = variable.storage in ("local", "parameter") and not variable.escapes
        fixed = variable.name not in own.scalars and (is_own or not own.calls)
        if fixed and isinstance(value, Poly) and value.as_constant is None and len(value.symbols) != 1:
            key = ("alone", variable.name, ordinal)
            environment[variable.name] = parameters.computed(key, variable.source_name, variable.type)
    changed = replace(entry, environment=environment)
    return again(changed, parameters, calls, live) if environment != entry.environment else None


def _computed_before(entry: LoopEntry) -> list[Assign]:
    """The last computation of each pointer from another one, and of integers from others, that stands before
    a loop in the loop around it, where the walk of both lost the value."""
    if not entry.frames:
        return []
    lost = {n for n, v in entry.environment.items() if isinstance(v, Opaque) and v.depth != ANYWHERE}
    before = (
        s
        for s in walk(entry.frames[-1].loop.body)
        if not isinstance(s, Block) and s.site.last < entry.loop.site.first
    )
    computed = [s for s in before if isinstance(s, Assign) and _moves_pointer(s)]
    if lost:
        computed += filter(_sets_integer, _still_valid(entry.frames[-1].loop.body, entry.loop))
    return list({s.target.variable.name: s for s in computed if s.target.variable.name in lost}.values())


def _relate(entry: LoopEntry, computed: list[Assign], scope: Scope) -> None:
    """Give pointers and integers that were computed from others just before a loop their values again, at a
    distance that is fixed while the loop runs. Pointers computed on some ways alone are noted, for them not
    to be assumed apart from those others, which lead into the same object."""
    valid = _still_valid(entry.frames[-1].loop.body, entry.loop) if computed else []
    for assign in computed:
        variable = assign.target.variable
        value = value_of(assign.value, scope) if assign in valid else None
        if isinstance(value, (PointerValue, Poly)):
            scope.environment[variable.name] = value
            continue
        found = scope.environment.get(variable.name)
        if isinstance(found, PointerValue):
            name = variable.source_name
            text = f"`{name}` is computed from another pointer, so that both may lead to one object"
            scope.parameters.renamed[found.base.name] = Rejection("may-alias", assign.site, text, _USE_ONE)


def _bound_from_below(entry: LoopEntry, scope: Scope) -> None:
    """Restrict the parameters that variables have become to values that these have in the loops around."""
    for name, first in ((n, v) for frame in entry.frames for n, v in frame.least.items()):
        value = scope.environment.get(name)
        if isinstance(value, Poly):
            try:
                scope.active = scope.where(Compare(">=", value - first))
            except NotAffineError:
                continue


_USE_ONE = "compute it just before the loop, or use one of them in the loop"


def _moves_pointer(assign: Assign) -> bool:
    """True if a local pointer gets a value at some distance from that of another pointer."""
    variable, value = assign.target.variable, stripped(assign.value)
    own = variable.storage in ("local", "parameter") and not variable.escapes and not assign.target.steps
    if not own or assign.operator is not None or not isinstance(variable.type, Pointer):
        return False
    return isinstance(value, (AddressOf, Binary)) and all(
        not isinstance(each, Call) for each in subexpressions(value)
    )


def _sets_integer(assign: Assign) -> bool:
    """True if a local integer gets a value that is computed without calls, from variables that no call
    changes."""
    variable, inside = assign.target.variable, list(subexpressions(assign.value))
    if assign.target.steps or assign.operator is not None or not isinstance(variable.type, Integer):
        return False
    used = (variable, *(n.place.variable for n in inside if isinstance(n, (Read, AddressOf))))
    own = all(v.storage in ("local", "parameter") and not v.escapes for v in used)
    return own and not any(isinstance(n, Call) for n in inside)


def _still_valid(block: Block, loop: Loop) -> list[Assign]:
    """The assignments before a loop, in the blocks around it, that give a variable the value which their
    expression still has when the loop starts."""
    found: list[Assign] = []
    for statement in flat(block.statements):
        if isinstance(statement, If) and within(loop.site, statement.site):
            way = next(w for w in (statement.then, statement.otherwise) if loop in walk(w))
            return found + _still_valid(way, loop)
        if statement is loop:
            return found
        own = effects(statement)
        unknown = any(isinstance(s, Unsupported) for s in walk(statement))
        found = [] if unknown else [a for a in found if _variables(a).isdisjoint(own.scalars)]
        if isinstance(statement, Assign) and not _is_data(statement):
            found.append(statement)
    return []


def _variables(assign: Assign) -> frozenset[str]:
    return frozenset(v.name for v in effects(assign).variables)


def _is_data(assign: Assign) -> bool:
    """True if the expression of an assignment reads memory, or the variable itself."""
    reads = [n.place for n in subexpressions(assign.value) if isinstance(n, (Read, AddressOf))]
    return any(place.steps or place.variable == assign.target.variable for place in reads)


def _settled(name: str, value: Value, variable: Variable | None, loop: Loop, parameters: Parameters) -> Value:
    """A parameter for an unknown value, which is fixed while the loop runs."""
    key = ("settled", name, loop.ordinal)
    if isinstance(value, Opaque) and variable is not None:
        return _fixed(name, value, variable, loop, parameters)
    if isinstance(value, PointerValue):
        source = value.base.variable.source_name
        steps = tuple(
            At(parameters.computed((*key, k), source, Integer(64, True), f"{source}_index"))
            if isinstance(s, At) and isinstance(s.index, Opaque)
            else s
            for k, s in enumerate(value.steps)
        )
        return replace(value, steps=steps)
    return value


def _fixed(name: str, value: Opaque, variable: Variable, loop: Loop, parameters: Parameters) -> Value:
    """Parameter or pointer for an opaque value that is fixed while the loop runs. A pointer into memory that
    has another name too is noted, for the memory to be accessed by one of the names alone."""
    if value.depth == ANYWHERE and not _is_renamed(value, variable):
        return value
    found = _unknown(name, variable, loop, parameters)
    if isinstance(found, PointerValue) and value.depth == ANYWHERE:
        parameters.renamed[found.base.name] = value.rejection
    return found


def _is_renamed(value: Value | None, variable: Variable) -> bool:
    """True for a pointer into memory that has another name too, and elements of one type by all names."""
    if not isinstance(value, Opaque) or value.depth != ANYWHERE:
        return False
    return isinstance(variable.type, Pointer) and value.rejection.code != "may-alias"


def _has_renamed_pointers(entry: LoopEntry) -> bool:
    """True if a loop uses pointers whose values before it have no form, since they lead to memory that has
    another name too: fixed in the loop, they do in its model alone."""
    environment = entry.environment
    return any(_is_renamed(environment.get(v.name), v) for v in effects(entry.loop).variables)


def _unknown(name: str, variable: Variable, loop: Loop, parameters: Parameters) -> Value:
    """Parameter or pointer for the unknown value of a variable that is fixed while the loop runs."""
    if isinstance(variable.type, Integer):
        key, stem = ("settled", name, loop.ordinal), f"{variable.source_name}0"
        return parameters.computed(key, variable.source_name, variable.type, stem)
    base = Base(f"{name}:{loop.ordinal}", variable, settled=loop.ordinal)
    return PointerValue(base, (At(Poly(())),))


def _forgotten(
    name: str, value: Value, variable: Variable | None, loop: Loop, parameters: Parameters
) -> Value:
    """A value that may be another one by now; a pointer that was set may still lead to where it led."""
    if variable is None:
        return value
    if leads_away(value, name):
        value = value if isinstance(value, Opaque) else one_of_several(variable.source_name, loop.site)
        return _fixed(name, value, variable, loop, parameters)
    return _unknown(name, variable, loop, parameters)


def stands_with_others(nest: Nest, ordinal: int) -> bool:
    """True if a nest has statements outside of a loop; where these store pointers, only loops around it
    count. A pointer whose value has no form before the loop is fixed in it."""
    entry = nest.entries[ordinal]
    if entry.frames or _has_renamed_pointers(entry):
        return True
    beside = any(ordinal not in s.loops for s in nest.scop.statements)
    return beside and not sets_pointers(nest.effects)
