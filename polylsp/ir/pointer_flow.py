"""Flow of pointers in a function, in any order of its statements."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from polylsp.ir.effects import effects, expressions, follows_pointer, loops_in, pointers_followed, walk
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Field,
    Function,
    If,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Select,
    Statement,
    Struct,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)


@dataclass(frozen=True, slots=True)
class PointerFlow:
    """Values that the pointers of a function may have: `set_to` are, for each pointer (unique name), the
    pointers and the addresses (`&x`) from which the values assigned to it are computed, and `*` for one from
    memory or of a called function. `leaked` are the values that memory and other functions may have."""

    set_to: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    leaked: frozenset[str] = frozenset()

    def sources(self, *names: str) -> frozenset[str]:
        """All from which some values may be computed, themselves among them."""
        found: set[str] = set()
        pending = [*names]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += self.leaked if name == "*" else self.set_to.get(name, ())
        return frozenset(found)


def may_be_copied(variable: Variable, sources: Container[str]) -> bool:
    """True if values computed from `sources` may be copies of a pointer, which other code may copy too unless
    it is the function's own."""
    is_own = variable.storage in ("local", "parameter") and not (variable.escapes or variable.remade)
    return not is_own or variable.name in sources


def pointer_flow(function: Function, trusted: Container[str]) -> PointerFlow:
    """Flow of pointers in a function, in any order of its statements; `trusted` functions neither keep nor
    return what they are given."""
    set_to: dict[str, set[str]] = {}
    leaked: set[str] = set()
    local = {s.variable.name for s in walk(function.body) if isinstance(s, Declare)}
    for statement, scope in _unmodelled(function.body, frozenset()):
        if statement.reads is None:
            named = [v for v in effects(function.body).variables if v.name in scope or v.name not in local]
        else:
            named = [*statement.reads]
        # No source has the address of a temporary.
        named = (v for v in named if v.storage != "global" and v.source_name.isidentifier())
        leaked |= {each for v in named for each in (v.name, f"&{v.name}")}
    for statement in walk(function.body):
        for node in (node for value in expressions(statement) for node in subexpressions(value)):
            if isinstance(node, Call) and node.function not in trusted:
                leaked |= addresses_given(node)
            elif isinstance(node, Call):
                # What a pointer has whose address is given is copied.
                leaked |= {each[1:] for each in addresses_given(node) if each.startswith("&")}
            elif isinstance(node, Cast) and isinstance(node.operand.type, Pointer):
                leaked |= set() if isinstance(node.type, (Pointer, Array)) else _computed_from(node.operand)
        # A name that gets new arrays gets none of those that others have.
        copies = isinstance(statement, Assign) and isinstance(statement.value.type, Pointer)
        if isinstance(statement, Assign) and copies and not statement.target.variable.remade:
            target = statement.target
            own = target.variable.storage in ("local", "parameter") and not target.variable.escapes
            found = _computed_from(statement.value)
            if target.steps or not own:
                leaked |= found
            set_to.setdefault(target.variable.name, set()).update(found if not target.steps else ())
    for variable in effects(function.body).variables:
        is_own = variable.storage in ("local", "parameter") or variable.remade
        if variable.escapes or not is_own:
            set_to.setdefault(variable.name, set()).add("*")
        if variable.escapes:
            leaked.add(variable.name)
    return PointerFlow({name: frozenset(each) for name, each in set_to.items()}, frozenset(leaked))


def _unmodelled(statement: Statement, scope: frozenset[str]) -> Iterator[tuple[Unsupported, frozenset[str]]]:
    """The statements without a model, each with the local variables in whose scope it is (unique names)."""
    inner: tuple[Statement, ...] = ()
    match statement:
        case Block(inner):
            pass
        case If(_, then, otherwise):
            inner = (then, otherwise)
        case Loop():
            # The body may use the temporaries of the condition.
            scope |= _declared(statement.prologue)
            inner = (statement.prologue, statement.body, statement.step)
        case Unsupported(loops=inner):
            yield statement, scope
        case _:
            return
    scope |= _declared(Block(inner))
    for each in inner:
        yield from _unmodelled(each, scope)


