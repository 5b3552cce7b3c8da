"""Tuned settings, stored in the user's cache folder, so that the next edit of a function uses them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from polylsp.model.action import ActionName
from polylsp.model.measurement import Figure, Form, Parameters, Plan, Tuned
from polylsp.runtime.store import read_entries, write_entries
from polylsp.settings import Settings

_KIND = "tuned"
_SIZES = ("tile_sizes", "cache_kb")
_PARTS: dict[str, tuple[str, ...]] = {
    "tile": _SIZES,
    "time-tile": _SIZES,
    "unroll-and-jam": ("unroll_factors",),
}
"""Components of restructuring, and the settings of each."""

_USUAL = Settings()

Found = Mapping[str, tuple[Tuned, ...]]
"""By function, for each form of each target at most one."""


def load(path: str) -> Found:
    """Tuned settings for functions of a file."""
    entries = sorted(read_entries(_KIND, path, Tuned), key=lambda each: each.function)
    return {name: tuple(found) for name, found in groupby(entries, lambda each: each.function)}


def save(path: str, found: Found) -> None:
    """Keep it."""
    write_entries(_KIND, path, [each for entries in found.values() for each in entries])


def worth_keeping(plan: Plan, code: str, figures: Iterable[Figure]) -> tuple[Tuned, ...]:
    """Results of a search worth storing: of each form for each target the fastest version of those that are
    faster than the original, unless it used the user's settings."""
    best: dict[tuple[ActionName, Form], Figure] = {}
    faster = [each for each in figures if each.outcome == "faster"]
    for each in sorted(faster, key=lambda figure: figure.times.median):
        best.setdefault((each.target, each.form), each)
    sizes = plan.sizes_at(plan.rungs[0]) if plan.given else ()
    return tuple(
        Tuned(plan.function, code, target, form, each.parameters, each.speedup, sizes, time.time())
        for (target, form), each in best.items()
        if each.parameters
    )


def parameters_for(found: Found, action: str, function: str, code: str, settings: Settings) -> Parameters:
    """The parameters with which an action is to change a function whose code has a name; none if it was not
    tuned, or has changed since. What the user has set stays as it is."""
    for each in found.get(function, ()):
        parameters = tuple(_for_action(each, action)) if each.code == code else ()
        if parameters:
            return tuple(one for one in parameters if not _is_set(one[0], settings))
    return ()


def _for_action(found: Tuned, action: str) -> Iterator[tuple[str, str]]:
    """Settings that apply to an action: those of directives to edits of that target, those of another loop
    order to restructuring and its parts."""
    if found.form == "directives":
        yield from found.parameters if action == found.target else ()
    elif action == "restructure":
        yield from found.parameters
    else:
        yield from (one for one in found.parameters if one[0] in _PARTS.get(action, ()))


def _is_set(name: str, settings: Settings) -> bool:
    """True if the user set the option; sizes of tiles replace the cache size."""
    names = _SIZES if name == "cache_kb" else (name,)
    return any(getattr(settings, each) != getattr(_USUAL, each) for each in names)
