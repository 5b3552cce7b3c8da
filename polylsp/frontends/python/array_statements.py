"""Lowering of array assignments, masked stores, and statements that overlap with their source.

The right-hand side is evaluated completely before the first store: where it may read elements that
are stored to, its values go to a temporary. NumPy buffers such reads; Numba does not, in
`a[1:] += a[:-1]` and, in parallel, in copies: these are rejected in functions that Numba compiles.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_expressions import Operand, Subscripts, element, operand
from polylsp.frontends.python.array_lengths import agree_anew, without_sites
from polylsp.frontends.python.array_sections import Section, section_of
from polylsp.frontends.python.kinds import BOOL, INT, Array, Number, NumberType
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    convert,
    is_kept,
    loops,
    places_in,
    refuse,
    temporary,
)
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.places import array_type, not_a_number, stored
from polylsp.frontends.python.pranges import is_compiled, is_prange, runs_in_parallel
from polylsp.frontends.python.scalar_expressions import IN_PLACE, operation
from polylsp.frontends.python.syntax import constant
from polylsp.ir.program import (
    Assign,
    BinaryOperator,
    Block,
    Call,
    Cast,
    Declare,
    Expr,
    If,
    Index,
    Place,
    Read,
    Rejection,
    Statement,
    Variable,
)


def target_of(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    """The part of an array that a statement stores to."""
    found = section_of(context, node, fx)
    if found is not None and found.array.kind.lists:
        text = f"`{context.text(node)}` is a list, of which single elements alone are followed"
        refuse(context, fx, "unsupported-statement", node, text, "store its elements one by one")
        return None
    if found is None and not fx.rejections:
        text = f"what `{context.text(node)}` stores to is not known"
        refuse(context, fx, "unknown-shape", node, text, "write loops over its elements")
    return found


def overlaps(context: Context, target: Section, found: Operand) -> bool:
    """True if an element may be read after it was stored for another one. It is not where each subscript that
    runs over elements is the same on both sides: then the stored value is read for that element alone, and
    before."""
    site = target.site
    at = tuple(
        Read(Place(Variable(f"at{k}", "", INT, "local"), (), INT, site)) for k in range(len(target.counts))
    )
    own = target.place(at).steps
    running = [len(target.array.steps) + k for k in target.running]
    return any(
        _is_shared(context, place.variable, target.array.variable)
        and (
            place.variable.name != target.array.variable.name
            or len(place.steps) != len(own)
            or any(without_sites(place.steps[k]) != without_sites(own[k]) for k in running)
        )
        for place in places_in(element(context, found, target.counts, at))
        if place.steps
    )


def _is_shared(context: Context, one: Variable, other: Variable) -> bool:
    """True if two variables may lead to one array without any assumption."""
    return one.name == other.name or {one.name, other.name} <= context.aliased


def apart(
    context: Context, found: Operand, counts: Subscripts, of_type: NumberType, node: ast.AST, fx: Effects
) -> Operand:
    """Values of an operand in a temporary array."""
    site = context.site(node)
    whole = array_type(Array(of_type, len(counts)), counts)
    variable = Variable(context.unused("values"), "the right-hand side", whole, "local")
    fx.statements.append(Declare(variable, site))

    def place(at: Subscripts) -> Place:
        return Place(variable, tuple(Index(one, None, k > 0) for k, one in enumerate(at)), of_type, site)

    def body(at: Subscripts) -> list[Statement]:
        return [Assign(place(at), None, convert(element(context, found, counts, at), of_type), site)]

    fx.statements += loops(context, counts, node, body)
    return Operand(counts, lambda at: Read(place(at)), found.arrays)


# --------------------------------------------------------------------------------------------------
# Statements that store where a condition holds: `a[a > 0] = …`.
# --------------------------------------------------------------------------------------------------


def masked(context: Context, target: ast.expr) -> bool:
    """True if a target selects the elements of an array by a mask of the same rank."""
    if not isinstance(target, ast.Subscript):
        return False
    base, mask = context.kind(target.value), context.kind(target.slice)
    both = isinstance(base, Array) and isinstance(mask, Array) and base.rank == mask.rank
    return both and isinstance(mask, Array) and mask.element == BOOL


def store_masked(context: Context, target: ast.expr, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`a[condition] = x`, where `x` is a number, or computed from elements of other arrays under the same
    mask."""
    assert isinstance(target, ast.Subscript)
    section = target_of(context, target.value, fx)
    condition = operand(context, target.slice, fx)
    found = _stored(context, given, ast.dump(target.slice), fx)
    if section is None or condition is None or found is None or fx.rejections:
        return
    counts, site = section.counts, context.site(node)
    if found.counts and (len(found.counts) != len(counts) or overlaps(context, section, found)):
        _refused(context, node, fx)
        return
    if overlaps(context, section, condition):
        condition = apart(context, condition, counts, BOOL, node, fx)

    def body(at: Subscripts) -> list[Statement]:
        stored: Expr = convert(element(context, found, counts, at), section.array.kind.element)
        then = Block((Assign(section.place(at), None, stored, site),))
        return [If(element(context, condition, counts, at), then, Block(), site)]

    fx.statements += loops(context, counts, node, body)


