"""Splits of loops one after the other, for what comes after to have loops of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polylsp.codegen.transform import distribute
from polylsp.codegen.transform.composing import State, limited
from polylsp.model.action import Edited


def split_all(state: State, loops: Callable[[], list[int]]) -> None:
    """As many loops as can be in place of some, inner ones first; `loops` says which there are now."""
    while any(state.make(edit) for edit in _splits(state, loops())):
        pass


def _splits(state: State, loops: list[int]) -> Iterator[Edited]:
    for ordinal in reversed(loops):
        answer = limited(state.settings, lambda o=ordinal: distribute.separated(state.subject, o))
        if isinstance(answer, Edited):
            yield answer
