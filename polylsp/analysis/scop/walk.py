"""Symbolic walk: structured program to raw statements with iteration domains.

Follows pet (Verdoolaege and Grosser, IMPACT 2012): scalars are tracked symbolically, so index
temporaries and induction variables vanish into closed forms; data-dependent conditions become
guards, whose statements may, but need not, run.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, pairwise
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.accesses import (
    Accesses,
    allocation,
    assigned,
    assume_readable,
    filled,
    known_store,
    split,
)
from polylsp.analysis.scop.array_contents import (
    Store,
    note,
    note_filled,
    without_changed,
    without_written,
)
from polylsp.analysis.scop.call_effects import is_quiet, with_calls
from polylsp.analysis.scop.counters import (
    Counter,
    amounts_of,
    changed_variables,
    counter_of,
    index_of,
    least_values,
    row_counter,
    varying,
    with_index,
)
from polylsp.analysis.scop.evaluation import condition_of, held
from polylsp.analysis.scop.inlining import inlined
from polylsp.analysis.scop.inputs import inputs_of, tracked_extremum
from polylsp.analysis.scop.objects import seen_in_two_ways
from polylsp.analysis.scop.paths import LoopEntry, Path, RawAccess, RawStatement, Region
from polylsp.analysis.scop.reductions import (
    Update,
    conditional_extremum,
    extremum_apart,
    reduction_of,
)
from polylsp.analysis.scop.symbolic_value import ZERO, Compare, Poly, Symbol, extremum, floor_div
from polylsp.analysis.scop.thread_storage import thread_bound
from polylsp.analysis.scop.trip_domains import iterations_of, values_taken
from polylsp.analysis.scop.walk_scope import Frame, Scope, merged, unknown_value
from polylsp.analysis.scop.walk_state import Contents, Environment, Opaque, PointerValue, Value
from polylsp.ir.effects import effects
from polylsp.ir.effects import walk as statements_in
from polylsp.ir.program import (
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Declare,
    Evaluate,
    Expr,
    If,
    Integer,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Rejection,
    Site,
    Statement,
    Unsupported,
    Variable,
    around,
    stripped,
    subexpressions,
)
from polylsp.ir.spelling import spell
from polylsp.poly.scop import Guard, Input

# --------------------------------------------------------------------------------------------------
# Entry of a loop: values of the variables that it changes in each iteration, and after the last
# one.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Entered:
    """A loop that the walk has entered. `domain`: the iterations of all frames, this one included, in which
    the body runs; `guarded`: at most these. `leave` sets the values of variables after it."""

    frame: Frame
    domain: isl.Set
    guarded: bool
    leave: Callable[[Scope], None]


def enter_loop(loop: Loop, scope: Scope) -> Entered:
    """Pushes a frame for `loop`, and sets the state at the start of its body."""
    changed = changed_variables(loop, scope.calls)
    amounts = amounts_of(loop, scope, changed)
    counter = counter_of(loop, scope, changed, amounts)
    outside = scope.environment
    # What has the same step in each round has a value of its own.
    others = changed.keys() - amounts.keys()
    least = {n: first for n, first in least_values(loop, scope).items() if n in others} if others else {}
    frame = _push(loop, scope, counter, changed)
    frame.least = least
    frame.even = frozenset(amounts)
    frame.start = counter.start if counter.variable is not None else None
    dimension = Poly.atom(Symbol(frame.dimension))
    rounds = floor_div((dimension - counter.start) * (1 if counter.step > 0 else -1), abs(counter.step))
    scope.environment = dict(outside)
    for name, variable in changed.items():
        scope.environment[name] = _at_head(
            variable, outside.get(name), amounts.get(name), rounds, scope, loop.site
        )
    if counter.variable is not None:
        name = counter.variable.name
        scope.environment[name] = with_index(scope.environment[name], dimension - counter.early)
    scope.active = scope.active.add_dims(isl.dim_type.set, 1)
    row = row_counter(loop, scope, outside, amounts) if counter.variable is None else None
    if row is not None:
        scope.environment[row[0].name] = row[1]
    head = dict(scope.environment)
    progress = values_taken(counter, dimension)
    scope.active = scope.where(progress)
    summed = {n: v for n, v in changed.items() if n in amounts and v != counter.variable}
    # Before its number of iterations is known, a loop takes every narrow sum out of range.
    scope.environment |= {n: _held(v, head[n], scope, most_bits=31) for n, v in summed.items()}
    domain, guarded, rounds_done = iterations_of(loop, scope, counter, frame)
    scope.environment = head
    scope.active = domain
    frame.domain = domain
    head.update({n: _held(v, head[n], scope) for n, v in summed.items()})

    def leave(after: Scope) -> None:
        after.environment = _after(outside, changed, amounts, rounds_done, after, loop)

    return Entered(frame, domain, guarded, leave)


def _push(loop: Loop, scope: Scope, counter: Counter, changed: Mapping[str, Variable]) -> Frame:
    pointers = {v.source_name for v in changed.values() if isinstance(v.type, Pointer)}
    iterator = None if loop.iterator in pointers else loop.iterator
    shown = counter.variable.source_name if counter.variable is not None else iterator or "iteration"
    dimension = scope.parameters.dimension_name(shown, scope.dimensions)
    frame = Frame(loop, dimension, shown, counter.step)
    scope.frames.append(frame)
    if counter.variable is not None:
        scope.types[dimension] = counter.variable.type
    return frame


def _at_head(
    variable: Variable,
    start: Value | None,
    amount: tuple[Poly, Poly] | None,
    rounds: Poly,
    scope: Scope,
    site: Site,
) -> Value:
    """Value of a variable at the start of a round."""
    if amount is None or start is None or isinstance(start, Opaque):
        return varying(variable, len(scope.frames), site)
    index = index_of(start)
    if index is None:
        return varying(variable, len(scope.frames), site)
    return with_index(start, index + amount[0] * rounds)


def _held(variable: Variable, value: Value, scope: Scope, most_bits: int = 64) -> Value:
    """The value of a variable as its type holds it, if that has no more than some bits."""
    of_type = variable.type
    if not isinstance(of_type, Integer) or not isinstance(value, Poly) or of_type.bits > most_bits:
        return value
    return held(value, of_type, scope)


def _after(
    outside: Environment,
    changed: Mapping[str, Variable],
    amounts: Mapping[str, tuple[Poly, Poly]],
    rounds: tuple[Poly, Poly] | None,
    scope: Scope,
    loop: Loop,
) -> Environment:
    """Values of variables after the loop; a test before the body runs once more than the body."""
    result = dict(outside)
    count: Poly | None = None
    if rounds is not None:
        least, most = rounds
        count = most if scope.always(Compare(">=", most - least)) else extremum("max", least, most)
    for name, variable in changed.items():
        start = outside.get(name)
        index = index_of(start)
        if count is not None and name in amounts and index is not None:
            total, early = amounts[name]
            end = with_index(start or ZERO, index + total * count + (ZERO if loop.post_test else early))
            result[name] = _held(variable, end, scope)
        elif scope.frames or not isinstance(variable.type, Integer):
            result[name] = varying(variable, len(scope.frames), loop.site)
        else:
            key = ("after", name, loop.site)
            result[name] = scope.parameters.computed(key, variable.source_name, variable.type, f"{name}_end")
    return result


# --------------------------------------------------------------------------------------------------
# The symbolic walk: a piece of structured program to raw statements with iteration domains.
#
# Follows pet (Verdoolaege and Grosser, IMPACT 2012) in spirit: scalars are tracked symbolically so
# that index temporaries and induction variables vanish into closed forms, and data-dependent
# conditions become guards, whose statements may, but need not, run.
# --------------------------------------------------------------------------------------------------


_identities = count(1)

_OnInput = tuple[str, tuple[Input, ...]]
"""A condition on inputs in words, with these; `_DATA` for any other condition."""

_DATA: _OnInput = ("", ())


def walk_region(statements: tuple[Statement, ...], scope: Scope) -> Region:
    """Walks statements that contain no obstacle to static control, from the state in `scope`, which
    is left at the state after them."""
    region = Region()
    walker = _Walker(scope, region, Accesses(scope, region))
    for statement in statements:
        walker.run(statement)
    mixed = seen_in_two_ways(region)
    if mixed is not None:
        region.lost_pointers = True
        for frame in region.frames.values():
            frame.obstacles.append(mixed)
    return region


@dataclass
class _Walker:
    scope: Scope
    region: Region
    accesses: Accesses
    continues: list[Environment] = field(default_factory=list)
    called: dict[str, Call] = field(default_factory=dict[str, Call])
    stores: list[tuple[str, Store | None]] = field(default_factory=list[tuple[str, Store | None]])
    """Writes to memory so far, by the bases of paths, with those that are stores of known elements."""

    def run(self, statement: Statement) -> None:
        match statement:
            case Block(statements):
                for inner in statements:
                    self.run(inner)
            case Declare(variable, site):
                self.region.declared[variable.name] = len(self.scope.frames)
                text = f"`{variable.source_name}` has no value yet"
                unset = Opaque(len(self.scope.frames), Rejection("data-dependent-value", site, text))
                self.scope.environment[variable.name] = unset
                if not isinstance(variable.type, (Integer, Pointer)):
                    del self.scope.environment[variable.name]
            case Assign():
                self.assign(statement)
            case Evaluate(value, site):
                self.emit(site, self.accesses.of(value))
            case Assume(condition, site, presumed):
                if presumed is not None:
                    self.scope.presume(presumed)
                self.emit(site, self.accesses.of(condition), "test")
                self.scope.active = split(condition, self.scope)[0]
            case If():
                self.branch(statement)
            case Loop():
                self.loop(statement)
            case Jump():
                self.jump(statement)
            case Unsupported():
                raise AssertionError("unsupported statements end a region")

    # --- statements ----------------------------------------------------------------------

    def assign(self, assign: Assign) -> None:
        found = self.update_of(assign)
        update = None if found is None else found.operator
        accesses = [*self.accesses.reads(assign.value, assign, update), *self.accesses.called(assign.value)]
        assume_readable(assign, update, accesses, self.scope)
        for step in assign.target.steps:
            if hasattr(step, "subscript"):
                accesses += self.accesses.reads(step.subscript)  # type: ignore[union-attr]
        if assign.operator is not None:
            accesses += self.accesses.read(assign.target, update)
        accesses += self.accesses.write(assign.target, update)
        allocated = allocation(assign, self.scope.calls)
        if allocated is not None:
            self.region.declared[allocated.base.name] = len(self.scope.frames)
            accesses.append(filled(allocated, assign))
        self.rest(accesses, found)
        if not assign.target.steps:
            self.set(assign, allocated)
            if isinstance(assign.value, Call) and "@@" in assign.target.variable.name:
                self.called[assign.target.variable.name] = assign.value
        store = known_store(assign, self.scope)
        self.emit(assign.site, accesses)
        if store is not None:
            note(store, self.scope)
            self.stores[-1] = store.base, store

    def update_of(self, assign: Assign) -> Update | None:
        """The update that an assignment is, also where a function of the file computes it."""
        value, calls = stripped(assign.value), self.scope.calls
        inner = inlined(value, calls) if isinstance(value, Call) and assign.operator is None else None
        if inner is not None and all(
            is_quiet(c, calls) for c in subexpressions(value) if isinstance(c, Call)
        ):
            assign = replace(assign, value=around(assign.value, inner))
        found = reduction_of(assign, self.is_quiet)
        return found if found is not None and found.may_start(self.scope.parameters.usual) else None

    def is_quiet(self, call: Call) -> bool:
        return is_quiet(call, self.scope.calls)

    def rest(self, accesses: list[RawAccess], update: Update | None) -> None:
        """Record an update's assumptions for the reductions of its accesses."""
        if update is None:
            return
        for access in (a for a in accesses if a.update is not None):
            access.assumed = update.assumed(self.scope.parameters.usual)

    def set(self, assign: Assign, allocated: PointerValue | None) -> None:
        """Record the value of an integer or pointer variable from now on."""
        variable, scope = assign.target.variable, self.scope
        if not isinstance(variable.type, (Integer, Pointer)):
            return
        value = assigned(assign, scope) if allocated is None else allocated
        if isinstance(value, Opaque) and not scope.frames and isinstance(variable.type, Integer):
            name = (variable.name, assign.site)
            value = scope.parameters.computed(name, variable.source_name, variable.type)
        scope.environment[variable.name] = value

    def branch(self, statement: If) -> None:
        apart = extremum_apart(statement, self.is_quiet)
        if apart is not None:
            return self.branch(apart)
        spelled = replace(statement, condition=self.spelled_out(statement.condition))
        extremum = conditional_extremum(spelled, self.is_quiet)
        if extremum is not None and self.is_tracked(extremum[0].target) is False:
            return self.extremum(statement, *extremum)
        self.emit(
            statement.site,
            self.accesses.of(statement.condition),
            "test",
        )
        scope = self.scope
        inside, outside, opaque = split(statement.condition, scope)
        before, active, guards = scope.environment, scope.active, scope.guards
        ends: list[tuple[Environment, isl.Set, bool]] = []
        marks = [len(self.region.statements)]
        left, known, contents = False, scope.contents, list[Mapping[str, Contents]]()
        words = self.on_input(statement) if opaque is not None else (_DATA, _DATA)
        for block, domain, own in zip(
            (statement.then, statement.otherwise), (inside, outside), words, strict=True
        ):
            scope.environment, scope.contents = dict(before), known
            scope.active = domain
            scope.guards = inner = (*guards, self.guard("if", own)) if opaque else guards
            self.run(block)
            contents.append(scope.contents)
            left = left or scope.guards != inner
            ends.append((scope.environment, scope.active, scope.active is not domain))
            marks.append(len(self.region.statements))
        scope.guards = guards
        scope.contents = {n: c for n, c in contents[0].items() if contents[1].get(n) == c}
        if opaque:
            self.written_either_way(statement.site, marks)
        self.join(statement, ends, active, opaque, words)
        if left:
            self.may_have_left()
        return None

    def spelled_out(self, condition: Expr) -> Expr:
        """A comparison with its calls expanded that run before the statement and are stored in
        temporaries."""
        if not isinstance(condition, Binary):
            return condition
        ends: list[Expr] = []
        for end in (condition.left, condition.right):
            read = stripped(end)
            call = self.called.get(read.place.variable.name) if isinstance(read, Read) else None
            ends.append(end if call is None else around(end, call))
        return replace(condition, left=ends[0], right=ends[1])

    def written_either_way(self, site: Site, marks: list[int]) -> None:
        """Record the writes common to both branches as certain, for either path of the program."""
        found = self.region.statements
        one, other = (self.sure_writes(found[a:b]) for a, b in pairwise(marks))
        both = [path for path in one if path in other]
        accesses: list[RawAccess] = []
        for path in both:
            a, b = one[path], other[path]
            accesses.append(a if a.update == b.update else replace(a, update=None))
        self.emit(site, accesses, "join")

    def sure_writes(self, branch: list[RawStatement]) -> dict[Path, RawAccess]:
        depth, guards = len(self.scope.frames), len(self.scope.guards) + 1
        direct = [s for s in branch if len(s.frames) == depth and len(s.guards) == guards]
        return {
            a.path: a
            for s in direct
            for a in s.accesses
            if a.kind == "write" and a.exact and a.region is None
        }

    def join(
        self,
        statement: If,
        ends: list[tuple[Environment, isl.Set, bool]],
        active: isl.Set,
        opaque: Opaque | None,
        words: tuple[_OnInput, _OnInput],
    ) -> None:
        """Continue after the branches; `words` are the condition on inputs of each."""
        scope = self.scope
        (then_env, then_active, then_left), (else_env, else_active, else_left) = ends
        scope.active = then_active.union(else_active)
        if (then_left or else_left) and opaque:
            one_left = then_left != else_left and (then_active if then_left else else_active).is_empty()
            self.may_have_left(words[then_left] if one_left else _DATA)
        if then_left and not opaque and then_active.is_empty():
            scope.environment = else_env
        elif else_left and not opaque and else_active.is_empty():
            scope.environment = then_env
        else:
            condition = None if opaque else condition_of(statement.condition, scope)[0]
            scope.environment = merged(then_env, else_env, condition, statement.site, scope)
        if not (then_left or else_left):
            scope.active = active
        elif not scope.detail.follows(scope.active):
            scope.active = active
            self.may_have_left()

    def extremum(self, statement: If, assign: Assign, update: Update) -> None:
        reads = self.accesses.reads(statement.condition, assign, update.operator)
        writes = self.accesses.write(assign.target, update.operator)
        for access in writes:
            access.exact = False
        if not assign.target.steps:
            self.forget(assign)
        self.rest([*reads, *writes], update)
        self.emit(statement.site, [*reads, *self.accesses.called(statement.condition), *writes])

    def forget(self, assign: Assign) -> None:
        variable = assign.target.variable
        if isinstance(variable.type, Integer):
            self.scope.environment[variable.name] = unknown_value(assign.target, len(self.scope.frames))

    def is_tracked(self, place: Place) -> bool:
        """True if a scalar has a closed form at this point, so that it is no memory access."""
        return not place.steps and isinstance(self.scope.environment.get(place.variable.name), Poly)

    def jump(self, jump: Jump) -> None:
        scope = self.scope
        if jump.value is not None:
            self.emit(jump.site, self.accesses.of(jump.value))
        if jump.kind == "continue":
            self.continues.append(dict(scope.environment))
        scope.active = isl.Set.empty(scope.active.get_space())

    def may_have_left(self, on_input: _OnInput = ("", ())) -> None:
        """Guard the statements after a possible jump: they run only if none was taken, which is undetermined,
        or depends on a condition on inputs."""
        self.scope.guards = (*self.scope.guards, self.guard("if", on_input))

    def guard(self, kind: Literal["if", "loop"], on_input: _OnInput = ("", ())) -> Guard:
        return Guard(next(_identities), len(self.scope.frames), kind, *on_input)

    def on_input(self, statement: If) -> tuple[_OnInput, _OnInput]:
        """The condition of each branch in words, if it is on inputs alone, with these. Any iteration may find
        an extremum for some inputs, unless their type settles that, and each later one compares with it."""
        text, found = f"`{spell(statement.condition)}`", tracked_extremum(statement)
        if found is not None:
            of_type = stripped(found.candidate).type
            narrow = isinstance(of_type, Integer) and of_type.bits < 32
            every = () if narrow else inputs_of(found.candidate, True, self.scope)
            return (text, tuple(replace(each, test=None) for each in every)) if every else _DATA, _DATA
        taken, other = (inputs_of(statement.condition, holds, self.scope) for holds in (True, False))
        return (text, taken) if taken else _DATA, (f"not {text}", other) if other else _DATA

    # --- loops ---------------------------------------------------------------------------

    def loop(self, loop: Loop) -> None:
        scope, region = self.scope, self.region
        outer, guards = scope.active, scope.guards
        state = dict(scope.environment), outer, tuple(scope.frames), scope.parameters.epoch, scope.detail
        region.entries[loop.ordinal] = LoopEntry(loop, *state, scope.contents)
        own = effects(loop)
        calls = (c for c in own.calls if not is_quiet(c, scope.calls))
        without_changed(scope, with_calls(own, scope.calls), calls)
        contents, mark = scope.contents, len(self.stores)
        starts = self.starts_on_input(loop)
        entered = enter_loop(loop, scope)
        region.frames[loop.ordinal] = entered.frame
        entered.frame.thread_bound = thread_bound(loop, scope.calls)
        scope.position.append(0)
        if entered.guarded:
            scope.guards = (*guards, self.guard("loop", starts))
        continues, self.continues = self.continues, []
        if not loop.post_test:
            self.test(loop)
        self.run(loop.body)
        for environment in self.continues:
            scope.environment = merged(scope.environment, environment, None, loop.site, scope)
        self.continues = continues
        scope.active = entered.domain
        self.run(loop.step)
        if loop.post_test:
            self.test(loop)
        scope.frames.pop()
        scope.position.pop()
        scope.position[-1] += 1
        scope.active, scope.guards = outer, guards
        if any(isinstance(s, Jump) and s.kind == "return" for s in statements_in(loop.body)):
            self.may_have_left()
        entered.leave(scope)
        scope.contents = contents
        inside, bases = self.stores[mark:], Tally(base for base, _ in self.stores[mark:])
        once = [store for base, store in inside if store is not None and bases[base] == 1]
        note_filled(once, entered.frame, guards, scope)
        self.stores[mark:] = [(base, None) for base in bases]

    def starts_on_input(self, loop: Loop) -> _OnInput:
        """The condition of a loop's first iteration in words, if it is on inputs alone, with these."""
        condition = loop.condition
        if condition is None or loop.post_test or loop.prologue.statements:
            return _DATA
        inputs = inputs_of(condition, True, self.scope)
        return (f"`{spell(condition)}`", inputs) if inputs else _DATA

    def test(self, loop: Loop) -> None:
        self.run(loop.prologue)
        if loop.condition is not None:
            self.emit(
                loop.header,
                self.accesses.of(loop.condition),
                "test",
            )

    def emit(
        self, site: Site, accesses: list[RawAccess], role: Literal["statement", "test", "join"] = "statement"
    ) -> None:
        scope = self.scope
        if not accesses:
            return
        without_written(scope, accesses)
        self.stores += [(a.path.base.name, None) for a in accesses if a.kind == "write"]
        self.region.statements.append(
            RawStatement(
                tuple(scope.frames), scope.active, scope.guards, tuple(scope.position), site, accesses, role
            )
        )
        scope.position[-1] += 1