def _stored(context: Context, given: ast.expr, mask: str, fx: Effects) -> Operand | None:
    """Value to store for each element, without regard to the condition."""
    if isinstance(context.kind(given), Number):
        return operand(context, given, fx)
    if not _follows(context, given, mask):
        _refused(context, given, fx)
        return None
    context.mask = mask
    found = operand(context, given, fx)
    context.mask = ""
    return found


def _follows(context: Context, node: ast.expr, mask: str) -> bool:
    """True if each element of an expression depends on array elements under the same condition alone."""
    match node:
        case ast.Subscript(slice=by) if ast.dump(by) == mask:
            return True
        case ast.BinOp(left=left, op=operator, right=right) if not isinstance(operator, ast.MatMult):
            return _follows(context, left, mask) and _follows(context, right, mask)
        case ast.UnaryOp(operand=inner):
            return _follows(context, inner, mask)
        case ast.Call(func=function, args=arguments, keywords=[]) if numpy_functions.is_pure(
            context.path(function)
        ):
            return all(_follows(context, one, mask) for one in arguments)
        case _:
            inner = (n for n in nodes_in(node) if isinstance(n, ast.Subscript))
            plain = all(ast.dump(n.slice) != mask for n in inner)
            return plain and isinstance(context.kind(node), Number)


def _refused(context: Context, node: ast.AST, fx: Effects) -> None:
    text = f"`{context.text(node)}` takes values one after the other where a condition holds"
    refuse(context, fx, "unsupported-statement", node, text, "use `np.where`, or a loop")


# --------------------------------------------------------------------------------------------------
# Assignments of whole arrays and of parts of them. The right-hand side is evaluated wholly before
# the first store: where it may read elements that are stored to, its values go to a temporary
# first.
# --------------------------------------------------------------------------------------------------


