"""View of a loop for a drawing beside the text: iterations, arrows with their accesses, orders, times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from polylsp.core.text import Source, Span
from polylsp.ide import wording
from polylsp.ide.excerpt import access_excerpt
from polylsp.ide.lookup import outermost
from polylsp.ide.measured import Timed, measured_bars
from polylsp.ide.measurement_view import Loop
from polylsp.ir.verdict import AccessPoint, DependenceKind
from polylsp.model.facts import LoopFacts, PlacedFunction
from polylsp.model.iteration_points import Arrow, IterationSpace, Order, Point
from polylsp.model.measurement import Measurement

_WRITTEN = "As it is written, one after the other"


@dataclass(frozen=True, slots=True)
class End:
    """An access in the text."""

    text: str
    kind: Literal["read", "write"]
    span: Span


@dataclass(frozen=True, slots=True)
class Between:
    """A dependence between two accesses, which stands for many arrows."""

    kind: DependenceKind
    variable: str
    source: End
    sink: End


@dataclass(frozen=True, slots=True)
class Ray:
    """An arrow, and the numbers of the dependences that it is drawn for."""

    kind: DependenceKind
    source: Point
    sink: Point
    between: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stepping:
    """An order in words, and the points that run at once in each of its steps."""

    words: str
    steps: tuple[tuple[Point, ...], ...]


@dataclass(frozen=True, slots=True)
class View:
    """Everything about a loop. `iterators` are those that can be drawn; `space` is `None` where nothing can,
    and `reason` says why."""

    span: Span
    function: str
    ordinal: int
    sentence: str
    iterators: tuple[str, ...]
    space: IterationSpace | None
    reason: str
    dependences: tuple[Between, ...]
    rays: tuple[Ray, ...]
    orders: tuple[Stepping, ...]
    bars: tuple[Timed, ...]


def view(
    source: Source,
    placed: PlacedFunction,
    loop: LoopFacts,
    drawn: IterationSpace | str,
    measured: Mapping[Loop, Measurement],
) -> View:
    """The drawing of a loop, or of why there is none."""
    space = drawn if isinstance(drawn, IterationSpace) else None
    span = placed.span(loop.header)
    dependences, rays = _dependences(source, placed, space.arrows if space else ())
    return View(
        span,
        placed.answer.facts.name,
        loop.ordinal,
        wording.verdict_sentence(source.near(span.start), placed, loop),
        _iterators(placed, loop),
        space,
        "" if isinstance(drawn, IterationSpace) else drawn,
        dependences,
        rays,
        tuple(_orders(space)) if space else (),
        _bars(placed, loop, measured),
    )


def _iterators(placed: PlacedFunction, loop: LoopFacts) -> tuple[str, ...]:
    """Iterators of all loops that share an outermost loop with this one."""
    root = outermost(placed, loop)
    related = [each for each in placed.answer.facts.loops if outermost(placed, each) is root]
    return tuple(dict.fromkeys(each.iterator for each in related if each.iterator))


def _dependences(
    source: Source, placed: PlacedFunction, arrows: tuple[Arrow, ...]
) -> tuple[tuple[Between, ...], tuple[Ray, ...]]:
    """Dependences of some arrows, and the arrows that a drawing distinguishes."""
    numbers: dict[Between, int] = {}
    rays: dict[tuple[DependenceKind, Point, Point], list[int]] = {}
    for arrow in arrows:
        behind = rays.setdefault((arrow.kind, arrow.source, arrow.sink), [])
        if arrow.accesses is not None:
            ends = (_end(source, placed, each) for each in arrow.accesses)
            between = Between(arrow.kind, arrow.accesses[0].variable, *ends)
            behind.append(numbers.setdefault(between, len(numbers)))
    made = (Ray(*name, tuple(sorted(set(behind)))) for name, behind in rays.items())
    return tuple(numbers), tuple(made)


def _end(source: Source, placed: PlacedFunction, access: AccessPoint) -> End:
    span = placed.span(access.site)
    return End(access_excerpt(source.near(span.start), placed, access), access.kind, span)


def _orders(space: IterationSpace) -> Iterator[Stepping]:
    if space.written is not None:
        yield Stepping(_WRITTEN, space.written.steps)
    if space.parallel is not None:
        yield Stepping(_parallel_words(space.parallel), space.parallel.steps)


def _parallel_words(order: Order) -> str:
    if order.transform is None:
        return f"{wording.listing([f'`{each}`' for each in order.free])} in parallel"
    kind, sentence = order.transform.kind, order.transform.sentence
    if kind == "skew":
        return f"Skewed, by {sentence}"
    return f"With {sentence}, in parallel" if sentence else "In another order, in parallel"


def _bars(placed: PlacedFunction, loop: LoopFacts, measured: Mapping[Loop, Measurement]) -> tuple[Timed, ...]:
    """The times of the loop, or of those around it: whole calls are measured."""
    for ordinal in (loop.ordinal, outermost(placed, loop).ordinal, 0):
        found = measured.get((placed.answer.facts.name, ordinal))
        if found is not None:
            return tuple(measured_bars(found))
    return ()
