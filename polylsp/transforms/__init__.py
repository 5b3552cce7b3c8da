"""Changes of the source that expose parallelism or locality, each checked against the dependences."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from polylsp.core.settings import Settings
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, Declined, TransformName
from polylsp.transforms.composing import limited

Edit = Callable[[Subject, int, Settings], Answer]

MODULES: dict[TransformName, str] = {
    "interchange": "interchange",
    "distribute": "distribute",
    "skew": "skew",
    "fuse": "fuse",
    "tile": "tile",
    "time-tile": "time_tile",
    "unroll-and-jam": "jam",
    "simd": "simd",
    "privatize": "privatize",
    "expand": "expand",
    "restrict": "restrict",
    "overlap-check": "overlap",
    "rewrite-reduction": "accumulate",
    "substitute-induction": "substitute",
    "copy": "array_copy",
}
"""The module of each transform, loaded when the transform is requested: its `edit` is the edit of a loop
(ordinal), or why there is none."""


_LEAVING_LOOPS: frozenset[TransformName] = frozenset({"restrict", "simd"})
"""Transforms that keep the text of loops as it is."""


def transformed(name: TransformName, subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The edit of a transform, given up where isl would take too long."""
    if name not in _LEAVING_LOOPS and subject.has_goto(subject.loop(ordinal)):
        return Declined("A `goto` in this loop keeps its statements where they are.")
    edit: Edit = import_module(f"polylsp.transforms.{MODULES[name]}").edit
    return limited(settings, lambda: edit(subject, ordinal, settings))