def _declared(block: Block) -> frozenset[str]:
    return frozenset(s.variable.name for s in block.statements if isinstance(s, Declare))


def addresses_given(call: Call) -> set[str]:
    """The pointers, and the variables whose addresses these are (`&v`), that a call is given."""
    return set[str]().union(*(_computed_from(each) for each in call.arguments))


def _computed_from(value: Expr) -> set[str]:
    """The pointers, and the variables whose addresses these are, from which a value is computed."""
    match value:
        case AddressOf(place):
            if any(True for _ in pointers_followed(place)):
                return {"*"}
            return {place.variable.name if follows_pointer(place) else f"&{place.variable.name}"}
        case Read(place) if not isinstance(place.type, (Pointer, Struct)):
            return set()
        case Read(place):
            return {"*"} if place.steps else {place.variable.name}
        case Binary(_, left, right):
            return _computed_from(left) | _computed_from(right)
        case Select(_, then, otherwise):
            return _computed_from(then) | _computed_from(otherwise)
        case Cast(operand):
            # A number that is no constant may be any address that was made one.
            is_made = isinstance(value.type, Pointer) and isinstance(operand.type, Integer)
            made = {"*"} if is_made and not isinstance(stripped(operand), Constant) else set[str]()
            return made | _computed_from(operand)
        case Call():
            return {"*"} | addresses_given(value)
        case _:
            return set()


# --------------------------------------------------------------------------------------------------
# Copies of pointers: the ways along which two pointers lead to one object.
# --------------------------------------------------------------------------------------------------


Way = tuple[str, tuple[str, ...]]
"""Variable (unique name) and the members on the way from it to a pointer."""


@dataclass(frozen=True, slots=True)
class PointerCopy:
    """An assignment after which the pointers at two ways lead to one object; `position` is its last token.
    `near`: of the pointers that a loop sets, the next one leads to the same element or to one beside it."""

    target: Way
    source: Way
    position: int
    near: bool = False


def pointer_copies(function: Function) -> Iterator[PointerCopy]:
    """The assignments of pointers to pointers in memory; in loops, those of addresses and computed pointers
    alone, since loops that rotate pointers copy them too; twice where a loop sets many to one place. One that
    sets a pointer of a table to another one of it has one way as its ends."""
    inside = {id(s): loop for loop in loops_in(function.body) for s in walk(loop)}
    saved = {*_saved(function)}
    for statement in walk(function.body):
        if isinstance(statement, Assign) and statement.target.steps:
            loop, way = inside.get(id(statement)), _way(statement.target)
            if loop is not None and _sets_near(statement, loop):
                yield PointerCopy(way, way, statement.site.last, near=True)
            value = stripped(statement.value)
            if loop is None and isinstance(value, Read) and _way(value.place) == way and way not in saved:
                yield PointerCopy(way, way, statement.site.last)
            repeats = loop is not None and _stores_one_pointer(statement, loop)
            rotates = loop is not None and isinstance(value, Read)
            yield from () if rotates and not repeats else _copied(statement)
            yield from _copied(statement) if repeats else ()
        elif isinstance(statement, Evaluate):
            yield from _copied_bytes(statement)


def _copied_bytes(statement: Evaluate) -> Iterator[PointerCopy]:
    """A pointer that a call copies to another one as bytes: `memcpy(&q, &p, sizeof p)`."""
    call = stripped(statement.value)
    if isinstance(call, Call) and call.function in ("memcpy", "memmove"):
        ends = [stripped(each) for each in call.arguments[:2]]
        ways = [_way(e.place) for e in ends if isinstance(e, AddressOf) and isinstance(e.place.type, Pointer)]
        if len(ways) == 2 and ways[0] != ways[1]:
            yield PointerCopy(ways[0], ways[1], statement.site.last)


