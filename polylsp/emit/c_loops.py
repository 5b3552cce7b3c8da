"""Loops that visit the iterations of leaves in another order, made of isl's syntax trees, as C that a person
would write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polylsp.emit.affine_bounds import ShadowedError, in_turn, operator_of, syntax_tree
from polylsp.emit.c_expressions import (
    Atoms,
    Linear,
    Named,
    Opposite,
    added,
    condition_text,
    extreme_of,
    extremum,
    opposite_text,
    sum_text,
    text_of,
)
from polylsp.emit.c_syntax import Braces
from polylsp.emit.c_text import Kept, Made, Piece, Written
from polylsp.model.action import Declined

_OP = isl.ast_expr_op_type
_UP_TO = {_OP.le: ">=", _OP.lt: ">"}
"""Comparisons of a counter that counts up with its bound, for one that counts down."""


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
    unused ones (`None`). A loop whose counter is an `Opposite` in `atoms` counts down. Where the domain has
    named parts, `others` has their code; loops whose numbers are `apart` only determine the order. `names`
    are variables inside of one of the loops."""

    schedule: isl.Map | isl.UnionMap
    loops: tuple[Counter, ...]
    values: tuple[Counter | None, ...]
    body: Kept | Written
    atoms: Atoms
    braces: tuple[Braces, ...]
    others: Mapping[str, Leaf] = field(default_factory=dict[str, "Leaf"])
    apart: tuple[int, ...] = ()
    names: Names | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Variables with the type `words` that the loop of a counter declares first: one for a sum of counters,
    of which the last is `replaced`, and one for each bound that several loops inside share. `fresh` gives
    names like a wanted one."""

    counter: str
    words: str
    start: str
    value: Linear
    replaced: str
    fresh: Callable[[str], str]


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
        own, declared = _inside(scan, node) if scan.names is not None else (scan, ())
        inner = _pieces(own, node.for_get_body(), depth + 1)
        if isinstance(inner, Declined):
            return inner
        braces = scan.braces[min(depth, len(scan.braces) - 1)]
        loop = _loop(scan, node)
        if loop in (scan.loops[k] for k in scan.apart):
            return Declined("The new order needs more than simple loops.")
        inner = (*declared, *inner)
        return (Made(_header(scan, loop, node), inner, braces, loop.remark, loop.lead, loop.after),)
    if kind == isl.ast_node_type["if_"]:
        inner = _pieces(scan, node.if_get_then_node(), depth)
        rest = _pieces(scan, node.if_get_else_node(), depth) if node.if_has_else_node() else ()
        if isinstance(inner, Declined):
            return inner
        if isinstance(rest, Declined):
            return rest
        if len(inner) == 1 and isinstance(inner[0], Made) and not inner[0].header:
            inner = inner[0].body
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
    if isinstance(scan.atoms.get(name), Opposite):
        return _downward(scan, loop, node)
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


def _downward(scan: Scan, loop: Counter, node: isl.AstNode) -> str:
    """The header of a loop that counts down by one, while isl counts minus its counter up."""
    condition, first = node.for_get_cond(), opposite_text(node.for_get_init(), scan.atoms)
    assert operator_of(condition) in _UP_TO and text_of(node.for_get_inc(), scan.atoms) == "1", condition
    last = f"{_UP_TO[operator_of(condition)]} {opposite_text(condition.get_op_arg(1), scan.atoms)}"
    made = f"{loop.declared} {loop.name} = {first}; {loop.name} {last}; {loop.name}--".lstrip()
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


# --- Variables for what loops share ------------------------------------------------------


def _inside(scan: Scan, node: isl.AstNode) -> tuple[Scan, tuple[Piece, ...]]:
    """The specification of what is inside of a loop, and the variables that its body declares first."""
    names = scan.names
    if names is None or _loop(scan, node).name != names.counter:
        return scan, ()
    rest = {term: factor for term, factor in names.value.items() if term != names.replaced}
    sign = names.value[names.replaced]
    meaning = {term: sign * factor for term, factor in added({names.start: 1}, rest, -1).items()}
    atoms = {**scan.atoms, names.replaced: meaning}
    texts = [f"{names.start} = {sum_text(names.value)}"]
    inner = [loop.name for loop in scan.loops[[loop.name for loop in scan.loops].index(names.counter) + 1 :]]
    found = [
        each
        for each in _extremes(replace(scan, atoms=atoms), node.for_get_body())
        if not {*inner}.intersection(re.findall(r"\w+", " ".join(sum_text(one) for one in each.sums)))
    ]
    for each in sorted(found, key=lambda one: len(one.sums)):
        uses = [one for one in found if each.is_part_of(one)]
        if len(uses) > 1 and not any(
            isinstance(one, Named) and one.is_part_of(each) for one in atoms.values()
        ):
            # The counter that runs innermost gives its name, and the number by which its bound differs.
            last = [one for one in uses if len(one.sums) == len(each.sums)][-1]
            name = names.fresh(f"{last.name}_{'end' if last.order == '<' else 'start'}")
            atoms[name] = replace(last, name=name)
            texts.append(f"{name} = {extremum(list(last.sums), last.order)}")
    words = names.words.removeprefix("const ")
    return replace(scan, atoms=atoms, names=None), (Written(f"const {words} {', '.join(texts)};"),)


def _extremes(scan: Scan, node: isl.AstNode) -> Iterator[Named]:
    """The minima and maxima in the headers of loops, each with the name of the counter that it bounds; last
    values count as the first ones after them."""
    for each in _loops(node):
        loop = _loop(scan, each)
        down = isinstance(scan.atoms.get(loop.name), Opposite)
        for end, past in ((each.for_get_init(), 0), (each.for_get_cond().get_op_arg(1), 1)):
            found = extreme_of(end, scan.atoms, loop.name, down, int(past != down))
            yield from () if found is None else (found,)


def _loops(node: isl.AstNode) -> Iterator[isl.AstNode]:
    """The loops in a piece of a syntax tree."""
    kind = node.get_type()
    if kind == isl.ast_node_type["for_"]:
        yield node
        yield from _loops(node.for_get_body())
    elif kind == isl.ast_node_type["if_"]:
        yield from _loops(node.if_get_then_node())
        yield from _loops(node.if_get_else_node()) if node.if_has_else_node() else ()
    elif kind == isl.ast_node_type.block:
        children = node.block_get_children()
        for k in range(children.n_ast_node()):
            yield from _loops(children.get_ast_node(k))


# --- Headers and statements --------------------------------------------------------------


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
