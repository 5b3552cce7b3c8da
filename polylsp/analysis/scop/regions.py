"""Partition of a function into nests, the maximal runs of statements under static control.

Each nest is walked from the state that the statements before it leave. `again` models a single
loop with all values that are fixed in it as parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import islpy as isl

from polylsp.analysis.scop.access_relations import to_scop
from polylsp.analysis.scop.accesses import allocation, split
from polylsp.analysis.scop.array_contents import without_changed
from polylsp.analysis.scop.bounded_trips import bound_trips
from polylsp.analysis.scop.call_effects import allocates, is_quiet, manages_memory, with_calls
from polylsp.analysis.scop.counters import condition_inside, least_values
from polylsp.analysis.scop.evaluation import entry_value
from polylsp.analysis.scop.obstacles import (
    flat,
    is_exposed,
    leaves,
    led_elsewhere,
    obstacle,
    sequential_as_written,
)
from polylsp.analysis.scop.parameter_variables import local_arrays_named, with_values
from polylsp.analysis.scop.paths import LoopEntry, sets_pointers
from polylsp.analysis.scop.reductions import usual_starts
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.symbolic_value import Compare, NotAffineError, Poly
from polylsp.analysis.scop.untaken import computes, firm_obstacle, loops_left_out, silent, without_reports
from polylsp.analysis.scop.walk import walk_region
from polylsp.analysis.scop.walk_scope import (
    COARSE,
    FULL,
    Detail,
    Scope,
    leads_away,
    one_of_several,
)
from polylsp.analysis.scop.walk_state import (
    At,
    Base,
    Contents,
    Environment,
    Parameters,
    PointerValue,
    Value,
)
from polylsp.ir.effects import Effects, effects, nodes, places_in, pointers_followed, walk
from polylsp.ir.library import effect_of
from polylsp.ir.liveness import addresses_held, data_only
from polylsp.ir.pointer_flow import pointer_copies, pointer_flow, pointers_assigned
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Evaluate,
    Expr,
    Function,
    If,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Rejection,
    Site,
    Statement,
    Struct,
    Unsupported,
    Variable,
    stripped,
)
from polylsp.ir.verdict import Assumption, Sequential
from polylsp.poly.budget import Budget, Exhausted, over_budget
from polylsp.poly.scop import Addresses, Guard, Scop


@dataclass(frozen=True)
class Nest:
    """A nest's model, and for each of its loops the state just before it."""

    scop: Scop
    entries: dict[int, LoopEntry]
    effects: Effects
    parameters: Parameters


@dataclass(frozen=True)
class Cut:
    """The nests of a function in source order, and the loops that cannot be under static control; of these,
    the `ordered` have iterations that surely depend on each other."""

    nests: tuple[Nest, ...]
    refused: dict[int, Rejection]
    ordered: dict[int, Sequential]


_SEPARABLE = 4
"""The part of a loop's operations for what can be modelled in parts too, once a walk took too many."""

_MOST_PIECES = 32
_MOST_CONSTRAINED = 512
"""Convex pieces of the parameter values that reach a statement outside of loops, and these times the number
of parameters. Of a function with a hundred early returns there would be thousands; the conditions that lead
to more are forgotten."""

T = TypeVar("T")
_State = tuple[Environment, str, tuple[Guard, ...], int, Mapping[str, Contents]]

# Above this many assignments a run of loops is modelled loop by loop, to keep isl's problems small.
_MOST_STATEMENTS = 40


def cut(function: Function, calls: Calls, live: frozenset[str], budget: Budget) -> Cut:
    """The nests of a function. One that takes more operations than a piece of the budget has is walked again
    with less detail, then in smaller pieces; the loops that are lost even so are refused."""
    own = effects(function.body)
    # Called functions may use globals that the function does not name.
    used = own.variables | calls.counters(own.calls) | {*function.parameters}
    ordered = tuple(sorted(used, key=lambda v: v.name))
    addresses, usual = _addresses(function, calls), usual_starts(function.body)
    assigned, mentions = tuple(pointers_assigned(function)), local_arrays_named(function.body)
    parameters = Parameters(addresses=addresses, usual=usual, assigned=assigned, mentions=mentions)
    state = Scope(parameters, {}, effects(), isl.Set("{ [] }"), calls=calls)
    walker = _Cutter(state, calls, budget, [], {}, {}, live, ordered, led_elsewhere(function.body))
    walker.block(function.body.statements)
    return Cut(tuple(walker.nests), walker.refused, walker.ordered)


