"""Measurements stored in the user's cache folder, so that a file that is opened again shows them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from cattrs import Converter

from polylsp.disk_cache import cache_folder
from polylsp.model.measurement import Measurement
from polylsp.replacing import replace_file

T = TypeVar("T")

logger = logging.getLogger(__name__)

Entries = Mapping[tuple[str, int], tuple[str, Measurement]]
"""By function and loop: the name of the code that was measured, and what came of it."""

_MOST_FILES = 2000
_KIND = "measurements"
_converter = Converter()


@dataclass(frozen=True, slots=True)
class _Entry:
    code: str
    measurement: Measurement


def load(path: str) -> Entries:
    """Measurements of a file; none where there is no readable store."""
    found = read_entries(_KIND, path, _Entry)
    return {
        (each.measurement.function, each.measurement.ordinal): (each.code, each.measurement) for each in found
    }


def save(path: str, entries: Entries) -> None:
    """Store the measurements of a file; a failure is only logged."""
    write_entries(_KIND, path, [_Entry(code, measurement) for code, measurement in entries.values()])


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
