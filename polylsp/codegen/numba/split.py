"""Loop fission in Python: parts of the body that do not need each other in a cycle get separate loops (Allen
and Kennedy 1987), or the iterations below, at and above the counter of a loop around it do (index set
splitting: Griebl, Feautrier and Lengauer 2000)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.analysis.effects import walk
from polylsp.codegen.numba.loop_text import Block, Kept, LoopText, Piece, loop_text, replaced
from polylsp.codegen.numba.ranges import range_arguments
from polylsp.codegen.numba.source import Source
from polylsp.codegen.transform.chain import unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.groups import Group, carries, dates_of, loops_of
from polylsp.codegen.transform.leaves import Leaf, refusal, violated
from polylsp.codegen.transform.parting import passes
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.program import Assign


def distributed(source: Source, ordinal: int) -> Answer:
    """The outermost loop around `ordinal` that falls into loops of which some can run in parallel."""
    around = [*(loop.ordinal for loop in source.subject.around(ordinal)), ordinal]
    answers = [_split(source, each) for each in around]
    return next((each for each in answers if isinstance(each, Edited)), answers[-1])


def _split(source: Source, ordinal: int) -> Answer:
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    name = f"`{source.subject.known(ordinal).iterator}`"
    if len(text.parts) < 2:
        return Declined(f"The body of the loop {name} is one statement.")
    leaves = [Leaf(part.span, (ordinal,), k) for k, part in enumerate(text.parts)]
    found = unstable(source.subject, (ordinal,)) or leaves_of(source.subject, leaves)
    if isinstance(found, Declined):
        return found
    groups = loops_of(found)
    if len(groups) < 2 or all(carries(found, group) for group in groups):
        return Declined(f"No part of the loop {name} can run in parallel in a loop of its own.")
    broken = violated(found, dates_of(found, groups))
    if broken is not None:
        return refusal(found, f"Splitting the loop {name}", broken)
    pieces = tuple(_loops(text, groups))
    return Edited((replaced(source, text, pieces),), found.assumptions)


def _loops(text: LoopText, groups: Sequence[Group]) -> Iterator[Piece]:
    for number, group in enumerate(groups):
        remark = "" if number else text.remark
        body = tuple(Kept(text.parts[k].span) for k in group)
        yield Block(f"{text.header}  {remark}".rstrip(), body)


# --- At the counter of a loop around it -------------------------------------------------------


def parted(source: Source, ordinal: int) -> Answer:
    """Loop `ordinal` in three, at the value of the counter of the innermost loop around it that it passes."""
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    bounds = range_arguments(text.node.iter)
    if bounds is None or bounds[2] != 1 or not isinstance(text.node.target, ast.Name):
        return Declined(f"The loop `{text.header}` does not count up by one.")
    for around in reversed(source.subject.around(ordinal)):
        outer = loop_text(source, around.ordinal)
        if isinstance(outer, LoopText) and passes(source.subject, ordinal, around.ordinal):
            moving = unstable(source.subject, (around.ordinal, ordinal)) or _kept(source, text)
            return _cut(source, text, outer) if moving is None else moving
    return Declined(f"`{text.node.target.id}` does not always come to the value of a counter around it.")


def _cut(source: Source, text: LoopText, outer: LoopText) -> Answer:
    first, last, _ = range_arguments(text.node.iter) or (None, None, 0)
    assert first is not None and last is not None
    assert isinstance(text.node.target, ast.Name) and isinstance(outer.node.target, ast.Name)
    name, at = text.node.target.id, outer.node.target.id
    body = (Kept(text.body),)
    start = "" if isinstance(first, ast.Constant) and first.value == 0 else f"{ast.unparse(first)}, "
    pieces = (
        Block(f"for {name} in range({start}{at}):  {text.remark}".rstrip(), body),
        f"{name} = {at}",
        *body,
        Block(f"for {name} in range({at} + 1, {ast.unparse(last)}):", body),
    )
    return Edited(
        (replaced(source, text, pieces),), (), (f"The loop `{name}` is cut where it comes to `{at}`.",)
    )


def _kept(source: Source, text: LoopText) -> Declined | None:
    """Reason why the body cannot run outside of a loop, or with a counter that it changes."""
    for node in own_nodes(text.node.body):
        if isinstance(node, (ast.Continue, ast.Break)):
            return Declined(
                f"The `{type(node).__name__.lower()}` on line {source.line(node)} needs its loop."
            )
    names = {n.id for n in ast.walk(text.node.iter) if isinstance(n, ast.Name)}
    inside = walk(source.subject.loop(text.ordinal).body)
    if any(isinstance(s, Assign) and s.target.variable.source_name in names for s in inside):
        return Declined(f"The body of the loop `{text.header}` changes what its bounds are.")
    return None
