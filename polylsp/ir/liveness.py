"""Backward liveness on the structured program: variables that may be read after each loop before they are
assigned anew. Parts of local arrays and structures with constant subscripts have lives of their own; a write
of another part ends no life.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from polylsp.ir.effects import (
    Effects,
    effects,
    element_of,
    expressions,
    follows_pointer,
    loops_in,
    may_alias_types,
    names_in,
    nodes,
    walk,
)
from polylsp.ir.library import BORROWING, effect_of
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Field,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Invariant,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Select,
    Statement,
    Struct,
    Type,
    Unary,
    Unsupported,
    Variable,
    is_whole_array,
    stripped,
    subexpressions,
    subscripts,
)

Live = frozenset[str]


@dataclass(frozen=True, slots=True)
class Callees:
    """Properties of called functions: those in `borrowing` neither keep an address that they are given nor
    return one, those in `blind` read no variable with static storage, and no memory but by their
    arguments."""

    borrowing: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()


_UNKNOWN = Callees()


@dataclass(frozen=True, slots=True)
class _Exits:
    """Live variables at the target of a jump; `anywhere`: for an unknown target. `hidden` are the variables
    that pointers may read, and called functions unless they are `blind`, without naming them here."""

    at_return: Live
    at_break: Live
    at_continue: Live
    anywhere: Live = frozenset("*")
    hidden: frozenset[Variable] = frozenset()
    blind: frozenset[str] = frozenset()

    def used(self, *values: Expr) -> Live:
        """The variables that the evaluation of some expressions may read."""
        found = set[str]()
        for node in (node for value in values for node in subexpressions(value)):
            if isinstance(node, Read):
                found.add(_part(node.place)[0])
            elif isinstance(node, AddressOf):
                found.add(node.place.variable.name)
            if isinstance(node, Call) and not node.pure:
                found |= {v.name for v in self.hidden} if self._sees(node) else set[str]()
            elif self.hidden and isinstance(node, Read) and follows_pointer(node.place):
                found |= _read_as(node.place.type, self.hidden)
        return frozenset(found)

    def _sees(self, call: Call) -> bool:
        """True if a called function may read variables that are not named where it is called."""
        blind = call.function in self.blind or effect_of(call.function) in _BLIND
        given = (stripped(a) for a in call.arguments if isinstance(a.type, (Pointer, Array, Struct)))
        return not blind or any(not isinstance(a, (Constant, AddressOf)) for a in given)


@lru_cache(maxsize=256)
def _read_as(of_type: Type, hidden: frozenset[Variable]) -> Live:
    """The variables of which a read of a type may read a part."""

    def may_be_read(variable: Variable) -> bool:
        inner = variable.type
        while isinstance(inner, Array):
            inner = inner.element
        return variable.storage != "cell" and may_alias_types(inner, of_type)

    return frozenset(v.name for v in hidden if may_be_read(v))


_BLIND = BORROWING - {"lock", "thread"} | {"hidden-state", "allocation"}
"""Effects of functions of the library that run no code of the program and let no other thread go on."""


def live_after_loops(function: Function, callees: Callees = _UNKNOWN) -> dict[int, Live]:
    """For each loop (ordinal) the unique names of the variables whose value may be needed after it."""
    found = _live_parts_after(function, callees)
    flow = address_flow(function.body)
    return {ordinal: _with_addresses(_whole_names(live), flow) for ordinal, live in found.items()}


def results_of_loops(function: Function, callees: Callees = _UNKNOWN) -> dict[int, Live]:
    """For each loop (ordinal) the variables of `live_after_loops`, but those of which it sets only parts that
    are not needed."""
    found = _live_parts_after(function, callees)
    loops = {loop.ordinal: loop for loop in loops_in(function.body)}
    flow = address_flow(function.body)
    held = frozenset[str]().union(*flow.values())
    needed = {o: _whole_names(_set_in(loops[o], live, held)) for o, live in found.items()}
    return {ordinal: _with_addresses(live, flow) for ordinal, live in needed.items()}


def _with_addresses(live: Live, flow: Mapping[str, frozenset[str]]) -> Live:
    """The live variables, and those to which live pointers may lead."""
    return live.union(*(flow.get(name, ()) for name in live))


def _live_parts_after(function: Function, callees: Callees) -> dict[int, Live]:
    known = effects(function.body).variables | frozenset(function.parameters)
    kept = addresses_held(function, callees.borrowing)
    hidden = frozenset(v for v in known if _outlives(v, kept))
    outliving = frozenset(v.name for v in hidden)
    result: dict[int, Live] = {}
    every = frozenset(v.name for v in known)
    _before(
        function.body,
        outliving,
        _Exits(outliving, outliving, outliving, every, hidden, callees.blind),
        result,
    )
    return result


def address_flow(part: Statement) -> dict[str, frozenset[str]]:
    """The addresses of variables that each pointer variable may hold by the assignments in a part of a
    function; all by unique names."""
    held: dict[str, frozenset[str]] = {}
    assigns = [s for s in walk(part) if isinstance(s, Assign) and isinstance(s.target.type, Pointer)]
    size = -1
    while size != sum(map(len, held.values())):
        size = sum(map(len, held.values()))
        for assign in assigns:
            name = assign.target.variable.name
            held[name] = held.get(name, frozenset()) | addresses_in(assign.value, held)
    return held


def addresses_in(value: Expr, flow: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The variables whose addresses a value may be, or be computed from."""
    found: set[str] = set()
    for node in subexpressions(value):
        if isinstance(node, (AddressOf, Read)):
            variable = node.place.variable
            found |= flow.get(variable.name, frozenset())
            if isinstance(node, AddressOf) and not (isinstance(variable.type, Pointer) and node.place.steps):
                found.add(variable.name)
    return frozenset(found)