def _is_complex(reached: isl.Set) -> bool:
    pieces = reached.n_basic_set()
    parameters = reached.dim(isl.dim_type.param)
    return pieces > _MOST_PIECES or (pieces > 1 and pieces * parameters > _MOST_CONSTRAINED)


def _addresses(function: Function, calls: Calls) -> Addresses:
    """Escape analysis of a function."""
    own = effects(function.body)
    borrowing = calls.callees(function).borrowing
    perhaps_held = addresses_held(function, borrowing)
    inner = (v for v in own.variables if v.storage in ("local", "parameter"))
    lent = frozenset(v.name for v in inner if v.escapes and v.name not in perhaps_held)
    # That a function of other files keeps an address is left to the assumption that nothing overlaps.
    known = calls.summaries.keys() | calls.refused.keys()
    unknown = {c.function for c in own.calls if not isinstance(c.type, (Pointer, Struct))} - known
    # A function with a summary sets no such pointer.
    others = {c.function for c in own.calls} - calls.summaries.keys()
    resetting = any(name in calls.refused or effect_of(name) is None for name in others)
    held = addresses_held(function, borrowing | unknown)
    flow = pointer_flow(function, borrowing)
    return Addresses(
        held, calls.keeping, lent, resetting, tuple(pointer_copies(function)), flow, data_only(function)
    )


@dataclass(slots=True)
class _Run:
    """Statements modelled together, and the number of their assignments. `sets`: a loop among them sets
    pointers in memory; `moves`: another statement does, `leads`: one by a function that it calls;
    `follows`: a statement writes through such pointers, `reads`: a loop accesses memory through them."""

    statements: list[Statement]
    assignments: int = 0
    sets: bool = False
    moves: bool = False
    leads: bool = False
    follows: bool = False
    reads: bool = False

    def stands_apart_from(self, before: _Run) -> bool:
        """True if this statement is not modelled together with those before it: a nest follows no pointers
        that it sets, and a loop does not make isl's problems too large."""
        is_large = before.assignments + self.assignments > _MOST_STATEMENTS
        follows, leads = self.follows or before.follows, self.leads or before.leads
        moves = (self.moves or before.moves) and not leads
        reads = (moves or self.sets or before.sets) and (self.reads or before.reads)
        conflicts = ((self.sets or before.sets or moves) and follows) or reads
        return conflicts or (is_large and isinstance(self.statements[0], Loop))

    def append(self, more: _Run) -> None:
        """Add the statements of another run."""
        self.statements += more.statements
        self.assignments += more.assignments
        self.sets, self.follows = self.sets or more.sets, self.follows or more.follows
        self.moves, self.leads = self.moves or more.moves, self.leads or more.leads
        self.reads = self.reads or more.reads


def _run_of(statement: Statement, calls: Calls) -> _Run:
    """Run of one statement."""
    own = with_calls(effects(statement), calls)
    sets, is_loop = sets_pointers(own), isinstance(statement, Loop)
    # What called functions store there is no copy that is known.
    stores = effects(statement).places
    leads = not is_loop and sum(isinstance(p.type, Pointer) for p in own.places) > sum(
        isinstance(p.type, Pointer) for p in stores
    )
    follows = bool(own.calls) or any(True for p in own.places for _ in pointers_followed(p))
    reads = is_loop and any(True for p in places_in(statement) for _ in pointers_followed(p))
    amount = _assignments([statement])
    return _Run([statement], amount, sets and is_loop, sets and not is_loop, leads, follows, reads)


