"""`polylsp model`: the polyhedral model of every nest of a file, as isl text."""

from __future__ import annotations

import argparse

from polylsp.cli.files import Unreadable
from polylsp.cli.one_file import analysed
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines
from polylsp.ide.nest_model import model_lines, model_object


def run(options: argparse.Namespace) -> int:
    """Prints the models."""
    try:
        source, report = analysed(options.path, options, relations=True)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    if options.format == "json":
        write_json(model_object(source, report))
    else:
        write_lines(model_lines(source, report, terminal_width()))
    return Exit.DONE