def store(context: Context, target: ast.expr, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the target is a part of an array or a new array's name."""
    if masked(context, target):
        store_masked(context, target, given, node, fx)
        return
    section = target_of(context, target, fx)
    found = operand(context, given, fx) if section is not None else None
    if section is not None and found is not None and not fx.rejections:
        _run(context, section, None, found, node, fx)


def store_new(context: Context, target: ast.Name, given: ast.expr, node: ast.AST, fx: Effects) -> None:
    """`target = given`, where the name gets a new array, which is as long as the value."""
    found = operand(context, given, fx)
    array = stored(context, target.id)
    if array is None and not fx.rejections:
        refuse(context, fx, "unknown-shape", target, not_a_number(context, target))
    if found is None or array is None or fx.rejections:
        return
    if len(found.counts) == len(array.extents):
        if target.id in context.remade:
            if not agree_anew(context, array, found.counts):
                text = f"`{target.id}` gets arrays of different lengths"
                refuse(context, fx, "unknown-shape", node, text, "give each array a name of its own")
                return
        elif target.id in context.owned and all(is_kept(context, count) for count in found.counts):
            context.arrays[target.id] = replace(array, extents=found.counts)
        elif target.id in context.owned and context.depth and any(map(_is_unknown, found.counts)):
            # Each round may make an array of another length.
            counts = tuple(_noted(context, target, k, count, fx) for k, count in enumerate(found.counts))
            context.arrays[target.id] = replace(array, extents=counts)
        found = replace(found, counts=_target_counts(context, target, fx))
    section = section_of(context, target, fx) if array.kind.lists else target_of(context, target, fx)
    if section is not None:
        _run(context, section, None, found, node, fx)


def _is_unknown(count: Expr) -> bool:
    """True if a length is a function of values that is not modelled."""
    return isinstance(count, Call) or (isinstance(count, Cast) and _is_unknown(count.operand))


def _noted(context: Context, target: ast.Name, dimension: int, count: Expr, fx: Effects) -> Expr:
    """A length of a new array, as a value of the round that makes it."""
    site, text = context.site(target), f"{target.id}.shape[{dimension}]"
    place = temporary(context, count.type, text, site, fx.statements)
    fx.statements.append(Assign(place, None, count, site))
    return Read(place)


def _target_counts(context: Context, target: ast.Name, fx: Effects) -> Subscripts:
    section = section_of(context, target, fx)
    return section.counts if section is not None else ()


def store_in_place(context: Context, node: ast.AugAssign, fx: Effects) -> None:
    """`target op= value`, where the target is an array or a part of one."""
    if masked(context, node.target):
        whole = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        store_masked(context, node.target, whole, node, fx)
        return
    section = target_of(context, node.target, fx)
    found = operand(context, node.value, fx) if section is not None else None
    if section is None or found is None or fx.rejections:
        return
    operator = IN_PLACE.get(type(node.op))
    if operator is not None:
        _run(context, section, operator, found, node, fx)
        return
    counts = section.counts
    if len(found.counts) > len(counts):
        _too_deep(context, node, fx)
        return
    whole = Operand(
        counts,
        lambda at: operation(
            context, node.value, node.op, Read(section.place(at)), element(context, found, counts, at), fx
        ),
    )
    _run(context, section, None, whole, node, fx)


def _run(
    context: Context,
    target: Section,
    operator: BinaryOperator | None,
    found: Operand,
    node: ast.AST,
    fx: Effects,
) -> None:
    """Store elements, by way of a temporary array where they depend on the elements stored to."""
    counts, of_type = target.counts, target.array.kind.element
    if len(found.counts) > len(counts):
        _too_deep(context, node, fx)
        return
    if overlaps(context, target, found):
        found = apart(context, found, counts, of_type, node, fx)
    site = context.site(node)

    def body(at: Subscripts) -> list[Statement]:
        stored = convert(element(context, found, counts, at), of_type)
        return [Assign(target.place(at), operator, stored, site)]

    fx.statements += loops(context, counts, node, body)


def _too_deep(context: Context, node: ast.AST, fx: Effects) -> None:
    text = f"`{context.text(node)}` stores an array of more dimensions than there are to store to"
    refuse(context, fx, "unknown-shape", node, text, "annotate the arrays with their shapes")


# --------------------------------------------------------------------------------------------------
# Array statements that read elements which they store to for others. NumPy buffers the reads first;
# Numba does not, in `a[1:] += a[:-1]` and, in parallel, in copies.
# --------------------------------------------------------------------------------------------------


Definition = ast.FunctionDef | ast.AsyncFunctionDef
_Slice = tuple[int, int, "int | None"]
"""Start of a slice, its step, and the largest number of its elements, if determined."""
_WHOLE, _REVERSED = (0, 1, None), (0, -1, None)


def racing_statements(context: Context, definition: Definition | None) -> tuple[Rejection, ...]:
    """Rejections of racing statements in a function that Numba compiles."""
    declarations = context.kinds.declarations
    if definition is None or not is_compiled(definition, declarations):
        return ()
    in_parallel = runs_in_parallel(definition, declarations)
    return tuple(_found(context, definition.body, in_parallel))


def _found(context: Context, body: list[ast.stmt], in_parallel: bool) -> Iterator[Rejection]:
    """The findings. Threads share a statement that stands in no loop over `prange`: there one thread runs all
    of it."""
    nodes = own_nodes(body)
    loops = [n for n in nodes if isinstance(n, ast.For) and is_prange(context, n)]
    inside = {id(n) for n in nodes_in_all(loops)}
    for node in nodes:
        shared = in_parallel and id(node) not in inside
        found = (_racing(context, node) if shared else None) or _overtaken(context, node)
        if found is not None:
            yield found


def _overtaken(context: Context, node: ast.AST) -> Rejection | None:
    """Rejection of an update that reads a part of the array in place: an element is stored before the next is
    read. (Values computed from parts go to a temporary first.)"""
    match node:
        case ast.AugAssign(target, _, ast.Subscript() | ast.Name() | ast.Attribute(attr="T") as read):
            moved = next(filter(None, _shifts(context, target, read) or ()), 0)
        case _:
            return None
    if moved <= 0:
        return None
    words = context.text(read)
    told = f"Numba stores one element after the other: `{words}` reads elements that are stored to already"
    return Rejection("wrong-pragma", context.site(node), told, f"write `{words}.copy()` there")


def _racing(context: Context, node: ast.AST) -> Rejection | None:
    match node:
        case ast.AugAssign(target=target, value=value):
            read = next((each for each in _operands(value) if _race(context, target, each)), None)
        case ast.Assign(targets=[ast.Subscript() as target], value=ast.Subscript() as value):
            # Numba copies two dimensions in order.
            own = context.kind(target.value)
            plain = isinstance(own, Array) and own.rank == 1 and _is_made_here(context, target)
            read = value if plain and _race(context, target, value) else None
        case _:
            return None
    if read is None:
        return None
    words = context.text(read)
    told = f"Numba runs this in parallel, but `{words}` reads elements that are stored to for others"
    return Rejection("wrong-pragma", context.site(node), told, f"write `{words}.copy()` there")


def _operands(value: ast.expr) -> Iterator[ast.expr]:
    """Arrays of which an expression reads one element for each of its elements."""
    match value:
        case ast.BinOp(left=left, right=right) if not isinstance(value.op, ast.MatMult):
            yield from _operands(left)
            yield from _operands(right)
        case ast.UnaryOp(operand=operand):
            yield from _operands(operand)
        case ast.Subscript() | ast.Name() | ast.Attribute(attr="T"):
            yield value
        case _:
            return


def _race(context: Context, target: ast.expr, read: ast.expr) -> bool:
    """True if the element read for a stored one is itself surely stored for another."""
    return any(_shifts(context, target, read) or ())


def _shifts(context: Context, target: ast.expr, read: ast.expr) -> list[int] | None:
    """Offset in each dimension from the element read to the stored one; `None` where it is undetermined, or
    no element is both."""
    name = _root(target)
    kind = context.kinds.of_name(name) if name else None
    if name != _root(read) or not isinstance(kind, Array):
        return None
    if isinstance(read, ast.Attribute):
        is_turned = isinstance(target, ast.Name) and kind.rank > 1 and _is_made_here(context, target)
        return [1] if is_turned else None
    shifts = [_shift(one, other) for one, other in zip_longest(_slices(target), _slices(read))]
    return None if None in shifts else [each for each in shifts if each is not None]


def _is_made_here(context: Context, target: ast.expr) -> bool:
    """True if the function creates the array: the rank of an argument is only assumed."""
    name = _root(target)
    return name in context.kinds.local and name not in context.parameters


def _root(node: ast.expr) -> str:
    inside = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else node
    return inside.id if isinstance(inside, ast.Name) else ""


def _slices(node: ast.expr) -> Iterator[_Slice | str]:
    """The slices of each dimension that is written; the text of a subscript that is none."""
    if not isinstance(node, ast.Subscript):
        return
    every = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for each in every:
        found = _slice(each) if isinstance(each, ast.Slice) else None
        yield found if found is not None else ast.unparse(each)


def _slice(node: ast.Slice) -> _Slice | None:
    step = _number(node.step, 1)
    start, stop = _number(node.lower, 0), _number(node.upper, 0)
    if step is None or start is None or stop is None or step == 0:
        return None
    if step < 0:
        return (0, -1, None) if step == -1 and node.lower is None and node.upper is None else None
    if node.upper is None:
        return start, step, -(start // step) if start < 0 else None
    is_counted = (start < 0) == (stop < 0)
    return start, step, max(0, -((start - stop) // step)) if is_counted else None


def _shift(one: _Slice | str | None, other: _Slice | str | None) -> int | None:
    """Offset from the element read to the stored one; `None` where it is undetermined, or no element is
    both."""
    one, other = one or _WHOLE, other or _WHOLE
    if isinstance(one, str) or isinstance(other, str):
        return 0 if one == other else None
    if one[1] != other[1]:
        # One of them reversed: all but the element in the middle are others.
        return 1 if {one, other} == {_WHOLE, _REVERSED} else None
    if (one[0] < 0) != (other[0] < 0) or (one[0] - other[0]) % one[1]:
        return None
    shift = (one[0] - other[0]) // one[1]
    return shift if all(abs(shift) < each[2] for each in (one, other) if each[2] is not None) else None


def _number(node: ast.expr | None, absent: int) -> int | None:
    """A number that is written out; `absent` where nothing is."""
    return absent if node is None else constant(node)
