"""Files and places that a command line names: settings, text, notebook cells, and argument parsers.

`FILE:LINE` or `NOTEBOOK:CELL:LINE`, both from 1. Unreadable files and missing places raise errors
for the user.
"""

from __future__ import annotations

import argparse
import errno
import os
import re
import stat
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Union, get_type_hints

from polylsp.cli.output import Misused
from polylsp.core.language import SEARCHED, language_of
from polylsp.core.notebook import SUFFIX, NotebookSource
from polylsp.core.project import Project, WrongProject, WrongValue, checked, project_of
from polylsp.core.settings import MACRO, Settings
from polylsp.core.source_files import decode, read_file, read_up_to, sources_in, why_no_python
from polylsp.core.text import Source

# --------------------------------------------------------------------------------------------------
# Arguments of the command line that are more than a word; `argparse` shows the errors.
# --------------------------------------------------------------------------------------------------


_SIZE = re.compile(r"[^\W\d][\w.]*(\.shape\[\d\]|(->[\w.]+)+)?")
_CELL = re.compile(rf"(.+{re.escape(SUFFIX)}):(?:cell )?(\d+)", re.DOTALL | re.IGNORECASE)

_Value = Union[bool, int, float, str, tuple[int, ...], tuple[str, ...]]
_TRUTH = {"true": True, "false": False}


class Place(NamedTuple):
    """A line of a file, from 1; in a notebook, of one of its cells with code, from 1 (else `cell` is 0)."""

    path: str
    line: int
    cell: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{f'cell {self.cell}:' if self.cell else ''}{self.line}"


def file_line(text: str) -> Place:
    """`FILE:LINE`, or `NOTEBOOK:CELL:LINE`; lines and cells from 1."""
    path, _, line = text.rpartition(":")
    if not path or not line.isdecimal() or int(line) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE:LINE with a line from 1")
    of_cell = _CELL.fullmatch(path)
    if of_cell is None and path.lower().endswith(SUFFIX):
        raise argparse.ArgumentTypeError(f"{text!r} is not NOTEBOOK:CELL:LINE with a cell and a line from 1")
    return Place(path, int(line)) if of_cell is None else Place(of_cell[1], int(line), int(of_cell[2]))


def codes(text: str) -> tuple[str, ...]:
    """Codes of findings, with commas between."""
    named = tuple(each.strip() for each in text.split(",") if each.strip())
    unknown = unknown_codes(named)
    if unknown or not named:
        told = ", ".join(unknown) or repr(text)
        raise argparse.ArgumentTypeError(f"{told} is no code of a finding, as in sequential-loop")
    return named


def unknown_codes(named: Sequence[str]) -> list[str]:
    """Codes that no finding has, of some that are named."""
    if not named:
        return []
    from polylsp.ide.code_pages import known_codes

    return [each for each in named if each not in known_codes()]


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; `[::1]:PORT` for IPv6."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def count(text: str) -> int:
    """A number of processes; 0 means one for each core."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text) or os.cpu_count() or 1


def positive(text: str) -> int:
    """A number from 1."""
    if not (text.isdecimal() and text.isascii()) or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def pair_of_names(text: str) -> tuple[str, str]:
    """Two iterators, as in `i,j`."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two iterators, as in i,j")
    return names[0], names[1]


def define(text: str) -> str:
    """`NAME` or `NAME=VALUE`."""
    if not MACRO.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME=VALUE")
    return text


def size(text: str) -> tuple[str, int]:
    """`NAME=SIZE`."""
    name, _, value = text.partition("=")
    if not _SIZE.fullmatch(name) or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE, as in n=1000 or x.shape[0]=500")
    return name, int(value)


def setting(text: str) -> tuple[str, _Value]:
    """`NAME=VALUE`; of several values, with commas between."""
    name, _, value = text.partition("=")
    known = {each.name for each in fields(Settings)}
    if name not in known or "=" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE with the name of a setting")
    try:
        return name, checked(name, _value(value.strip(), get_type_hints(Settings)[name]))
    except WrongValue as reason:
        raise argparse.ArgumentTypeError(f"{value!r} is no value of {name}, which {reason}") from reason
    except (ValueError, KeyError):
        raise argparse.ArgumentTypeError(f"{value!r} is no value of {name}") from None


