"""Brings a program drawn for C to what Python can say: the same loops over the same elements.

A loop becomes a `for` over a `range` where that counts alike (`ranged`), and a `while` otherwise. What
has no form in Python (`do`, a test that counts, `continue` in a loop that is spelled as `while`) is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..fitting import plus
from ..nests import (
    Assign,
    Binary,
    Declare,
    Expr,
    For,
    Function,
    Jump,
    Name,
    Node,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Statement,
    Step,
    Structure,
    While,
    children,
    rebuild,
    walk,
)

_FLOORS = {"/": "//", "%": "mod"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


def pythonic(program: Program) -> Program | None:
    """The program with Python's integers, and arrays that are all parameters; `None` if it has no
    form in Python. What follows fits extents to the arrays, so that subscripts stay inside them."""
    if any(not _sayable(node) for node in walk(program)):
        return None
    arrays = tuple(
        Parameter(g.type, g.name, (Number(1),) * len(g.extents)) for g in program.globals if g.extents
    )
    kernel = program.kernel
    parameters = (*map(_array, kernel.parameters), *arrays)
    kernel = replace(kernel, parameters=parameters)
    program = replace(
        program,
        functions=(*program.functions[:-1], kernel),
        globals=tuple(g for g in program.globals if not g.extents),
    )
    return rebuild(program, _with_plain_integers)


def _sayable(node: Node) -> bool:
    match node:
        case Step() | Pointed() | Path() | Structure() | Declare(pointer=True) | While(post_test=True):
            return False
        case For() if ranged(node) is None:
            return not any(isinstance(inner, Jump) and inner.kind == "continue" for inner in _own(node))
        case While(body=body):
            last = body[-1] if body else None
            jumps = any(isinstance(inner, Jump) and inner.kind == "continue" for inner in _own(node))
            return not jumps and last is not None
        case Declare(name=name) | Parameter(name=name):
            return name.isidentifier()
        case _:
            return True


def _own(loop: For | While) -> list[Node]:
    """The nodes of a loop's body that belong to no loop inside it."""
    found: list[Node] = []

    def visit(node: Node) -> None:
        found.append(node)
        for child in children(node):
            if not isinstance(child, For | While):
                visit(child)

    for statement in loop.body:
        if not isinstance(statement, For | While):
            visit(statement)
    return found


def _array(parameter: Parameter) -> Parameter:
    """A pointer becomes an array of as many elements as are touched."""
    return replace(parameter, extents=(Number(1),)) if parameter.extents == () else parameter


def _with_plain_integers(node: Node) -> Node:
    if isinstance(node, Number | Declare | Parameter | Function) and node.type in ("unsigned", "long"):
        return replace(node, type="int")
    if isinstance(node, Binary) and node.operator in _FLOORS:
        return replace(node, operator=_FLOORS[node.operator])
    return node


@dataclass(frozen=True, slots=True)
class Range:
    """`for name in range(start, stop, step)`."""

    name: str
    start: Expr
    stop: Expr
    step: int


def ranged(loop: For) -> Range | None:
    """The range that a loop counts through; `None` where Python's `for` would count otherwise."""
    first, step = loop.first, _step(loop.step)
    if not isinstance(first, Declare) or first.value is None or step is None:
        return None
    limit = _limit(first.name, loop.condition, step)
    if _may_miss_its_end(loop):
        return None
    if limit is None or _changes(loop.body, first.name):
        return None
    if {n.name for n in walk(limit) if isinstance(n, Name)} & _written(loop.body):
        return None
    return Range(first.name, first.value, limit, step)


def _may_miss_its_end(loop: For) -> bool:
    """True if a loop until something is equal may begin beyond that, and leave by a `break`."""
    unequal = any(isinstance(node, Binary) and node.operator == "!=" for node in walk(loop.condition))
    return unequal and any(isinstance(node, Jump) and node.kind == "break" for node in _own(loop))


def _step(step: Assign | None) -> int | None:
    match step:
        case Assign(
            target=Name(name=name), operator="", value=Binary("+" | "-" as sign, Name(other), Number(by))
        ):
            return (by if sign == "+" else -by) if name == other else None
        case Assign(target=Name(), operator="+" | "-" as sign, value=Number(value=by)):
            return by if sign == "+" else -by
        case _:
            return None


def _limit(name: str, test: Expr, step: int) -> Expr | None:
    match test:
        case Binary(operator=operator, left=left, right=Name(name=own)) if (
            operator in _MIRRORED and own == name
        ):
            return _limit(name, Binary(_MIRRORED[operator], Name(name), left), step)
        case Binary(operator="<", left=Name(name=own), right=limit) if step > 0:
            found = limit
        case Binary(operator="<=", left=Name(name=own), right=limit) if step > 0:
            found = plus(limit, 1)
        case Binary(operator=">", left=Name(name=own), right=limit) if step < 0:
            found = limit
        case Binary(operator=">=", left=Name(name=own), right=limit) if step < 0:
            found = plus(limit, -1)
        case Binary(operator="!=", left=Name(name=own), right=limit) if abs(step) == 1:
            found = limit
        case _:
            return None
    used = {node.name for node in walk(found) if isinstance(node, Name)}
    return found if own == name and name not in used else None


def _changes(body: tuple[Statement, ...], name: str) -> bool:
    return name in _written(body)


def _written(body: tuple[Statement, ...]) -> set[str]:
    nodes = [node for statement in body for node in walk(statement)]
    assigned = {n.target.name for n in nodes if isinstance(n, Assign) and isinstance(n.target, Name)}
    return assigned | {node.name for node in nodes if isinstance(node, Declare)}
