"""Which Python runs what is measured."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from polylsp.runtime.tools import NotBuilt
from polylsp.settings import Settings

_KNOWN = re.compile(r"(?:python|pypy)[\d.]*t?(?:\.exe)?")
_FOLDERS = (".venv", "venv")


def interpreter_for(path: str, settings: Settings) -> str | NotBuilt:
    """The interpreter for a file: the one that the settings name, that of an environment that is active or
    stands above the file, the one that runs this, or the system's."""
    if settings.python_interpreter:
        return _named(settings.python_interpreter)
    found = next(_found(path), None)
    return found or NotBuilt("There is no Python here: name one in the setting `python_interpreter`.")


def _named(name: str) -> str | NotBuilt:
    if not _KNOWN.fullmatch(Path(name).name):
        return NotBuilt(
            f"`{name}` in the setting `python_interpreter` is refused: it is no Python by its name."
        )
    path = shutil.which(name)
    return path or NotBuilt(f"`{name}` of the setting `python_interpreter` was not found.")


def _found(path: str) -> Iterator[str]:
    active = os.environ.get("VIRTUAL_ENV", "")
    folders = [Path(active)] if active else []
    folders += [above / name for above in Path(path).absolute().parents for name in _FOLDERS]
    for folder in folders:
        program = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and os.access(program, os.X_OK):
            yield str(program)
    if sys.executable and find_spec("numpy") is not None:
        yield sys.executable
    for name in ("python3", "python"):
        program = shutil.which(name)
        if program is not None:
            yield program
