"""Requests of a command about its one file, in a process that can be ended."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Union

from polylsp.cli.files import Unreadable, read, settings_of
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.core.processes import TOOK_TOO_LONG
from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.actions import Offer
from polylsp.ide.lightbulb import lightbulb
from polylsp.ide.lookup import function_on_line, fusion_on_line, loop_on_line, loops, measured_on_line
from polylsp.ide.measurement_view import code_name
from polylsp.ir.program import Rejection
from polylsp.measuring import stored_figures
from polylsp.model.action import ON_FUNCTIONS, ActionName, Ask, Declined, Edited
from polylsp.model.facts import FileReport
from polylsp.model.iteration_points import IterationSpace
from polylsp.model.measurement import NoPlan, Parameters, Plan


def analysed(path: str, options: argparse.Namespace, relations: bool = False) -> tuple[Source, FileReport]:
    """Text of a file and its report, with the `relations` of its models on request; raises `Unreadable`."""
    settings = settings_of(options, path)
    source = read(path, settings)
    file = _File(path, source.text, settings)
    (report,) = results(_modelled if relations else _analyse, [file], 1, file.settings)
    if isinstance(report, Crashed):
        raise Unreadable(f"{path}: {report.reason}")
    return source, report


def offered(path: str, line: int, options: argparse.Namespace) -> Union[tuple[Offer, ...], None]:
    """Actions at the first word of a 0-based line, the best first, those that were tried and fail as
    disabled; `None` where there is no such line. Raises `Unreadable`."""
    settings = settings_of(options, path)
    source = read(path, settings)
    if not 0 <= line < len(source.line_starts):
        return None
    text = source.line_text(line)
    at = source.line_starts[line] + len(text) - len(text.lstrip())
    (report,) = results(_tried, [_Offset(_File(path, source.text, settings), at)], 1, settings)
    if isinstance(report, Crashed):
        raise Unreadable(f"{path}: {report.reason}")
    listed = lightbulb(source, report, settings, Span(at, at), makes_files=True)
    return tuple(each for each in listed if isinstance(each, Offer))


def iterations(
    path: str, text: str, function: str, ordinal: int, options: argparse.Namespace
) -> Union[IterationSpace, Rejection, Crashed]:
    """The iterations of a loop and a neighbour, to be drawn."""
    file = _File(path, text, settings_of(options, path))
    (space,) = results(_space, [_Loop(file, function, ordinal, options.dimensions)], 1, file.settings)
    return space


def edited(
    path: str, source: Source, line: int, action: ActionName, options: argparse.Namespace
) -> Union[Edited, Declined]:
    """Edit of an action on the loop or the function that a 0-based line is about; raises `Unreadable`."""
    file = _File(path, source.text, settings_of(options, path))
    (answer,) = results(_edit, [_Action(file, source, line, action)], 1, file.settings)
    if isinstance(answer, Crashed):
        raise Unreadable(f"{path}: {answer.reason}")
    return answer


def measurable(path: str, source: Source, line: int, options: argparse.Namespace) -> Union[Plan, NoPlan]:
    """Measurement plan of the loop or the function that a 0-based line is about; raises `Unreadable`."""
    file = _File(path, source.text, settings_of(options, path))
    chosen = _Measured(file, source, line, tuple(options.sizes), tuple(dict.fromkeys(options.targets)))
    (plan,) = results(_plan, [chosen], 1, file.settings)
    if isinstance(plan, Crashed):
        raise Unreadable(f"{path}: {plan.reason}")
    return plan


@dataclass(frozen=True, slots=True)
class Version:
    """Measurement plan of a function whose versions are generated with some settings; the hash of its
    code."""

    plan: Union[Plan, NoPlan]
    code: str


def versions(
    path: str, source: Source, line: int, options: argparse.Namespace, parameters: Sequence[Parameters]
) -> Generator[Version, None, None]:
    """Measurement plans of the function that a 0-based line is about, one for each of some settings; raises
    `Unreadable`."""
    file = _File(path, source.text, settings_of(options, path))
    sizes, targets = tuple(options.sizes), tuple(dict.fromkeys(options.targets))
    chosen = [_Measured(file, source, line, sizes, targets, each) for each in parameters]
    for made in results(_version, chosen, 1, file.settings):
        yield Version(NoPlan(made.reason), "") if isinstance(made, Crashed) else made


def no_loop(source: Source, report: FileReport) -> str:
    """Message for a line that is about no loop."""
    headers = sorted(placed.span(loop.header).start for placed, loop in loops(report))
    lines = list(dict.fromkeys(source.line_name(header) for header in headers))
    if not lines:
        return "no loop here; the file has no loops"
    shown = ", ".join(lines[:10])
    more = ", …" if len(lines) > 10 else ""
    return f"no loop here; there are loops on line{'s' if len(lines) > 1 else ''} {shown}{more}"


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    text: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class _Loop:
    file: _File
    function: str
    ordinal: int
    dimensions: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class _Action:
    file: _File
    source: Source
    line: int
    action: ActionName


@dataclass(frozen=True, slots=True)
class _Measured:
    file: _File
    source: Source
    line: int
    sizes: tuple[tuple[str, int], ...]
    targets: tuple[ActionName, ...]
    parameters: Parameters = ()


def _analyse(file: _File, given_up: frozenset[str], observe: Observer) -> FileReport:
    from polylsp.engine.queries import analyse

    stopped = dict.fromkeys(given_up, TOOK_TOO_LONG)
    return analyse(file.path, file.text, file.settings, given_up=stopped, observe=observe)


@dataclass(frozen=True, slots=True)
class _Offset:
    file: _File
    at: int


def _tried(place: _Offset, given_up: frozenset[str], observe: Observer) -> FileReport:
    """Report with the actions tried, first on the loops of the function at an offset."""
    from polylsp.engine.prepared import Stream
    from polylsp.engine.queries import analyse

    file, stopped = place.file, dict.fromkeys(given_up, TOOK_TOO_LONG)
    stream = Stream(focus=lambda: (Span(place.at, place.at),))
    return analyse(
        file.path,
        file.text,
        file.settings,
        edits=True,
        given_up=stopped,
        observe=observe,
        stream=stream,
    )


def _modelled(file: _File, given_up: frozenset[str], observe: Observer) -> FileReport:
    from polylsp.engine.queries import analyse

    stopped = dict.fromkeys(given_up, TOOK_TOO_LONG)
    return analyse(file.path, file.text, file.settings, relations=True, given_up=stopped, observe=observe)


def _space(loop: _Loop, _given_up: frozenset[str], _observe: Observer) -> Union[IterationSpace, Rejection]:
    from polylsp.engine.queries import iteration_space

    file = loop.file
    return iteration_space(file.path, file.text, file.settings, loop.function, loop.ordinal, loop.dimensions)


def _edit(chosen: _Action, given_up: frozenset[str], observe: Observer) -> Union[Edited, Declined]:
    from polylsp.engine.queries import edit

    file, source = chosen.file, chosen.source
    report = _analyse(file, given_up, observe)
    ask = _ask(source, report, chosen)
    if ask is None:
        of_arrays = chosen.action == "fuse-arrays"
        return Declined("no array statement with temporaries here" if of_arrays else no_loop(source, report))
    observe(f"edit {chosen.action} {chosen.line}", ask.function, 0, 1)
    return edit(file.path, file.text, file.settings, _as_tuned(file, source, report, ask))


def _as_tuned(file: _File, source: Source, report: FileReport, ask: Ask) -> Ask:
    """Request with the settings that tuning found for the present code."""
    known = stored_figures.load_settings(file.path)
    placed = next((each for each in report.functions if each.start == ask.starts), None)
    if placed is None or ask.function not in known:
        return ask
    code = code_name(source, report, placed)
    found = stored_figures.parameters_for(known, ask.action, ask.function, code, file.settings)
    return replace(ask, parameters=found)


def _plan(chosen: _Measured, given_up: frozenset[str], observe: Observer) -> Union[Plan, NoPlan]:
    return _version(chosen, given_up, observe).plan


def _version(chosen: _Measured, given_up: frozenset[str], observe: Observer) -> Version:
    from polylsp.engine.queries import measurable

    file, source = chosen.file, chosen.source
    report = _analyse(file, given_up, observe)
    wanted = measured_on_line(source, report, chosen.line, chosen.sizes, chosen.targets)
    if wanted is None:
        return Version(NoPlan(no_loop(source, report)), "")
    placed = next(each for each in report.functions if each.start == wanted.starts)

    def pause() -> None:
        observe(f"plan {chosen.line}", wanted.function, 0, 1)

    asked = replace(wanted, parameters=chosen.parameters)
    plan = measurable(file.path, file.text, file.settings, asked, pause)
    return Version(plan, code_name(source, report, placed))


def _ask(source: Source, report: FileReport, chosen: _Action) -> Ask | None:
    """The action on the loop that the line is about, on its array statements, or on the function whose header
    it is."""
    if chosen.action == "fuse-arrays":
        among = fusion_on_line(source, report, chosen.line)
        return among[0] if among is not None else None
    found = loop_on_line(source, report, chosen.line)
    if found is not None:
        return Ask(chosen.action, found[0].answer.facts.name, found[0].start, found[1].ordinal)
    whole = chosen.action in ON_FUNCTIONS
    placed = function_on_line(source, report, chosen.line) if whole else None
    return Ask(chosen.action, placed.answer.facts.name, placed.start, 0) if placed is not None else None
