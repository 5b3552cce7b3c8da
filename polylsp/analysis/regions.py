"""A function cut into nests: maximal runs of statements under static control, each walked from the
state that the statements before it leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.calls import is_known, with_calls
from polylsp.analysis.effects import Effects, effects, expressions, walk
from polylsp.analysis.evaluate import entry_value
from polylsp.analysis.memory import to_scop
from polylsp.analysis.raw import LoopEntry
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import ANYWHERE, At, Base, Opaque, Parameters, PointerValue, Value
from polylsp.analysis.summaries import Calls
from polylsp.analysis.value import Poly
from polylsp.analysis.walk import walk_region
from polylsp.analysis.written import allocation
from polylsp.model.expressions import subexpressions
from polylsp.model.program import (
    Assign,
    Block,
    Call,
    Function,
    If,
    Integer,
    Loop,
    Pointer,
    Site,
    Statement,
    Unsupported,
    Variable,
)
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Scop
from polylsp.model.verdict import Assumption


@dataclass(frozen=True)
class Nest:
    """A nest's model, and for each of its loops the state just before it."""

    scop: Scop
    entries: dict[int, LoopEntry]
    effects: Effects
    parameters: Parameters


@dataclass(frozen=True)
class Cut:
    """The nests of a function in source order, and the loops that cannot be under static control."""

    nests: tuple[Nest, ...]
    refused: dict[int, Rejection]


# Above this many assignments a run of loops is modelled loop by loop, to keep isl's problems small.
_MOST_STATEMENTS = 40


def cut(function: Function, calls: Calls, live: frozenset[str]) -> Cut:
    """The nests of a function."""
    parameters = Parameters()
    state = Scope(parameters, {}, effects(), isl.Set("{ [] }"), calls=calls)
    walker = _Cutter(state, calls, [], {}, live)
    walker.block(function.body.statements)
    return Cut(tuple(walker.nests), walker.refused)


def again(entry: LoopEntry, parameters: Parameters, calls: Calls, live: frozenset[str]) -> Nest:
    """The model of one loop alone: what is fixed while it runs is a parameter."""
    names = {f.dimension for f in entry.frames}
    own = with_calls(effects(entry.loop), calls)
    variables = {v.name: v for v in own.variables}
    environment = {
        n: _settled(n, v, variables.get(n), entry.loop, parameters) for n, v in entry.environment.items()
    }
    space = entry.active.move_dims(
        isl.dim_type.param, entry.active.dim(isl.dim_type.param), isl.dim_type.set, 0, len(entry.frames)
    )
    for number, frame in enumerate(entry.frames):
        at = space.dim(isl.dim_type.param) - len(names) + number
        space = space.set_dim_name(isl.dim_type.param, at, frame.dimension)
    scope = Scope(parameters, environment, own, space, calls=calls)
    around = tuple(a for f in entry.frames for a in f.assumptions if a.kind == "no-wrap")
    return _nest((entry.loop,), scope, live, (*entry.inherited, *around))


def _settled(name: str, value: Value, variable: Variable | None, loop: Loop, parameters: Parameters) -> Value:
    """A value that is not known, as a parameter: while the loop runs it is fixed."""
    key = ("settled", name, loop.ordinal)
    if isinstance(value, Opaque) and value.depth == ANYWHERE:
        return value
    if isinstance(value, Opaque) and variable is not None:
        if isinstance(variable.type, Integer):
            return parameters.computed(key, variable.source_name, variable.type, f"{variable.source_name}0")
        return PointerValue(Base(f"{name}:{loop.ordinal}", variable), (At(Poly(())),))
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


