"""Syntax tree of a Python function that is edited, beside its facts."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property

from polylsp.codegen.subject import Subject
from polylsp.frontends.python.environment import environment
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.names import Declarations, path_of
from polylsp.frontends.python.outline import MODULE, Item, Outline, outline
from polylsp.frontends.python.parameters import parameter_kinds
from polylsp.frontends.python.parse import Parsed, parse
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.rejection import Rejection
from polylsp.text import Span


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
        arguments = {n.arg for n in ast.walk(self.definition.args) if isinstance(n, ast.arg)}
        stored = (n for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
        return frozenset(arguments | {n.id for n in stored})

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The names that stand for lists."""
        given = parameter_kinds(self.definition, self.declarations)
        own = inferred(self.definition.body, given, self.declarations).own
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
