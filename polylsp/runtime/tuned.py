"""What tuning found, kept in the user's cache folder, so that the next edit of a function is made with it."""

from __future__ import annotations

from collections.abc import Mapping

from polylsp.model.measurement import Parameters, Tuned
from polylsp.runtime.store import read_entries, write_entries

_KIND = "tuned"
_ACTIONS = ("restructure", "tile", "time-tile")
"""Those that the parameters are about."""

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
    return known.parameters if known is not None and known.code == code and action in _ACTIONS else ()