def _value(text: str, kind: object) -> _Value:
    """A value of a type; raises `ValueError` or `KeyError`."""
    several = [each.strip() for each in text.split(",") if each.strip()]
    if kind is bool:
        return _TRUTH[text]
    if kind == tuple[int, ...]:
        return tuple(int(each) for each in several)
    if kind == tuple[str, ...]:
        return tuple(several)
    if kind is int:
        return int(text)
    return float(text) if kind is float else text


# --------------------------------------------------------------------------------------------------
# Files that a command is about, and their text.
# --------------------------------------------------------------------------------------------------


class Unreadable(Exception):
    """A file that cannot be read; the message is for the user."""


class NoLine(Exception):
    """A place that is not there; the message is for the user."""


class NotOurs(Unreadable):
    """A file that turns out to be in a language that is not analysed."""


def settings_of(options: argparse.Namespace, path: str) -> Settings:
    """The settings for a file: those of the command line, then of its project, then the defaults; raises
    `Misused` for a project whose settings cannot be used."""
    try:
        project = Project() if options.isolated else project_of(path)
    except WrongProject as wrong:
        raise Misused(str(wrong)) from wrong
    values = dict(project.values)
    for name in ("selected_diagnostics", "disabled_diagnostics"):
        if unknown := unknown_codes(values.get(name, ())):
            raise Misused(f"{project.path}: `{name}`: {', '.join(unknown)} is no code of a finding")
    return replace(Settings(), **{**values, **_given(options)})


def all_settings(files: Sequence[str], options: argparse.Namespace) -> list[Settings]:
    """The settings for each file, without a cache where there can be none: that is logged once, not by each
    worker."""
    by_folder: dict[Path, Settings] = {}
    for file in files:
        folder = Path(file).parent
        if folder not in by_folder:
            by_folder[folder] = settings_of(options, file)
    if any(each.cache and not each.cluster for each in by_folder.values()):
        from polylsp.engine.fact_cache import fact_cache

        if fact_cache().problem:
            by_folder = {folder: replace(each, cache=False) for folder, each in by_folder.items()}
    return [by_folder[Path(file).parent] for file in files]


