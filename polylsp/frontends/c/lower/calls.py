"""Calls: arguments, results, and effects of functions in the table of the library."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lower.addresses import give
from polylsp.frontends.c.lower.builtins import (
    canonical,
    is_allocator,
    is_forgetful,
    library_result,
    library_variables,
    memory_result,
    pure_result,
)
from polylsp.frontends.c.lower.context import Context, Effects, Prototype, occurrences, refuse
from polylsp.frontends.c.lower.order import note_change, settle
from polylsp.frontends.c.lower.temporaries import assign_temporary, temporary
from polylsp.frontends.c.lower.types import DOUBLE, INT, promote
from polylsp.frontends.c.lower.values import convert, is_scalar
from polylsp.model.program import (
    AddressOf,
    Assume,
    Call,
    Cast,
    Constant,
    Expr,
    Floating,
    Integer,
    Invariant,
    OtherType,
    Pointer,
    Read,
    Struct,
    Type,
    Variable,
)


def held(context: Context, result: Expr, node: Any, fx: Effects) -> Expr:
    """Value with a call at its top evaluated first into a temporary, unless the call is pure."""
    if isinstance(result, Cast):
        inner = held(context, result.operand, node, fx)
        return result if inner is result.operand else Cast(inner, result.type, result.site)
    if not isinstance(result, Call) or result.pure:
        return result
    if isinstance(result.type, OtherType):
        if not fx.rejections:
            message = f"`{context.text(node)}` gives a value of a type that is not analysed"
            refuse(fx, "unsupported-type", context.site(node), message)
        return Invariant(context.text(node), INT, context.site(node))
    note_given(result, fx, kept=True)
    target = temporary(context, fx, result.type, node, result.function.lstrip("*"))
    assign_temporary(fx.statements, target, result)
    return Read(target)


def note_given(result: Expr, fx: Effects, kept: bool) -> None:
    """Note that a call may change the scalars whose addresses it is given; if it is not `kept` in a
    temporary, its mention of them is in order."""
    while isinstance(result, Cast):
        result = result.operand
    for argument in result.arguments if isinstance(result, Call) and not result.pure else ():
        if isinstance(argument, AddressOf) and not argument.place.steps and is_scalar(argument.place.type):
            variable = argument.place.variable
            note_change(fx, variable, 0 if kept else occurrences(result, variable), target_counts=False)


def call(context: Context, node: Any, fx: Effects) -> Expr:
    """A call as an expression; the side effects of its arguments come before."""
    name, known = _callee(context, node, fx)
    if name == "__polylsp_asm":
        refuse(fx, "unsupported-statement", context.site(node), "inline assembly is not analysed")
        return Invariant("asm", INT, context.site(node))
    if name == "__polylsp_block":
        message = "this statement expression `({ ... })` does more than name values, which is not analysed"
        refuse(fx, "unsupported-statement", context.site(node), message)
        return Invariant("({ ... })", INT, context.site(node))
    if name == "offsetof":
        from polylsp.frontends.c.lower.conversions import offset

        return offset(context, node, fx)
    arguments = _arguments(context, node, known, fx)
    site = context.site(node)
    if name == "__builtin_constant_p":
        return Constant(0, INT, site)
    pure = known.const if known is not None else False
    reads = known.pure if known is not None else False
    if _is_library(known):
        pure = pure or pure_result(name) is not None
        reads = reads or memory_result(name) is not None
    if not (pure or reads or is_forgetful(name)):
        for argument in arguments:
            give(context, argument)
    ends = known.ends if known is not None else False
    sets = library_variables(name) if pure and _is_library(known) else ()
    watched = tuple(v for v, names in _WATCHING.items() if not names.isdisjoint(context.sites.words))
    return Call(name, arguments, pure, _result(name, known), site, reads and not pure, ends, sets, watched)


_WATCHING = {"errno": frozenset(("errno", "perror", "__errno_location")), "signgam": frozenset(("signgam",))}


def fact(context: Context, node: Any, fx: Effects) -> list[Assume] | None:
    """The facts that a call states which stands for an assumption or an assertion; `None` for any other call.
    An assertion is evaluated; an assumption is not, and says nothing where it would have effects."""
    name = node.name.name if isinstance(node.name, c_ast.ID) else ""
    if name not in _FACTS or isinstance(context.lookup(name), Variable):
        return None
    from polylsp.frontends.c.lower.expressions import condition

    site = context.site(node)
    operands = node.args.exprs if node.args is not None else []
    if not operands:
        return [Assume(Constant(0, INT, site), site)]
    inner = fx.sequenced() if name == "__polylsp_assert" else Effects()
    stated = condition(context, operands[-1], inner)
    evaluated = inner.statements and name != "__polylsp_assert"
    return [] if inner.rejections or evaluated else [Assume(stated, site)]


_FACTS = frozenset(("__builtin_unreachable", "__builtin_assume", "__polylsp_assert"))


def _callee(context: Context, node: Any, fx: Effects) -> tuple[str, Prototype | None]:
    """The name that the call goes by, and the function of that name if it is declared."""
    if isinstance(node.name, c_ast.ID):
        known = context.lookup(node.name.name)
        if known is None:
            return canonical(node.name.name), None
        if isinstance(known, Prototype):
            return canonical(known.name), known
    from polylsp.frontends.c.lower.expressions import value

    value(context, node.name, fx)
    return "*" + context.text(node.name).strip("(*) "), None


def _arguments(context: Context, node: Any, known: Prototype | None, fx: Effects) -> tuple[Expr, ...]:
    from polylsp.frontends.c.lower.expressions import value

    inner = fx.sequenced()
    parameters = known.parameters if known is not None else None
    arguments: list[Expr] = []
    for position, argument in enumerate(node.args.exprs if node.args is not None else ()):
        given = value(context, argument, inner)
        wanted = parameters[position] if parameters is not None and position < len(parameters) else None
        arguments.append(_passed(given, wanted))
    if arguments:
        settle(context, inner, tuple(arguments))
    return tuple(arguments)


def _passed(argument: Expr, wanted: Type | None) -> Expr:
    if wanted is None or isinstance(wanted, OtherType | Struct):
        default = DOUBLE if argument.type == Floating(32) else promote(argument.type)
        return convert(argument, default) if isinstance(argument.type, Floating | Integer) else argument
    if isinstance(wanted, Pointer) and isinstance(argument.type, Pointer):
        return argument
    return convert(argument, wanted) if is_scalar(argument.type) else argument


def _is_library(known: Prototype | None) -> bool:
    """A function that is only declared, or not at all, is the library's of that name."""
    return known is None or not known.defined


def _result(name: str, known: Prototype | None) -> Type:
    if known is not None:
        return known.result
    result = pure_result(name) or memory_result(name)
    if result is None and is_allocator(name):
        result = library_result(name)
    return result if result is not None else INT
