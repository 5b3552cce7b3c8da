"""`polylsp offload`, and `polylsp check --fix` and `--diff`: edits of files, printed as a diff or written.

Files are replaced atomically or not at all; concurrent changes are detected.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import diff_bytes, unified_diff
from pathlib import Path

from polylsp.cli.files import NotOurs, Unreadable, line_in, read_bytes, settings_of, source_of
from polylsp.cli.one_file import analysed, edited, offered
from polylsp.cli.output import Exit, complain, write_bytes
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.core.notebook import NotebookSource, cells_of
from polylsp.core.processes import TOOK_TOO_LONG
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, encoding_of, read_file, replace_file
from polylsp.core.text import Source
from polylsp.ide.lookup import loop_on_line
from polylsp.ide.wording import verdict_sentence
from polylsp.model.action import TRANSFORMS, Declined, Edited, Replacement, applied
from polylsp.model.facts import parallel_roots

_MOST_MB = 32
"""Of a file that stands beside an edited one."""


def run(options: argparse.Namespace) -> int:
    """Prints or writes the edit of the loop on a line, or of the innermost loop around it; on the header of a
    function, for a device, of all its loops. Where an existing file prevents the edit, prints the difference
    to the new one."""
    place = options.place
    try:
        before = original(place.path, settings_of(options, place.path))
        source = source_of(place.path, before.text)
        line = line_in(source, place.line, place.cell)
        if line is None:
            complain(f"{place}: there is no such line")
            return Exit.USAGE
        answer = edited(place.path, source, line, options.target or options.transform, options)
        if isinstance(answer, Declined):
            complain(f"{place}: {answer.reason}")
            if options.target:
                _explain_order(line, options)
                _name_transform(line, options)
            for each in answer.kept:
                write_bytes(b"".join(_changed(beside_it(before, each.name), before.encoded(each.wanted))))
            return Exit.USAGE
        _deliver(before, source, answer, write=options.write)
    except (Unreadable, Unwritable) as problem:
        complain(str(problem))
        return Exit.UNREADABLE
    return Exit.DONE


def _explain_order(line: int, options: argparse.Namespace) -> None:
    """Say why the loop that a target declined runs in order, and what would help, if no loop in it is
    parallel."""
    source, report = analysed(options.place.path, options)
    found = loop_on_line(source, report, line)
    if found is not None and not parallel_roots(found[0].answer.facts, found[1].ordinal):
        complain(verdict_sentence(source, *found))


def _name_transform(line: int, options: argparse.Namespace) -> None:
    """Say which transform answers the finding on a loop that a target declined."""
    fixes = (each for each in offered(options.place.path, line, options) or () if each.kind == "quickfix")
    best = next((each for each in fixes if each.ask.action in TRANSFORMS and not each.disabled), None)
    if best is not None:
        place, action = shlex.quote(str(options.place)), best.ask.action
        complain(f"{best.title}: polylsp offload {place} --transform {action}")


def _deliver(before: Original, source: Source, answer: Edited, *, write: bool) -> None:
    after = before.encoded(written(before, source, applied(source.text, answer.replacements)))
    beside = [(beside_it(before, each.name), before.encoded(each.text)) for each in answer.created]
    if write:
        # The source calls what stands in the new files: they come first.
        for path, data in beside:
            create(path, data)
        rewrite(before, after)
    else:
        write_bytes(b"".join(diff(before, after)))
        for path, data in beside:
            write_bytes(b"".join(_added(path, data)))
    for assumption in answer.assumptions:
        complain(f"right only if {assumption.sentence}")
    for remark in answer.remarks:
        complain(remark)


# --------------------------------------------------------------------------------------------------
# The safe fixes of files.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Fixing:
    path: str
    source: Source
    settings: Settings


def fix(files: Sequence[tuple[str, Settings]], options: argparse.Namespace, limits: Settings) -> bool:
    """Write the safe fixes of the findings that are shown, or print them as a diff; each file has settings of
    its own, and workers the `limits`. Returns `False` where a file could not be fixed; with `--fix`, those
    that cannot be read are left to the check, which says so."""
    is_done = True
    opened: list[tuple[Original, _Fixing]] = []
    for path, settings in files:
        try:
            before = original(path, settings)
            opened.append((before, _Fixing(path, source_of(path, before.text), settings)))
        except Unreadable as problem:
            if options.diff and not isinstance(problem, NotOurs):
                complain(str(problem))
                is_done = False
    fixes = results(_fixes, [each for _, each in opened], options.jobs, limits)
    for (before, each), found in zip(opened, fixes, strict=True):
        if isinstance(found, Crashed):
            complain(f"{each.path}: not fixed: {found.reason}")
            is_done = False
            continue
        if not found:
            continue
        try:
            after = before.encoded(written(before, each.source, applied(each.source.text, found)))
            if options.diff:
                write_bytes(b"".join(diff(before, after)))
            else:
                rewrite(before, after)
                count = "1 safe fix" if len(found) == 1 else f"{len(found)} safe fixes"
                complain(f"{each.path}: {count} applied")
        except Unwritable as problem:
            complain(str(problem))
            is_done = False
    return is_done


def _fixes(fixing: _Fixing, given_up: frozenset[str], observe: Observer) -> tuple[Replacement, ...]:
    """The safe fixes of one file as one edit; runs in another process."""
    from polylsp.engine.queries import analyse, edit
    from polylsp.ide.lightbulb import joined_fixes, safe_fixes

    path, source, settings = fixing.path, fixing.source, fixing.settings
    stopped = dict.fromkeys(given_up, TOOK_TOO_LONG)
    report = analyse(path, source.text, settings, given_up=stopped, observe=observe, edits=True)
    found = safe_fixes(source, report, settings, ("clauses", "directives"))
    return joined_fixes(found.ready, [edit(path, source.text, settings, each) for each in found.asks])


# --------------------------------------------------------------------------------------------------
# Unified diffs.
# --------------------------------------------------------------------------------------------------


def diff(before: Original, after: bytes) -> Iterator[bytes]:
    """A unified diff, in the encoding of the file, that `patch -p0` applies."""
    name = before.path.encode(errors="surrogateescape")
    yield from _unified(_lines(before.data), _lines(after), name, name)


def _changed(path: str, data: bytes) -> Iterator[bytes]:
    """A unified diff from an existing file to the one that would be created in its place."""
    name = path.encode(errors="surrogateescape")
    try:
        there = read_file(path, _MOST_MB)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    yield from _unified(_lines(there), _lines(data), name, name)


def _added(path: str, data: bytes) -> Iterator[bytes]:
    """A unified diff that makes a new file."""
    yield from _unified([], _lines(data), b"/dev/null", path.encode(errors="surrogateescape"))


def _unified(old: list[bytes], new: list[bytes], name: bytes, new_name: bytes) -> Iterator[bytes]:
    for line in diff_bytes(unified_diff, old, new, name, new_name):
        yield line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


def _lines(data: bytes) -> list[bytes]:
    """The lines as `patch` counts them, with their ends."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


# --------------------------------------------------------------------------------------------------
# Editing of a file: its previous contents, and its replacement, atomic or not at all.
# --------------------------------------------------------------------------------------------------


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
