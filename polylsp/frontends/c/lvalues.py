"""Lowering of C lvalues to places, and temporaries for values that C leaves unnamed.

An expression that names no place gives `None` and a rejection.
"""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lowering_context import Context, Effects, Member, Prototype, refuse
from polylsp.frontends.c.types import INT, LONG
from polylsp.frontends.c.values import added, convert, dereferenced
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Constant,
    Declare,
    Expr,
    Field,
    OtherType,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Struct,
    Type,
    Variable,
)


def temporary(
    context: Context, fx: Effects, type: Type, node: Any, stem: str = "value", site: Site | None = None
) -> Place:
    """A new variable for the value of `node` (or the code at `site`), declared among the effects."""
    site = site if site is not None else context.site(node)
    variable = Variable(context.unused(stem), context.sites.text(site), type, "local")
    fx.statements.append(Declare(variable, site))
    return Place(variable, (), type, site)


def assign_temporary(statements: list[Statement], target: Place, value: Expr) -> None:
    """Set a temporary."""
    statements.append(Assign(target, None, convert(value, target.type), value.site))


# --------------------------------------------------------------------------------------------------
# Places: expressions that can stand left of `=`.
# --------------------------------------------------------------------------------------------------


def place(context: Context, node: Any, fx: Effects) -> Place | None:
    """The place that an expression names, or `None` (with a rejection) if it names none."""
    found = _place(context, node, fx)
    if found is not None and found.variable.name in context.volatile:
        name = found.variable.source_name
        message = f"`{name}` is `volatile` or `_Atomic`, so its accesses must keep their order"
        advice = f"work on a plain variable in the loop, and store it in `{name}` after it"
        refuse(fx, "volatile", found.site, message, advice)
    if found is not None and found.variable.name in context.refused:
        refuse(fx, "unsupported-type", found.site, context.refused[found.variable.name])
    return found


def _place(context: Context, node: Any, fx: Effects) -> Place | None:
    site = context.site(node)
    match node:
        case c_ast.ID():
            return _named(context, node, fx)
        case c_ast.UnaryOp(op="*"):
            return _indexed(context, node, node.expr, None, fx)
        case c_ast.ArrayRef():
            return _indexed(context, node, node.name, node.subscript, fx)
        case c_ast.StructRef(type="->"):
            whole = _indexed(context, node.name, node.name, None, fx)
            return None if whole is None else member(context, whole, node.field.name, site, fx)
        case c_ast.StructRef():
            whole = place(context, node.name, fx)
            return None if whole is None else member(context, whole, node.field.name, site, fx)
        case c_ast.CompoundLiteral():
            return _literal(context, node, fx)
        case c_ast.FuncCall() | c_ast.TernaryOp() | c_ast.Assignment() | c_ast.ExprList() | c_ast.Cast():
            return _value_place(context, node, fx)
        case _:
            _no_place(context, node, fx)
            return None


def member(context: Context, whole: Place, name: str, site: Site, fx: Effects) -> Place | None:
    """`whole.name`, through unnamed members where needed."""
    path = _path(context, whole.type, name) if isinstance(whole.type, Struct) else None
    if path is None:
        what = context.sites.text(whole.site)
        if not fx.rejections:
            message = f"the members of `{what}` are not known, so `.{name}` cannot be followed"
            refuse(fx, "unsupported-type", site, message, "include the header that defines its structure")
        return None
    last = path[-1]
    if any(step.volatile for step in path):
        refuse(fx, "volatile", site, f"`{name}` is `volatile`, so its accesses must keep their order")
    is_inside = len(path) > 1 or (bool(whole.steps) and isinstance(whole.steps[-1], Field))
    if last.covers or (is_inside and _is_open(last.type)):
        refuse(fx, "unsupported-type", site, f"`{name}` has no size, so its elements may be other members")
    return Place(whole.variable, whole.steps + tuple(m.step for m in path), last.type, site)


def _is_open(type: Type) -> bool:
    """True for a flexible array member, or one of no elements."""
    if not isinstance(type, Array):
        return False
    return type.extent is None or (isinstance(type.extent, Constant) and type.extent.value == 0)


