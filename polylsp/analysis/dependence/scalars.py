"""Scalars of a loop that are no memory in the model because they have a closed form, or are pointers:
iterators of inner loops, index temporaries, induction variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polylsp.analysis.dependence.data_endings import ending
from polylsp.analysis.dependence.loop_idioms import Idiom, Search, idioms_in, list_heads, searches
from polylsp.analysis.scop.accesses import with_operator
from polylsp.analysis.scop.counters import steps_of
from polylsp.analysis.scop.reductions import no_quiet_call, reduction_of
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import conjuncts, declared_in, effects, expressions, nodes, walk
from polylsp.ir.induction import Step, additive, own_jumps, reads_only
from polylsp.ir.liveness import Live, address_flow, addresses_in, exposed_in
from polylsp.ir.must_execute import always_run, evaluated_calls, named, reads_of
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Constant,
    Expr,
    If,
    Integer,
    Jump,
    Loop,
    Pointer,
    Read,
    Rejection,
    Select,
    Simple,
    Site,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import Induction, Sequential
from polylsp.poly.scop import Scop


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A scalar that each iteration surely assigns, and the next one surely reads first: a pointer that is
    followed (`p = p->next`), or a value on which the loop goes on."""

    variable: Variable
    write: Site
    read: Site


@dataclass(frozen=True)
class LoopScalars:
    """Classification of such variables for running the iterations of a loop in any order. `counters` are only
    added to, so that they are sums; `known` are the unique names of all variables with a closed form in each
    iteration; `after` are the live-out variables of the loop. `outliving` are the unique names of variables
    whose address the loop stores where later code may find it; `ending` is the verdict of a loop that data
    end; `searches` find extrema with their positions."""

    private: frozenset[str]
    lastprivate: frozenset[str]
    inductions: tuple[Induction, ...]
    counters: tuple[str, ...]
    known: frozenset[str]
    after: Live
    loop: Loop
    obstacle: Rejection | None = None
    outliving: frozenset[str] = frozenset()
    recurrence: Recurrence | None = None
    ending: Sequential | None = None
    searches: tuple[Search, ...] = ()

    @cached_property
    def idioms(self) -> Mapping[str, Idiom]:
        """Computations whose iterations depend on each other and that have a parallel form, by the unique
        names of their variables."""
        return dict(idioms_in(self.loop))

    @cached_property
    def lists(self) -> Mapping[Site, Idiom]:
        """The linked lists that the loop adds to, by the writes of their heads."""
        return dict(list_heads(self.loop))

    @property
    def closed(self) -> frozenset[str]:
        """Variables that have a copy per iteration because they have a closed form."""
        return self.lastprivate | self.private | {self.loop.iterator or ""}

    def live(self, name: str) -> bool:
        """True if a variable (unique name) may be read after the loop."""
        return name in self.after or "*" in self.after


def scalars_of(loop: Loop, scop: Scop, after: Live, calls: Calls | None = None) -> LoopScalars:
    """Classify the integers and pointers that a loop of a nest assigns, apart from those declared in the loop
    itself, and from those without a closed form there, since the model has reads of them in the loop as
    memory; of others it may have writes."""
    # What a pointer leads to goes by the pointer's name, but is not the pointer.
    own = [a for a in scop.accesses if not a.memory.shape]
    in_memory = frozenset(a.memory.variable.name for a in own)
    inside = (a for a in own if loop.ordinal in scop.statements[a.statement].loops)
    followed = frozenset(a.memory.variable.name for a in inside if a.kind == "read")
    private: set[str] = set()
    last: set[str] = set()
    inductions: list[Induction] = []
    counters: list[str] = []
    known: set[str] = set()
    obstacle: Rejection | None = None
    local = {v.name for v in declared_in(loop.body)}
    changes = steps_of(loop, calls or Calls())
    exposed = exposed_in(loop)
    branches = any(isinstance(s, If) for s in walk(loop.body))
    found = tuple(searches(loop, calls or Calls())) if branches else ()
    local |= {v.name for each in found for v in each.variables}
    for variable in _assigned(loop):
        name, shown = variable.name, variable.source_name
        is_pointer = isinstance(variable.type, Pointer)
        # The model has no writes of pointers by their names, which reads in memory would be paired with.
        if name in local or (name in followed and not is_pointer):
            continue
        live = name in after or "*" in after
        # Integers whose steps differ from round to round are memory to the model; pointers never are.
        parts = changes.get(name) if not is_pointer or name in scop.loops[loop.ordinal].even else None
        known |= {name} if parts else set()
        if shown == loop.iterator and parts:
            last |= {shown} if live else set()
            continue
        if parts and _is_sum(loop, variable) and not _used(loop, variable):
            counters.append(shown)
        elif parts:
            inductions.append(Induction(shown, _spelled(parts)))
            (last if live else private).add(shown)
        elif name not in in_memory or is_pointer:
            (last if live else private).add(shown)
            doubtful = live and not _surely_assigned(loop.body, variable)
            if doubtful or (is_pointer and (name in exposed or name in followed)):
                obstacle = obstacle or _obstacle(loop, variable)
    # Reasons for a loop to be sequential that matter where the model says nothing.
    undecided = obstacle is not None or bool(scop.loops[loop.ordinal].obstacles)
    return LoopScalars(
        frozenset(private),
        frozenset(last),
        tuple(inductions),
        tuple(counters),
        frozenset(known),
        after,
        loop,
        obstacle,
        _outliving(loop, scop.addresses.keeping, after),
        next(recurrences(loop, calls or Calls()), None) if undecided else None,
        ending(loop) if undecided else None,
        found,
    )


