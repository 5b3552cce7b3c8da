"""Loops that visit the iterations of a leaf in another order, as C that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import islpy as isl

from polylsp.emit.affine_bounds import ShadowedError, in_turn, syntax_tree
from polylsp.emit.c_expressions import condition_text, text_of
from polylsp.emit.c_syntax import Braces
from polylsp.emit.c_text import Kept, Made, Piece, Written
from polylsp.model.action import Declined


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter's name, and the words that declare it; none where it is declared before the loops. `header`
    is the original header of its loop; the comments about that loop go with it: `remark` after the header,
    `lead` before the loop, `after` after it."""

    name: str
    declared: str
    header: str = ""
    remark: str = ""
    lead: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Code for each point of one part of a schedule's domain: see `Scan`."""

    values: tuple[Counter | None, ...]
    body: Kept | Written


@dataclass(frozen=True, slots=True)
class Scan:
    """Specification of the loops: `loops` are the new loops' counters, outermost first; `values` are the
    counters of the schedule's domain, in its order: the body sets those that no loop counts, apart from
    unused ones (`None`). Where the domain has named parts, `others` has their code; loops whose numbers are
    `apart` only determine the order."""

    schedule: isl.Map | isl.UnionMap
    loops: tuple[Counter, ...]
    values: tuple[Counter | None, ...]
    body: Kept | Written
    atoms: Mapping[str, str]
    braces: tuple[Braces, ...]
    others: Mapping[str, Leaf] = field(default_factory=dict[str, "Leaf"])
    apart: tuple[int, ...] = ()


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    schedule, options = scan.schedule, None
    if scan.apart:
        inside = ", ".join(f"x{k}" for k in range(len(scan.loops)))
        chosen = " or ".join(f"d = {k}" for k in scan.apart)
        options = isl.UnionMap(f"{{ [{inside}] -> unroll[d] : {chosen} }}")
    if isinstance(schedule, isl.Map):
        schedule = schedule.set_tuple_name(isl.dim_type.in_, "L").to_union_map()
    tree = syntax_tree(schedule, [loop.name for loop in scan.loops], options=options)
    return _pieces(scan, tree, 0)


def _pieces(scan: Scan, node: isl.AstNode, depth: int) -> tuple[Piece, ...] | Declined:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        try:
            return (_leaf(scan, node),)
        except ShadowedError:
            return Declined("The new order needs counters of its own: write these loops with steps of 1.")
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        inner = _pieces(scan, node.for_get_body(), depth + 1)
        if isinstance(inner, Declined):
            return inner
        braces = scan.braces[min(depth, len(scan.braces) - 1)]
        loop = _loop(scan, node)
        return (Made(_header(scan, loop, node), inner, braces, loop.remark, loop.lead, loop.after),)
    if kind == isl.ast_node_type["if_"]:
        inner = _pieces(scan, node.if_get_then_node(), depth)
        rest = _pieces(scan, node.if_get_else_node(), depth) if node.if_has_else_node() else ()
        if isinstance(inner, Declined):
            return inner
        if isinstance(rest, Declined):
            return rest
        return (Made(f"if ({condition_text(node.if_get_cond(), scan.atoms)})", inner, otherwise=rest),)
    if kind == isl.ast_node_type.block:
        return _sequence(scan, node, depth)
    return Declined("The new order needs more than simple loops.")


def _sequence(scan: Scan, node: isl.AstNode, depth: int) -> tuple[Piece, ...] | Declined:
    children = node.block_get_children()
    found: list[Piece] = []
    for k in range(children.n_ast_node()):
        inner = _pieces(scan, children.get_ast_node(k), depth)
        if isinstance(inner, Declined):
            return inner
        found += inner
    return tuple(found)


def _loop(scan: Scan, node: isl.AstNode) -> Counter:
    name = node.for_get_iterator().get_id().get_name()
    return next(loop for loop in scan.loops if loop.name == name)


def _header(scan: Scan, loop: Counter, node: isl.AstNode) -> str:
    name = loop.name
    first = f"{name} = {text_of(node.for_get_init(), scan.atoms)}"
    step = text_of(node.for_get_inc(), scan.atoms)
    advance = f"++{name}" if f"++{name}" in loop.header else f"{name}++"
    made = "; ".join(
        (
            f"{loop.declared} {first}" if loop.declared else first,
            condition_text(node.for_get_cond(), scan.atoms),
            advance if step == "1" else f"{name} += {step}",
        )
    )
    return loop.header if _same(loop.header, made) else f"for ({made})"


def _same(header: str, made: str) -> bool:
    """True if two headers are equal, apart from spaces and the side of `++`."""
    inside = header.partition("(")[2].rpartition(")")[0]
    first, second = (_plain(text) for text in (inside, made))
    return first == second


def _plain(text: str) -> str:
    compact = "".join(text.split())
    head, _, step = compact.rpartition(";")
    name = step.strip("+")
    return f"{head};{name}++" if step in (f"++{name}", f"{name}++", f"{name}+=1") else compact


def _leaf(scan: Scan, node: isl.AstNode) -> Piece:
    call = node.user_get_expr()
    own = scan.others.get(call.get_op_arg(0).id_get_id().get_name(), Leaf(scan.values, scan.body))
    texts = [text_of(call.get_op_arg(k + 1), scan.atoms) for k in range(len(own.values))]
    found = {
        value: text
        for value, text in zip(own.values, texts, strict=True)
        if value is not None and text != value.name
    }
    in_turn((value.name, text) for value, text in found.items())
    first = [f"{_declaring(value)}{value.name} = {text};" for value, text in found.items()]
    if isinstance(own.body, Written):
        return Made("", (*map(Written, first), own.body)) if first else own.body
    kept = Kept(own.body.span, tuple(first), own.body.single and not first)
    # Beside others, its declarations need a separate block.
    return Made("", (kept,)) if first and scan.others else kept


def _declaring(value: Counter) -> str:
    return f"const {value.declared.removeprefix('const ')} " if value.declared else ""
