"""Loops that visit the iterations of a leaf in another order (isl's generator: Grosser, Verdoolaege, Cohen,
TOPLAS 2015), as Python that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import islpy as isl

from polylsp.codegen.numba.loop_text import Block, Piece
from polylsp.model.action import Declined

_OPERATION = isl.ast_expr_op_type
_SUM, _QUOTIENT, _PRODUCT, _WORD = 1, 2, 3, 4
"""How tightly texts hold together: a sum, a quotient (`-a // b` divides `-a`), a product, a word, a call."""

_DIVISIONS: dict[isl.ast_expr_op_type, str] = {
    # Python divides as isl does where it uses these: downwards, or without a rest.
    _OPERATION.div: "//",
    _OPERATION.fdiv_q: "//",
    _OPERATION.pdiv_q: "//",
    _OPERATION.pdiv_r: "%",
    _OPERATION.zdiv_r: "%",
}
_COMPARISONS: dict[isl.ast_expr_op_type, str] = {
    _OPERATION["and_"]: "and",
    _OPERATION.lt: "<",
    _OPERATION.le: "<=",
    _OPERATION.gt: ">",
    _OPERATION.ge: ">=",
    _OPERATION.eq: "==",
}


@dataclass(frozen=True, slots=True)
class Scan:
    """What to visit and how to write it: `loops` name the new loops' counters, outermost first; `values` name
    the counters of the schedule's domain, in its order: the body sets those that no loop counts."""

    schedule: isl.Map
    loops: tuple[str, ...]
    values: tuple[str, ...]
    body: tuple[Piece, ...]
    atoms: Mapping[str, str]


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(scan.loops))
    for name in scan.loops:
        ids = ids.add(isl.Id(name))
    build = isl.AstBuild.from_context(isl.Set("{ : }")).set_iterators(ids)
    schedule = scan.schedule.set_tuple_name(isl.dim_type.in_, "L")
    try:
        return _pieces(scan, build.node_from_schedule_map(schedule.to_union_map()))
    except _Unwritable:
        return Declined("The new order needs more than simple loops.")


class _Unwritable(Exception):
    """An order that has no simple loops."""


def _pieces(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return _leaf(scan, node)
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        return (Block(_header(scan, node), _pieces(scan, node.for_get_body())),)
    if kind == isl.ast_node_type["if_"] and not node.if_has_else_node():
        condition = _text(scan, node.if_get_cond())[0]
        return (Block(f"if {condition}:", _pieces(scan, node.if_get_then_node())),)
    raise _Unwritable


def _header(scan: Scan, node: isl.AstNode) -> str:
    name = node.for_get_iterator().get_id().get_name()
    first = _text(scan, node.for_get_init())[0]
    condition = node.for_get_cond()
    operation = _operator(condition)
    if operation not in (_OPERATION.lt, _OPERATION.le) or _text(scan, node.for_get_inc())[0] != "1":
        raise _Unwritable
    bound = _text(scan, condition.get_op_arg(1), int(operation == _OPERATION.le))[0]
    return f"for {name} in range({bound}):" if first == "0" else f"for {name} in range({first}, {bound}):"


def _leaf(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    call = node.user_get_expr()
    first: list[Piece] = []
    for k, name in enumerate(scan.values):
        text = _text(scan, call.get_op_arg(k + 1))[0]
        if text != name:
            first.append(f"{name} = {text}")
    return (*first, *scan.body)


Text = tuple[str, int]
"""The text of an expression, and how tightly it holds together."""


def _text(scan: Scan, expression: isl.AstExpr, more: int = 0) -> Text:
    """An expression, with a number added to it."""
    if _is(expression, _OPERATION.min) or _is(expression, _OPERATION.max):
        name = "min" if _is(expression, _OPERATION.min) else "max"
        return f"{name}({', '.join(_text(scan, each, more)[0] for each in _arguments(expression))})", _WORD
    terms, number = _sum(scan, expression)
    number += more
    if not terms:
        return str(number), _WORD if number >= 0 else _SUM
    if len(terms) == 1 and not number and terms[0][0] > 0:
        return terms[0][1]
    text = ""
    # What is added comes first, so that no sum begins with a sign where it can be helped.
    for sign, term in sorted(terms, key=lambda each: -each[0]):
        if text or sign > 0:
            shown = _tight(term, _QUOTIENT)
            text = f"{text} {'+' if sign > 0 else '-'} {shown}" if text else shown
        else:
            text = f"-{_tight(term, _PRODUCT)}"
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text, _SUM


def _sum(scan: Scan, expression: isl.AstExpr) -> tuple[list[tuple[int, Text]], int]:
    """The terms of a sum, each with its sign, and the number in it."""
    if expression.get_type() == isl.ast_expr_type.int:
        return [], expression.get_val().to_python()
    for operation, signs in (
        (_OPERATION.add, (1, 1)),
        (_OPERATION.sub, (1, -1)),
        (_OPERATION.minus, (-1,)),
    ):
        if _is(expression, operation):
            terms: list[tuple[int, Text]] = []
            number = 0
            for sign, argument in zip(signs, _arguments(expression), strict=True):
                inside, own = _sum(scan, argument)
                terms += [(sign * each, term) for each, term in inside]
                number += sign * own
            return terms, number
    return [(1, _term(scan, expression))], 0


def _term(scan: Scan, expression: isl.AstExpr) -> Text:
    """An expression that is no sum and no number."""
    if expression.get_type() == isl.ast_expr_type.id:
        name = expression.get_id().get_name()
        return scan.atoms.get(name, name), _WORD
    if _is(expression, _OPERATION.min) or _is(expression, _OPERATION.max):
        return _text(scan, expression)
    texts = [_text(scan, each) for each in _arguments(expression)]
    operation = _operator(expression)
    if operation in _DIVISIONS:
        return f"{_tight(texts[0], _QUOTIENT)} {_DIVISIONS[operation]} {_tight(texts[1], _WORD)}", _QUOTIENT
    if operation == _OPERATION.mul:
        return f"{_tight(texts[0], _PRODUCT)} * {_tight(texts[1], _PRODUCT)}", _PRODUCT
    if operation in _COMPARISONS:
        return f"{texts[0][0]} {_COMPARISONS[operation]} {texts[1][0]}", 0
    raise _Unwritable


def _is(expression: isl.AstExpr, operation: isl.ast_expr_op_type) -> bool:
    return expression.get_type() == isl.ast_expr_type.op and _operator(expression) == operation


def _operator(expression: isl.AstExpr) -> isl.ast_expr_op_type:
    # islpy's types say that this is an `int`.
    return cast("isl.ast_expr_op_type", expression.get_op_type())


def _arguments(expression: isl.AstExpr) -> list[isl.AstExpr]:
    return [expression.get_op_arg(k) for k in range(expression.get_op_n_arg())]


def _tight(argument: Text, least: int) -> str:
    text, strength = argument
    return text if strength >= least else f"({text})"