def _outlives(variable: Variable, kept: frozenset[str]) -> bool:
    """True if the value of a variable is visible without naming it."""
    return variable.name in kept or variable.storage in ("global", "static", "cell")


def addresses_held(function: Function, trusted: Container[str]) -> frozenset[str]:
    """The variables (unique names) whose address something else may hold: it got away, and elsewhere than
    into calls of functions that do not keep it."""
    known = effects(function.body).variables | frozenset(function.parameters)
    every = Counter[str]()
    given = Counter[str]()
    for statement in walk(function.body):
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if isinstance(node, AddressOf):
                    every[node.place.variable.name] += 1
                elif isinstance(node, Call) and node.function in trusted:
                    arguments = map(stripped, node.arguments)
                    given.update(a.place.variable.name for a in arguments if isinstance(a, AddressOf))
    # An address that the function does not take itself is in an initialiser.
    return frozenset(
        v.name for v in known if v.escapes and (not every[v.name] or every[v.name] > given[v.name])
    )


def data_only(function: Function) -> frozenset[str]:
    """The integers of the function's own, and arrays of integers, by unique names, whose values reach no
    subscript, condition or address and no integer that a function gets or returns, but only numbers that are
    computed."""
    flows: dict[str, set[str]] = {}
    decisive: set[str] = set()
    for statement in walk(function.body):
        if isinstance(statement, Unsupported):
            return frozenset()
        values = expressions(statement)
        if isinstance(statement, Assign):
            of_integer = isinstance(statement.target.type, Integer)
            into = flows.setdefault(statement.target.variable.name, set()) if of_integer else set[str]()
            _sort_reads(next(values), into, decisive)
        elif isinstance(statement, Evaluate):
            _sort_reads(next(values), set(), decisive)
        for value in values:
            decisive |= names_in(value)
    pending = [*decisive]
    while pending:
        reached = flows.get(pending.pop(), set()) - decisive
        decisive |= reached
        pending += reached
    own = effects(function.body)
    return frozenset(
        v.name
        for v in own.variables
        if isinstance(element_of(v.type) or v.type, Integer)
        and v.name not in decisive
        and (v.storage == "local" or (element_of(v.type) and _by_name_alone(v, own)))
    )


def _by_name_alone(array: Variable, own: Effects) -> bool:
    """True if a function's own code alone has the elements of an array by this name: functions that it calls
    know those with static storage."""
    return array.storage == "parameter" or not own.calls


def _sort_reads(value: Expr, into: set[str], decisive: set[str]) -> None:
    """Add the variables of which a number is computed to `into`, and to `decisive` those that choose
    elements, branches and addresses in it, or that functions get; a real number decides nothing here."""
    if isinstance(value.type, (Pointer, Struct)) and not isinstance(value, Call):
        decisive |= names_in(value)
        return
    match value:
        case Read(place):
            into.add(place.variable.name)
            for each in subscripts(place):
                decisive |= names_in(each)
        case Cast(operand):
            _sort_reads(operand, into if isinstance(value.type, Integer) else set(), decisive)
        case Unary(_, operand):
            _sort_reads(operand, into, decisive)
        case Binary(operator, left, right):
            if operator in ("&&", "||"):
                decisive |= names_in(left)
            _sort_reads(left, into, decisive)
            _sort_reads(right, into, decisive)
        case Select(condition, then, otherwise):
            decisive |= names_in(condition)
            _sort_reads(then, into, decisive)
            _sort_reads(otherwise, into, decisive)
        case Call():
            for argument in value.arguments:
                _sort_argument(argument, decisive)
        case Constant() | Invariant() | AddressOf():
            pass


