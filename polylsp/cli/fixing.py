"""`polylsp check --fix` and `--diff`: the safe fixes of files, written or printed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.cli.file_rewriting import Original, Unwritable, original, rewrite, written
from polylsp.cli.files import NotOurs, Unreadable, source_of
from polylsp.cli.offload import diff
from polylsp.cli.output import complain, write_bytes
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.core.processes import TOOK_TOO_LONG
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.model.action import Replacement, applied


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