def joint_limits(settings: Sequence[Settings]) -> Settings:
    """Settings with the widest limits of some, for workers that take one file after the other."""
    if not settings:
        return Settings()
    memory = [each.max_memory_mb for each in settings]
    return replace(
        settings[0],
        max_seconds=max(each.max_seconds for each in settings),
        max_memory_mb=max(memory) if all(memory) else 0,
    )


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The settings that the command line names."""
    found = {name: getattr(options, option, None) for name, option in _OPTIONS.items()}
    named = {name: tuple(each) if isinstance(each, list) else each for name, each in found.items()}
    return {name: each for name, each in named.items() if each not in (None, "", ())} | dict(options.settings)


_OPTIONS = {
    "include_paths": "include_paths",
    "defines": "defines",
    "compile_commands": "compile_commands",
    "cluster": "cluster",
    "allowed_programs": "allowed_programs",
    "max_file_mb": "max_file_mb",
    "cache": "cache",
    "selected_diagnostics": "selected",
    "disabled_diagnostics": "ignored",
    "least_severity": "severity",
}
"""The settings that have options of their own, with the names of these."""


def files_of(paths: Sequence[str]) -> list[str]:
    """The files that paths mean, each once: a file as it is named, a folder by all its `*.c`, `*.py` and
    `*.ipynb` in alphabetical order (see `sources_in`), and by folders in it that cannot be read.
    Raises `Misused` for an empty path, and one with a null character."""
    if "" in paths:
        raise Misused("a path is empty")
    if any("\0" in path for path in paths):
        raise Misused("a path contains a null character")
    found: dict[str, str] = {}
    for path in paths:
        for file in sources_in(path, SEARCHED) if Path(path).is_dir() else [path]:
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def read(path: str, settings: Settings, data: bytes | None = None) -> Source:
    """The text of a source file, in any supported encoding, or of a notebook's cells, from its contents where
    these are not on disk; raises `Unreadable`."""
    return source_of(path, decode(read_bytes(path, settings) if data is None else data))


def from_standard_input(options: argparse.Namespace) -> bytes | None:
    """Contents of the file `stdin_filename` from standard input, where the path is `-`; `None` where there
    are other paths. Raises `Misused` and `Unreadable`."""
    name: str | None = options.stdin_filename
    if "-" not in options.paths and name is None:
        return None
    if options.paths != ["-"]:
        raise Misused("standard input is checked alone: name no other path than -")
    if name is None:
        raise Misused("for text from standard input, --stdin-filename gives its name and so its language")
    if options.fix or options.diff:
        raise Misused("text from standard input is not edited: leave out --fix or --diff")
    _expect_language(name)
    most = settings_of(options, name).max_file_mb
    try:
        data = read_up_to(sys.stdin.buffer, most * 2**20 + 1)
    except OSError as error:
        raise Unreadable(f"standard input: {error.strerror or error}") from error
    if len(data) > most * 2**20:
        raise Unreadable(f"{name}: it is larger than {most} MiB (`max_file_mb`)")
    _expect_text(name, data)
    return data


def source_of(path: str, text: str) -> Source:
    """Source to analyse of a file's text; raises `Unreadable`."""
    if not is_notebook(path):
        return Source(text)
    # Most files are none.
    from polylsp.core.notebook import NoNotebook, OtherLanguage, read_notebook

    try:
        return read_notebook(text)
    except OtherLanguage as reason:
        raise NotOurs(f"{path}: {reason}") from reason
    except NoNotebook as reason:
        raise Unreadable(f"{path}: {reason}") from reason


def line_in(source: Source, line: int, cell: int) -> int | None:
    """The 0-based line of a text that a line of a file, or of a cell of a notebook, means; `None` if there is
    no such line. Lines and cells count from 1."""
    if not isinstance(source, NotebookSource):
        return line - 1
    found = next((one for one in source.cells if one.number == cell), None)
    if found is None or found.line + line - 1 > source.line_of(found.span.end):
        return None
    return found.line + line - 1


def read_line(place: Place, settings: Settings) -> tuple[Source, int]:
    """The text of a file, and the 0-based line of it that a place means; raises `Unreadable`."""
    source = read(place.path, settings)
    line = line_in(source, place.line, place.cell)
    if line is None:
        raise NoLine(f"{place}: there is no such line")
    return source, line


def cell_of(source: Source, line: int) -> int | None:
    """The cell in which a 0-based line stands, from 0; `None` in a file that is no notebook."""
    return source.cell(source.line_starts[min(line, len(source.line_starts) - 1)])


def is_notebook(path: str) -> bool:
    """True if a file is a notebook, by its name."""
    return Path(path).suffix.lower() == SUFFIX


def read_bytes(path: str, settings: Settings) -> bytes:
    """Contents of a source file; raises `Unreadable`."""
    try:
        # A file of another language is read, or not, as any other; a folder is none.
        if language_of(path) is None and stat.S_ISDIR(Path(path).stat().st_mode):
            os.scandir(path).close()
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _expect_language(path)
        data = read_file(path, settings.max_file_mb)
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    _expect_text(path, data)
    return data


def _expect_language(path: str) -> None:
    if language_of(path) is None:
        raise Unreadable(f"{path}: not a C or Python file (its name does not end in .c, .h, .py or .ipynb)")


def _expect_text(path: str, data: bytes) -> None:
    """Raise `Unreadable` for a Python file in another encoding than it declares. In C, all that is not UTF-8
    is taken for Latin-1."""
    why = why_no_python(data) if Path(path).suffix == ".py" else ""
    if why:
        raise Unreadable(f"{path}: {why}")