def pointers_assigned(function: Function) -> Iterator[PointerCopy]:
    """The assignments of pointers to pointer variables."""
    for statement in walk(function.body):
        if isinstance(statement, Assign) and not statement.target.steps:
            yield from _copied(statement)


def _copied(statement: Assign) -> Iterator[PointerCopy]:
    """The pointers that an assignment copies to another one."""
    target = _way(statement.target)
    is_copy = statement.operator is None and isinstance(statement.target.type, Pointer)
    ways = dict.fromkeys(_ways(statement.value)) if is_copy else {}
    for source in (way for way in ways if way != target):
        yield PointerCopy(target, source, statement.site.last)


def _ways(value: Expr) -> Iterator[Way]:
    """The ways to the pointers from which a pointer is computed."""
    match value:
        case Read(place) | AddressOf(place):
            yield _way(place)
        case Cast(operand):
            yield from _ways(operand)
        case Binary(_, left, right):
            yield from (way for end in (left, right) if isinstance(end.type, Pointer) for way in _ways(end))
        case Select(_, then, otherwise):
            yield from (way for end in (then, otherwise) for way in _ways(end))
        case _:
            pass


def _way(place: Place) -> Way:
    return place.variable.name, tuple(f".{step.name}" for step in place.steps if isinstance(step, Field))


def _stores_one_pointer(assign: Assign, loop: Loop) -> bool:
    """True if an assignment sets different places to one pointer in the iterations of a loop around it."""
    changed = effects(loop).scalars
    used = [n for n in subexpressions(assign.value) if isinstance(n, (Read, AddressOf, Call))]
    varies = any(
        isinstance(n, Call) or n.place.variable.name in changed or (isinstance(n, Read) and n.place.steps)
        for n in used
    )
    return bool(used) and not varies and not changed.isdisjoint(_read(*subscripts(assign.target)))


def _read(*values: Expr) -> set[str]:
    """The unique names of the variables that some expressions read."""
    inside = (n for each in values for n in subexpressions(each))
    return {n.place.variable.name for n in inside if isinstance(n, Read)}


def _saved(function: Function) -> Iterator[Way]:
    """The ways to pointers that `t = m[i]` keeps in a variable, as those do that change places."""
    for statement in walk(function.body):
        if isinstance(statement, Assign) and not statement.target.steps and statement.operator is None:
            value = stripped(statement.value)
            if isinstance(value, Read) and isinstance(statement.target.type, Pointer):
                yield _way(value.place)


_SHORT = ("+", "-", "&", "%", "/", ">>")


def _sets_near(assign: Assign, loop: Loop) -> bool:
    """True if an assignment sets different pointers to `p + i` or `p + i % 4` in the iterations of a loop
    that counts `i` by ones."""
    match stripped(assign.value):
        case Binary("+" | "-", base, offset) if isinstance(base.type, Pointer):
            start = _read(base)
        case AddressOf(Place(variable, (*steps, Index(offset)))):
            start = {variable.name, *_read(*(each.subscript for each in steps if isinstance(each, Index)))}
        case _:
            return False
    changes = [s for s in walk(loop) if isinstance(s, Assign) and not s.target.steps]
    changed = {s.target.variable.name for s in changes}
    moving = _read(offset) & changed
    by_one = all(
        s.operator in ("+", "-") and isinstance(s.value, Constant) and s.value.value == 1
        for s in changes
        if s.target.variable.name in moving
    )
    short = all(
        isinstance(n, (Constant, Cast))
        or (isinstance(n, Read) and not n.place.steps)
        or (isinstance(n, Binary) and n.operator in _SHORT)
        for n in subexpressions(offset)
    )
    several = not changed.isdisjoint(_read(*subscripts(assign.target)))
    return bool(moving) and by_one and short and changed.isdisjoint(start) and several
