"""Choice of the Python interpreter for measured programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from polylsp.runtime.programs import OF_PROJECT, Programs, programs_for
from polylsp.runtime.tools import NotBuilt
from polylsp.settings import Settings

_KNOWN = re.compile(r"(?:python|pypy)[\d.]*t?(?:\.exe)?")
_FOLDERS = (".venv", "venv")


def interpreter_for(path: str, settings: Settings, workspace: Sequence[str] = ()) -> str | NotBuilt:
    """The interpreter for a file: the one that the settings name, that of an environment that is active or
    stands above the file, the one that runs this, or the system's. `workspace`: folders that the editor has
    open."""
    programs = programs_for(path, settings, workspace)
    if settings.python_interpreter:
        return _named(settings.python_interpreter, programs)
    found = next(_found(path, programs), None)
    return found or NotBuilt("There is no Python here: name one in the setting `python_interpreter`.")


def _named(name: str, programs: Programs) -> str | NotBuilt:
    refused = f"`{name}` in the setting `python_interpreter` is refused"
    if not _KNOWN.fullmatch(Path(name).name):
        return NotBuilt(f"{refused}: it is no Python by its name.")
    path = programs.named(name)
    if path is None:
        return NotBuilt(f"`{name}` of the setting `python_interpreter` was not found.")
    return NotBuilt(f"{refused}: {OF_PROJECT}.") if programs.is_of_project(path, _KNOWN) else path


def _found(path: str, programs: Programs) -> Iterator[str]:
    active = os.environ.get("VIRTUAL_ENV", "")
    folders = [Path(active)] if active else []
    folders += [above / name for above in Path(path).absolute().parents for name in _FOLDERS]
    for folder in folders:
        program = folder / "bin" / "python"
        is_there = (folder / "pyvenv.cfg").is_file() and os.access(program, os.X_OK)
        # An environment has a link to the interpreter that created it.
        if is_there and not programs.around(folder.parent).is_of_project(str(program), _KNOWN):
            yield str(program)
    if sys.executable and find_spec("numpy") is not None:
        yield sys.executable
    for name in ("python3", "python"):
        program = programs.on_path(name, _KNOWN)
        if program is not None:
            yield program
