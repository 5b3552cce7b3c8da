"""Which files a command is about, and their text."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from polylsp.encoding import decode
from polylsp.language import LANGUAGES, language_of
from polylsp.settings import Settings

_SEARCHED = frozenset(suffix for one in LANGUAGES for suffix in one.searched)


class Unreadable(Exception):
    """A file that cannot be read; the message is for the user."""


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings that the options of a command make."""
    return Settings(
        include_paths=tuple(options.include_paths),
        defines=tuple(options.defines),
        compile_commands=options.compile_commands,
    )


def files_of(paths: Sequence[str]) -> list[str]:
    """The files that paths mean, each once: a file as it is named, a folder by all its `*.c` and
    `*.py` in alphabetical order (hidden folders are left out)."""
    found: dict[str, str] = {}
    for path in paths:
        for file in _sources(path) if Path(path).is_dir() else [path]:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def read(path: str) -> str:
    """The text of a source file, whatever its encoding; raises `Unreadable`."""
    return decode(read_bytes(path))


def read_bytes(path: str) -> bytes:
    """What a source file holds; raises `Unreadable`."""
    if language_of(path) is None:
        raise Unreadable(f"{path}: not a C or Python file (its name does not end in .c, .h or .py)")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error


def _sources(folder: str) -> Iterator[str]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if Path(name).suffix in _SEARCHED:
                yield str(Path(root) / name)
