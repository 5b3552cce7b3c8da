"""Array statements that Numba runs in parallel, arrays local to an iteration, and loops over arrays.

Arrays that each iteration fills anew are created in the loop: Numba then privatises them. Loops over the
elements of arrays become loops over ranges.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.core.text import Span, newline
from polylsp.frontends.python.kinds import Number
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all
from polylsp.frontends.python.syntax import constant
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Array, Integer, Pointer
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.targets.numba.numba_subset import ELEMENTWISE, indices, rank_of
from polylsp.targets.numba.python_loops import LoopText, Source, fresh, loop_text


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Array statements of a function that run in parallel: the reason why one is `refused`, empty if none is,
    and pairs of parameters that must be arrays `apart` from each other."""

    refused: str
    apart: tuple[tuple[str, str], ...] = ()


def overlapping_statements(source: Source) -> Overlaps:
    """Overlaps of the arrays that array statements store to with those that they read: Numba stores some
    elements before others are computed."""
    known = source.subject.variables
    numbers = {v.source_name for v in known if not isinstance(v.type, (Array, Pointer))}
    arrays = {v.source_name for v in known} - numbers
    bound = {name.id for name in _bindings(source)}
    given = _parameters(source)
    pairs: dict[tuple[str, str], None] = {}
    for statement, target, value in _stores(source):
        stored = _roots(source, root_of(target))
        for read in _read(source, value, target):
            # A bound name without a variable is that of a part of an array.
            if read not in arrays and read not in bound - numbers:
                continue
            beside = _roots(source, read)
            if not stored or not beside or stored & beside:
                line = source.line(statement)
                told = f"The array statement on line {line} may read what it stores to, in `{read}`"
                return Overlaps(
                    f"{told}, which Numba gets wrong in parallel: write a loop in its place first."
                )
            pairs |= {(min(a, b), max(a, b)): None for a in stored & given for b in beside & given}
    return Overlaps("", tuple(pairs))


def root_of(target: ast.expr) -> str:
    """The name that a value is a part or an attribute of; empty for other values."""
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _bindings(source: Source) -> Iterator[ast.Name]:
    """The names that are bound, other than by `a += …`, which changes the elements of an array."""
    changed = {id(n.target) for n in source.nodes if isinstance(n, ast.AugAssign)}
    names = (n for n in source.nodes if isinstance(n, ast.Name) and not _is_load(n))
    return (one for one in names if id(one) not in changed)


def _parameters(source: Source) -> set[str]:
    return {one.arg for one in nodes_in(source.definition.args) if isinstance(one, ast.arg)}


