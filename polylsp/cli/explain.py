"""`polylsp explain`: one loop and its nest, in full, or as a picture."""

from __future__ import annotations

import argparse

from polylsp.cli.files import Unreadable, line_in
from polylsp.cli.one_file import analysed, iterations, no_loop
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines, write_text
from polylsp.cli.pool import Crashed
from polylsp.core.text import Source
from polylsp.ide.lookup import loop_on_line
from polylsp.ide.loop_explanation import explain_object, explain_parts
from polylsp.ide.terminal import part_lines
from polylsp.model.facts import FileReport, LoopFacts, PlacedFunction
from polylsp.model.iteration_points import IterationSpace


def run(options: argparse.Namespace) -> int:
    """Explains the loop on a line, or the innermost loop around it."""
    place = options.place
    try:
        source, report = analysed(place.path, options)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    line = line_in(source, place.line, place.cell)
    found = loop_on_line(source, report, line) if line is not None else None
    if line is None or found is None:
        complain(f"{place}: {no_loop(source, report)}")
        return Exit.USAGE
    if options.format == "json":
        write_json(explain_object(source, report, line))
    elif options.format == "text":
        width = terminal_width()
        for part in explain_parts(source, *found):
            write_lines([*part_lines(part, width), ()])
    else:
        return _draw(source, report, found, options)
    return Exit.DONE


def _draw(
    source: Source, report: FileReport, found: tuple[PlacedFunction, LoopFacts], options: argparse.Namespace
) -> int:
    from polylsp.ide.picture import picture

    placed, loop = found
    name = placed.answer.facts.name
    space = iterations(report.path, source.text, name, loop.ordinal, options)
    if not isinstance(space, IterationSpace):
        why = space.reason if isinstance(space, Crashed) else space.message
        complain(f"{options.place}: cannot be drawn: {why}")
        return Exit.USAGE
    shown = " and ".join(each for each in space.dimensions if each)
    write_text(picture(space, f"{name}: iterations of {shown}"))
    return Exit.DONE
