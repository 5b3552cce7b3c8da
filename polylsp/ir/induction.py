"""Variables that a loop changes by the same amount each round, found by the shape of their
assignments; their closed form follows (`k += 2` in a loop over i: k = k0 + 2 (i - i0)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import cast

from polylsp.ir.effects import walk
from polylsp.ir.program import (
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Declare,
    Evaluate,
    Expr,
    If,
    Integer,
    Jump,
    Loop,
    Place,
    Read,
    Statement,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)


@dataclass(frozen=True, slots=True)
class Step:
    """`variable += sign * amount`, once for each round of the `inner` loops (outermost first), each with the
    initial value of its iterator. `in_prologue`: it runs with the loop's test."""

    amount: Expr
    sign: int
    inner: tuple[tuple[Loop, Expr | None], ...] = ()
    in_prologue: bool = False


def steps(loop: Loop, called: frozenset[str] = frozenset()) -> dict[str, tuple[Step, ...] | None]:
    """For each variable (unique name) assigned in the loop: its steps in one round, or `None` where some
    assignment depends on a condition or is not an addition, or calls change the variable (`called`). A branch
    that has the same steps either way counts once."""
    found: dict[str, tuple[Step, ...] | None] = {}
    sure, doubtful_part = _before_continue(loop.body)
    parts = (
        (loop.prologue, False, True),
        (sure, False, False),
        (doubtful_part, True, False),
        (loop.step, False, False),
    )
    for block, doubtful, in_prologue in parts:
        for assign, certain, inner in _assignments(block, not doubtful, ()):
            name = assign.target.variable.name
            if assign.target.steps:
                continue
            step = _step(assign, inner, in_prologue) if certain else None
            before = found.get(name, ())
            found[name] = None if step is None or before is None else (*before, step)
    for statement in walk(loop.body):
        if isinstance(statement, Declare):
            found[statement.variable.name] = None
    return found | dict.fromkeys(called & found.keys())


def additive(assign: Assign) -> tuple[Expr, int] | None:
    """`v += e`, `v -= e`, `v = v + e`, `v = e + v`, `v = v - e` as (e, sign)."""
    if assign.operator in ("+", "-"):
        return assign.value, 1 if assign.operator == "+" else -1
    value = stripped(assign.value)
    if assign.operator is not None or not isinstance(value, Binary):
        return None
    if value.operator in ("+", "-") and reads_only(value.left, assign):
        return value.right, 1 if value.operator == "+" else -1
    if value.operator == "+" and reads_only(value.right, assign):
        return value.left, 1
    return None


def reads_only(expression: Expr, assign: Assign) -> bool:
    """True if `expression` is the assigned scalar or element itself."""
    expression = stripped(expression)
    return isinstance(expression, Read) and same_element(expression.place, assign.target)


def same_element(left: Place, right: Place) -> bool:
    """True if two places denote one element, if no write happens between them."""
    if left.variable != right.variable or len(left.steps) != len(right.steps):
        return False
    inside = (node for subscript in subscripts(left) for node in subexpressions(subscript))
    settled = not any(isinstance(node, Call) and not node.pure for node in inside)
    return settled and _without_sites(left.steps) == _without_sites(right.steps)


def same_value(left: Expr, right: Expr) -> bool:
    """True if two expressions differ at most in their sites: they have one value if no write happens between
    them and no call in them has side effects."""
    return _without_sites(left) == _without_sites(right)


def _without_sites(value: object) -> object:
    """A tree of program values without the places in the source where they stand."""
    if isinstance(value, tuple):
        return tuple(map(_without_sites, cast("tuple[object, ...]", value)))
    if is_dataclass(value):
        names = (each.name for each in fields(value) if each.name != "site")
        return (type(value), *(_without_sites(getattr(value, name)) for name in names))
    return value


def _step(assign: Assign, inner: tuple[tuple[Loop, Expr | None], ...], in_prologue: bool) -> Step | None:
    change = additive(assign)
    if change is None or _passes_narrower(assign):
        return None
    amount, sign = change
    reads_itself = any(
        isinstance(n, Read) and n.place.variable == assign.target.variable for n in subexpressions(amount)
    )
    return None if reads_itself else Step(amount, sign, inner, in_prologue)


def _passes_narrower(assign: Assign) -> bool:
    """True if a sum passes a type with fewer values than its variable's."""
    of_type, value = assign.target.type, stripped(assign.value)
    parts = [assign.value]
    if assign.operator is None and isinstance(value, Binary):
        parts += [one for one in (value.left, value.right) if reads_only(one, assign)]
    return isinstance(of_type, Integer) and any(_narrows(one, of_type) for one in parts)


def _narrows(expression: Expr, of_type: Integer) -> bool:
    """True if a conversion around an expression has fewer values than a type."""
    while isinstance(expression, Cast):
        if isinstance(expression.type, Integer) and expression.type.bits < of_type.bits:
            return True
        expression = expression.operand
    return False


