"""Loops that visit the iterations of a leaf in another order, as Python that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.numba.loop_text import Block, Piece
from polylsp.codegen.python_expression import NotSimpleError, operator_of, text_of
from polylsp.codegen.shadowing import ShadowedError, in_turn
from polylsp.codegen.syntax_tree import syntax_tree
from polylsp.model.action import Declined

_OPERATION = isl.ast_expr_op_type


@dataclass(frozen=True, slots=True)
class Scan:
    """Specification of the loops: `loops` name the new loops' counters, outermost first; `values` name the
    counters of the schedule's domain, in its order: the body sets those that no loop counts."""

    schedule: isl.Map
    loops: tuple[str, ...]
    values: tuple[str, ...]
    body: tuple[Piece, ...]
    atoms: Mapping[str, str]


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    schedule = scan.schedule.set_tuple_name(isl.dim_type.in_, "L")
    try:
        return _pieces(scan, syntax_tree(schedule.to_union_map(), scan.loops))
    except NotSimpleError:
        return Declined("The new order needs more than simple loops.")


def _pieces(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return _leaf(scan, node)
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        return (Block(_header(scan, node), _pieces(scan, node.for_get_body())),)
    if kind == isl.ast_node_type["if_"] and not node.if_has_else_node():
        condition = text_of(node.if_get_cond(), scan.atoms)
        return (Block(f"if {condition}:", _pieces(scan, node.if_get_then_node())),)
    raise NotSimpleError


def _header(scan: Scan, node: isl.AstNode) -> str:
    name = node.for_get_iterator().get_id().get_name()
    first = text_of(node.for_get_init(), scan.atoms)
    condition = node.for_get_cond()
    operation = operator_of(condition)
    if operation not in (_OPERATION.lt, _OPERATION.le) or text_of(node.for_get_inc(), scan.atoms) != "1":
        raise NotSimpleError
    bound = text_of(condition.get_op_arg(1), scan.atoms, int(operation == _OPERATION.le))
    return f"for {name} in range({bound}):" if first == "0" else f"for {name} in range({first}, {bound}):"


def _leaf(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    call = node.user_get_expr()
    texts = [text_of(call.get_op_arg(k + 1), scan.atoms) for k in range(len(scan.values))]
    pairs = zip(scan.values, texts, strict=True)
    try:
        found = in_turn((name, text) for name, text in pairs if text != name)
    except ShadowedError:
        raise NotSimpleError from None
    return (*(f"{name} = {text}" for name, text in found), *scan.body)
