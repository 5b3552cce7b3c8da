"""Statements; unmodelled ones become `Unsupported`, with the loops inside retained."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.frontends.python.kinds import INT, Array, Number
from polylsp.frontends.python.lower.assignments import assign, assign_in_place, bound_names, evaluate
from polylsp.frontends.python.lower.context import Context, Effects
from polylsp.frontends.python.lower.expressions import condition, value
from polylsp.frontends.python.lower.storage import scalar, stored
from polylsp.model.program import (
    AddressOf,
    Assign,
    Block,
    Call,
    Constant,
    Declare,
    Evaluate,
    If,
    Index,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Unsupported,
    Variable,
)
from polylsp.model.program import Array as ArrayType
from polylsp.model.rejection import Rejection


def block(context: Context, body: Sequence[ast.stmt]) -> Block:
    """Statements in order, after the declarations that they need."""
    found: list[Statement] = []
    for node in body:
        found.extend(statement(context, node))
    made = context.blocks.pop(id(body[0]), []) if body else []
    return Block((*(Declare(variable, Site(0, 0)) for variable in made), *found))


def statement(context: Context, node: ast.stmt) -> list[Statement]:
    """Lower one statement."""
    from polylsp.frontends.python.lower.loops import for_loop, while_loop

    match node:
        case ast.For():
            return for_loop(context, node)
        case ast.While():
            return while_loop(context, node)
        case ast.If():
            return _if(context, node)
        case ast.Assign(targets=targets, value=given):
            return _simple(context, node, assign(context, targets, given, node))
        case ast.AnnAssign(target=target, value=given):
            return _simple(context, node, assign(context, [target], given, node)) if given is not None else []
        case ast.AugAssign():
            return _simple(context, node, assign_in_place(context, node))
        case ast.Return():
            return _return(context, node)
        case ast.Break() | ast.Continue():
            return [Jump("break" if isinstance(node, ast.Break) else "continue", context.site(node))]
        case ast.Raise():
            return [*outlive(context, context.site(node)), Jump("return", context.site(node))]
        case ast.Expr(value=given):
            return _simple(context, node, evaluate(context, given))
        case ast.Assert(test=test):
            return _simple(context, node, evaluate(context, test))
        case ast.With(items=items, body=body) if all(_is_quiet(context, one.context_expr) for one in items):
            return [block(context, body)]
        case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef() | ast.Global():
            return []
        case ast.AsyncFunctionDef() | ast.Nonlocal():
            return []
        case _:
            return refused(context, node, _why(context, node))


def _is_quiet(context: Context, node: ast.expr) -> bool:
    """True if a `with` changes nothing but warnings."""
    path = context.path(node.func) if isinstance(node, ast.Call) else ""
    return path in ("numpy.errstate", "warnings.catch_warnings")


def _why(context: Context, node: ast.stmt) -> Rejection:
    names: dict[type[ast.stmt], str] = {
        ast.Try: "`try`", ast.With: "`with`", ast.Match: "`match`", ast.Delete: "`del`",
        ast.AsyncFor: "`async for`", ast.AsyncWith: "`async with`",
    }  # fmt: skip
    what = names.get(type(node), "this statement")
    first = context.site(node).first
    return Rejection("unsupported-statement", Site(first, first), f"{what} is not analysed")


def refused(context: Context, node: ast.stmt, rejection: Rejection) -> list[Statement]:
    """An unmodelled statement: its loops stay, and the names that it binds have unknown values."""
    site, loops = context.site(node), tuple(_inner(context, node))
    return [Unsupported(rejection, site, loops, named_in(context, node)), *renewed(context, node)]


def _inner(context: Context, node: ast.stmt) -> Iterator[Loop]:
    """The loops inside a statement that is not modelled."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield from loops_in(statement(context, child))
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            for inner in child.body:
                yield from loops_in(statement(context, inner))


