"""`polylsp measure`: speedups of the edits of a loop, on data generated for its function."""

from __future__ import annotations

import argparse
import sys

from polylsp.cli.files import NoLine, Unreadable, cell_of, read_line, settings_of
from polylsp.cli.one_file import measurable
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines
from polylsp.ide.measured import is_wrong, measured_object, measured_parts
from polylsp.ide.terminal import part_lines
from polylsp.measuring.remote import Step, carried_out
from polylsp.model.measurement import NoPlan, NotMeasured


def run(options: argparse.Namespace) -> int:
    """Measures the function around a line: with the edit of the loop there, or on its header with those of
    all its loops."""
    place = options.place
    try:
        source, line = read_line(place, settings_of(options, place.path))
        plan = measurable(place.path, source, line, options)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    except NoLine as reason:
        complain(str(reason))
        return Exit.USAGE
    if isinstance(plan, NoPlan):
        complain(f"{place}: {plan.reason}")
        return Exit.USAGE
    found = carried_out(plan, settings_of(options, place.path), show)
    clear()
    if isinstance(found, NotMeasured):
        complain(f"{place}: {found.reason}")
        return Exit.ERRORS if found.is_error else Exit.USAGE
    if options.format == "json":
        write_json(measured_object(place.path, place.line, found, cell_of(source, line)))
    else:
        for part in measured_parts(found):
            write_lines([*part_lines(part, terminal_width()), ()])
    return Exit.ERRORS if is_wrong(found) else Exit.DONE


def show(step: Step) -> None:
    """Show the progress, for a person who looks at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{step.percent:3d} % {step.what}", end="", file=sys.stderr, flush=True)


def clear() -> None:
    """Erase the line of progress."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