def _sort_argument(argument: Expr, decisive: set[str]) -> None:
    """As `_sort_reads`, for an argument of a call. The value behind an address that is only lent is data."""
    inner = stripped(argument)
    if isinstance(inner, AddressOf):
        for each in subscripts(inner.place):
            decisive |= names_in(each)
    elif isinstance(argument.type, Floating):
        _sort_reads(argument, set(), decisive)
    else:
        decisive |= names_in(argument)


def equal_pointers(function: Function) -> dict[int, frozenset[frozenset[str]]]:
    """For each loop (ordinal) the pairs of its variables, by their names in the source, that surely lead to
    one place where it starts, in the first or the second round of the loops around it: `x = y` was the last
    assignment to either."""
    found: dict[int, set[_Pair]] = {}
    _copied(function.body, frozenset(), found, 0)
    return {ordinal: frozenset(map(_source_names, pairs)) for ordinal, pairs in found.items()}


_Pair = frozenset[Variable]
_MOST_AROUND = 6
"""Loops around one whose second rounds are followed, each by itself: the work doubles with each."""


def _source_names(pair: _Pair) -> frozenset[str]:
    return frozenset(v.source_name for v in pair)


def _copied(
    statement: Statement, before: frozenset[_Pair], found: dict[int, set[_Pair]], depth: int
) -> frozenset[_Pair]:
    """The pairs of equal pointers after a statement; those before each loop go to `found`."""
    match statement:
        case Block(statements):
            for inner in statements:
                before = _copied(inner, before, found, depth)
            return before
        case Assign(target, operator, value) if not target.steps and isinstance(target.type, Pointer):
            variable, other = target.variable, _led_to(value)
            if variable == other and operator is None:
                return before
            others = {each for pair in before if other in pair for each in pair} | {other}
            kept = frozenset(pair for pair in before if variable not in pair)
            if operator is not None or other is None or _may_change(variable):
                return kept
            pairs = (frozenset((variable, each)) for each in others - {variable} if each is not None)
            return kept | {pair for pair in pairs if not any(map(_may_change, pair))}
        case Declare(variable):
            return frozenset(pair for pair in before if variable not in pair)
        case If(_, then, otherwise):
            return _copied(then, before, found, depth) & _copied(otherwise, before, found, depth)
        case Loop(prologue=prologue, body=body, step=step, ordinal=ordinal):
            own, after = effects(statement).variables, before
            for _ in range(2 if depth < _MOST_AROUND else 1):
                head = _copied(prologue, after, found, depth + 1)
                found.setdefault(ordinal, set()).update(pair for pair in head if pair <= own)
                after = _copied(step, _copied(body, head, found, depth + 1), found, depth + 1)
            return before & after
        case Jump() | Unsupported(reads=None):
            return frozenset()
        case _:
            return before


def _may_change(variable: Variable) -> bool:
    """True for a pointer that other code may set, and for a name that gets new arrays."""
    return variable.storage not in ("local", "parameter") or variable.escapes or variable.remade


def _led_to(value: Expr) -> Variable | None:
    """The variable that has the place to which a pointer leads, or is this place; `None` for other values."""
    match stripped(value):
        case Read(Place(variable, ())):
            return variable
        case AddressOf(Place(variable, (Index(Constant(0)),))):
            return variable
        case _:
            return None


_STEP = "\0"
"""Beginning of each step in the key of a part of a variable; no name has it."""


def _part(place: Place) -> tuple[str, bool]:
    """The key of the smallest part of a variable that surely contains a place, and whether it is the place
    itself: the variable's unique name, then steps. Only local arrays and structures have parts."""
    variable = place.variable
    key, of_type = variable.name, variable.type
    parted = is_whole_array(variable) or isinstance(of_type, Struct)
    if variable.storage != "local" or variable.escapes or not parted:
        return key, not place.steps
    for step in place.steps:
        match step, of_type:
            case Index(Constant(number), None), Array(element):
                key, of_type = _joined(key, str(number)), element
            case Field(name, of_member, shares=()), Struct(union=False) if of_member is not None:
                key, of_type = _joined(key, name), of_member
            case _:
                return key, False
    return key, True