def loops_in(statements: Sequence[Statement]) -> Iterator[Loop]:
    """The outermost loops among statements."""
    for each in statements:
        match each:
            case Loop():
                yield each
            case Block(inner):
                yield from loops_in(inner)
            case If(_, then, otherwise, _):
                yield from loops_in((then, otherwise))
            case Unsupported(_, _, loops):
                yield from loops
            case _:
                pass


def named_in(context: Context, *nodes: ast.AST) -> frozenset[Variable]:
    """The variables that are named in code."""
    names = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    found: set[Variable] = set()
    for name in names:
        kind = context.kinds.of_name(name)
        array = stored(context, name) if isinstance(kind, Array) else None
        variable = scalar(context, name) if isinstance(kind, Number) else None
        found |= {array.variable} if array is not None else set()
        found |= {variable} if variable is not None else set()
    return frozenset(found)


def renewed(context: Context, node: ast.AST) -> Iterator[Statement]:
    """Assignments of unknown values to the names that a statement binds."""
    site = context.site(node)
    for name in sorted(bound_names(node)):
        kind = context.kinds.of_name(name)
        if isinstance(kind, Array) and (name in context.arrays or not context.depth):
            array = stored(context, name)
            variable = array.variable if array is not None else None
        else:
            variable = scalar(context, name) if isinstance(kind, Number) else None
        if variable is not None:
            unknown = Call("this statement", (), False, variable.type, site)
            yield Assign(Place(variable, (), variable.type, site), None, unknown, site)


def _simple(context: Context, node: ast.stmt, found: tuple[list[Statement], Effects]) -> list[Statement]:
    statements, fx = found
    if fx.rejections:
        return refused(context, node, fx.rejections[0])
    return statements


def _if(context: Context, node: ast.If) -> list[Statement]:
    fx = Effects()
    test = condition(context, node.test, fx)
    site = context.site(node)
    then, otherwise = block(context, node.body), block(context, node.orelse)
    if fx.rejections:
        loops = tuple(loops_in((then, otherwise)))
        reads = named_in(context, node)
        return [Unsupported(fx.rejections[0], site, loops, reads), *renewed(context, node)]
    if isinstance(test, Constant) and not any(loops_in((otherwise if test.value else then,))):
        return [*fx.statements, then if test.value else otherwise]
    return [*fx.statements, If(test, then, otherwise, site)]


def _return(context: Context, node: ast.Return) -> list[Statement]:
    fx = Effects()
    site = context.site(node)
    kind = context.kind(node.value) if node.value is not None else None
    left = outlive(context, site)
    if node.value is None:
        return [*left, Jump("return", site)]
    if isinstance(node.value, ast.Constant) and node.value.value is None:
        return [*left, Jump("return", site)]
    if isinstance(kind, Number):
        result = value(context, node.value, fx)
        if not fx.rejections:
            return [*fx.statements, *left, Jump("return", site, result)]
        return [*refused(context, node, fx.rejections[0]), *left, Jump("return", site)]
    return [*_outliving(context, node.value), *left, Jump("return", site)]


def outlive(context: Context, site: Site) -> list[Statement]:
    """Uses of the arrays that attributes have got: others see them when the function is left."""
    arrays = (stored(context, name) for name in context.rebound)
    variables = (array.variable for array in arrays if array is not None)
    return [Evaluate(Read(Place(one, (), one.type, site)), site) for one in variables]


def _outliving(context: Context, node: ast.expr) -> Iterator[Statement]:
    """Uses of all variables in a returned value: they are live after the loops."""
    for variable in sorted(named_in(context, node), key=lambda one: one.name):
        of_type, site = variable.type, context.site(node)
        if isinstance(of_type, ArrayType):
            first = Place(variable, (Index(Constant(0, INT, site)),), of_type.element, site)
            yield Evaluate(AddressOf(first, Pointer(of_type.element), site), site)
        else:
            yield Evaluate(Read(Place(variable, (), of_type, site)), site)