def recurrences(loop: Loop, calls: Calls) -> Iterator[Recurrence]:
    """The scalars of a loop that each iteration loads from where the value of the one before leads, computes
    from that value so that it has no closed form, or passes to a function that changes it; or on whose values
    the loop goes on, where they come from memory or have no closed form."""
    parts = (loop.body, loop.step, loop.prologue)
    iteration = Block(parts if loop.post_test else (parts[-1], *parts[:-1]))
    sure = list(always_run(iteration, completed=True))
    naming = _by_variable(sure)
    assigned = {s.target.variable.name for s in sure if isinstance(s, Assign) and not s.target.steps}
    tested = {r.place.variable.name for r in (*_tested(loop), *_tested_inside(loop, sure))}
    for assign in (s for s in walk(iteration) if isinstance(s, Assign) and not s.target.steps):
        variable = assign.target.variable
        if not _is_own(variable) or variable.name not in assigned:
            continue
        read = _first_read(loop, naming.get(variable.name, []), variable)
        if read is None:
            continue
        loads = _loads(assign, naming)
        decides = variable.name in tested and (
            loads
            or _is_called_for(assign, naming)
            or _by_choice(assign, loop)
            # A geometric series has a closed form; its steps alone are no work to share out.
            or (
                _returns_to(variable, assign, naming)
                and not (_is_scaled(assign, loop) and _uses_memory(loop))
            )
        )
        if any(_leads(load, variable) for load in loads) or decides or _goes_on(assign, loop):
            yield Recurrence(variable, assign.target.site, read.site)
    for statement in sure:
        for call in evaluated_calls(statement):
            for variable in _changed_by(call, calls):
                if naming[variable.name][0] is statement:
                    yield Recurrence(variable, call.site, call.site)


def _by_variable(sure: list[Simple]) -> dict[str, list[Simple]]:
    """The statements that name each variable, in order."""
    found: dict[str, list[Simple]] = {}
    for statement in sure:
        for name in dict.fromkeys(each.name for each in named(statement)):
            found.setdefault(name, []).append(statement)
    return found


def _loads(assign: Assign, naming: dict[str, list[Simple]]) -> list[Read]:
    """The reads of memory in an assignment, and in those of the temporaries that it copies."""
    return [
        n for s in _with_copied(assign, naming) for n in nodes(s) if isinstance(n, Read) and n.place.steps
    ]


def _is_called_for(assign: Assign, naming: dict[str, list[Simple]]) -> bool:
    """True if a variable, or a temporary that it copies, gets the value of a function that sees memory."""
    values = (stripped(s.value) for s in _with_copied(assign, naming))
    return any(isinstance(value, Call) and not value.pure for value in values)


def _with_copied(assign: Assign, naming: dict[str, list[Simple]]) -> list[Assign]:
    """An assignment, and those of the temporaries that it reads."""
    read = [n for n in nodes(assign) if isinstance(n, Read)]
    copied = {n.place.variable.name for n in read if not n.place.steps} - {assign.target.variable.name}
    temporary = ((name, s) for name in copied for s in naming.get(name, ()) if isinstance(s, Assign))
    return [assign, *(s for name, s in temporary if not s.target.steps and s.target.variable.name == name)]


def _is_own(variable: Variable) -> bool:
    """True if only the function itself assigns a variable, by its name."""
    return not variable.escapes and variable.storage in ("local", "parameter")


def _goes_on(assign: Assign, loop: Loop) -> bool:
    """True if an assignment computes a value from the previous one that is no sum, product with a constant,
    or reduction."""
    variable = assign.target.variable
    value = stripped(with_operator(assign))
    own = any(isinstance(n, Read) and n.place.variable == variable for n in subexpressions(value))
    if own and isinstance(value, Call) and isinstance(variable.type, (Integer, Pointer)):
        return not value.pure
    if not own or not isinstance(variable.type, Integer) or additive(assign) is not None:
        return False
    return not _is_scaled(assign, loop) and reduction_of(assign, no_quiet_call) is None