@dataclass
class _Cutter:
    state: Scope
    calls: Calls
    budget: Budget
    nests: list[Nest]
    refused: dict[int, Rejection]
    ordered: dict[int, Sequential]
    live: frozenset[str]
    variables: tuple[Variable, ...]
    led: frozenset[str]
    details: tuple[Detail, ...] = (FULL, COARSE)
    printed: tuple[isl.Set | None, str] = (None, "")
    """The last set of iterations that was remembered, and its text: large sets take long to print."""

    def block(self, statements: tuple[Statement, ...]) -> None:
        """Walk statements that stand in no loop, or only in refused ones. No answer depends on the state
        after the last run with loops."""
        run = _Run([])
        every = list(flat(statements))
        last = max((k for k, each in enumerate(every) if has_loops([each])), default=-1)
        for number, statement in enumerate(every):
            if number > last and not run.statements:
                return
            manages = _manages_memory(statement, self.calls)
            if manages or obstacle(statement, self.calls) is not None:
                self.flush(run.statements)
                run = _Run([])
                if number > last:
                    return
                if manages or not self.presumed(statement):
                    self.without(statement, firm_obstacle(statement, self.calls))
                continue
            part = _run_of(statement, self.calls)
            if part.stands_apart_from(run):
                self.flush(run.statements)
                run = _Run([])
            run.append(part)
        self.flush(run.statements)

    def flush(self, run: list[Statement]) -> None:
        """Model a run of statements, if there is a loop in it; walk it in any case."""
        if not run:
            return
        self.begin(run)
        reached = self.state.active
        found = self.modelled(run) if has_loops(run) else self.walked(run)
        if found is None or isinstance(found, Exhausted):
            self.taken_apart(run, found or Exhausted())
            return
        nests, followed = found
        self.nests += nests
        if _is_complex(self.state.active):
            self.state.active = reached
        if not followed:
            self.forget_all(run[-1])
        self.state.parameters.epoch += 1

    def begin(self, run: list[Statement]) -> None:
        """Record the effects of a run of statements in the state."""
        own = with_calls(effects(*run), self.calls)
        self.state.effects = own
        if sets_pointers(own):
            self.detach(frozenset())
        start_values(self.state, own)

    def modelled(self, run: list[Statement]) -> tuple[list[Nest], bool] | Exhausted | None:
        """The nest of a run of statements, and whether the walk followed all variables; `None` where an
        array is used in ways that do not go together, and parts of the run may use it in one way each."""
        before = self.remembered()
        alone = len(run) == 1 and isinstance(run[0], Loop)
        if not alone and self.details == (COARSE,) and _assignments(run) > _MOST_STATEMENTS:
            return None
        whole = self.attempt(lambda: nest_of(tuple(run), self.state, self.live), last=alone)
        if isinstance(whole, Exhausted):
            return whole
        if _strained(whole) and (
            len(_pieces(run)) > 1 or any(isinstance(s, If) and has_loops([s]) for s in run)
        ):
            self.restore(before)
            return None
        return [whole], all(entry.trusted for entry in whole.entries.values())

    def walked(self, run: list[Statement]) -> tuple[list[Nest], bool] | Exhausted:
        """No nests, and whether the walk of a run without loops followed all variables."""
        region = self.attempt(lambda: walk_region(tuple(run), self.state))
        return region if isinstance(region, Exhausted) else ([], not region.tainted)

    def attempt(self, work: Callable[[], T], *, last: bool = True) -> T | Exhausted:
        """The outcome of a walk from the state; where it takes too many operations, and there is no other way
        (`last`), of one with less detail. From then on all walks of the function have less, of the conditions
        for being reached as well. Where there is no outcome, the state is otherwise as before."""
        before = self.remembered()
        while True:
            self.state.detail = self.details[0]
            found = self.budget.run(work, 1 if last or self.details[0] is FULL else _SEPARABLE)
            self.state.detail = FULL
            if not isinstance(found, Exhausted):
                return found
            self.restore(before)
            self.widen()
            rest = self.details[1:]
            self.details = rest or self.details
            if not rest or not last:
                return found

    def widen(self) -> None:
        """Forget the conditions that only some of the ways to the present place have in common: with many
        such pieces each operation of isl takes long."""
        if self.state.active.n_basic_set() > 1:
            self.state.active = self.state.active.unshifted_simple_hull().to_set()

    def remembered(self) -> _State:
        """The state of the walk, in values that no walk changes."""
        state = self.state
        if self.printed[0] is not state.active:
            self.printed = state.active, str(state.active)
        environment = dict(state.environment)
        return environment, self.printed[1], state.guards, state.parameters.epoch, state.contents

    def restore(self, state: _State) -> None:
        """Go back to a state."""
        environment, active, self.state.guards, self.state.parameters.epoch, self.state.contents = state
        self.state.environment, self.state.active = dict(environment), isl.Set(active)
        self.state.frames, self.state.position = [], [0]

    def taken_apart(self, run: list[Statement], why: Exhausted) -> None:
        """Model the parts of a run of statements by themselves: its statements, the branches of a choice, the
        loops inside of a loop that is given up."""
        pieces = _pieces(run)
        if len(pieces) == 1:
            pieces = [[each] for each in run]
        if len(pieces) > 1:
            for piece in pieces:
                self.flush(piece)
            return
        (statement,) = run
        if isinstance(statement, (Loop, If)) and has_loops(run):
            site = statement.header if isinstance(statement, Loop) else statement.site
            self.without(statement, over_budget(site, why, self.budget))
        else:
            self.disturb(statement)

    def presumed(self, statement: Statement) -> bool:
        """Model a loop without the branches that print or end the program, if these are its only obstacles.
        The code after it does not rest on that: variables that the loop may change have unknown values
        there."""
        if not isinstance(statement, Loop) or not self.calls.presuming:
            return False
        made = without_reports(statement, self.calls)
        if made is None or not computes(made):
            return False
        before = self.remembered()
        self.flush([made])
        self.restore(before)
        self.disturb(statement)
        self.block(tuple(loops_left_out(statement, made)))
        return True

    def only_reports(self, loop: Loop) -> bool:
        """True for a loop that computes nothing: it prints or ends the program where conditions say so."""
        if not self.calls.presuming:
            return False
        made = without_reports(loop, self.calls) or silent(loop, self.calls)
        return obstacle(made, self.calls) is None and not computes(made)

    def runs_once(self, loop: Loop) -> bool:
        """True if the first step of a counter, from a constant start, certainly reaches the bound."""
        condition = None if loop.condition is None else stripped(loop.condition)
        match condition, loop.step.statements:
            case (
                Binary("<", Read(Place(counter, ())), bound),
                (Assign(Place(stepped, ()), "+", Constant(by)),),
            ) if counter == stepped:
                first, most = self.constant_of(counter), self.at_most(bound)
                return first is not None and most is not None and first + by >= most
            case _:
                return False

    def constant_of(self, variable: Variable) -> int | None:
        """The constant that a variable has here, where it is known."""
        found = self.state.environment.get(variable.name)
        return found.as_constant if isinstance(found, Poly) else None

    def at_most(self, value: Expr) -> float | None:
        """A constant that a value does not exceed here, where one is known."""
        match stripped(value):
            case Constant(number):
                return number
            case Read(Place(variable, ())):
                return self.constant_of(variable)
            case Binary("min", left, right):
                known = [one for one in (self.at_most(left), self.at_most(right)) if one is not None]
                return min(known, default=None)
            case Binary("max", left, right):
                first, second = self.at_most(left), self.at_most(right)
                return None if first is None or second is None else max(first, second)
            case _:
                return None

    def without(self, statement: Statement, rejection: Rejection | None) -> None:
        """Walk the parts of a statement that is not modelled itself, for some reason if it is a loop: the
        code inside is tried alone."""
        before, active, guards = self.state.environment, self.state.active, self.state.guards
        contents = self.state.contents
        match statement:
            case Loop() if rejection is not None:
                self.refused[statement.ordinal] = rejection
                reports = self.only_reports(statement)
                once = self.runs_once(statement)
                in_order = None if once else sequential_as_written(statement, self.calls, reports)
                if in_order is not None:
                    self.ordered[statement.ordinal] = in_order
                least = least_values(statement, self.state)
                self.disturb(statement)
                for name, first in least.items():
                    self.reached_from(name, first)
                if (condition := condition_inside(statement)) is not None:
                    self.state.active = self.taken(condition, statement.header)[0]
                self.block((statement.prologue, statement.body, statement.step))
            case If(_, then, otherwise, _):
                ways = self.ways(statement)
                for branch, reached in zip((then, otherwise), ways, strict=True):
                    self.state.environment, self.state.active = dict(before), reached
                    self.state.contents = contents
                    self.block(branch.statements)
                self.state.environment, self.state.contents = before, contents
                active = ways[1] if leaves(then) else ways[0] if leaves(otherwise) else active
            case Unsupported(own, _, loops):
                for loop in loops:
                    self.unsupported(loop, own)
            case _:
                pass
        # Jumps in it are taken or not: what follows is reached as if they were not there.
        self.state.active, self.state.guards = active, guards
        if isinstance(statement, Assign) and (fresh := allocation(statement, self.calls)) is not None:
            self.state.environment[statement.target.variable.name] = fresh
        else:
            self.disturb(statement)

    def reached_from(self, name: str, first: Poly) -> None:
        """Note that a variable is at least its value before a loop."""
        value = self.state.environment.get(name)
        if not isinstance(value, Poly):
            return
        try:
            reached = self.attempt(lambda: self.state.where(Compare(">=", value - first)))
        except NotAffineError:
            return
        if not isinstance(reached, Exhausted) and not _is_complex(reached):
            self.state.active = reached

    def ways(self, statement: If) -> tuple[isl.Set, isl.Set]:
        """Iterations that may reach each branch of an `if`; asked of those alone for which it matters."""
        active = self.state.active
        branches = (statement.then, statement.otherwise)
        if not (has_loops(branches) or any(map(leaves, branches))):
            return active, active
        return self.taken(statement.condition, statement.site)

    def taken(self, condition: Expr, site: Site) -> tuple[isl.Set, isl.Set]:
        """Iterations for which a condition may hold here, and those for which it may not."""
        own = with_calls(effects(Evaluate(condition, site)), self.calls)
        self.state.effects = own
        start_values(self.state, own)
        found = self.attempt(lambda: split(condition, self.state))
        if isinstance(found, Exhausted) or any(map(_is_complex, found[:2])):
            return self.state.active, self.state.active
        return found[:2]

    def unsupported(self, loop: Loop, rejection: Rejection) -> None:
        self.disturb(loop)
        if loop.condition is None and not loop.body.statements:
            self.refused[loop.ordinal] = rejection
        else:
            self.block((loop,))

    def disturb(self, statement: Statement) -> None:
        """Invalidate all that an unmodelled statement may change: the variables that it assigns, those that
        unknown code can reach, or all. Control reaches a label from anywhere."""
        own = effects(statement)
        start_values(self.state, own)
        unsupported = [s for s in walk(statement) if isinstance(s, Unsupported)]
        unknown = any(s.reads is None and not s.leaves for s in unsupported)
        led = led_elsewhere(statement)
        changed = [v for v in self.variables if v.name in own.scalars or is_exposed(v)]
        self.detach(frozenset(v.name for v in changed))
        for variable in changed:
            self.renew(variable, statement, variable.name in led)
        calls = [c for c in own.calls if unknown or not is_quiet(c, self.calls)]
        without_changed(self.state, with_calls(own, self.calls), calls)
        if unknown:
            self.forget_all(statement)
        self.state.parameters.epoch += 1

    def forget_all(self, statement: Statement) -> None:
        """Invalidate all values after a statement."""
        self.state.contents = {}
        for variable in self.variables:
            led = variable.name in self.led
            led = led or leads_away(self.state.environment.get(variable.name), variable.name)
            self.renew(variable, statement, led)
        self.state.active = isl.Set("{ [] }")

    def detach(self, changed: frozenset[str]) -> None:
        """Before pointers in memory and the variables `changed` get other values: pointers that were copied
        from them keep theirs, which has no other name from here on."""
        for variable in self.variables:
            value = self.state.environment.get(variable.name)
            if not isinstance(value, PointerValue):
                continue
            origin = value.base.variable
            copied = not value.base.fresh and origin.name != variable.name and origin.name in changed
            if value.followed or copied:
                self.state.environment[variable.name] = self.lead(variable)

    def lead(self, variable: Variable) -> PointerValue:
        """A pointer of unknown value that leads to memory under its name."""
        base = Base(f"{variable.name}:{len(self.state.parameters.texts)}", variable)
        self.state.parameters.fresh_name(variable.source_name)
        return PointerValue(base, (At(Poly(())),))

    def renew(self, variable: Variable, statement: Statement, led: bool) -> None:
        """Give a variable a new, unknown value; a pointer that may be `led` to memory of other names gets no
        base."""
        key = ("renewed", variable.name, id(statement), len(self.state.parameters.texts))
        if isinstance(variable.type, Integer):
            symbol = self.state.parameters.computed(key, variable.source_name, variable.type)
            self.state.environment[variable.name] = symbol
        elif isinstance(variable.type, Pointer) and led:
            site = Site(0, 0) if isinstance(statement, Block) else statement.site
            self.state.environment[variable.name] = one_of_several(variable.source_name, site)
        elif isinstance(variable.type, Pointer):
            self.state.environment[variable.name] = self.lead(variable)


