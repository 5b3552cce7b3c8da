"""Changes of the source that expose parallelism or locality, each checked against the dependences."""

from __future__ import annotations

from collections.abc import Callable

from polylsp.core.settings import Settings
from polylsp.emit.subject import Subject
from polylsp.model.action import Answer, TransformName
from polylsp.transforms import (
    accumulate,
    array_copy,
    distribute,
    expand,
    fuse,
    interchange,
    jam,
    overlap,
    privatize,
    restrict,
    simd,
    skew,
    substitute,
    tile,
    time_tile,
)
from polylsp.transforms.composing import limited

Edit = Callable[[Subject, int, Settings], Answer]


def _limited(edit: Edit) -> Edit:
    """The edit, given up where isl would take too long."""

    def work(subject: Subject, ordinal: int, settings: Settings) -> Answer:
        return limited(settings, lambda: edit(subject, ordinal, settings))

    return work


TRANSFORMS: dict[TransformName, Edit] = {
    "interchange": _limited(interchange.edit),
    "distribute": _limited(distribute.edit),
    "skew": _limited(skew.edit),
    "fuse": _limited(fuse.edit),
    "tile": _limited(tile.edit),
    "time-tile": _limited(time_tile.edit),
    "unroll-and-jam": _limited(jam.edit),
    "simd": _limited(simd.edit),
    "privatize": _limited(privatize.edit),
    "expand": _limited(expand.edit),
    "restrict": _limited(restrict.edit),
    "overlap-check": _limited(overlap.edit),
    "rewrite-reduction": _limited(accumulate.edit),
    "substitute-induction": _limited(substitute.edit),
    "copy": _limited(array_copy.edit),
}
"""The module of each transform: the edit it makes of a loop (ordinal), or why there is none."""
