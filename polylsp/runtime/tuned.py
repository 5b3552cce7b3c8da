"""What tuning found, kept in the user's cache folder, so that the next edit of a function is made with it."""

from __future__ import annotations

from collections.abc import Mapping

from polylsp.model.measurement import Parameters, Tuned, are_of_kernels
from polylsp.runtime.store import read_entries, write_entries

_KIND = "tuned"
_RESTRUCTURING, _KERNELS = ("restructure", "tile", "time-tile"), ("cuda", "pycuda")
"""The actions that settings are about: those of kernels, and others."""

Found = Mapping[str, Tuned]
"""By function."""


def load(path: str) -> Found:
    """What was found for functions of a file."""
    return {each.function: each for each in read_entries(_KIND, path, Tuned)}


def save(path: str, found: Found) -> None:
    """Keep it."""
    write_entries(_KIND, path, list(found.values()))


def parameters_for(found: Found, action: str, function: str, code: str) -> Parameters:
    """The parameters with which an action is to change a function whose code has a name; none if it was not
    tuned, or has changed since."""
    known = found.get(function)
    if known is None or known.code != code:
        return ()
    actions = _KERNELS if are_of_kernels(known.parameters) else _RESTRUCTURING
    return known.parameters if action in actions else ()