def _roots(source: Source, name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The arrays whose elements a name stands for: those of parameters, by name, and those that the function
    creates for a name (`new x`); empty where they are undetermined."""
    values = {id(n.targets[0]): n.value for n in source.nodes if isinstance(n, ast.Assign)}
    found = {name} & _parameters(source)
    for each in (one for one in _bindings(source) if one.id == name):
        value = values.get(id(each))
        if value is not None and _creates(source, value):
            found.add(f"new {name}")
            continue
        base = root_of(value) if isinstance(value, (ast.Subscript, ast.Name)) else ""
        below = _roots(source, base, seen | {name}) if base and base not in seen | {name} else frozenset()
        if not below:
            return frozenset()
        found |= below
    return frozenset(found)


def is_new(source: Source, name: str) -> bool:
    """True if a name is only bound to arrays that the function creates."""
    return _roots(source, name) == frozenset((f"new {name}",))


def overlapping(source: Source, one: str, other: str) -> tuple[tuple[str, str], ...] | None:
    """Pairs of parameters that must not overlap for two names to stand for different elements; `None` where
    they may stand for the same in any case."""
    left, right = _roots(source, one), _roots(source, other)
    if not left or not right or left & right:
        return None
    given = _parameters(source)
    return tuple((min(a, b), max(a, b)) for a in left & given for b in right & given)


_CREATORS = frozenset(
    (
        *(f"{name}{like}" for name in ("empty", "zeros", "ones", "full") for like in ("", "_like")),
        *("copy", "eye", "identity", "arange", "linspace"),
    )
)


def _creates(source: Source, value: ast.expr) -> bool:
    """True if a value is an array that nothing else refers to; arithmetic creates one."""
    match value:
        case ast.BinOp() | ast.Call(func=ast.Attribute(value=ast.Name(), attr="copy"), args=[], keywords=[]):
            return True
        case _:
            pass
    root, _, name = source.path(value.func).rpartition(".") if isinstance(value, ast.Call) else ("", "", "")
    return root == "numpy" and name in _CREATORS


def _stores(source: Source) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """The statements that store to several elements of arrays, with their targets and values."""
    loops = loops_in(source.subject.function.body)
    implied = {loop.site.first for loop in loops if loop.implied}
    for node in source.nodes:
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        site = source.parsed.site(node)
        if any(site.first <= first <= site.last for first in implied):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                is_one = isinstance(source.kinds.of(target), Number)
                if not is_one and (isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign)):
                    yield node, target, node.value


_COMPUTED_FIRST = ("sum", "prod", "mean", "cumsum")
"""Functions whose result Numba computes before it stores any of the elements that are computed from it."""


def _read(source: Source, value: ast.expr, target: ast.expr, is_elementwise: bool = True) -> Iterator[str]:
    """The arrays of which a value reads others than the elements that are stored at the same time."""
    if is_elementwise and _is_in_step(source, value, target):
        return
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Call(func=function) if source.path(function).removeprefix("numpy.") in _COMPUTED_FIRST:
            pass
        case _:
            plain = (
                isinstance(value, ast.UnaryOp)
                or (isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult))
                or (
                    isinstance(value, ast.Call)
                    and source.path(value.func).removeprefix("numpy.") in ELEMENTWISE
                )
            )
            for each in children(value):
                if isinstance(each, ast.expr):
                    yield from _read(source, each, target, is_elementwise and plain)


def _is_in_step(source: Source, read: ast.expr, target: ast.expr) -> bool:
    """True if an operand reads the element that is stored, or one that no element of the statement is: its
    slices are those of the target, in the same dimensions (`a[:, j - 1]` beside `a[:, j]`)."""
    if ast.unparse(read) == ast.unparse(target):
        return True
    if not isinstance(read, ast.Subscript) or not isinstance(target, ast.Subscript):
        return False
    own, other = indices(read.slice), indices(target.slice)
    if ast.unparse(read.value) != ast.unparse(target.value) or len(own) != len(other):
        return False
    return all(
        ast.unparse(a) == ast.unparse(b)
        if isinstance(a, ast.Slice) or isinstance(b, ast.Slice)
        else isinstance(source.kinds.of(a), Number) and isinstance(source.kinds.of(b), Number)
        for a, b in zip(own, other, strict=True)
    )


# --------------------------------------------------------------------------------------------------
# Arrays that each iteration fills anew, created in the loop: Numba then privatises them.
# --------------------------------------------------------------------------------------------------


_MAKERS = frozenset(f"numpy.{name}{like}" for name in ("empty", "zeros", "ones") for like in ("", "_like"))


def created_inside(source: Source, ordinal: int) -> Answer:
    """The definitions of the arrays that a loop uses for nothing but one iteration, moved into it."""
    text, terms = loop_text(source, ordinal), source.subject.known(ordinal).terms
    if isinstance(text, Declined):
        return text
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    shared = [one for one in terms.private if one in arrays]
    if not shared:
        return Declined("The loop has no array of which each iteration could have its own.")
    edits: list[Replacement] = []
    for name in shared:
        made = _moved(source, text, name)
        if isinstance(made, Declined):
            return made
        edits += made
    return Edited(tuple(sorted(edits, key=lambda each: each.span)), terms.assumptions)


def _moved(source: Source, text: LoopText, name: str) -> list[Replacement] | Declined:
    why = f"All iterations of `{text.header}` use the one array `{name}`: create it inside the loop."
    definition = _definition(source, name)
    span = _own_lines(source, definition) if definition is not None else None
    if definition is None or span is None or not _is_same_later(source, definition):
        return Declined(why)
    subject = source.subject
    start = source.span(text.node.body[0]).start
    at = subject.text.rfind("\n", 0, start) + 1
    stated = subject.text[source.span(definition).start : span.end].rstrip()
    copy = Replacement(Span(at, at), f"{subject.indentation(start)}{stated}{newline(subject.text)}")
    inside = {id(n) for n in nodes_in(text.node)}
    outside = (n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and id(n) not in inside)
    is_used = any(isinstance(n.ctx, ast.Load) for n in outside)
    return [copy] if is_used else [Replacement(span, ""), copy]


def _definition(source: Source, name: str) -> ast.Assign | None:
    """The one statement that makes an array, whose contents do not matter."""
    stores = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and not _is_load(n)]
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call(func=function)) if stores == [
                target
            ]:
                return node if source.path(function) in _MAKERS else None
            case _:
                continue
    return None


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_same_later(source: Source, definition: ast.Assign) -> bool:
    """True if the definition would create the same array in the loop: the names in it are bound once."""
    used = {n.id for n in nodes_in(definition.value) if isinstance(n, ast.Name)}
    bound = [n.id for n in source.nodes if isinstance(n, ast.Name) and not _is_load(n)]
    arguments = {n.arg for n in nodes_in(source.definition.args) if isinstance(n, ast.arg)}
    return all(bound.count(name) + (name in arguments) <= 1 for name in used)


def _own_lines(source: Source, node: ast.stmt) -> Span | None:
    """The lines of a statement with their end, if nothing else stands on them."""
    text, span = source.subject.text, source.span(node)
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    rest = text[span.end : end].strip()
    if end < 0 or text[start : span.start].strip() or (rest and not rest.startswith("#")):
        return None
    return Span(start, end + 1)


# --------------------------------------------------------------------------------------------------
# Loops over the elements or rows of arrays, as loops over ranges: `prange` takes no others.
# --------------------------------------------------------------------------------------------------


def over_a_range(source: Source, ordinal: int) -> Answer:
    """A loop over arrays as one over a range, in which the elements or rows get their names first."""
    node = source.loop(source.subject.known(ordinal))
    why = "The loop does not run over arrays that are there before it."
    if node is None or node.orelse:
        return Declined(why)
    counter = fresh(source, "i", "k")
    found = _counted(source, node.target, node.iter, counter)
    if found is None or not _stays(source, node):
        return Declined(why)
    name, count, bound = found
    start = source.span(node.body[0]).start
    if not source.subject.opens_its_line(start):
        return Declined("Put what the loop runs on lines of its own first.")
    header = Span(source.span(node).start, source.span(node.iter).end)
    at = source.subject.text.rfind("\n", 0, start) + 1
    indentation, end = source.subject.indentation(start), newline(source.subject.text)
    lines = "".join(f"{indentation}{one} = {value}{end}" for one, value in bound)
    edits = [Replacement(header, f"for {name} in range({count})")]
    return Edited((*edits, Replacement(Span(at, at), lines)) if lines else tuple(edits))


_Counted = tuple[str, str, tuple[tuple[str, str], ...]]
"""The counter of a range, its arguments, and the names that get elements, each with its value."""


def _counted(source: Source, target: ast.expr, over: ast.expr, counter: str) -> _Counted | None:
    """The range that stands for what a loop runs over; `None` where there is none."""
    path = source.path(over.func) if isinstance(over, ast.Call) else ""
    match target, over:
        case ast.Name(id=name), ast.Call(args=arguments, keywords=[]) if path == "numpy.arange":
            kinds = [source.kinds.of(one) for one in arguments]
            is_whole = all(isinstance(k, Number) and isinstance(k.type, Integer) for k in kinds)
            return (name, ", ".join(map(ast.unparse, arguments)), ()) if is_whole and arguments else None
        case ast.Tuple(elts=[ast.Name(id=name), inner]), ast.Call(args=[given, *rest], keywords=[]) if (
            path == "enumerate" and len(rest) < 2
        ):
            start = constant(rest[0]) if rest else 0
            if start is None or start < 0:
                return None
            found = _elements(source, inner, given, f"{name} - {int(start)}" if start else name)
            if found is None:
                return None
            length, bound = found
            return name, f"{int(start)}, {length} + {int(start)}" if start else length, bound
        case _:
            found = _elements(source, target, over, counter)
            return None if found is None else (counter, *found)


def _elements(
    source: Source, target: ast.expr, over: ast.expr, index: str
) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """The length of the arrays that a loop runs over, and the names that get their elements at an index, each
    with its value; `None` where it runs over something else."""
    match target, over:
        case ast.Tuple(elts=parts), ast.Call(func=function, args=[_, *_] as arrays, keywords=[]) if (
            source.path(function) == "zip" and len(parts) == len(arrays)
        ):
            pairs = zip(parts, arrays, strict=True)
            each = [
                found for part, one in pairs if (found := _elements(source, part, one, index)) is not None
            ]
            lengths = list(dict.fromkeys(length for length, _ in each))
            bound = tuple(pair for _, own in each for pair in own)
            length = lengths[0] if len(lengths) == 1 else f"min({', '.join(lengths)})"
            return (length, bound) if len(each) == len(arrays) else None
        case ast.Name(id=name), ast.Name() | ast.Attribute() | ast.Subscript() if rank_of(source, over) > 0:
            text = ast.unparse(over)
            return f"len({text})", ((name, f"{text}[{index}]"),)
        case _:
            return None


def _stays(source: Source, node: ast.For) -> bool:
    """True if a loop binds none of the names of what it runs over."""
    stored = {
        n.id for n in nodes_in_all([node.target, *node.body]) if isinstance(n, ast.Name) and not _is_load(n)
    }
    return stored.isdisjoint(n.id for n in nodes_in(node.iter) if isinstance(n, ast.Name))