def _without(live: Live, ended: AbstractSet[str]) -> Live:
    """The live parts, but for some and those inside of them."""
    return frozenset(each for each in live if ended.isdisjoint(accumulate(each.split(_STEP), _joined)))


def _joined(key: str, step: str) -> str:
    return f"{key}{_STEP}{step}"


def _set_in(loop: Loop, live: Live, held: Live) -> Live:
    """The live parts without those of which a loop sets only other parts of their variables. Variables that
    pointers may hold, or that a call in the loop is given, may be set as a whole."""
    parts = frozenset(each for each in live if _STEP in each)
    if not parts or any(isinstance(s, Unsupported) for s in walk(loop)):
        return live
    targets = [_part(s.target)[0] for s in walk(loop) if isinstance(s, Assign)]
    lent = (n.place.variable.name for s in walk(loop) for n in nodes(s) if isinstance(n, AddressOf))
    targets += [*held, *lent]
    return live - {part for part in parts if not any(_overlap(part, target) for target in targets)}


def _overlap(one: str, other: str) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return f"{longer}{_STEP}".startswith(f"{shorter}{_STEP}")


def _whole_names(live: Live) -> Live:
    return frozenset(part.partition(_STEP)[0] for part in live)


def _before(statement: Statement, after: Live, exits: _Exits, result: dict[int, Live]) -> Live:
    match statement:
        case Block(statements):
            # What a block declares ends with it, wherever jumps may lead.
            declared = (s.variable for s in statements if isinstance(s, Declare))
            after = _without(after, {v.name for v in declared if v.storage == "local"})
            for inner in reversed(statements):
                after = _before(inner, after, exits, result)
            return after
        case Assign(target, operator, value, _):
            used = exits.used(value, *expressions(statement))
            part, is_all = _part(target)
            if operator is not None or not is_all:
                return after | used | {part}
            return _without(after, {part}) | used
        case Declare(variable, _):
            return _without(after, {variable.name})
        case Evaluate(value, _) | Assume(value, _):
            return after | exits.used(value)
        case If(condition, then, otherwise, _):
            return (
                _before(then, after, exits, result)
                | _before(otherwise, after, exits, result)
                | exits.used(condition)
            )
        case Jump(kind, _, value):
            target_live = {"break": exits.at_break, "continue": exits.at_continue, "return": exits.at_return}[
                kind
            ]
            return target_live | (exits.used(value) if value is not None else frozenset())
        case Unsupported(_, _, loops, reads):
            for loop in loops:
                after = after | _loop(loop, after, exits, result)
            # Where anything may be read, whatever is mentioned elsewhere stays alive.
            named = exits.anywhere if reads is None else {variable.name for variable in reads}
            return after | named | {variable.name for variable in exits.hidden}
        case Loop():
            return _loop(statement, after, exits, result)


def _loop(loop: Loop, after: Live, exits: _Exits, result: dict[int, Live]) -> Live:
    result[loop.ordinal] = result.get(loop.ordinal, frozenset()) | after
    condition = exits.used(loop.condition) if loop.condition is not None else frozenset[str]()
    head = after | condition
    while True:
        step = _before(loop.step, head, exits, result)
        inner = replace(exits, at_break=after, at_continue=step)
        body = _before(loop.body, step, inner, result)
        grown = head | _before(loop.prologue, body | condition | after, exits, result)
        if grown == head:
            return grown
        head = grown


def exposed(statements: tuple[Statement, ...]) -> Live:
    """The variables that some statements may read before they assign them."""
    nothing: Live = frozenset()
    return _whole_names(_before(Block(statements), nothing, _Exits(nothing, nothing, nothing), {}))


def exposed_in(loop: Loop) -> Live:
    """The variables that a round of the loop may read before it assigns them."""
    nothing: Live = frozenset()
    unused: dict[int, Live] = {}
    ends = _Exits(nothing, nothing, nothing)
    step = _before(loop.step, nothing, ends, unused)
    body = _before(loop.body, step, replace(ends, at_continue=step), unused)
    tested = body | (ends.used(loop.condition) if loop.condition is not None else nothing)
    return _whole_names(_before(loop.prologue, tested, ends, unused))
