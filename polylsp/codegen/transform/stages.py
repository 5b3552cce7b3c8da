"""The stages of a time loop: the statements of its body, each a loop along one dimension of a grid, or a
statement at one place of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, comments, is_directed, opened
from polylsp.codegen.transform.domain import Iterations, iterations
from polylsp.codegen.transform.expression import Linear
from polylsp.codegen.transform.layout import Kept, Made, Piece, kept
from polylsp.codegen.transform.leaves import Leaf, counter
from polylsp.codegen.transform.syntax import LoopText, Part
from polylsp.model.action import Declined
from polylsp.model.program import Block, Variable


@dataclass(frozen=True, slots=True)
class Stage:
    """A statement of the time loop's body. `along` is the loop along the grid, `first` and `last` its bounds
    in C (`last` is not reached), `declared` the words that declare its counter. Without `along` it is at one
    place, which is determined later: then `first` is that and `last` the next one."""

    part: Part
    leaf: Leaf
    comments: tuple[str, str]
    along: LoopText | None = None
    name: str = ""
    declared: str = ""
    first: Linear | None = None
    last: Linear | None = None

    def at(self, place: int) -> Stage:
        """The stage at a determined place."""
        return replace(self, first={"": place}, last={"": place + 1})

    def loop(self, subject: Subject, begin: str, end: str) -> Piece:
        """The stage between two places, in C."""
        before, after = self.comments
        if self.along is None:
            return Made(f"if ({begin} && {end})", (kept_alone(self.part),), "none", "", before, after)
        header = subject.text[self.along.header.start : self.along.header.end]
        advance = f"++{self.name}" if f"++{self.name}" in header else f"{self.name}++"
        start = f"{self.declared} {self.name} = {begin}".lstrip()
        made = f"for ({start}; {self.name} < {end}; {advance})"
        return Made(made, (kept(self.along.parts),), self.along.braces, self.along.remark, before, after)


def kept_alone(part: Part) -> Kept:
    """A statement without the comments about it."""
    return Kept(part.core, (), part.node.type not in ("declaration", "type_definition"))


@dataclass(frozen=True, slots=True)
class TimeLoop:
    """A loop whose body is stages. `first` and `last` are its bounds in C."""

    ordinal: int
    text: LoopText
    name: str
    declared: str
    first: Linear
    last: Linear
    stages: tuple[Stage, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Leaves, one for each stage."""
        return tuple(stage.leaf for stage in self.stages)

    def with_stages(self, stages: tuple[Stage, ...]) -> TimeLoop:
        """The loop with refined stages."""
        return replace(self, stages=stages)

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The loops that are opened, the time loop first."""
        return tuple(dict.fromkeys(o for leaf in self.leaves for o in leaf.loops))


def time_loop(subject: Subject, ordinal: int, fixed: Collection[int] = ()) -> TimeLoop | Declined:
    """A loop as a time loop, in which the stages with the numbers `fixed` are at one place."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    name = subject.known(ordinal).iterator or ""
    if is_directed(subject, text) or any(part.directive for part in text.parts):
        return Declined(f"A directive stands before or in the loop `{name}`: remove it first.")
    own = iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(own, Declined):
        return own
    stages: list[Stage] = []
    for number, part in enumerate(text.parts):
        stage = _stage(subject, ordinal, text, part, number, number in fixed)
        if isinstance(stage, Declined):
            return stage
        stages.append(stage)
    if all(stage.along is None for stage in stages):
        return Declined(f"There is no loop along a grid inside the loop `{name}`.")
    first, last = in_c(own, own.firsts[0]), in_c(own, own.lasts[0])
    return TimeLoop(ordinal, text, name, own.declared[0], first, last, tuple(stages))


def _stage(
    subject: Subject, ordinal: int, outer: LoopText, part: Part, number: int, fixed: bool
) -> Stage | Declined:
    starts = {subject.span(e.site): e.ordinal for e in subject.facts.loops if e.parent == ordinal}
    inner = starts.get(part.core)
    about = comments(subject, part)
    if fixed or inner is None:
        if part.node.type in ("declaration", "type_definition"):
            line = subject.text.count("\n", 0, part.core.start) + 1
            return Declined(
                f"What line {line} declares is used by several loops: declare it in each of them."
            )
        return Stage(part, Leaf(part.whole, (ordinal,), number), about)
    text = opened(subject, inner)
    if isinstance(text, Declined):
        return text
    chain = Chain((ordinal, inner), (outer, text))
    points = iterations(subject, chain)
    if isinstance(points, Declined):
        return points
    if any("i0" in bound for bound in (points.firsts[1], points.lasts[1])):
        return Declined(f"The bounds of the loop `{points.counters[1]}` depend on `{points.counters[0]}`.")
    first, last = in_c(points, points.firsts[1]), in_c(points, points.lasts[1])
    span = text.parts[0].whole.cover(text.parts[-1].whole)
    leaf = Leaf(span, (ordinal, inner), number)
    return Stage(part, leaf, about, text, points.counters[1], points.declared[1], first, last)


def shared_counters(subject: Subject, loop: TimeLoop) -> Iterator[tuple[int, int]]:
    """Pairs of stages of which the first counts with a variable that the second names, and does not count
    with along the grid."""
    for first, one in enumerate(loop.stages):
        for second, other in enumerate(loop.stages):
            if one.along is None or first == second:
                continue
            variable = counter(subject, one.leaf.loops[1])
            own = [counter(subject, o) for o in other.leaf.loops[1:]]
            if variable not in own and variable in _named(subject, loop, other):
                yield first, second


def _named(subject: Subject, loop: TimeLoop, stage: Stage) -> frozenset[Variable]:
    """The variables that a stage names, in headers too."""
    body = subject.loop(loop.ordinal).body
    inside = [
        each
        for each in walk(body)
        if not isinstance(each, Block)
        and stage.part.core.start <= subject.span(each.site).start < stage.part.core.end
    ]
    return effects(*inside).variables


def in_c(points: Iterations, value: Linear) -> Linear:
    """A bound that depends on no counter, in terms of the headers."""
    return {points.atoms.get(t, t) if isinstance(t, str) else t: factor for t, factor in value.items()}
