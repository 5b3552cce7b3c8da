"""isl's syntax trees as lines of C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import islpy as isl

from polylsp.codegen.cuda.statements import braced
from polylsp.codegen.syntax_tree import is_mentioned, syntax_tree
from polylsp.codegen.transform.expression import comparison_text, condition_text, operands, text_of

_NODE = isl.ast_node_type
_OP = isl.ast_expr_op_type
Call = Callable[[str, list[str]], Iterator[str]]
"""The lines for one instance: of what, and at which values."""


def scanned(
    order: isl.UnionMap, context: isl.Set, names: list[str], atoms: Mapping[str, str], call: Call
) -> list[str]:
    """Loops that visit the domain of a schedule in its order; `names` are their counters."""
    return list(_lines(syntax_tree(order, names, context), atoms, call))


def expression(value: isl.PwAff, context: isl.Set, atoms: Mapping[str, str]) -> str:
    """A value in C."""
    return text_of(isl.AstBuild.from_context(context).expr_from_pw_aff(value), atoms)


def condition(values: isl.Set, context: isl.Set, atoms: Mapping[str, str]) -> str:
    """A condition in C: parameters are in a set. It has no effect, so that its parts may change places."""
    return _condition(isl.AstBuild.from_context(context).expr_from_set(values), atoms)


def _condition(node: isl.AstExpr, atoms: Mapping[str, str]) -> str:
    parts = operands(node, (_OP["and_"], _OP.and_then))
    if len(parts) > 1:
        return " && ".join(sorted(_condition(each, atoms) for each in parts))
    if len(operands(node, (_OP["or_"], _OP.or_else))) > 1:
        return condition_text(node, atoms)
    return comparison_text(node, atoms)


def _lines(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    kind = node.get_type()
    if kind == _NODE.user:
        yield from _called(node, atoms, call)
    elif kind == _NODE.block:
        children = node.block_get_children()
        for number in range(children.n_ast_node()):
            yield from _lines(children.get_at(number), atoms, call)
    elif kind == _NODE["for_"]:
        yield from _for(node, atoms, call)
    elif kind == _NODE["if_"]:
        condition = _condition(node.if_get_cond(), atoms)
        yield from braced(f"if ({condition})", _lines(node.if_get_then_node(), atoms, call))
        if node.if_has_else_node():
            yield from braced("else", _lines(node.if_get_else_node(), atoms, call))
    else:
        yield from _lines(node.mark_get_node(), atoms, call)


def _called(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    expr = node.user_get_expr()
    name = expr.get_op_arg(0).id_get_id().get_name()
    yield from call(name, [text_of(expr.get_op_arg(k), atoms) for k in range(1, expr.get_op_n_arg())])


def _for(node: isl.AstNode, atoms: Mapping[str, str], call: Call) -> Iterator[str]:
    name = node.for_get_iterator().id_get_id().get_name()
    name = atoms.get(name, name)
    first = text_of(node.for_get_init(), atoms)
    body = list(_lines(node.for_get_body(), atoms, call))
    if node.for_is_degenerate():
        if is_mentioned(node):
            yield from braced("", iter((f"const int {name} = {first};", *body)))
        else:
            yield from body
        return
    step = text_of(node.for_get_inc(), atoms)
    condition = condition_text(node.for_get_cond(), atoms)
    advance = f"{name}++" if step == "1" else f"{name} += {step}"
    yield from braced(f"for (int {name} = {first}; {condition}; {advance})", iter(body))
