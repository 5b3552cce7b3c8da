"""`polylsp measure` and `polylsp tune`: speedups of the edits of a loop on data generated for its function,
and the settings that make the fastest version of a function, looked for and remembered."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from polylsp.cli.files import NoLine, Unreadable, cell_of, read_line, settings_of
from polylsp.cli.one_file import Version, measurable, versions
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines
from polylsp.core.text import Source
from polylsp.ide.measured import best_object, best_words, is_wrong, measured_object, measured_parts
from polylsp.ide.terminal import part_lines
from polylsp.measuring import stored_figures
from polylsp.measuring.remote import Step, carried_out
from polylsp.measuring.trials import CANDIDATES, best_of, of_kernels, searched
from polylsp.model.measurement import Figure, Measurement, NoPlan, NotMeasured, Plan


def run(options: argparse.Namespace) -> int:
    """Measures the function around a line: with the edit of the loop there, or on its header with those of
    all its loops; or tunes it: the figures so far are remembered at the end and on an interrupt."""
    place, tunes, code = options.place, options.command == "tune", ""
    try:
        source, line = read_line(place, settings_of(options, place.path))
        if tunes:
            own, others = _versions(place.path, source, line, options)
            code, plan = own.code, own.plan
            plan = plan if isinstance(plan, NoPlan) else searched(plan, [each.plan for each in others])
        else:
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
    if tunes:
        found = _tuned(plan, options, code)
    else:
        found = carried_out(plan, settings_of(options, place.path), _show)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if isinstance(found, NotMeasured):
        complain(f"{place}: {found.reason}")
        return Exit.ERRORS if found.is_error else Exit.USAGE
    _print(found, options, cell_of(source, line))
    return Exit.ERRORS if is_wrong(found) else Exit.DONE


def _versions(
    path: str, source: Source, line: int, options: argparse.Namespace
) -> tuple[Version, list[Version]]:
    """Measurement of the function with the user's settings, and with others."""
    found: list[Version] = []
    tried = ((), *CANDIDATES, *of_kernels(settings_of(options, path)))
    for each in versions(path, source, line, options, tried):
        _show(Step(len(found), f"making version {len(found) + 1}"))
        found.append(each)
    return found[0], found[1:]


def _tuned(plan: Plan, options: argparse.Namespace, code: str) -> Measurement | NotMeasured:
    best: list[Figure] = []

    def observe(step: Step) -> None:
        best.extend([step.best] if step.best is not None else [])
        _show(step)

    try:
        found = carried_out(plan, settings_of(options, plan.path), observe)
    except KeyboardInterrupt:
        if best:
            _remember(plan, code, best[-1:])
        raise
    if isinstance(found, Measurement):
        _remember(plan, code, found.figures)
    return found


def _remember(plan: Plan, code: str, figures: Sequence[Figure]) -> None:
    known = stored_figures.load_settings(plan.path)
    kept = stored_figures.worth_keeping(plan, code, figures)
    stored_figures.save_settings(plan.path, {**known, plan.function: kept})


def _print(found: Measurement, options: argparse.Namespace, cell: int | None) -> None:
    tunes, best = options.command == "tune", best_of(found.figures)
    if options.format == "json":
        measured = measured_object(options.place.path, options.place.line, found, cell)
        write_json({**measured, "best": best_object(best)} if tunes else measured)
        return
    for part in (*measured_parts(found), *([best_words(best)] if tunes else [])):
        write_lines([*part_lines(part, terminal_width()), ()])


def _show(step: Step) -> None:
    """Show the progress, for a person who looks at a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{step.percent:3d} % {step.what}", end="", file=sys.stderr, flush=True)
