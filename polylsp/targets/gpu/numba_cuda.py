"""Kernels of Numba-CUDA: loops of Python as they are written, whose parallel iterations threads share.

Each thread of a grid starts at its own iteration and goes on by the number of threads, so that any grid is
right. A parallel loop in one, beside which only numbers are computed, gives the grid a second dimension; that
comes first in which neighbouring threads use neighbouring elements. Sequential loops around kernels run on
the host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.subject import Companion, Subject
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.syntax import constant
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import wrapped
from polylsp.targets.gpu.pycuda_helper import Kernels, host_function
from polylsp.targets.gpu.pycuda_host import Host, variables_of
from polylsp.targets.numba.array_loops import root_of
from polylsp.targets.numba.numba_subset import why_not
from polylsp.targets.numba.python_imports import spelled
from polylsp.targets.numba.python_loops import (
    Source,
    dedented,
    lines_of,
    moved,
    range_arguments,
    source_of,
    with_edits,
)

_INDENT = "    "
_THREADS = {1: (256,), 2: (32, 8)}
"""Threads of a block, by its dimensions."""
_OTHERS = "PyCUDA and CuPy"
_BUILTINS = ("range", "len", "abs", "min", "max", "float", "int", "bool")


@dataclass(frozen=True, slots=True)
class Made:
    """Lines of kernels and of the function that runs them, the arguments of its call, and the kernels'
    `assumptions`."""

    lines: list[str]
    arguments: list[str]
    assumptions: tuple[Assumption, ...]


def kernels_of(
    source: Source,
    nodes: Sequence[ast.stmt],
    host: Host,
    known: Sequence[str],
    settings: Settings,
    runner: str,
) -> Made:
    """Kernels of the loops `nodes`, and the function that runs them by the class `runner`, which checks the
    `known` conditions; raises `Unwritable`."""
    if host.numbers:
        raise Unwritable(
            f"The loops set `{host.numbers[0].name}`, which the function needs then: {_OTHERS} can do that."
        )
    cuda = spelled(source, "numba", "cuda") or "cuda"
    facts = {id(source.loop(each)): each for each in source.subject.facts.loops}
    writing = _Writing(source, host, cuda, facts)
    launches = [line for node in nodes for line in writing.lines(node)]
    places = [f"{host.address(b)} = {host.gpu}.place({b.name})" for b in host.arrays]
    out = [f"({b.name}, {host.address(b)})" for b in host.arrays if b.goes_out]
    run = [*places, *launches, *wrapped(f"{host.gpu}.fetch(", out, ")")]
    helpers = [_device_function(writing, each) for each in host.launched.region.helpers]
    lines = [line for one in (*helpers, *writing.kernels) for line in (*one, "", "")]
    # Lengths that the model has as those of arrays: `n` of `n = a.shape[0]`.
    own = {
        *(each.source_name for each in variables_of(host.launched)),
        *(b.name for b in host.arrays),
        *writing.counters,
    }
    more = sorted({*writing.passed} - own)
    unbound = next((name for name in more if not _is_length(source, name, nodes[0])), "")
    if unbound:
        raise Unwritable(f"The kernel needs `{unbound}`, which is no number that is known before the loops.")
    made = Kernels(lines[:-2], f'{runner}("{source.subject.function.name}")', run, more)
    text, arguments = host_function(host, known, settings, made)
    return Made(text, arguments, tuple(dict.fromkeys(writing.assumptions)))


def _is_length(source: Source, name: str, before: ast.stmt) -> bool:
    """True if a name certainly stands for a length of an array before a statement."""
    first = source.span(before).start
    above = (s for s in source.definition.body if isinstance(s, ast.Assign) and source.span(s).end < first)
    found = [each for each in above if name in _targets(each)]
    return bool(found) and all(map(_is_size, found))


def _targets(statement: ast.Assign) -> set[str]:
    return {n.id for each in statement.targets for n in ast.walk(each) if isinstance(n, ast.Name)}


def _is_size(statement: ast.Assign) -> bool:
    """True if a statement sets names to lengths of an array."""
    match statement.targets, statement.value:
        case [ast.Tuple()], ast.Attribute(attr="shape"):
            return True
        case [ast.Name()], ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case _:
            return False


class _Writing:
    """Kernels of some loops of a function, and the lines that launch them."""

    def __init__(self, source: Source, host: Host, cuda: str, facts: Mapping[int, LoopFacts]) -> None:
        self._source, self._host, self.cuda, self._facts = source, host, cuda, facts
        self.helpers = host.launched.setting.words.helpers
        self.kernels: list[list[str]] = []
        self.passed: list[str] = []
        self.counters: list[str] = []
        self.assumptions: list[Assumption] = []

    @property
    def subject(self) -> Subject:
        """The function with the loops."""
        return self._source.subject

    def lines(self, node: ast.stmt) -> Iterator[str]:
        """Lines of the host for a statement: the launch of a loop, or a loop around launches."""
        loop = self._facts.get(id(node))
        if loop is None or not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
            line = self._source.line(node)
            raise Unwritable(f"What stands in line {line} is no loop over a `range`, which a kernel needs.")
        why = self._why_in_order(loop)
        if not why:
            yield from self._launched(node, loop)
            return
        if not all(isinstance(each, ast.For) for each in node.body) or node.orelse:
            raise Unwritable(why)
        self.counters.append(node.target.id)
        self.passed += sorted(_read(node.iter) & self._source.local)
        yield f"for {node.target.id} in {ast.unparse(node.iter)}:"
        for each in node.body:
            yield from (f"{_INDENT}{line}" for line in self.lines(each))

    def _why_in_order(self, loop: LoopFacts) -> str:
        """Reason why threads cannot share the iterations of a loop; empty if they can."""
        verdict, name = loop.verdict, f"`{loop.iterator}`"
        if not isinstance(verdict, Parallel):
            return f"The loop {name} is not parallel as it stands: {_OTHERS} may find another order."
        if verdict.reductions:
            return f"The loop {name} adds up `{verdict.reductions[0].variable}`: {_OTHERS} can do that."
        kept = (*verdict.lastprivate, *(each.variable for each in verdict.inductions))
        if kept:
            return f"The value of `{kept[0]}` after the loop {name} is needed: {_OTHERS} can do that."
        arrays = [each for each in verdict.private if each in {b.name for b in self._host.arrays}]
        if arrays:
            return f"Each iteration of {name} needs its own `{arrays[0]}`: {_OTHERS} can do that."
        return ""

    def _launched(self, node: ast.For, loop: LoopFacts) -> Iterator[str]:
        """The launch of a kernel, which is written along."""
        host = self._host
        name = host.fresh.name(f"{host.launched.name}_kernel{len(self.kernels)}")
        axes = _lanes_first([node, *self._second(node)])
        firsts, steps = ([host.fresh.name(f"{word}_{_target(each)}") for each in axes] for word in _WORDS)
        ranges = [_ends(each) for each in axes]
        threads = _THREADS[len(axes)]
        parameters = self._parameters(node)
        self.passed += parameters
        text = self._text(node, dict(zip(map(id, axes), zip(firsts, steps, strict=True), strict=True)))
        dimensions = len(axes)
        self.kernels.append(
            [
                f"@{self.cuda}.jit",
                *wrapped(f"def {name}(", parameters, "):"),
                f"{_INDENT}{', '.join(firsts)} = {self.cuda}.grid({dimensions})",
                f"{_INDENT}{', '.join(steps)} = {self.cuda}.gridsize({dimensions})",
                *text,
            ]
        )
        for each in (loop, *(self._facts[id(one)] for one in axes)):
            assert isinstance(each.verdict, Parallel)
            self.assumptions += each.verdict.assumptions
        counts = [
            f"{host.gpu}.blocks({_count(*ends)}, {each})" for ends, each in zip(ranges, threads, strict=True)
        ]
        grid = host.own("grid")
        yield f"{grid} = ({', '.join(counts)}{',' if len(counts) == 1 else ''})"
        there = {b.name: host.address(b) for b in host.arrays}
        given = [there.get(each, each) for each in parameters]
        block = f"({', '.join(map(str, threads))}{',' if len(threads) == 1 else ''})"
        yield from wrapped(f"{host.gpu}.launch(", [name, grid, block, *given], ")")

    def _second(self, node: ast.For) -> list[ast.For]:
        """The parallel loop in another one, which does not set its ends. Beside it stand statements that set
        numbers, which each thread of the other dimension does too."""
        loops = [each for each in node.body if isinstance(each, ast.For)]
        inner = loops[0] if len(loops) == 1 else None
        changed = {root_of(n) for n in nodes_in(node) if _is_stored_to(n)}
        beside = [each for each in node.body if each is not inner]
        if not all(_sets_number(each) and _read(each).isdisjoint(changed) for each in beside):
            return []
        facts = self._facts.get(id(inner))
        if not isinstance(inner, ast.For) or facts is None or self._why_in_order(facts):
            return []
        if not isinstance(inner.target, ast.Name) or range_arguments(inner.iter) is None:
            return []
        return [inner] if _read(inner.iter).isdisjoint(_stored(node)) else []

    def _parameters(self, node: ast.For) -> list[str]:
        """The names of the function that a loop uses and does not set itself, in order of their names."""
        self.check(self._source, nodes_in(node))
        return sorted((_read(node) & self._source.local) - _stored(node))

    def check(self, source: Source, nodes: Iterable[ast.AST]) -> None:
        """Raise `Unwritable` if there is a node that Numba may not compile for a device."""
        for each in nodes:
            is_helped = isinstance(each, ast.Call) and self._name(each) in self.helpers
            if reason := ("" if is_helped else why_not(source, each)) or self._unsupported(source, each):
                raise Unwritable(reason)

    def _unsupported(self, source: Source, node: ast.AST) -> str:
        """Reason why Numba-CUDA may not compile a node that Numba compiles for processors."""
        if isinstance(node, ast.Call):
            path, helper = source.path(node.func), self.helpers.get(self._name(node))
            if helper is not None:
                parameters = helper.function.parameters
                if len(node.args) == len(parameters) and not node.keywords:
                    return ""
                told = f"`{ast.unparse(node)}` in line {source.line(node)} leaves arguments to their defaults"
                return f"{told}, or names them: write all, without names."
            if path not in _BUILTINS and path.partition(".")[0] not in ("math", "numpy"):
                return f"`{ast.unparse(node)}` in line {source.line(node)} may not run on a device."
        return ""

    def renamed(self, source: Source, nodes: Iterable[ast.AST]) -> Iterator[tuple[Span, str]]:
        """The names of functions of the file that are called, with those of their copies."""
        calls = (each for each in nodes if isinstance(each, ast.Call))
        own = (each for each in calls if self._name(each) in self.helpers)
        return ((source.span(each.func), self.helpers[self._name(each)].name) for each in own)

    def _name(self, call: ast.Call) -> str:
        """The name of a function that is called; empty for a value."""
        return call.func.id if isinstance(call.func, ast.Name) else ""

    def _text(self, node: ast.For, shared: Mapping[int, tuple[str, str]]) -> Iterator[str]:
        """The lines of a loop, where threads share the iterations of some loops in it."""
        source, text = self._source, self._source.subject.text
        lines = lines_of(source, [node])
        if lines is None:
            raise Unwritable(f"Put the loop in line {source.line(node)} on lines of its own first.")
        inside = nodes_in(node)
        edits = list(self.renamed(source, inside))
        for each in (n for n in inside if isinstance(n, ast.For) and id(n) in shared):
            assert isinstance(each.iter, ast.Call)
            name = ast.unparse(each.iter.func)
            edits.append((source.span(each.iter), _shared(each, name, *shared[id(each)])))
        return dedented(with_edits(text, lines, edits), _INDENT)


def _device_function(writing: _Writing, helper: Companion) -> list[str]:
    """The copy for a device of a function of the file; raises `Unwritable`."""
    source = source_of(writing.subject.of(helper), for_numba=False)
    if isinstance(source, Declined):
        raise Unwritable(source.reason)
    definition = source.definition
    described = ast.get_docstring(definition, clean=False) is not None
    statements = definition.body[described:]
    inside = nodes_in_all(statements)
    writing.check(source, inside)
    first, last = source.span(statements[0]), source.span(statements[-1])
    # Annotations and default values are left out: the function is called with all of its arguments.
    names = ", ".join(each.arg for each in definition.args.args)
    body = with_edits(source.subject.text, Span(first.start, last.end), list(writing.renamed(source, inside)))
    before = source.subject.indentation(first.start)
    head = f"def {writing.helpers[helper.function.name].name}({names}):"
    return [f"@{writing.cuda}.jit(device=True)", head, *dedented(before + body, _INDENT)]


_WORDS = ("first", "step")


def _target(node: ast.For) -> str:
    assert isinstance(node.target, ast.Name)
    return node.target.id


def _read(node: ast.AST) -> set[str]:
    """The names that are read in a node."""
    return {n.id for n in nodes_in(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _stored(node: ast.For) -> frozenset[str]:
    """The names that a loop sets, its counter among them."""
    stored = (n for n in nodes_in(node) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    return frozenset(n.id for n in stored)


def _sets_number(statement: ast.stmt) -> bool:
    """True for an assignment to a name."""
    return isinstance(statement, ast.Assign) and all(isinstance(n, ast.Name) for n in statement.targets)


def _is_stored_to(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """True for elements that are set."""
    return isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)


def _lanes_first(axes: list[ast.For]) -> list[ast.For]:
    """Loops whose iterations threads share, the one first that neighbouring threads differ in: the one that
    counts neighbouring elements more often, the inner one of two that do so equally often."""
    inside = [n for n in nodes_in(axes[0]) if isinstance(n, ast.Subscript)]
    last = [n.slice.elts[-1] if isinstance(n.slice, ast.Tuple) else n.slice for n in inside]
    often = [sum(_target(each) in _read(index) for index in last) for each in axes]
    return axes if len(axes) == 2 and often[0] > often[1] else axes[::-1]


def _ends(node: ast.For) -> tuple[ast.expr, ast.expr]:
    """The first value of a range, and the one that is not reached; raises `Unwritable`."""
    found = range_arguments(node.iter)
    if found is None or found[2] != 1:
        raise Unwritable(f"The loop `{_target(node)}` does not count up by one from a number to another.")
    return found[0], found[1]


def _shared(node: ast.For, name: str, first: str, step: str) -> str:
    """The range of one thread among those that share a loop."""
    low, high = _ends(node)
    start = _sum(low, first)
    return f"{name}({start}, {ast.unparse(high)}, {step})"


def _sum(low: ast.expr, name: str) -> str:
    if isinstance(low, ast.Constant) and low.value == 0:
        return name
    return ast.unparse(ast.BinOp(low, ast.Add(), ast.Name(name, ast.Load())))


def _count(low: ast.expr, high: ast.expr) -> str:
    """The number of iterations between two values."""
    first = constant(low)
    return moved(high, -first) if first is not None else ast.unparse(ast.BinOp(high, ast.Sub(), low))
