"""Flow of pointers in a function, in any order of its statements."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from polylsp.ir.effects import effects, expressions, follows_pointer, pointers_followed, walk
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
    Expr,
    Function,
    If,
    Integer,
    Loop,
    Pointer,
    Read,
    Select,
    Statement,
    Struct,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
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