def _uses_memory(loop: Loop) -> bool:
    """True if a loop accesses more than scalars, or calls a function."""
    found = effects(loop)
    reads = (n for s in walk(loop) for n in nodes(s) if isinstance(n, Read))
    return bool(found.places or found.calls) or any(read.place.steps for read in reads)


def _is_scaled(assign: Assign, loop: Loop) -> bool:
    """True if an assignment multiplies, divides or shifts its variable by what the loop leaves alone."""
    value = stripped(with_operator(assign))
    if not isinstance(value, Binary) or value.operator not in ("*", "/", "<<", ">>"):
        return False
    changed = effects(loop).scalars
    ends = (value.left, value.right)
    rest = [n for end in ends if not reads_only(end, assign) for n in subexpressions(end)]
    fixed = all(isinstance(n, Constant) or _is_fixed(n, changed) for n in rest)
    return fixed and sum(reads_only(end, assign) for end in ends) == 1


def _returns_to(variable: Variable, assign: Assign, naming: dict[str, list[Simple]]) -> bool:
    """True if a variable is computed from its own value by other than sums and differences: directly, or by
    way of scalars that the iteration surely assigns."""
    pending = list(_terms(with_operator(assign)))
    seen = set[tuple[str, bool]]()
    while pending:
        name, plain = pending.pop()
        if name == variable.name:
            if not plain:
                return True
            continue
        if (name, plain) not in seen:
            seen.add((name, plain))
            values = (s for s in naming.get(name, ()) if isinstance(s, Assign) and not s.target.steps)
            own = (with_operator(s) for s in values if s.target.variable.name == name)
            pending += [(each, plain and linear) for value in own for each, linear in _terms(value)]
    return False


def _terms(value: Expr) -> Iterator[tuple[str, bool]]:
    """The scalars from which a value is computed, each with whether it is a term of a sum or difference, or a
    limit of one (`n > 100 ? 100 : n`): these have closed forms, too."""
    value = stripped(value)
    if isinstance(value, Binary) and value.operator in ("+", "-"):
        yield from _terms(value.left)
        yield from _terms(value.right)
    elif isinstance(value, Select):
        yield from _terms(value.then)
        yield from _terms(value.otherwise)
    else:
        read = (n.place for n in subexpressions(value) if isinstance(n, Read) and not n.place.steps)
        yield from ((place.variable.name, isinstance(value, Read)) for place in read)


def _is_fixed(part: Expr, changed: frozenset[str]) -> bool:
    """True for operators, and for variables that are not among those changed."""
    if isinstance(part, Read):
        return not part.place.steps and part.place.variable.name not in changed
    return not isinstance(part, Call)


def _by_choice(assign: Assign, loop: Loop) -> bool:
    """True if an assignment uses variables that the loop sets under conditions on values from memory."""
    used = {n.place.variable for n in nodes(assign) if isinstance(n, Read)}
    for choice in (s for s in walk(loop.body) if isinstance(s, If)):
        on_memory = any(isinstance(n, Read) and n.place.steps for n in subexpressions(choice.condition))
        inside = (s for block in (choice.then, choice.otherwise) for s in walk(block))
        if on_memory and any(isinstance(s, Assign) and s.target.variable in used for s in inside):
            return True
    return False


def _changed_by(call: Call, calls: Calls) -> Iterator[Variable]:
    """The numbers whose addresses a call gets that it surely reads first, and then writes: the region of a
    sure access holds no condition on the arguments."""
    summary = calls.of(call)
    for number, argument in enumerate(call.arguments):
        if summary is None or not isinstance(argument, AddressOf) or argument.place.steps:
            continue
        own = [a for a in summary.accesses if a.parameter == number and a.exact and not a.way]
        sure = {a.kind for a in own if isl.Map(a.region).domain().plain_is_universe()}
        if sure == {"read", "write"}:
            yield argument.place.variable


def _leads(load: Read, variable: Variable) -> bool:
    """True if the value of a variable decides what is loaded."""
    inside = (n for subscript in subscripts(load.place) for n in subexpressions(subscript))
    return load.place.variable == variable or any(
        isinstance(n, Read) and n.place.variable == variable for n in inside
    )


def _tested(loop: Loop) -> list[Read]:
    """The reads that the test of the loop surely makes where it lets an iteration run."""
    parts = () if loop.condition is None else conjuncts(loop.condition)
    return [read for part in parts for read in reads_of(Assume(part, loop.header))]


