"""Lowering of C expressions: operators, casts and sizes.

Results are values without side effects; the effects are collected in `Effects`, in C's order. An
unsupported expression notes a rejection and yields a stand-in value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c import assignments
from polylsp.frontends.c.declarators import FUNCTION, is_realigned, is_volatile, resolve
from polylsp.frontends.c.lowering_context import Context, Effects, Prototype, refuse
from polylsp.frontends.c.lvalues import assign_temporary, place, temporary
from polylsp.frontends.c.tokens import IMAGINARY
from polylsp.frontends.c.types import (
    BOOL,
    INT,
    SIZE,
    VOID,
    alignment,
    character,
    common,
    is_arithmetic,
    number,
    offset_of,
    size,
    spelling,
    string_bytes,
    string_element,
)
from polylsp.frontends.c.values import (
    binary,
    convert,
    decayed,
    is_scalar,
    negated,
    settle,
    truth,
    unary,
)
from polylsp.ir.program import (
    AddressOf,
    Array,
    Block,
    Call,
    Complex,
    Constant,
    Expr,
    If,
    Invariant,
    OtherType,
    Pointer,
    Read,
    Select,
    Struct,
    Type,
    Variable,
    is_truth,
    subexpressions,
)


def cast(context: Context, node: Any, fx: Effects) -> Expr:
    """`(type) operand`."""
    if is_volatile(context, node.to_type):
        message = f"`{context.text(node)}` makes the access `volatile`, so its order must be kept"
        refuse(fx, "volatile", context.site(node), message)
    to = resolve(context, node.to_type, fx)
    operand = direct_value(context, node.expr, fx)
    if not is_scalar(to) or not is_scalar(operand.type):
        if to != VOID and not fx.rejections:
            unsupported(context, node, fx, f"the conversion to `{spelling(to)}` is not analysed")
        return operand
    result = convert(operand, to)
    if isinstance(node.expr, c_ast.FuncCall) and not _is_pure(result):
        return result
    return replace_site(result, context, node) if to != BOOL or is_truth(result) else result


def _is_pure(expr: Expr) -> bool:
    return bool(getattr(expr, "pure", True))


def size_of(context: Context, node: Any, fx: Effects) -> Expr:
    """`sizeof` or `_Alignof` of a type or of an expression, which is evaluated for its effects if its type is
    an array of variable length (C11 6.5.3.4)."""
    site = context.site(node)
    operand = node.expr
    inner = Effects()
    if isinstance(operand, c_ast.Typename):
        type = resolve(context, operand, inner)
    else:
        type = _as_object(context, operand, type_of(context, operand, inner))
    if node.op == "_Alignof":
        is_plain = isinstance(operand, c_ast.Typename) and not is_realigned(context, operand)
        least = alignment(type, context.structs) if is_plain else None
        return Constant(least, SIZE, site) if least is not None else Invariant(context.text(node), SIZE, site)
    if isinstance(operand, c_ast.Constant) and operand.type == "string":
        bytes = string_bytes(operand.value)
        return Constant(bytes, SIZE, site) if bytes is not None else Invariant(context.text(node), SIZE, site)
    if inner.statements and (_is_variable_length(type) or isinstance(operand, c_ast.Typename)):
        return unsupported(context, node, fx, "this size is computed with effects, which is not analysed")
    bytes = size(type, context.structs)
    if bytes is None and _is_variable_length(type):
        return _computed_size(context, node, type, fx)
    return Constant(bytes, SIZE, site) if bytes is not None else Invariant(context.text(node), SIZE, site)


def _is_variable_length(type: Type) -> bool:
    while isinstance(type, Array):
        if type.extent is not None and not isinstance(type.extent, Constant):
            return True
        type = type.element
    return False


def _computed_size(context: Context, node: Any, type: Type, fx: Effects) -> Expr:
    """The size of an array of variable length: that which it had where it was declared."""
    site = context.site(node)
    whole: Expr | None = None
    while isinstance(type, Array):
        extent = type.extent
        if extent is None:
            return Invariant(context.text(node), SIZE, site)
        for part in subexpressions(extent):
            is_read = isinstance(part, Read)
            if isinstance(part, Call) or (
                is_read and (bool(part.place.steps) or part.place.variable.source_name in context.changed)
            ):
                return unsupported(context, node, fx, "what this size is computed from may have changed")
        factor = convert(replace_site(extent, context, node), SIZE)
        whole = factor if whole is None else binary("*", whole, factor, site)
        type = type.element
    each = size(type, context.structs)
    if each is None or whole is None:
        return Invariant(context.text(node), SIZE, site)
    return binary("*", whole, Constant(each, SIZE, site), site)


def _as_object(context: Context, operand: Any, type: Type) -> Type:
    """A parameter with brackets is a pointer, also to `sizeof`."""
    known = context.lookup(operand.name) if isinstance(operand, c_ast.ID) else None
    if isinstance(known, Variable) and known.storage == "parameter" and isinstance(type, Array):
        return Pointer(type.element)
    return type


def offset(context: Context, node: Any, fx: Effects) -> Expr:
    """`offsetof(type, member)`, also of a member of a member, or of an element."""
    type = resolve(context, node.args.exprs[0], fx)
    member = node.args.exprs[1]
    site = context.site(node)
    found = _offset(context, type, member)
    if found is not None:
        return Constant(found[0], SIZE, site)
    if _has_variable_subscript(context, member):
        return unsupported(context, node, fx, "a variable chooses the element whose offset this is")
    return Invariant(context.text(node), SIZE, site)


def _offset(context: Context, type: Type, member: Any) -> tuple[int, Type] | None:
    """The offset of a member, and its type, where these are known."""
    match member:
        case c_ast.ID() if isinstance(type, Struct):
            entries = context.structs.get(type.name, ())
            of_type = next((entry.type for entry in entries if entry.name == member.name), None)
            at = offset_of(type, member.name, context.structs)
            return (at, of_type) if at is not None and of_type is not None else None
        case c_ast.StructRef(type="."):
            outer = _offset(context, type, member.name)
            inner = _offset(context, outer[1], member.field) if outer is not None else None
            return (outer[0] + inner[0], inner[1]) if outer is not None and inner is not None else None
        case c_ast.ArrayRef():
            outer = _offset(context, type, member.name)
            at = value(context, member.subscript, Effects())
            if outer is None or not isinstance(outer[1], Array) or not isinstance(at, Constant):
                return None
            each = size(outer[1].element, context.structs)
            return (outer[0] + int(at.value) * each, outer[1].element) if each is not None else None
        case _:
            return None


def _has_variable_subscript(context: Context, member: Any) -> bool:
    if isinstance(member, c_ast.ArrayRef) and not isinstance(
        value(context, member.subscript, Effects()), Constant
    ):
        return True
    return any(_has_variable_subscript(context, child) for _, child in member.children())


# --------------------------------------------------------------------------------------------------
# Operators: values of operands, and their side effects in C's order.
# --------------------------------------------------------------------------------------------------


def unary_operation(context: Context, node: Any, fx: Effects) -> Expr:
    """An operator before or after one operand."""
    match node.op:
        case "&":
            return address(context, node, fx)
        case "!":
            return replace_site(negated(value(context, node.expr, fx)), context, node)
        case "++" | "--" | "p++" | "p--":
            return assignments.increment(context, node, fx, used=True)
        case "sizeof" | "_Alignof":
            return size_of(context, node, fx)
        case _:
            operand = value(context, node.expr, fx)
            if not is_arithmetic(operand.type):
                return unsupported(
                    context, node, fx, f"`{node.op}` is applied to something that is no number"
                )
            return unary(node.op, operand, context.site(node))


def binary_operation(context: Context, node: Any, fx: Effects) -> Expr:
    """An operator between two operands."""
    site = context.site(node)
    if node.op in ("&&", "||"):
        return _logical(context, node, fx)
    left = value(context, node.left, fx)
    right = value(context, node.right, fx)
    if not (is_scalar(left.type) and is_scalar(right.type)):
        if not fx.rejections:
            unsupported(context, node, fx, "this operator is applied to something that is no number")
        return Invariant(context.text(node), INT, site)
    return binary(node.op, left, right, site)


def _logical(context: Context, node: Any, fx: Effects) -> Expr:
    """`a && b`; where `b` does something, as `t = a; if (t) t = b;`."""
    first = fx.sequenced()
    left = truth(value(context, node.left, first))
    settle(first, left)
    branch = fx.branch()
    right = truth(value(context, node.right, branch))
    settle(branch, right)
    site = context.site(node)
    if not branch.statements:
        return binary(node.op, left, right, site)
    result = temporary(context, fx, INT, node)
    assign_temporary(fx.statements, result, left)
    assign_temporary(branch.statements, result, right)
    chosen = Read(result) if node.op == "&&" else negated(Read(result))
    fx.statements.append(If(truth(chosen), Block(tuple(branch.statements)), Block(), site))
    return truth(Read(result))


def select(context: Context, node: Any, fx: Effects) -> Expr:
    """`c ? a : b`; where `a` or `b` does something, as an `if` that sets a temporary. In `c ?: b`, which
    evaluates `c` once, that is its value too."""
    then_fx, else_fx = fx.branch(), fx.branch()
    if isinstance(node.iftrue, c_ast.ID) and node.iftrue.name == "__polylsp_same":
        inner = fx.sequenced()
        then = value(context, node.cond, inner)
        settle(inner, then)
        test = truth(then)
    else:
        test = condition(context, node.cond, fx)
        then = value(context, node.iftrue, then_fx)
    otherwise = value(context, node.iffalse, else_fx)
    settle(then_fx, then)
    settle(else_fx, otherwise)
    site = context.site(node)
    type = _common_type(then, otherwise)
    if isinstance(type, Struct) and not fx.rejections:
        unsupported(context, node, fx, "`?:` chooses between structures")
    then, otherwise = convert(then, type), convert(otherwise, type)
    if isinstance(test, Constant):
        chosen, kept = (then, then_fx) if test.value else (otherwise, else_fx)
        fx.statements.extend(kept.statements)
        return chosen
    if not then_fx.statements and not else_fx.statements:
        return Select(test, then, otherwise, type, site)
    result = temporary(context, fx, type, node)
    assign_temporary(then_fx.statements, result, then)
    assign_temporary(else_fx.statements, result, otherwise)
    fx.statements.append(If(test, Block(tuple(then_fx.statements)), Block(tuple(else_fx.statements)), site))
    return Read(result)


def _common_type(then: Expr, otherwise: Expr) -> Type:
    if is_arithmetic(then.type) and is_arithmetic(otherwise.type):
        return common(then.type, otherwise.type)
    return then.type if isinstance(then.type, Pointer) and not isinstance(then, Constant) else otherwise.type


# --------------------------------------------------------------------------------------------------
# Expressions: values without side effects, which are set apart in `Effects`.
# --------------------------------------------------------------------------------------------------


def value(context: Context, node: Any, fx: Effects) -> Expr:
    """Value of an expression; calls that may have side effects run before it is used."""
    return assignments.held(context, direct_value(context, node, fx), node, fx)


def direct_value(context: Context, node: Any, fx: Effects) -> Expr:
    """The value of an expression; a call at its top stays a `Call`, to be used at once."""
    match node:
        case c_ast.Constant():
            return _literal(context, node, fx)
        case c_ast.ID():
            return _name(context, node, fx)
        case c_ast.ArrayRef(name=c_ast.Constant(type="string"), subscript=subscript):
            number = value(context, subscript, fx)
            character = string_element(node.name.value)
            return Call(context.text(node.name), (number,), True, character, context.site(node))
        case c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*") | c_ast.CompoundLiteral():
            return _read(context, node, fx)
        case c_ast.UnaryOp():
            return unary_operation(context, node, fx)
        case c_ast.BinaryOp():
            return binary_operation(context, node, fx)
        case c_ast.Assignment():
            return assignments.assignment(context, node, fx, used=True)
        case c_ast.TernaryOp():
            return select(context, node, fx)
        case c_ast.ExprList():
            for part in node.exprs[:-1]:
                assignments.effect(context, part, fx.sequenced())
            return value(context, node.exprs[-1], fx)
        case c_ast.Cast():
            return cast(context, node, fx)
        case c_ast.FuncCall():
            return assignments.call(context, node, fx)
        case _:
            return unsupported(context, node, fx, "this kind of expression is not analysed")


def condition(context: Context, node: Any, fx: Effects) -> Expr:
    """Condition that an expression is not zero, as a comparison or a logical operation."""
    inner = fx.sequenced()
    result = truth(value(context, node, inner))
    settle(inner, result)
    return result


def type_of(context: Context, node: Any, fx: Effects | None = None) -> Type:
    """The type of an expression that is not evaluated; arrays do not decay. `fx` are the effects that it
    would have."""
    fx = fx if fx is not None else Effects()
    if isinstance(node, c_ast.ArrayRef | c_ast.StructRef | c_ast.ID) or getattr(node, "op", "") == "*":
        found = place(context, node, fx)
        if found is not None:
            return found.type
    return value(context, node, fx).type


def unsupported(context: Context, node: Any, fx: Effects, message: str) -> Expr:
    """Note a rejection, and stand-in value for the expression."""
    text = context.text(node)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    refuse(fx, "unsupported-statement", context.site(node), f"{message}: `{shown}`")
    return Invariant(context.text(node), INT, context.site(node))


def _literal(context: Context, node: Any, fx: Effects) -> Expr:
    site = context.site(node)
    if node.type == "string":
        return Invariant(context.text(node), Pointer(string_element(node.value)), site)
    if node.type == "char":
        code = character(node.value)
        return Constant(code if code is not None else 0, INT, site)
    imaginary = IMAGINARY.fullmatch(node.value)
    if imaginary is not None:
        bits = {"f": 32, "l": 80}.get((imaginary[2] or imaginary[3] or "").lower(), 64)
        return Invariant(node.value, Complex(bits), site)
    found = number(node.value)
    if found is None:
        return unsupported(context, node, fx, "this literal is not understood")
    return Constant(found[0], found[1], site)


def _name(context: Context, node: Any, fx: Effects) -> Expr:
    known = context.lookup(node.name)
    site = context.site(node)
    match known:
        case Constant():
            return replace(known, site=site)
        case Prototype():
            return Invariant(node.name, Pointer(FUNCTION), site)
        case _:
            return _read(context, node, fx)


def _read(context: Context, node: Any, fx: Effects) -> Expr:
    found = place(context, node, fx)
    if found is None:
        return Invariant(context.text(node), INT, context.site(node))
    if not found.steps and found.variable.name in context.known:
        return replace(context.known[found.variable.name], site=found.site)
    if isinstance(found.type, OtherType) and found.type != FUNCTION:
        message = f"`{context.text(node)}` has the type `{spelling(found.type)}`, which is not analysed"
        refuse(fx, "unsupported-type", found.site, message)
    return decayed(found)


def replace_site(expr: Expr, context: Context, node: Any) -> Expr:
    """The expression as spelled by `node`."""
    return expr if isinstance(expr, Read) else replace(expr, site=context.site(node))


def address(context: Context, node: Any, fx: Effects) -> Expr:
    """`&operand`."""
    site = context.site(node)
    if isinstance(node.expr, c_ast.ID) and isinstance(context.lookup(node.expr.name), Prototype):
        return Invariant(node.expr.name, Pointer(FUNCTION), site)
    found = place(context, node.expr, fx)
    if found is None:
        return Invariant(context.text(node), Pointer(INT), site)
    return AddressOf(found, Pointer(found.type), site)
