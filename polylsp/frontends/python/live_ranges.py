"""Live-range splitting of rebound names: each separable binding gets a separate name (`x`, `x#2`).

The order of the statements alone determines the bindings that a use may see (reaching definitions;
groups of bindings are the webs of register allocation).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from polylsp.frontends.python.nodes import children, nodes_in, own_nodes

Reaching = dict[str, frozenset[int]]
"""For each name, the bindings that it may have come from; names that nothing has bound are missing."""

_MARK = re.compile(r"(?<=\w)#\d+")


def spelled(text: str) -> str:
    """Names as the source has them."""
    return _MARK.sub("", text)


def split(body: Sequence[ast.stmt], given: Iterable[str], names: Iterable[str]) -> bool:
    """Give bindings of the chosen names separate names, where that preserves semantics; true if any were
    renamed. Parameters (`given`) keep their names."""
    chosen = frozenset(names) - _entangled(body)
    flow = _Flow(chosen)
    flow.reaching = {name: frozenset((flow.new(name),)) for name in given if name in chosen}
    flow.settle(body)
    return flow.rename()


def _entangled(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that are bound, or used, in ways whose order the statements do not tell."""
    found: set[str] = set()
    scopes = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in own_nodes(body):
        match node:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case ast.comprehension(target=target) | ast.AnnAssign(target=target, value=None):
                found.update(_names(target))
            case ast.Delete() | ast.Match():
                found.update(_names(node))
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                found.update(alias.asname or alias.name for alias in aliases)
            case ast.ExceptHandler(name=str(name)):
                found.add(name)
            case _ if isinstance(node, scopes):
                found.update(_names(node))
            case _:
                pass
    return frozenset(found)


def _names(node: ast.AST) -> Iterator[str]:
    return (inner.id for inner in nodes_in(node) if isinstance(inner, ast.Name))


