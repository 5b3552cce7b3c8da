"""Editing of a file: its previous contents, and its replacement, atomic or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from polylsp.cli.files import read_bytes
from polylsp.core.notebook import NotebookSource, cells_of
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, encoding_of, read_file, replace_file
from polylsp.core.text import Source


class Unwritable(Exception):
    """A file that cannot be edited, and was left as it is; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Original:
    """A file as it was read."""

    path: str
    data: bytes
    text: str

    def encoded(self, text: str) -> bytes:
        """A text as it would be written to the file; raises `Unwritable` if that would change more than the
        text does."""
        encoding = encoding_of(self.data)
        try:
            if encoding.mark + self.text.encode(encoding.codec) == self.data:
                return encoding.mark + text.encode(encoding.codec)
        except UnicodeEncodeError:
            pass
        raise Unwritable(f"{self.path}: not edited: its text cannot be written as it was read")


def original(path: str, settings: Settings) -> Original:
    """A source file; raises `Unreadable`."""
    data = read_bytes(path, settings)
    return Original(path, data, decode(data))


def written(before: Original, source: Source, text: str) -> str:
    """The text of a file when its analysed part has become `text`; raises `Unwritable`."""
    if not isinstance(source, NotebookSource):
        return text
    from polylsp.core.notebook import NoNotebook, written_notebook

    codes = {
        cell.index: code.removesuffix("\n")
        for cell, (_, code) in zip(source.cells, cells_of(text), strict=True)
        if code.removesuffix("\n") != source.text[cell.span.start : cell.span.end]
    }
    try:
        return written_notebook(before.text, codes)
    except NoNotebook as reason:
        raise Unwritable(f"{before.path}: not edited: {reason}") from reason


def rewrite(before: Original, data: bytes) -> None:
    """Replace the contents of a file, preserving its mode and its owner; raises `Unwritable`. A concurrent
    reader sees the old content or the new. A link stays one: its target is replaced."""
    try:
        target = Path(before.path).resolve(strict=True)
        status = target.stat()
        if read_file(target, 1 + len(before.data) // 2**20) != before.data:
            raise Unwritable(f"{before.path}: not edited: the file has changed meanwhile")
        # Also for users whom the mode would not stop.
        if not os.access(target, os.W_OK) or not status.st_mode & 0o222:
            raise Unwritable(f"{before.path}: not edited: the file is read-only")
        _replace(target, data, status)
    except OSError as error:
        raise Unwritable(f"{before.path}: not edited: {error.strerror or error}") from error


def beside_it(before: Original, name: str) -> str:
    """The path of a file in the same folder, as the user would write it."""
    return str(Path(before.path).parent / name)


def create(path: str, data: bytes) -> None:
    """Make a file that is not there; raises `Unwritable`."""
    try:
        with Path(path).open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Unwritable(f"{path}: not made: there is such a file already") from error
    except OSError as error:
        raise Unwritable(f"{path}: not made: {error.strerror or error}") from error


def _replace(target: Path, data: bytes, status: os.stat_result) -> None:
    def keep_owner_and_mode(handle: int) -> None:
        if os.name == "posix":
            with contextlib.suppress(OSError):
                os.chown(handle, status.st_uid, status.st_gid)
            os.chmod(handle, stat.S_IMODE(status.st_mode))

    replace_file(target, data, keep_owner_and_mode)
