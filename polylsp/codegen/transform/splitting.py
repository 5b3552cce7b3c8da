"""Splits of loops one after the other, so that the products among them get separate loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import distribute, panel
from polylsp.codegen.transform.chain import chain_inside
from polylsp.codegen.transform.composing import State, limited
from polylsp.model.action import Edited


def products_alone(state: State, tile: int) -> bool:
    """Split all loops in a loop over tiles, in which loops over rows and columns are the outer ones; true if
    all deeper loops are then a product, whose tiles were generated."""
    split_all(state, lambda: _inside(state.subject, tile))
    around = {each.parent for each in state.subject.facts.loops}
    depth = state.subject.known(tile).depth + 2
    inside = (state.subject.known(each) for each in _inside(state.subject, tile) if each not in around)
    return panel.all_made(state, [chain_inside(state.subject, o.ordinal) for o in inside if o.depth > depth])


def _inside(subject: Subject, tile: int) -> list[int]:
    loops = (each.ordinal for each in subject.facts.loops)
    return [each for each in loops if any(o.ordinal == tile for o in subject.around(each))]


def split_all(state: State, loops: Callable[[], list[int]]) -> None:
    """As many loops as can be in place of some, inner ones first; `loops` says which there are now."""
    while any(state.make(edit) for edit in _splits(state, loops())):
        pass


def _splits(state: State, loops: list[int]) -> Iterator[Edited]:
    for ordinal in reversed(loops):
        answer = limited(state.settings, lambda o=ordinal: distribute.separated(state.subject, o))
        if isinstance(answer, Edited):
            yield answer
