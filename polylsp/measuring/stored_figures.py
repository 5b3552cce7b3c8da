"""Measurements and tuned settings, stored in the user's cache folder.

A missing or unreadable store is empty; a failed write is only logged.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from cattrs import Converter

from polylsp.core.disk_cache import cache_folder
from polylsp.core.settings import Settings
from polylsp.core.source_files import replace_file
from polylsp.model.action import ActionName
from polylsp.model.measurement import Figure, Form, Measurement, Parameters, Plan, Tuned

# --------------------------------------------------------------------------------------------------
# Measurements stored in the user's cache folder, so that a file that is opened again shows them.
# --------------------------------------------------------------------------------------------------


T = TypeVar("T")

logger = logging.getLogger(__name__)

Entries = Mapping[tuple[str, int], tuple[str, Measurement]]
"""By function and loop: the name of the code that was measured, and what came of it."""

_MOST_FILES = 2000
_KIND = "measurements"
_SIZES_KIND = "sizes"
_converter = Converter()


@dataclass(frozen=True, slots=True)
class _Entry:
    code: str
    measurement: Measurement


Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Sizes:
    function: str
    sizes: Sizes


def load(path: str) -> Entries:
    """Measurements of a file; none where there is no readable store."""
    found = read_entries(_KIND, path, _Entry)
    return {
        (each.measurement.function, each.measurement.ordinal): (each.code, each.measurement) for each in found
    }


def save(path: str, entries: Entries) -> None:
    """Store the measurements of a file; a failure is only logged."""
    write_entries(_KIND, path, [_Entry(code, measurement) for code, measurement in entries.values()])


def load_sizes(path: str) -> dict[str, Sizes]:
    """Sizes at which the user has functions of a file measured, by function; none: those that are chosen."""
    return {each.function: each.sizes for each in read_entries(_SIZES_KIND, path, _Sizes)}


def save_sizes(path: str, sizes: Mapping[str, Sizes]) -> None:
    """Store the sizes that the user gave for functions of a file; a failure is only logged."""
    write_entries(_SIZES_KIND, path, [_Sizes(*each) for each in sizes.items()])


def read_entries(kind: str, path: str, of_type: type[T]) -> list[T]:
    """Stored entries of a kind about a file; none where there is no readable store."""
    file = _file(kind, path)
    try:
        entries: list[Any] = json.loads(file.read_text("utf-8"))
        return [_converter.structure(each, of_type) for each in entries]
    except FileNotFoundError:
        return []
    except Exception as error:
        logger.info("%s cannot be read: %s", file, error)
        return []


def write_entries(kind: str, path: str, entries: Sequence[object]) -> None:
    """Keep something of a kind about a file; where that does not work, it is only logged."""
    file = _file(kind, path)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(file, json.dumps([_converter.unstructure(each) for each in entries]).encode())
        _forget_oldest(file.parent)
    except OSError as error:
        logger.info("Measurements are not kept: %s", error)


def _file(kind: str, path: str) -> Path:
    name = blake2b(str(Path(path).absolute()).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return cache_folder() / kind / f"{name}.json"


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)
    for each in files[:-_MOST_FILES]:
        each.unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------
# Tuned settings, stored in the user's cache folder, so that the next edit of a function uses them.
# --------------------------------------------------------------------------------------------------


_TUNED_KIND = "tuned"
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


def load_settings(path: str) -> Found:
    """Tuned settings for functions of a file."""
    entries = sorted(read_entries(_TUNED_KIND, path, Tuned), key=lambda each: each.function)
    return {name: tuple(found) for name, found in groupby(entries, lambda each: each.function)}


def save_settings(path: str, found: Found) -> None:
    """Store the tuned settings of a file."""
    write_entries(_TUNED_KIND, path, [each for entries in found.values() for each in entries])


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