@dataclass(slots=True)
class _Flow:
    """The walk: `reaching` are the bindings that reach a point, `None` for unreachable code. `group` joins
    bindings that a use may both see; `named` are the nodes of each binding, and of the uses that see it."""

    chosen: frozenset[str]
    reaching: Reaching | None = field(default_factory=dict[str, "frozenset[int]"])
    bound: dict[int, int] = field(default_factory=dict[int, int])
    group: list[int] = field(default_factory=list[int])
    names: list[str] = field(default_factory=list[str])
    named: list[tuple[ast.Name, int]] = field(default_factory=list[tuple[ast.Name, int]])
    breaks: list[list[Reaching]] = field(default_factory=list[list[Reaching]])
    continues: list[list[Reaching]] = field(default_factory=list[list[Reaching]])
    tried: list[dict[str, set[int]]] = field(default_factory=list[dict[str, set[int]]])
    back: dict[int, Reaching | None] = field(default_factory=dict[int, "Reaching | None"])
    """Bindings that return to the header of each loop, by the last walk."""
    settled: bool = False

    # --- Bindings and uses ---------------------------------------------------------------

    def new(self, name: str) -> int:
        """A binding of a name that no node writes."""
        self.group.append(len(self.group))
        self.names.append(name)
        return len(self.group) - 1

    def root(self, binding: int) -> int:
        while self.group[binding] != binding:
            binding = self.group[binding]
        return binding

    def join(self, bindings: Iterable[int]) -> None:
        first, *others = sorted(map(self.root, bindings))
        for other in others:
            self.group[self.root(other)] = self.root(first)

    def bind(self, node: ast.Name) -> int:
        """A binding that a node writes: the same one each time that the walk comes by."""
        if id(node) not in self.bound:
            self.bound[id(node)] = self.new(node.id)
            self.named.append((node, self.bound[id(node)]))
        found = self.bound[id(node)]
        if self.reaching is not None:
            self.reaching = {**self.reaching, node.id: frozenset((found,))}
        for each in self.tried:
            each.setdefault(node.id, set()).add(found)
        return found

    def use(self, node: ast.Name) -> None:
        seen = (self.reaching or {}).get(node.id, frozenset())
        if seen:
            self.join(seen)
            self.named.append((node, min(seen)))

    def evaluate(self, node: ast.AST | None) -> None:
        """An expression, or a target: the names in it are used, or bound, in order."""
        if isinstance(node, ast.Name):
            if node.id in self.chosen:
                if isinstance(node.ctx, ast.Load):
                    self.use(node)
                else:
                    self.bind(node)
            return
        if isinstance(node, ast.NamedExpr):
            self.evaluate(node.value)
            self.evaluate(node.target)
            return
        for child in children(node) if node is not None else ():
            self.evaluate(child)

    # --- Statements ----------------------------------------------------------------------

    def settle(self, body: Sequence[ast.stmt]) -> None:
        """Walk until the bindings that return to each loop are stable: those of a round reach the next, and
        rarely more."""
        given = self.reaching
        while not self.settled:
            self.settled = True
            self.reaching = given
            self.run(body)

    def run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self.evaluate(value)
                for target in targets:
                    self.evaluate(target)
            case ast.AnnAssign(target=target, value=value):
                self.evaluate(value)
                self.evaluate(target)
            case ast.AugAssign():
                self.in_place(node)
            case ast.For() | ast.AsyncFor() | ast.While():
                self.loop(node)
            case ast.If(test=test, body=body, orelse=orelse):
                self.evaluate(test)
                self.either([body, orelse])
            case ast.Try():
                self.attempt(node)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    self.evaluate(item.context_expr)
                    self.evaluate(item.optional_vars)
                self.run(body)
            case ast.Match(cases=cases):
                self.either([*(case.body for case in cases), []])
            case ast.Break() | ast.Continue():
                waiting = self.breaks if isinstance(node, ast.Break) else self.continues
                if self.reaching is not None and waiting:
                    waiting[-1].append(self.reaching)
                self.reaching = None
            case ast.Return() | ast.Raise():
                for child in children(node):
                    self.evaluate(child)
                self.reaching = None
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                for child in children(node):
                    self.evaluate(child)

    def in_place(self, node: ast.AugAssign) -> None:
        """`a += b` may change the object of `a`, or bind it anew: both bindings are joined."""
        self.evaluate(node.value)
        if not isinstance(node.target, ast.Name) or node.target.id not in self.chosen:
            self.evaluate(node.target)
            return
        seen = (self.reaching or {}).get(node.target.id, frozenset())
        self.join((*seen, self.bind(node.target)))

    def either(self, bodies: list[list[ast.stmt]]) -> None:
        before, ends = self.reaching, list[Reaching | None]()
        for body in bodies:
            self.reaching = before
            self.run(body)
            ends.append(self.reaching)
        self.reaching = _merged(ends)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        if not isinstance(node, ast.While):
            self.evaluate(node.iter)
        entry, back = self.reaching, self.back.get(id(node))
        self.breaks.append([])
        self.continues.append([])
        self.reaching = _merged([entry, back])
        if isinstance(node, ast.While):
            self.evaluate(node.test)
            done = self.reaching
        else:
            done = self.reaching
            self.evaluate(node.target)
        self.run(node.body)
        breaks = self.breaks.pop()
        self.back[id(node)] = _merged([self.reaching, *self.continues.pop()])
        self.settled = self.settled and self.back[id(node)] == back
        self.reaching = _merged([done, entry, self.back[id(node)]])
        self.run(node.orelse)
        self.reaching = _merged([self.reaching, *breaks])

    def attempt(self, node: ast.Try) -> None:
        before = self.reaching or {}
        self.tried.append({name: set(bindings) for name, bindings in before.items()})
        self.run(node.body)
        self.run(node.orelse)
        anywhere = {name: frozenset(bindings) for name, bindings in self.tried.pop().items()}
        ends: list[Reaching | None] = [self.reaching]
        for handler in node.handlers:
            self.reaching = anywhere
            self.run(handler.body)
            ends.append(self.reaching)
        self.reaching = _merged([*ends, anywhere]) if node.finalbody else _merged(ends)
        self.run(node.finalbody)

    # --- New names -----------------------------------------------------------------------

    def rename(self) -> bool:
        """Name each group; the first of a name keeps it."""
        found: dict[int, str] = {}
        counts: dict[str, int] = {}
        for binding, name in enumerate(self.names):
            root = self.root(binding)
            if root not in found:
                counts[name] = counts.get(name, 0) + 1
                found[root] = name if counts[name] == 1 else f"{name}#{counts[name]}"
        for node, binding in self.named:
            node.id = found[self.root(binding)]
        return any(count > 1 for count in counts.values())


def _merged(ends: Iterable[Reaching | None]) -> Reaching | None:
    """Bindings that may reach a point to which several ways lead."""
    ways = [end for end in ends if end is not None]
    if not ways:
        return None
    names = {name for way in ways for name in way}
    return {name: frozenset(b for way in ways for b in way.get(name, ())) for name in names}
