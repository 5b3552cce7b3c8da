"""Loops that visit the iterations of a leaf in another order (isl's generator: Grosser, Verdoolaege, Cohen,
TOPLAS 2015), as C that a person would write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.transform.expression import condition_text, text_of
from polylsp.codegen.transform.layout import Kept, Made, Piece, Written
from polylsp.codegen.transform.syntax import Braces
from polylsp.model.action import Declined


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter's name, and the words that declare it; none where it is declared before the loops.
    `header` is how its loop was written; the comments about that loop go with it: `remark` behind the
    header, `lead` before the loop, `after` behind it."""

    name: str
    declared: str
    header: str = ""
    remark: str = ""
    lead: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Scan:
    """What to visit and how to write it: `loops` are the new loops' counters, outermost first; `values` are
    the counters of the schedule's domain, in its order: the body sets those that no loop counts, apart
    from those it has no use for (`None`)."""

    schedule: isl.Map
    loops: tuple[Counter, ...]
    values: tuple[Counter | None, ...]
    body: Kept | Written
    atoms: Mapping[str, str]
    braces: tuple[Braces, ...]


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(scan.loops))
    for loop in scan.loops:
        ids = ids.add(isl.Id(loop.name))
    build = isl.AstBuild.from_context(isl.Set("{ : }")).set_iterators(ids)
    schedule = scan.schedule.set_tuple_name(isl.dim_type.in_, "L")
    node = build.node_from_schedule_map(schedule.to_union_map())
    return _pieces(scan, node, 0)


def _pieces(scan: Scan, node: isl.AstNode, depth: int) -> tuple[Piece, ...] | Declined:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return (_leaf(scan, node),)
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        inner = _pieces(scan, node.for_get_body(), depth + 1)
        if isinstance(inner, Declined):
            return inner
        braces = scan.braces[min(depth, len(scan.braces) - 1)]
        loop = _loop(scan, node)
        return (Made(_header(scan, loop, node), inner, braces, loop.remark, loop.lead, loop.after),)
    if kind == isl.ast_node_type["if_"] and not node.if_has_else_node():
        inner = _pieces(scan, node.if_get_then_node(), depth)
        if isinstance(inner, Declined):
            return inner
        return (Made(f"if ({condition_text(node.if_get_cond(), scan.atoms)})", inner),)
    return Declined("The new order needs more than simple loops.")


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
    """Whether a header says the same, apart from spaces and the side of `++`."""
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
    first: list[str] = []
    for k, value in enumerate(scan.values):
        text = text_of(call.get_op_arg(k + 1), scan.atoms)
        if value is not None and text != value.name:
            words = f"const {value.declared.removeprefix('const ')} " if value.declared else ""
            first.append(f"{words}{value.name} = {text};")
    if isinstance(scan.body, Written):
        return Made("", (*map(Written, first), scan.body)) if first else scan.body
    return Kept(scan.body.span, tuple(first), scan.body.single and not first)
