"""Model of a single loop: all values that are fixed while it runs are parameters."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polylsp.analysis.calls import with_calls
from polylsp.analysis.effects import effects
from polylsp.analysis.merging import leads_away, one_of_several
from polylsp.analysis.raw import LoopEntry
from polylsp.analysis.regions import Nest, nest_of
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import ANYWHERE, At, Base, Opaque, Parameters, PointerValue, Value
from polylsp.analysis.summaries import Calls
from polylsp.analysis.value import Poly
from polylsp.model.program import Integer, Loop, Variable


def again(entry: LoopEntry, parameters: Parameters, calls: Calls, live: frozenset[str]) -> Nest:
    """The model of one loop alone."""
    names = {f.dimension for f in entry.frames}
    own = with_calls(effects(entry.loop), calls)
    variables = {v.name: v for v in own.variables}
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
    around = tuple(a for f in entry.frames for a in f.assumptions if a.kind == "no-wrap")
    last, parameters.epoch = parameters.epoch, entry.epoch
    found = nest_of((entry.loop,), scope, live, (*entry.inherited, *around))
    parameters.epoch = last
    return found


def _settled(name: str, value: Value, variable: Variable | None, loop: Loop, parameters: Parameters) -> Value:
    """A parameter for an unknown value, which is fixed while the loop runs."""
    key = ("settled", name, loop.ordinal)
    if isinstance(value, Opaque) and value.depth == ANYWHERE:
        return value
    if isinstance(value, Opaque) and variable is not None:
        return _unknown(name, variable, loop, parameters)
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


def _unknown(name: str, variable: Variable, loop: Loop, parameters: Parameters) -> Value:
    """Parameter or pointer for the unknown value of a variable that is fixed while the loop runs."""
    if isinstance(variable.type, Integer):
        key, stem = ("settled", name, loop.ordinal), f"{variable.source_name}0"
        return parameters.computed(key, variable.source_name, variable.type, stem)
    return PointerValue(Base(f"{name}:{loop.ordinal}", variable), (At(Poly(())),))


def _forgotten(
    name: str, value: Value, variable: Variable | None, loop: Loop, parameters: Parameters
) -> Value:
    """A value that may be another one by now; a pointer that was set may still lead to where it led."""
    if variable is None:
        return value
    if leads_away(value, name):
        return value if isinstance(value, Opaque) else one_of_several(variable.source_name, loop.site)
    return _unknown(name, variable, loop, parameters)