def _assignments(run: Sequence[Statement]) -> int:
    return sum(isinstance(s, Assign) for s in walk(*run))


def _manages_memory(statement: Statement, calls: Calls) -> bool:
    """True if a statement allocates or releases memory outside of loops. Nests stay on one side of it."""
    match statement:
        case Loop() | Unsupported():
            return False
        case Block(inner):
            return any(_manages_memory(each, calls) for each in inner)
        case If(_, then, otherwise, _):
            return _manages_memory(then, calls) or _manages_memory(otherwise, calls)
        case _:
            every = (node for node in nodes(statement) if isinstance(node, Call))
            return any(manages_memory(call, calls) or allocates(call, calls) for call in every)


def has_loops(run: Sequence[Statement]) -> bool:
    """True if a run of statements contains loops."""
    return any(isinstance(s, Loop) for s in walk(*run))


def _pieces(run: list[Statement]) -> list[list[Statement]]:
    """The run cut after each of its statements with loops."""
    pieces: list[list[Statement]] = [[]]
    for statement in run:
        pieces[-1].append(statement)
        if has_loops([statement]):
            pieces.append([])
    rest = pieces.pop()
    if pieces:
        pieces[-1] += rest
    return pieces or [rest]


def _strained(nest: Nest) -> bool:
    """True if subscripts had to be assumed within bounds, or given up, to share one layout."""
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
    *,
    bounded: bool = False,
) -> Nest:
    """The model of statements under static control, from the state in `scope`, which is left at the state
    after them; `bounded`: loops whose rounds depend on data are assumed to stay within those around them."""
    entry, environment = scope.active, dict(scope.environment)
    scope.position = [0]
    region = walk_region(statements, scope)
    if bounded:
        bound_trips(region, scope.parameters)
    loops = [s for s in walk(*statements) if isinstance(s, Loop)]
    site = Site(min(s.site.first for s in loops), max(s.site.last for s in loops))
    scop = to_scop(region, entry.params(), scope.parameters, site, live, inherited)
    entries = [
        (each.loop, each.environment, tuple(frame.dimension for frame in each.frames))
        for each in region.entries.values()
    ]
    scop = with_values(scop, statements, entries, environment, scope)
    for inner in region.entries.values():
        inner.inherited = inherited
        inner.trusted = not region.tainted
    return Nest(scop, region.entries, scope.effects, scope.parameters)
