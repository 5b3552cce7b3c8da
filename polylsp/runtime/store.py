"""Measurements kept in the user's cache folder, so that a file that is opened again shows them."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from cattrs import Converter

from polylsp.model.measurement import Measurement

logger = logging.getLogger(__name__)

Entries = Mapping[tuple[str, int], tuple[str, Measurement]]
"""By function and loop: the name of the code that was measured, and what came of it."""

_MOST_FILES = 2000
_converter = Converter()


def cache_folder() -> Path:
    """Where a program of this user may keep what it can make again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polylsp"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "polylsp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polylsp"


def load(path: str) -> Entries:
    """What was measured of a file; nothing where there is none, or none that can be read."""
    file = _file(path)
    try:
        entries: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
        found = [(each["code"], _converter.structure(each["measurement"], Measurement)) for each in entries]
    except FileNotFoundError:
        return {}
    except Exception as error:
        logger.info("%s cannot be read: %s", file, error)
        return {}
    return {(each.function, each.ordinal): (code, each) for code, each in found}


def save(path: str, entries: Entries) -> None:
    """Keep what was measured of a file; where that does not work, it is only logged."""
    file = _file(path)
    listed = [{"code": code, "measurement": _converter.unstructure(m)} for code, m in entries.values()]
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
        with os.fdopen(handle, "w", encoding="utf-8") as new:
            json.dump(listed, new)
        Path(name).replace(file)
        _forget_oldest(file.parent)
    except OSError as error:
        logger.info("Measurements are not kept: %s", error)


def _file(path: str) -> Path:
    name = blake2b(str(Path(path).absolute()).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    return cache_folder() / "measurements" / f"{name}.json"


def _forget_oldest(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime)
    for each in files[:-_MOST_FILES]:
        each.unlink(missing_ok=True)
