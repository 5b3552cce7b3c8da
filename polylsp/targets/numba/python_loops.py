"""Python loops as written: syntax tree, headers and lines, and loops put together again.

Statements retain their text but for indentation.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Union

from polylsp.core.text import Span, newline
from polylsp.emit.subject import Subject
from polylsp.frontends.python.callables import parameter_kinds
from polylsp.frontends.python.definitions import MODULE, Item, Outline, outline
from polylsp.frontends.python.inference import Kinds, inferred
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.modules import environment
from polylsp.frontends.python.names import Declarations, path_of
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.frontends.python.syntax import Parsed, blocks, constant, parse
from polylsp.ir.program import Rejection
from polylsp.model.action import Declined, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.schedule.statement_leaves import Leaf

# --------------------------------------------------------------------------------------------------
# Syntax tree of a Python function that is edited, beside its facts.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Source:
    """A function of a Python file: its tree, whose nodes know their tokens, and the file around it."""

    subject: Subject
    file: Outline
    item: Item
    parsed: Parsed
    definition: ast.FunctionDef

    @cached_property
    def declarations(self) -> Declarations:
        """Declarations of the file's names."""
        return environment(self.file).names

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """The nodes of the body."""
        return tuple(own_nodes(self.definition.body))

    @cached_property
    def local(self) -> frozenset[str]:
        """The names that the function binds itself."""
        arguments = {n.arg for n in nodes_in(self.definition.args) if isinstance(n, ast.arg)}
        stored = (n for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
        return frozenset(arguments | {n.id for n in stored})

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of the names of the function."""
        given = parameter_kinds(self.definition, self.declarations)
        return inferred(self.definition.body, given, self.declarations)

    @cached_property
    def blocks(self) -> tuple[list[ast.stmt], ...]:
        """The blocks of statements of the function, its body first."""
        inside = (block for node in self.nodes if isinstance(node, ast.stmt) for block in blocks(node))
        return (self.definition.body, *inside)

    @property
    def lists(self) -> tuple[str, ...]:
        """The names that stand for lists."""
        own = self.kinds.own
        return tuple(name for name, kind in own.items() if isinstance(kind, Array) and kind.lists)

    def path(self, node: ast.expr) -> str:
        """The full dotted name of a module's member in an expression; empty for names that the function binds
        itself."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        is_local = isinstance(root, ast.Name) and root.id in self.local
        return "" if is_local else path_of(node, self.declarations)

    def span(self, node: ast.AST) -> Span:
        """Span of a node in the file."""
        return self.subject.span(self.parsed.site(node))

    def line(self, node: ast.AST) -> int:
        """The line on which a node begins, from 1."""
        return self.subject.line_number(self.parsed.site(node))

    def loop(self, known: LoopFacts) -> ast.For | None:
        """The `for` that is a loop; `None` for other loops, and for all but the first of several that one
        `for` is."""
        loops = (n for n in self.nodes if isinstance(n, ast.For))
        found = next((n for n in loops if self.parsed.site(n).first == known.site.first), None)
        first = min(o.ordinal for o in self.subject.facts.loops if o.site.first == known.site.first)
        return found if first == known.ordinal else None

    def is_prange(self, known: LoopFacts) -> bool:
        """True if a loop runs over `prange`."""
        node = self.loop(known)
        call = node.iter if node is not None else None
        return isinstance(call, ast.Call) and self.path(call.func) in ("prange", "numba.prange")


def source_of(subject: Subject, *, for_numba: bool = True) -> Source | Declined:
    """The tree of the function that is edited. Numba takes none that stands in a class or a function."""
    name = subject.function.name
    if name == MODULE:
        what = "Numba compiles functions" if for_numba else "Only functions are edited"
        return Declined(f"{what}: put the loop into one first.")
    if "." in name and for_numba:
        told = f"`{name}` stands in a class or in another function"
        return Declined(f"{told}: put the loop into a function of its own for Numba.")
    file = outline(subject.text)
    item = next((each for each in file.functions if each.start == subject.start), None)
    parsed = parse(item.texts, item.lines) if item is not None else None
    if item is None or parsed is None or isinstance(parsed, Rejection):
        return Declined(f"`{name}` cannot be read as it stands.")
    body = parsed.tree.body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return Declined(f"`{name}` is no plain function{', which Numba needs' if for_numba else ''}.")
    return Source(subject, file, item, parsed, body[0])


# --------------------------------------------------------------------------------------------------
# Loops of Python as they are written, taken apart into lines, and lines put together to loops
# again.
# --------------------------------------------------------------------------------------------------


_UNIT = "    "


@dataclass(frozen=True, slots=True)
class Part:
    """Statements of a body that share lines; `span` holds those lines, and the comments and empty lines
    before them."""

    nodes: tuple[ast.stmt, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class LoopText:
    """A `for` over a range: `span` from the start of its line to the end of its last one, `header` from `for`
    to `:`, `remark` the comment after that, `parts` its body."""

    ordinal: int
    node: ast.For
    span: Span
    header: str
    remark: str
    parts: tuple[Part, ...]

    @property
    def body(self) -> Span:
        """The lines of the body."""
        return self.parts[0].span.cover(self.parts[-1].span)


@dataclass(frozen=True, slots=True)
class Block:
    """A loop that is written anew: its header with `:` and the text after it, and its body."""

    header: str
    body: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """Lines that keep their text, but for their indentation."""

    span: Span


Piece = Union[str, Block, Kept]
"""A line, lines that are there already, or a loop."""


def loop_text(source: Source, ordinal: int) -> LoopText | Declined:
    """Text of a loop, if it can be taken apart."""
    facts = source.subject.known(ordinal)
    name = f"`{facts.iterator or facts.kind}`"
    node = source.loop(facts)
    if facts.misfit or node is None or not isinstance(node.target, ast.Name) or node.orelse:
        return Declined(f"The loop {name} is not one `for` over a `range`, which can be written anew.")
    span = lines_of(source, [node])
    if span is None or any("\n" in text for text in _tokens(source, node)):
        return Declined(f"Put the loop {name} and what it runs on lines of their own first.")
    parts = _parts(source, node, span.end)
    if not parts:
        return Declined(f"Put what the loop {name} runs on lines of its own first.")
    colon = source.subject.start + source.subject.ends[source.parsed.site(node.body[0]).first - 1]
    header = source.subject.text[source.span(node).start : colon]
    remark = source.subject.text[colon : parts[0].span.start].partition("\n")[0].strip()
    return LoopText(ordinal, node, span, header, remark, parts)


def chain_around(source: Source, ordinal: int) -> tuple[LoopText, ...] | Declined:
    """The longest run of loops with loop `ordinal` in it, outermost first, each of which is all that stands
    in the one around it."""
    own = loop_text(source, ordinal)
    if isinstance(own, Declined):
        return own
    chain = [own]
    while parent := source.subject.known(chain[0].ordinal).parent:
        outer = loop_text(source, parent)
        if (
            isinstance(outer, Declined)
            or len(outer.node.body) != 1
            or outer.node.body[0] is not chain[0].node
        ):
            break
        chain.insert(0, outer)
    while (inner := _only_loop(source, chain[-1])) is not None:
        chain.append(inner)
    return tuple(chain)


def leaf_of(chain: Sequence[LoopText]) -> Leaf:
    """The body of the innermost loop, as one leaf."""
    return Leaf(chain[-1].body, tuple(loop.ordinal for loop in chain))


def replaced(source: Source, root: LoopText, pieces: Sequence[Piece]) -> Replacement:
    """Other lines in the place of a loop."""
    subject = source.subject
    indentation = subject.indentation(source.span(root.node).start)
    unit = subject.indentation(source.span(root.node.body[0]).start).removeprefix(indentation) or _UNIT
    lines = written(source, pieces, indentation, unit)
    return Replacement(root.span, newline(subject.text).join(lines))


def fresh(source: Source, *names: str, taken: Collection[str] = ()) -> str:
    """The first of some names that the function has no other use for, and that are not taken."""
    numbered = (f"{names[-1]}_{number}" for number in range(2, 1000))
    used = {*source.item.words, *taken}
    return next(name for name in (*names, *numbered) if name not in used)


# --- Reading -----------------------------------------------------------------------------


def _only_loop(source: Source, outer: LoopText) -> LoopText | None:
    inside = [one for one in source.subject.facts.loops if one.parent == outer.ordinal]
    if len(inside) != 1 or len(outer.node.body) != 1:
        return None
    text = loop_text(source, inside[0].ordinal)
    return text if isinstance(text, LoopText) and text.node is outer.node.body[0] else None


def _parts(source: Source, node: ast.For, end: int) -> tuple[Part, ...]:
    """The statements of the body in runs that share lines; none where one shares the header's."""
    groups: list[list[ast.stmt]] = []
    for statement in node.body:
        if groups and lines_of(source, groups[-1]) is None:
            groups[-1].append(statement)
        else:
            groups.append([statement])
    found: list[Part] = []
    first = _line_after(source, source.subject.start + source.subject.ends[_colon(source, node)])
    for group in groups:
        lines = lines_of(source, group)
        if lines is None or lines.start < first:
            return ()
        found.append(Part(tuple(group), Span(first, lines.end)))
        first = lines.end + 1
    return tuple(found) if found[-1].span.end == end else ()


def _colon(source: Source, node: ast.For) -> int:
    return source.parsed.site(node.body[0]).first - 1


def _line_after(source: Source, offset: int) -> int:
    end = source.subject.text.find("\n", offset)
    return len(source.subject.text) if end < 0 else end + 1


def lines_of(source: Source, nodes: Sequence[ast.stmt]) -> Span | None:
    """The lines on which statements stand, if nothing else does."""
    text = source.subject.text
    start, end = source.span(nodes[0]).start, source.span(nodes[-1]).end
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    rest = text[end:last].strip()
    if not source.subject.opens_its_line(start) or (rest and not rest.startswith("#")):
        return None
    return Span(text.rfind("\n", 0, start) + 1, last - (text[last - 1 : last] == "\r"))


def _tokens(source: Source, node: ast.stmt) -> Iterator[str]:
    site = source.parsed.site(node)
    return (source.subject.token(number) for number in range(site.first, site.last + 1))


# --- Writing -----------------------------------------------------------------------------


def written(source: Source, pieces: Sequence[Piece], indentation: str, unit: str = _UNIT) -> Iterator[str]:
    """The lines of loops, all further to the right by the same."""
    for piece in pieces:
        if isinstance(piece, str):
            yield indentation + piece
        elif isinstance(piece, Kept):
            yield from dedented(source.subject.text[piece.span.start : piece.span.end], indentation)
        else:
            yield f"{indentation}{piece.header}"
            yield from written(source, piece.body, indentation + unit, unit)


def with_edits(text: str, within: Span, edits: Iterable[tuple[Span, str]]) -> str:
    """A part of a text, in which parts that do not overlap are replaced."""
    made, at = "", within.start
    for span, new in sorted(edits, key=lambda one: one[0]):
        made += text[at : span.start] + new
        at = span.end
    return made + text[at : within.end]


def dedented(text: str, indentation: str) -> Iterator[str]:
    """Lines with another indentation; that of the first statement is taken for all of them."""
    lines = text.lstrip("\r\n").splitlines()
    first = next(line for line in lines if line.strip() and not line.lstrip().startswith("#"))
    own = first[: len(first) - len(first.lstrip())]
    for line in lines:
        inside = line[len(own) :] if line.startswith(own) else line.lstrip()
        yield f"{indentation}{inside}" if inside.strip() else ""


# --------------------------------------------------------------------------------------------------
# The arguments of a `range`, as they are written.
# --------------------------------------------------------------------------------------------------


def range_arguments(call: ast.expr) -> tuple[ast.expr, ast.expr, int] | None:
    """The first value, the bound that is not reached, and the step (1 or -1) of a range."""
    if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 3:
        return None
    if len(call.args) == 1:
        return ast.Constant(0), call.args[0], 1
    step = constant(call.args[2]) if len(call.args) == 3 else 1
    return (call.args[0], call.args[1], step) if step in (1, -1) else None


def successor(node: ast.expr) -> str:
    """The text of an expression and one more."""
    return moved(node, 1)


def moved(node: ast.expr, by: int) -> str:
    """The text of an expression with a number added."""
    number = constant(node)
    if number is not None:
        return str(number + by)
    match node:
        case ast.BinOp(left=left, op=ast.Sub() | ast.Add() as operation, right=right):
            more = constant(right)
            if more is not None:
                return _sum(ast.unparse(left), (more if isinstance(operation, ast.Add) else -more) + by)
        case ast.Name() | ast.Attribute() | ast.Subscript() | ast.Call() | ast.BinOp():
            pass
        case _:
            return _sum(f"({ast.unparse(node)})", by)
    return _sum(ast.unparse(node), by)


def _sum(text: str, number: int) -> str:
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}" if number else text
