"""`polylsp tune`: the settings that make the fastest version of a function, looked for and remembered."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from polylsp.cli.files import NoLine, Unreadable, cell_of, read_line, settings_of
from polylsp.cli.measure import clear, show
from polylsp.cli.one_file import Version, versions
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines
from polylsp.core.text import Source
from polylsp.ide.measured import best_object, best_words, is_wrong, measured_object, measured_parts
from polylsp.ide.terminal import part_lines
from polylsp.measuring import stored_figures
from polylsp.measuring.remote import Step, carried_out
from polylsp.measuring.trials import CANDIDATES, best_of, of_kernels, searched
from polylsp.model.measurement import Figure, Measurement, NoPlan, NotMeasured, Plan


def run(options: argparse.Namespace) -> int:
    """Tunes the function around a line. What is found is remembered when it comes to its end or is
    interrupted."""
    place = options.place
    try:
        source, line = read_line(place, settings_of(options, place.path))
        own, others = _versions(place.path, source, line, options)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    except NoLine as reason:
        complain(str(reason))
        return Exit.USAGE
    plan = own.plan if isinstance(own.plan, NoPlan) else searched(own.plan, [each.plan for each in others])
    if isinstance(plan, NoPlan):
        complain(f"{place}: {plan.reason}")
        return Exit.USAGE
    found, best = _carried_out(plan, options, own.code)
    clear()
    if isinstance(found, NotMeasured):
        complain(f"{place}: {found.reason}")
        return Exit.ERRORS if found.is_error else Exit.USAGE
    _print(found, best, options, cell_of(source, line))
    return Exit.ERRORS if is_wrong(found) else Exit.DONE


def _versions(
    path: str, source: Source, line: int, options: argparse.Namespace
) -> tuple[Version, list[Version]]:
    """Measurement of the function with the user's settings, and with others."""
    found: list[Version] = []
    tried = ((), *CANDIDATES, *of_kernels(settings_of(options, path)))
    for each in versions(path, source, line, options, tried):
        show(Step(len(found), f"making version {len(found) + 1}"))
        found.append(each)
    return found[0], found[1:]


def _carried_out(
    plan: Plan, options: argparse.Namespace, code: str
) -> tuple[Measurement | NotMeasured, Figure | None]:
    best: list[Figure] = []

    def observe(step: Step) -> None:
        best.extend([step.best] if step.best is not None else [])
        show(step)

    try:
        found = carried_out(plan, settings_of(options, plan.path), observe)
    except KeyboardInterrupt:
        if best:
            _remember(plan, code, best[-1:])
        raise
    last = best_of(found.figures) if isinstance(found, Measurement) else None
    if isinstance(found, Measurement):
        _remember(plan, code, found.figures)
    return found, last


def _remember(plan: Plan, code: str, figures: Sequence[Figure]) -> None:
    stored_figures.save_settings(
        plan.path,
        {
            **stored_figures.load_settings(plan.path),
            plan.function: stored_figures.worth_keeping(plan, code, figures),
        },
    )


def _print(found: Measurement, best: Figure | None, options: argparse.Namespace, cell: int | None) -> None:
    path, line = options.place.path, options.place.line
    if options.format == "json":
        write_json({**measured_object(path, line, found, cell), "best": best_object(best)})
        return
    for part in (*measured_parts(found), best_words(best)):
        write_lines([*part_lines(part, terminal_width()), ()])
