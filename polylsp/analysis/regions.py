"""A function cut into nests: maximal runs of statements under static control, each walked from the
state that the statements before it leave."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.accesses import split
from polylsp.analysis.calls import with_calls
from polylsp.analysis.effects import Effects, effects, walk
from polylsp.analysis.evaluate import entry_value
from polylsp.analysis.memory import to_scop
from polylsp.analysis.merging import leads_away, one_of_several
from polylsp.analysis.obstacles import flat, is_exposed, leaves, led_elsewhere, obstacle
from polylsp.analysis.raw import LoopEntry
from polylsp.analysis.scope import Scope
from polylsp.analysis.state import At, Base, Parameters, PointerValue, Value
from polylsp.analysis.summaries import Calls
from polylsp.analysis.value import Poly
from polylsp.analysis.walk import walk_region
from polylsp.analysis.written import allocation
from polylsp.model.program import (
    Assign,
    Block,
    Evaluate,
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
    variables = effects(function.body).variables | frozenset(function.parameters)
    ordered = tuple(sorted(variables, key=lambda v: v.name))
    walker = _Cutter(state, calls, [], {}, live, ordered, led_elsewhere(function.body))
    walker.block(function.body.statements)
    return Cut(tuple(walker.nests), walker.refused)


@dataclass
class _Cutter:
    state: Scope
    calls: Calls
    nests: list[Nest]
    refused: dict[int, Rejection]
    live: frozenset[str]
    variables: tuple[Variable, ...]
    led: frozenset[str]

    def block(self, statements: tuple[Statement, ...]) -> None:
        """Walk statements that stand in no loop, or only in refused ones."""
        run: list[Statement] = []
        size = 0
        for statement in flat(statements):
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
            found = self.modelled(run)
            self.nests += found
            followed = all(entry.trusted for nest in found for entry in nest.entries.values())
        else:
            followed = not walk_region(tuple(run), self.state).tainted
        if not followed:
            self.forget_all(run[-1])
        self.state.parameters.epoch += 1

    def modelled(self, run: list[Statement]) -> list[Nest]:
        """The nest of a run of statements; one for each of its loops where an array is used in ways
        that do not go together."""
        before, active = dict(self.state.environment), self.state.active
        whole = nest_of(tuple(run), self.state, self.live)
        pieces = _pieces(run)
        if len(pieces) == 1 or not _strained(whole):
            return [whole]
        self.state.environment, self.state.active = before, active
        result: list[Nest] = []
        for piece in pieces:
            own = with_calls(effects(*piece), self.calls)
            self.state.effects = own
            result.append(nest_of(tuple(piece), self.state, self.live))
            self.state.parameters.epoch += 1
        return result

    def obstructed(self, statement: Statement) -> None:
        """A statement with something in it that is not under static control: its loops are refused,
        what is inside is tried alone."""
        rejection = obstacle(statement, self.calls)
        assert rejection is not None
        before, active, guards = self.state.environment, self.state.active, self.state.guards
        match statement:
            case Loop():
                self.refused[statement.ordinal] = rejection
                self.disturb(statement)
                self.block((statement.prologue, statement.body, statement.step))
            case If(_, then, otherwise, _):
                goes_on = self.going_on(statement)
                for branch in (then, otherwise):
                    self.state.environment, self.state.active = dict(before), active
                    self.block(branch.statements)
                self.state.environment, active = before, goes_on
            case Unsupported(own, _, loops):
                for loop in loops:
                    self.unsupported(loop, own)
            case _:
                pass
        # Jumps in it are taken or not: what follows is reached as if they were not there.
        self.state.active, self.state.guards = active, guards
        if isinstance(statement, Assign) and (fresh := allocation(statement)) is not None:
            self.state.environment[statement.target.variable.name] = fresh
        else:
            self.disturb(statement)

    def going_on(self, statement: If) -> isl.Set:
        """When what follows the statement is perhaps reached: not after a branch that leaves."""
        if not (leaves(statement.then) or leaves(statement.otherwise)):
            return self.state.active
        own = with_calls(effects(Evaluate(statement.condition, statement.site)), self.calls)
        self.state.effects = own
        start_values(self.state, own)
        inside, outside, _ = split(statement.condition, self.state)
        return outside if leaves(statement.then) else inside

    def unsupported(self, loop: Loop, rejection: Rejection) -> None:
        self.disturb(loop)
        if loop.condition is None and not loop.body.statements:
            self.refused[loop.ordinal] = rejection
        else:
            self.block((loop,))

    def disturb(self, statement: Statement) -> None:
        """What a statement that is not followed may change has new, unknown values: what it assigns, what
        unknown code can reach, or all there is. To a label control comes from anywhere."""
        own = effects(statement)
        start_values(self.state, own)
        unsupported = [s for s in walk(statement) if isinstance(s, Unsupported)]
        unknown = any(s.reads is None and not s.leaves for s in unsupported)
        led = led_elsewhere(statement)
        for variable in self.variables:
            if variable.name in own.scalars or is_exposed(variable):
                self.renew(variable, statement, variable.name in led)
        if unknown:
            self.forget_all(statement)
        self.state.parameters.epoch += 1

    def forget_all(self, statement: Statement) -> None:
        """After a statement nothing is known."""
        for variable in self.variables:
            led = variable.name in self.led
            led = led or leads_away(self.state.environment.get(variable.name), variable.name)
            self.renew(variable, statement, led)
        self.state.active = isl.Set("{ [] }")

    def renew(self, variable: Variable, statement: Statement, led: bool) -> None:
        """Give a variable a new, unknown value; a pointer that may be `led` to what has other names keeps to
        none."""
        key = ("renewed", variable.name, id(statement), len(self.state.parameters.texts))
        if isinstance(variable.type, Integer):
            symbol = self.state.parameters.computed(key, variable.source_name, variable.type)
            self.state.environment[variable.name] = symbol
        elif isinstance(variable.type, Pointer) and led:
            site = Site(0, 0) if isinstance(statement, Block) else statement.site
            self.state.environment[variable.name] = one_of_several(variable.source_name, site)
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


def nest_of(
    statements: tuple[Statement, ...],
    scope: Scope,
    live: frozenset[str],
    inherited: tuple[Assumption, ...] = (),
) -> Nest:
    """The model of statements under static control, from the state in `scope`, which is left at the state
    after them."""
    entry = scope.active
    scope.position = [0]
    region = walk_region(statements, scope)
    loops = [s for s in walk(*statements) if isinstance(s, Loop)]
    site = Site(min(s.site.first for s in loops), max(s.site.last for s in loops))
    scop = to_scop(region, entry.params(), scope.parameters, site, live, inherited)
    for inner in region.entries.values():
        inner.inherited = inherited
        inner.trusted = not region.tainted
    return Nest(scop, region.entries, scope.effects, scope.parameters)
