"""Nesting of the loops under a directive: those that share it (`collapse`), and the balance of their work."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.codegen.present import keeps_apart
from polylsp.codegen.subject import Subject
from polylsp.model.expressions import subexpressions
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Assign, Block, Declare, Expr, Loop, Read, Statement
from polylsp.model.scop import Scop
from polylsp.model.verdict import Parallel

_SET = isl.dim_type.set


def inner_loops(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The loops directly inside a loop."""
    return tuple(each for each in subject.facts.loops if each.parent == ordinal)


def collapsible(subject: Subject, root: LoopFacts) -> tuple[LoopFacts, ...]:
    """The loops, `root` first, of which one directive can make a single loop: each parallel, perfectly
    nested, with bounds that do not depend on the ones around it (OpenMP 5.2, 4.4.3)."""
    found = [root]
    while (inner := _only_loop(subject.loop(found[-1].ordinal))) is not None:
        facts = subject.known(inner.ordinal)
        if not _joins(facts, root) or not _is_rectangular(subject, inner, root):
            break
        if keeps_apart(subject, found[-1], facts):
            break
        found.append(facts)
    return tuple(found)


def limited(loops: tuple[LoopFacts, ...], most: int) -> tuple[LoopFacts, ...]:
    """No more of the loops that can share a directive than the user wants, if that is a number."""
    return loops[:most] if most else loops


def _only_loop(loop: Loop) -> Loop | None:
    """The loop that is all of a body."""
    inside = list(_statements(loop.body))
    loops = [each for each in inside if isinstance(each, Loop)]
    if len(loops) != 1:
        return None
    header = loops[0].header
    rest = [each for each in inside if each is not loops[0]]
    starts = all(
        isinstance(each, (Assign, Declare))
        and header.first <= each.site.first
        and each.site.last <= header.last
        for each in rest
    )
    return loops[0] if starts else None


def _statements(block: Block) -> Iterable[Statement]:
    for each in block.statements:
        if isinstance(each, Block):
            yield from _statements(each)
        else:
            yield each


def _joins(inner: LoopFacts, root: LoopFacts) -> bool:
    """True if the directive on `root` covers all requirements of the inner loop."""
    if not isinstance(inner.verdict, Parallel) or not isinstance(root.verdict, Parallel) or inner.misfit:
        return False
    own = {*inner.verdict.private, *inner.verdict.reductions, *inner.verdict.assumptions}
    said = {*root.verdict.private, *root.verdict.reductions, *root.verdict.assumptions}
    return own <= said and set(inner.verdict.lastprivate) <= set(root.verdict.private) | {inner.iterator}


def _is_rectangular(subject: Subject, inner: Loop, root: LoopFacts) -> bool:
    """True if the first and last value and the step are the same in all iterations of the loops around."""
    changed = effects(subject.loop(root.ordinal)).scalars
    return not any(
        isinstance(node, Read) and node.place.variable.name in changed - {_counter(inner)}
        for value in _header_values(subject, inner)
        for node in subexpressions(value)
    )


def _counter(loop: Loop) -> str:
    step = loop.step.statements[0]
    assert isinstance(step, Assign)
    return step.target.variable.name


def _header_values(subject: Subject, loop: Loop) -> Iterable[Expr]:
    if loop.condition is not None:
        yield loop.condition
    for each in loop.step.statements:
        if isinstance(each, Assign):
            yield each.value
    around = subject.loop(subject.known(loop.ordinal).parent)
    for each in _statements(around.body):
        header = loop.header
        if isinstance(each, Assign) and header.first <= each.site.first and each.site.last <= header.last:
            yield each.value


def is_uneven(scop: Scop, root: int) -> bool:
    """True if iterations of a loop do different amounts of work: loops inside it have bounds that depend on
    its iterator."""
    return any(
        root in statement.loops and _depends(statement.domain, statement.loops.index(root))
        for statement in scop.statements
    )


def _depends(domain: isl.Set, depth: int) -> bool:
    """True if the extent of a dimension inside the one at `depth` varies with its value."""
    return any(_extent_depends(domain, depth, inner) for inner in range(depth + 1, domain.dim(_SET)))


def _extent_depends(domain: isl.Set, depth: int, inner: int) -> bool:
    own = domain.project_out(_SET, inner + 1, domain.dim(_SET) - inner - 1)
    own = own.project_out(_SET, depth + 1, inner - depth - 1).reset_tuple_id()
    values = isl.Map.from_range(own).move_dims(isl.dim_type.in_, 0, isl.dim_type.out, 0, depth + 1)
    # Counted from the first one, so that a window that moves along is the same everywhere.
    counted = values.sum(values.lexmin().neg())
    anywhere = counted.eliminate(isl.dim_type.in_, depth, 1).intersect_domain(counted.domain())
    return not anywhere.is_subset(counted)