def _path(context: Context, struct: Type, name: str) -> tuple[Member, ...] | None:
    if not isinstance(struct, Struct):
        return None
    for entry in context.structs.get(struct.name, ()):
        if entry.name == name:
            return (entry,)
        if entry.anonymous:
            inner = _path(context, entry.type, name)
            if inner is not None:
                return (entry, *inner)
    return None


def _named(context: Context, node: Any, fx: Effects) -> Place | None:
    known = context.lookup(node.name)
    site = context.site(node)
    if isinstance(known, Variable):
        return Place(known, (), known.type, site)
    if isinstance(known, Prototype | Constant):
        refuse(fx, "unsupported-statement", site, f"`{node.name}` is no variable")
    else:
        message = f"`{node.name}` is not declared"
        advice = "include the header that declares it, or tell polylsp where it is with `-I`"
        refuse(fx, "unsupported-type", site, message, advice)
    return None


def _indexed(context: Context, node: Any, base: Any, subscript: Any, fx: Effects) -> Place | None:
    """`base[subscript]`, `*base` or the whole of `base->`."""
    from polylsp.frontends.c.expressions import value

    site = context.site(node)
    pointer = value(context, base, fx)
    index: Expr = Constant(0, INT, site)
    if subscript is not None:
        index = value(context, subscript, fx)
        if isinstance(index.type, Pointer) and not isinstance(pointer.type, Pointer):
            pointer, index = index, pointer
    if not isinstance(pointer.type, Pointer):
        if not fx.rejections:
            message = f"`{context.text(base)}` is used as a pointer or an array, but is neither here"
            refuse(fx, "unsupported-type", context.site(base), message)
        return None
    found = dereferenced(pointer, index, site)
    return found if found is not None else _through_temporary(context, node, pointer, index, fx)


def _through_temporary(context: Context, node: Any, pointer: Expr, index: Expr, fx: Effects) -> Place | None:
    """For a pointer that no variable holds: `(float *)buffer`, `next(p)`, `c ? a : b`."""
    base, moved = _split(pointer)
    if isinstance(base.type, Pointer) and isinstance(base.type.to, OtherType):
        what = context.sites.text(pointer.site)
        refuse(fx, "unsupported-type", pointer.site, f"what `{what}` points at has no known type")
        return None
    held = temporary(context, fx, base.type, node, "pointer", base.site)
    assign_temporary(fx.statements, held, base)
    return dereferenced(Read(held), added(moved, index), context.site(node))


def _split(pointer: Expr) -> tuple[Expr, Expr]:
    """A pointer as a base and how many elements it is moved from there."""
    from polylsp.ir.program import Binary

    match pointer:
        case Binary(operator="+", left=left, right=right):
            base, moved = _split(left)
            return base, added(moved, right)
        case Binary(operator="-", left=left, right=right):
            base, moved = _split(left)
            return base, added(moved, right, "-")
        case _:
            return pointer, Constant(0, LONG, pointer.site)


def _value_place(context: Context, node: Any, fx: Effects) -> Place | None:
    """A structure that an expression computes, stored in a temporary so that it has members."""
    from polylsp.frontends.c.expressions import direct_value

    result = direct_value(context, node, fx)
    if isinstance(result, Read) and isinstance(result.type, Struct):
        return result.place
    if isinstance(result, AddressOf) or not isinstance(result.type, Struct):
        _no_place(context, node, fx)
        return None
    held = temporary(context, fx, result.type, node)
    assign_temporary(fx.statements, held, result)
    return held


def _literal(context: Context, node: Any, fx: Effects) -> Place | None:
    from polylsp.frontends.c.declarators import resolve
    from polylsp.frontends.c.initializers import initialise, sized

    type = resolve(context, node.type, fx)
    if isinstance(type, Array):
        type = sized(context, type, node.init)
    held = temporary(context, fx, type, node)
    initialise(context, held, node.init, fx)
    return held


def _no_place(context: Context, node: Any, fx: Effects) -> None:
    if not fx.rejections:
        message = f"`{context.text(node)}` is not something that can be read or written in place"
        refuse(fx, "unsupported-statement", context.site(node), message)