def _tested_inside(loop: Loop, sure: list[Simple]) -> Iterator[Read]:
    """The reads of conditions on which each iteration surely decides whether it is the last one."""
    breaks = {id(j) for j in own_jumps(loop.body) if j.kind == "break"}
    for choice in (s for s in sure if isinstance(s, If)):
        jumps = (s for s in walk(choice) if isinstance(s, Jump))
        if any(id(j) in breaks or j.kind == "return" for j in jumps):
            yield from reads_of(choice)


def _first_read(loop: Loop, naming: list[Simple], variable: Variable) -> Read | None:
    """The read with which each iteration surely begins to use a variable, which these statements name."""
    with_test = any(each is naming[0] for each in walk(loop.prologue)) if naming else False
    if not loop.post_test and not with_test:
        test = next((read for read in _tested(loop) if read.place.variable == variable), None)
        if test is not None or loop.prologue.statements:
            return test
    for statement in naming:
        uses = list(reads_of(statement))
        if isinstance(statement, Assign) and statement.target.steps:
            uses.append(Read(statement.target))
        found = next((use for use in uses if use.place.variable == variable), None)
        if found is not None or any(
            isinstance(s, Assign) and s.target.variable == variable for s in walk(statement)
        ):
            return found
    return None


def _outliving(loop: Loop, keeping: frozenset[str], after: Live) -> frozenset[str]:
    """The variables whose address the loop stores in memory, in a variable that is needed after it, or passes
    to a function that keeps it."""
    flow = address_flow(loop)
    found = frozenset[str]()
    for assign in (s for s in walk(loop) if isinstance(s, Assign) and isinstance(s.target.type, Pointer)):
        variable = assign.target.variable
        outer = variable.storage in ("global", "static", "cell") or variable.name in after or "*" in after
        if assign.target.steps or outer:
            found |= addresses_in(assign.value, flow)
    for call in (n for s in walk(loop) for n in nodes(s) if isinstance(n, Call) and n.function in keeping):
        found = found.union(*(addresses_in(argument, flow) for argument in call.arguments))
    return found


def _spelled(parts: tuple[Step, ...]) -> str:
    """Increment of an iteration, as text; empty where loops inside decide the number of additions."""
    if any(part.inner for part in parts):
        return ""
    return " + ".join(("-" if part.sign < 0 else "") + spell(part.amount) for part in parts)


def _obstacle(loop: Loop, variable: Variable) -> Rejection:
    name = variable.source_name
    text = f"`{name}` is carried from one iteration to the next in a way that cannot be followed"
    code = "pointer-arithmetic" if isinstance(variable.type, Pointer) else "data-dependent-value"
    return Rejection(code, loop.header, text)


def _assigned(loop: Loop) -> list[Variable]:
    found = {
        s.target.variable.name: s.target.variable
        for s in walk(loop)
        if isinstance(s, Assign)
        and not s.target.steps
        and isinstance(s.target.variable.type, (Integer, Pointer))
    }
    return list(found.values())


def _is_sum(loop: Loop, variable: Variable) -> bool:
    """True if the loop only adds to an integer, modulo the range of its type."""
    assigns = [s for s in walk(loop) if isinstance(s, Assign) and s.target.variable == variable]
    found = [reduction_of(each, no_quiet_call) for each in assigns]
    return isinstance(variable.type, Integer) and all(each and each.operator == "+" for each in found)


def _used(loop: Loop, variable: Variable) -> bool:
    """True if the loop reads the variable other than to change it by a step."""
    for statement in walk(loop):
        own = isinstance(statement, Assign) and additive(statement) is not None
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if not isinstance(node, Read) or node.place.variable != variable:
                    continue
                if not (own and isinstance(statement, Assign) and reads_only(node, statement)):
                    return True
    return False


def _surely_assigned(block: Block, variable: Variable) -> bool:
    """True if each run of the block assigns the variable."""
    for statement in _unconditional(block):
        if isinstance(statement, Jump):
            return False
        if (
            isinstance(statement, Assign)
            and statement.target.variable == variable
            and not statement.target.steps
        ):
            return True
        if isinstance(statement, If) and all(
            _surely_assigned(b, variable) for b in (statement.then, statement.otherwise)
        ):
            return True
    return False


def _unconditional(block: Block) -> Iterator[object]:
    for statement in block.statements:
        if isinstance(statement, Block):
            yield from _unconditional(statement)
        elif isinstance(statement, Loop):
            # The iterator of an inner loop is assigned before it; its body may not run.
            continue
        else:
            yield statement
            yield from own_jumps(Block((statement,)))
