"""Rows of arrays of pointers that an iteration sets and uses: `a[i] = malloc(...)`, then `a[i][j] = 0`.

The analysis follows pointers in variables, and takes those in memory to be fixed while a nest sets none.
Where an iteration stores a pointer that nothing sets again before its uses, these get the value from a new
variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polylsp.frontends.c.lowering_context import Context
from polylsp.ir.effects import Rewriter, element_of, is_character, may_be_compatible, nodes, walk
from polylsp.ir.induction import same_value
from polylsp.ir.library import ALLOCATING, RELEASING, effect_of
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Expr,
    Field,
    Index,
    Loop,
    Place,
    Pointer,
    Read,
    Statement,
    Struct,
    Type,
    Unary,
    Unsupported,
    Variable,
    subexpressions,
    subscripts,
)


def with_row_pointers(body: Block, context: Context) -> Block:
    """The body of a function in which uses of rows that an iteration sets follow variables."""
    return _RowPointers(context).block(body)


@dataclass
class _RowPointers(Rewriter):
    context: Context
    in_loop: bool = False

    def statement(self, statement: Statement) -> Iterator[Statement]:
        outer, self.in_loop = self.in_loop, self.in_loop or isinstance(statement, Loop)
        yield from super().statement(statement)
        self.in_loop = outer

    def block(self, block: Block) -> Block:
        done: list[Statement] = []
        pending = list(block.statements)
        while pending:
            statement = pending.pop(0)
            if not self.in_loop or not isinstance(statement, Assign) or not _is_row(statement):
                done += self.statement(statement)
                continue
            end = next(
                (k for k, each in enumerate(pending) if _may_set(each, statement.target)), len(pending)
            )
            row = self.variable(statement.target)
            uses = _Uses(statement.target, Place(row, (), row.type, statement.target.site))
            used = [each for s in pending[:end] for each in uses.statement(s)]
            if uses.followed:
                done += [Declare(row, statement.site), replace(statement, target=uses.row)]
                statement, pending[:end] = replace(statement, value=Read(uses.row)), used
            done.append(statement)
        return Block(tuple(done))

    def variable(self, row: Place) -> Variable:
        return Variable(self.context.unused("row"), self.context.sites.text(row.site), row.type, "local")


@dataclass
class _Uses(Rewriter):
    """Uses of a place, from which the pointer in it is taken, as those of a variable."""

    place_set: Place
    row: Place
    followed: bool = False

    def placed(self, place: Place, steps: tuple[Index | Field, ...]) -> Place:
        number = len(self.place_set.steps)
        if len(steps) <= number or not _begins(place, self.place_set):
            return replace(place, steps=steps)
        self.followed = True
        return replace(self.row, steps=steps[number:], type=place.type, site=place.site)

    def value(self, value: Expr) -> Expr:
        whole = isinstance(value, Read) and len(value.place.steps) == len(self.place_set.steps)
        if isinstance(value, Read) and whole and _begins(value.place, self.place_set):
            return Read(replace(self.row, site=value.place.site))
        return super().value(value)


def _is_row(assign: Assign) -> bool:
    """True if an assignment sets a pointer in an array, or in a structure there, at subscripts in terms of
    variables that the function alone assigns, by their names."""
    target = assign.target
    if assign.operator is not None or not isinstance(target.type, Pointer) or not target.steps:
        return False
    if not any(isinstance(step, Index) for step in target.steps):
        return False
    if target.variable.escapes or _is_in_union(target):
        return False
    for node in (n for each in subscripts(target) for n in subexpressions(each)):
        match node:
            case Read(Place(variable, ())) if variable.storage in ("local", "parameter"):
                if variable.escapes:
                    return False
            case Constant() | Unary() | Binary() | Cast():
                pass
            case _:
                return False
    return True


def _is_in_union(place: Place) -> bool:
    """True if a union is on the way to a place: its other members may change a pointer there."""
    of_type: Type | None = place.variable.type
    for step in place.steps:
        if isinstance(of_type, Struct) and of_type.union:
            return True
        of_type = step.type if isinstance(step, Field) else element_of(of_type)
    return False


def _begins(place: Place, with_place: Place) -> bool:
    """True if a place is another one, or is reached by way of it."""
    steps = zip(place.steps, with_place.steps, strict=False)
    return (
        place.variable == with_place.variable
        and len(place.steps) >= len(with_place.steps)
        and all(_is_same(one, other) for one, other in steps)
    )


def _is_same(one: Index | Field, other: Index | Field) -> bool:
    if isinstance(one, Index) and isinstance(other, Index):
        return one.wraps is None and other.wraps is None and same_value(one.subscript, other.subscript)
    return isinstance(one, Field) and isinstance(other, Field) and one.name == other.name


def _may_set(statement: Statement, row: Place) -> bool:
    """True if a statement may change a pointer that was stored in a row, or which place that is."""
    inside = (n for each in subscripts(row) for n in subexpressions(each))
    names = {n.place.variable.name for n in inside if isinstance(n, Read)} | {row.variable.name}
    for each in walk(statement):
        if isinstance(each, Unsupported):
            return True
        if any(isinstance(n, Call) and not _is_harmless(n) for n in nodes(each)):
            return True
        if not isinstance(each, Assign):
            continue
        target = each.target
        if not target.steps:
            if target.variable.name in names:
                return True
        elif len(target.steps) != len(row.steps) and _begins(target, row):
            # Behind a pointer of a recursive structure may stand the structure that the pointer is in.
            if isinstance(target.type, (Pointer, Struct)) and may_be_compatible(target.type, row.type):
                return True
        elif is_character(target.type) or isinstance(target.type, (Pointer, Struct)):
            return True
    return False


def _is_harmless(call: Call) -> bool:
    """True for a call that writes no memory of the program."""
    if call.pure or call.reads_memory or call.function in ALLOCATING | {RELEASING}:
        return True
    return effect_of(call.function) in ("output", "termination")