def _assignments(
    block: Block, certain: bool, inner: tuple[tuple[Loop, Expr | None], ...]
) -> Iterator[tuple[Assign, bool, tuple[tuple[Loop, Expr | None], ...]]]:
    """Every assignment with whether it surely runs, and the loops around it."""
    previous: Statement | None = None
    copies: dict[str, Assign] = {}
    for statement in block.statements:
        match statement:
            case Assign():
                yield _forwarded(statement, copies), certain, inner
            case Block():
                yield from _assignments(statement, certain, inner)
            case If(_, then, otherwise, _):
                yield from _either_way(then, otherwise, certain, inner)
            case Loop():
                start = previous.value if isinstance(previous, Assign) and previous.operator is None else None
                around = (*inner, (statement, start))
                yield from _assignments(statement.prologue, False, inner)
                sure = certain and not _has_continue(statement.body)
                yield from _assignments(statement.body, sure, around)
                yield from _assignments(statement.step, certain, around)
            case Unsupported(_, _, loops):
                for loop in loops:
                    yield from _assignments(Block((loop,)), False, inner)
            case Assume() | Declare() | Evaluate() | Jump():
                pass
        previous = statement
        _note_copy(statement, copies)


_Found = tuple[Assign, bool, tuple[tuple[Loop, Expr | None], ...]]


def _either_way(
    then: Block, otherwise: Block, certain: bool, inner: tuple[tuple[Loop, Expr | None], ...]
) -> Iterator[_Found]:
    """The assignments of two branches: of variables to which both add the same, those of the first one."""
    one, other = list(_assignments(then, certain, inner)), list(_assignments(otherwise, certain, inner))
    alike = {
        name
        for name in {found[0].target.variable.name for found in one}
        if _without_sites(_changes(one, name)) == _without_sites(_changes(other, name))
    }
    yield from (found for found in one if found[0].target.variable.name in alike)
    for assign, _, around in (*one, *other):
        if assign.target.variable.name not in alike:
            yield assign, False, around


def _changes(found: list[_Found], name: str) -> tuple[object, ...]:
    """The steps of a variable among some assignments; those that are none differ from all others."""
    own = [each for each in found if each[0].target.variable.name == name and not each[0].target.steps]
    return tuple(
        (additive(assign), around) if certain and additive(assign) is not None else object()
        for assign, certain, around in own
    )


def _forwarded(assign: Assign, copies: dict[str, Assign]) -> Assign:
    """An assignment of a temporary, with the value that was assigned to that: `j = j + 1` for `t = j + 1;
    j = t;`."""
    value = assign.value
    if assign.operator is not None or not isinstance(value, Read) or value.place.steps:
        return assign
    copied = copies.get(value.place.variable.name)
    return assign if copied is None else replace(assign, value=copied.value)


def _note_copy(statement: Statement, copies: dict[str, Assign]) -> None:
    """Record the sum of the function's own scalars that a statement assigns to a temporary; forget those that
    it may change."""
    inside = list(walk(statement))
    if any(isinstance(each, Unsupported) for each in inside):
        copies.clear()
    for each in inside:
        match each:
            case Declare(variable) | Assign(Place(variable, ())):
                for copied, of in tuple(copies.items()):
                    read = (one.name for one in _scalars(of.value) or ())
                    if variable.name in (copied, *read):
                        del copies[copied]
            case _:
                pass
    if not isinstance(statement, Assign) or statement.operator is not None or statement.target.steps:
        return
    variable = statement.target.variable
    read = _scalars(statement.value) if isinstance(statement.value, Binary) else None
    if not variable.escapes and read is not None and variable not in read:
        copies[variable.name] = statement


def _scalars(value: Expr) -> list[Variable] | None:
    """The variables in an expression; none where anything but assignments by name may change its value."""
    found: list[Variable] = []
    for node in subexpressions(value):
        if isinstance(node, Read):
            variable = node.place.variable
            if node.place.steps or variable.escapes or variable.storage not in ("local", "parameter"):
                return None
            found.append(variable)
        elif isinstance(node, Call):
            return None
    return found


def _before_continue(body: Block) -> tuple[Block, Block]:
    """The statements that run in each round, and those that a `continue` may skip."""
    for number, statement in enumerate(body.statements):
        if _has_continue(Block((statement,))):
            return Block(body.statements[:number]), Block(body.statements[number:])
    return body, Block()


def _has_continue(block: Block) -> bool:
    return any(jump.kind == "continue" for jump in own_jumps(block))


def own_jumps(block: Block) -> Iterator[Jump]:
    """`break` and `continue` that belong to the loop whose body this is."""
    for statement in block.statements:
        match statement:
            case Jump(kind) if kind != "return":
                yield statement
            case Block():
                yield from own_jumps(statement)
            case If(_, then, otherwise, _):
                yield from own_jumps(then)
                yield from own_jumps(otherwise)
            case _:
                pass
