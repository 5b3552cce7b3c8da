"""Assignments: the right-hand side is evaluated wholly before the first store."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.frontends.python.kinds import Array, Items, wider
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.array_statements import store, store_in_place
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.expressions import IN_PLACE, convert_to, operation, value
from polylsp.frontends.python.lower.places import not_a_number, place_of
from polylsp.frontends.python.lower.rebinding import bind
from polylsp.frontends.python.lower.sections import lengths_of
from polylsp.frontends.python.lower.temporaries import held
from polylsp.frontends.python.lower.views import name_part
from polylsp.model.program import (
    Assign,
    Call,
    Constant,
    Evaluate,
    Expr,
    Floating,
    Integer,
    Invariant,
    Read,
    Statement,
)

Lowered = tuple[list[Statement], Effects]


def assign(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt) -> Lowered:
    """`targets = given`."""
    fx = Effects()
    if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
        _unpack(context, targets[0].elts, given, node, fx)
        return fx.statements, fx
    if isinstance(context.kind(given), (Array, Items)) or _is_array_store(context, targets):
        _arrays(context, targets, given, node, fx)
        return fx.statements, fx
    found = value(context, given, fx)
    if len(targets) > 1 and not isinstance(found, (Constant, Invariant)):
        found = held(context, found, given, fx.statements)
    for target in targets:
        _store(context, target, found, node, fx)
    return fx.statements, fx


def _is_array_store(context: Context, targets: list[ast.expr]) -> bool:
    return any(isinstance(context.kind(target), Array) for target in targets)


def _arrays(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """An assignment of whole arrays, or of parts of them. All targets hold the same array."""
    for number, target in enumerate(targets):
        if number == 1 and isinstance(targets[0], ast.Name):
            given = ast.copy_location(ast.Name(targets[0].id, ast.Load()), targets[0])
        if isinstance(target, ast.Name) and target.id in context.viewed:
            name_part(context, target, given, fx)
        elif isinstance(target, ast.Name) and isinstance(context.kind(target), (Array, Items)):
            bind(context, target, given, node, fx)
        else:
            store(context, target, given, node, fx)


def _store(context: Context, target: ast.expr, found: Expr, node: ast.stmt, fx: Effects) -> None:
    place = place_of(context, target, fx)
    if place is not None:
        fx.statements.append(Assign(place, None, convert_to(found, place), context.site(node)))


def _unpack(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """`a, b = x, y` and `n, m = a.shape`."""
    if isinstance(given, ast.Attribute) and given.attr == "shape":
        lengths = lengths_of(context, given.value)
        if lengths is not None and len(lengths) == len(targets):
            for target, extent in zip(targets, lengths, strict=True):
                _store(context, target, extent, node, fx)
            return
    match given:
        case ast.Call(func=function, args=[left, right]) if context.path(function) == "divmod":
            whole = ast.copy_location(ast.BinOp(left, ast.FloorDiv(), right), given)
            rest = ast.copy_location(ast.BinOp(left, ast.Mod(), right), given)
            given = ast.copy_location(ast.Tuple([whole, rest], ast.Load()), given)
        case _:
            pass
    kind = context.kind(given)
    if isinstance(kind, Array) and kind.rank == 1 and isinstance(given, (ast.Name, ast.Subscript)):
        numbers = [ast.copy_location(ast.Constant(k), given) for k in range(len(targets))]
        parts = [ast.copy_location(ast.Subscript(given, one, ast.Load()), given) for one in numbers]
        given = ast.copy_location(ast.Tuple(list[ast.expr](parts), ast.Load()), given)
    if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(targets):
        refuse(context, fx, "unsupported-statement", node, not_a_number(context, given))
        return
    pairs = list(zip(targets, given.elts, strict=True))
    parts = [(t, v) for t, v in pairs if isinstance(t, ast.Name) and t.id in context.viewed]
    for target, part in parts:
        name_part(context, target, part, fx)
    if parts:
        pairs = [pair for pair in pairs if pair not in parts]
        targets, given = [t for t, _ in pairs], ast.Tuple([v for _, v in pairs], ast.Load())
    if any(isinstance(context.kind(one), Array) for one in given.elts):
        from polylsp.frontends.python.lower.rebinding import exchange

        exchange(context, targets, given.elts, node, fx)
        return
    values = [value(context, one, fx) for one in given.elts]
    if any(_reads(one, targets) for one in given.elts[1:]):
        values = [v if isinstance(v, Constant) else held(context, v, given, fx.statements) for v in values]
    for target, found in zip(targets, values, strict=True):
        _store(context, target, found, node, fx)


def _reads(node: ast.expr, targets: list[ast.expr]) -> bool:
    """True if an expression reads names that are stored to by some targets; the subscripts of later targets
    count."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    names |= {n.id for t in targets[1:] for n in ast.walk(t) if isinstance(n, ast.Name)} - _bases(targets)
    return not names.isdisjoint(_bases(targets))


def _bases(targets: list[ast.expr]) -> set[str]:
    found: set[str] = set()
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        found.update({target.id} if isinstance(target, ast.Name) else ())
    return found


def assign_in_place(context: Context, node: ast.AugAssign) -> Lowered:
    """`target op= value`."""
    fx = Effects()
    if isinstance(context.kind(node.target), Array) or isinstance(context.kind(node.value), Array):
        store_in_place(context, node, fx)
        return fx.statements, fx
    found = value(context, node.value, fx)
    place = place_of(context, node.target, fx)
    if place is None:
        return fx.statements, fx
    site = context.site(node)
    operator = IN_PLACE.get(type(node.op))
    if operator is not None:
        common = found
        if isinstance(place.type, Floating):
            common = convert_to(found, place)
        elif isinstance(place.type, Integer) and isinstance(found.type, Integer):
            common = convert(found, wider(place.type, found.type))
        fx.statements.append(Assign(place, operator, common, site))
        return fx.statements, fx
    result = operation(context, node.target, node.op, Read(place), found, fx)
    fx.statements.append(Assign(place, None, convert_to(result, place), site))
    return fx.statements, fx


def evaluate(context: Context, node: ast.expr) -> Lowered:
    """An expression that stands alone."""
    fx = Effects()
    if isinstance(node, ast.Constant):
        return [], fx
    if isinstance(node, ast.Tuple):
        for part in node.elts:
            statements, inner = evaluate(context, part) if not _is_name(part) else ([], Effects())
            fx.statements += statements
            fx.rejections += inner.rejections
        return fx.statements, fx
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fill":
        store(context, node.func.value, node.args[0] if node.args else node, node, fx)
        return fx.statements, fx
    if isinstance(context.kind(node), Array):
        text = f"`{context.text(node)}` computes a whole array"
        refuse(context, fx, "unsupported-statement", node, text)
        return [], fx
    found = value(context, node, fx)
    if isinstance(found, Call) or not isinstance(found, (Constant, Invariant)):
        fx.statements.append(Evaluate(found, context.site(node)))
    return fx.statements, fx


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds, at any depth."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
