"""Lenses: links above an outermost loop to its actions, where the settings name them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from polylsp.ide.lookup import loops
from polylsp.model.facts import LoopFacts
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.settings import Settings
from polylsp.text import Span

LensKind = Literal["why", "offload"]

_TITLES: dict[LensKind, str] = {"why": "Why?", "offload": "Offload…"}


@dataclass(frozen=True, slots=True)
class Lens:
    """A link above the header at `span`; the editor implements each kind."""

    span: Span
    kind: LensKind
    title: str


def lenses(report: FileReport, settings: Settings) -> tuple[Lens, ...]:
    """The lenses of a file, in source order."""
    return tuple(
        Lens(placed.span(loop.header), kind, _TITLES[kind])
        for placed, loop in loops(report)
        if loop.parent == 0
        for kind in _kinds(placed, loop)
        if kind in settings.code_lenses
    )


def _kinds(placed: PlacedFunction, loop: LoopFacts) -> Iterator[LensKind]:
    yield "why"
    facts = placed.answer.facts
    roots = parallel_roots(facts, loop.ordinal)
    if roots and not any(is_governed(facts, root.ordinal) for root in roots):
        yield "offload"