@dataclass
class _Cutter:
    state: Scope
    calls: Calls
    nests: list[Nest]
    refused: dict[int, Rejection]
    live: frozenset[str]

    def block(self, statements: tuple[Statement, ...]) -> None:
        """Walk statements that stand in no loop, or only in refused ones."""
        run: list[Statement] = []
        size = 0
        for statement in _flat(statements):
            if obstacle(statement, self.calls) is not None:
                self.flush(run)
                run, size = [], 0
                self.obstructed(statement)
                continue
            more = sum(isinstance(s, Assign) for s in walk(statement))
            if size + more > _MOST_STATEMENTS and isinstance(statement, Loop):
                self.flush(run)
                run, size = [], 0
            run.append(statement)
            size += more
        self.flush(run)

    def flush(self, run: list[Statement]) -> None:
        """Model a run of statements, if there is a loop in it; walk it in any case."""
        if not run:
            return
        own = with_calls(effects(*run), self.calls)
        self.state.effects = own
        start_values(self.state, own)
        if any(isinstance(s, Loop) for s in walk(*run)):
            self.nests += self.modelled(run)
        else:
            walk_region(tuple(run), self.state)

    def modelled(self, run: list[Statement]) -> list[Nest]:
        """The nest of a run of statements; one for each of its loops where an array is used in ways
        that do not go together."""
        before, active = dict(self.state.environment), self.state.active
        whole = _nest(tuple(run), self.state, self.live)
        pieces = _pieces(run)
        if len(pieces) == 1 or not _strained(whole):
            return [whole]
        self.state.environment, self.state.active = before, active
        result: list[Nest] = []
        for piece in pieces:
            own = with_calls(effects(*piece), self.calls)
            self.state.effects = own
            result.append(_nest(tuple(piece), self.state, self.live))
        return result

    def obstructed(self, statement: Statement) -> None:
        """A statement with something in it that is not under static control: its loops are refused,
        what is inside is tried alone."""
        rejection = obstacle(statement, self.calls)
        assert rejection is not None
        match statement:
            case Loop():
                self.refused[statement.ordinal] = rejection
                self.forget(statement)
                self.block((statement.prologue, statement.body, statement.step))
                self.forget(statement)
            case If(_, then, otherwise, _):
                before = dict(self.state.environment)
                active = self.state.active
                for branch in (then, otherwise):
                    self.state.environment, self.state.active = dict(before), active
                    self.block(branch.statements)
                self.state.environment, self.state.active = before, active
                self.forget(statement)
            case Unsupported(own, _, loops):
                for loop in loops:
                    self.unsupported(loop, own)
                self.forget(statement)
                self.forget_all()
            case Assign() if (fresh := allocation(statement)) is not None:
                self.state.environment[statement.target.variable.name] = fresh
            case _:
                self.forget(statement)
                self.forget_all()

    def unsupported(self, loop: Loop, rejection: Rejection) -> None:
        self.forget(loop)
        if loop.condition is None and not loop.body.statements:
            self.refused[loop.ordinal] = rejection
        else:
            self.block((loop,))

    def forget(self, statement: Statement) -> None:
        """Whatever the statement assigns has a new, unknown value."""
        own = effects(statement)
        start_values(self.state, own)
        for variable in own.variables:
            if variable.name in own.scalars:
                self.renew(variable, statement)

    def forget_all(self) -> None:
        """A call that is not known may have changed everything that others can reach."""
        for name, value in list(self.state.environment.items()):
            if isinstance(value, (Poly, PointerValue)) and name in self.exposed:
                del self.state.environment[name]

    @property
    def exposed(self) -> frozenset[str]:
        return frozenset()

    def renew(self, variable: Variable, statement: Statement) -> None:
        key = ("renewed", variable.name, id(statement), len(self.state.parameters.texts))
        if isinstance(variable.type, Integer):
            symbol = self.state.parameters.computed(key, variable.source_name, variable.type)
            self.state.environment[variable.name] = symbol
        elif isinstance(variable.type, Pointer):
            base = Base(f"{variable.name}:{len(self.state.parameters.texts)}", variable)
            self.state.parameters.fresh_name(variable.source_name)
            self.state.environment[variable.name] = PointerValue(base, (At(Poly(())),))


def _pieces(run: list[Statement]) -> list[list[Statement]]:
    """The run cut after each of its loops."""
    pieces: list[list[Statement]] = [[]]
    for statement in run:
        pieces[-1].append(statement)
        if isinstance(statement, Loop):
            pieces.append([])
    rest = pieces.pop()
    if pieces:
        pieces[-1] += rest
    return pieces or [rest]


def _strained(nest: Nest) -> bool:
    """Whether subscripts had to be assumed within bounds, or given up, to share one layout."""
    assumed = any(a.kind == "in-bounds" for loop in nest.scop.loops.values() for a in loop.assumptions)
    return assumed or any(not a.exact and not a.indirect for a in nest.scop.accesses)


def start_values(scope: Scope, own: Effects) -> None:
    """Give every integer and pointer that statements name a value to start from."""
    for variable in own.variables:
        if variable.name not in scope.environment:
            start = _start(variable, scope)
            if start is not None:
                scope.environment[variable.name] = start


def _start(variable: Variable, scope: Scope) -> Value | None:
    if isinstance(variable.type, Integer):
        return entry_value(variable, scope)
    if isinstance(variable.type, Pointer):
        return PointerValue(Base(variable.name, variable), (At(Poly(())),))
    return None


def _nest(
    statements: tuple[Statement, ...],
    scope: Scope,
    live: frozenset[str],
    inherited: tuple[Assumption, ...] = (),
) -> Nest:
    entry = scope.active
    scope.position = [0]
    region = walk_region(statements, scope)
    loops = [s for s in walk(*statements) if isinstance(s, Loop)]
    site = Site(min(s.site.first for s in loops), max(s.site.last for s in loops))
    scop = to_scop(region, entry.params(), scope.parameters, site, live, inherited)
    for inner in region.entries.values():
        inner.inherited = inherited
    return Nest(scop, region.entries, scope.effects, scope.parameters)


def _flat(statements: tuple[Statement, ...]) -> Iterator[Statement]:
    for statement in statements:
        if isinstance(statement, Block):
            yield from _flat(statement.statements)
        else:
            yield statement


def obstacle(statement: Statement, calls: Calls) -> Rejection | None:
    """The first thing in a statement that cannot be under static control."""
    for inner in walk(statement):
        if isinstance(inner, Unsupported):
            return inner.rejection
        for expression in expressions(inner):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not is_known(node, calls):
                    return unknown_call(node, calls)
    return None


def unknown_call(call: Call, calls: Calls) -> Rejection:
    """What a call of an unknown function says to the user."""
    if call.function in calls.refused:
        text = f"what `{call.function}` reads and writes cannot be told: {calls.refused[call.function]}"
        return Rejection("unknown-call", call.site, text)
    text = f"it is not known what `{call.function}` reads and writes"
    advice = f"define `{call.function}` in this file or declare it `__attribute__((const))`"
    return Rejection("unknown-call", call.site, text, advice)
