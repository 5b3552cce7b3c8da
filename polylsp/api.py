"""Public Python API: the verdicts on a file's loops, the actions on them, their edits, and measurements.

    report = polylsp.analyse("a.c")
    for loop in report.loops:
        print(loop.function, loop.line, loop.verdict)
    for action in polylsp.actions(report, report.loops[0]):
        print(action.name, action.title)
    edit = polylsp.apply(report, action)

Everything but `measure` runs in the calling process. isl's work is limited by
`Settings.max_operations`; memory and time of the process are not limited, as they are on the command line and
in the server. Lines of a notebook count within a cell; the text of its edits is the notebook as one text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike, fspath

from polylsp.core.notebook import read_notebook
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, read_file
from polylsp.core.text import Source, Span
from polylsp.engine.prepared import Stream
from polylsp.engine.queries import analyse as analysed
from polylsp.engine.queries import edit as edited
from polylsp.engine.queries import measurable
from polylsp.ide.actions import Offer
from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.lightbulb import lightbulb
from polylsp.ide.wording import verdict_sentence
from polylsp.ir.verdict import Verdict, VerdictWord, word
from polylsp.measuring.remote import carried_out
from polylsp.model.action import ActionName, Ask, Created, Declined, applied
from polylsp.model.facts import FileReport, LoopFacts, PlacedFunction
from polylsp.model.measurement import AskToMeasure, Measurement, NoPlan, NotMeasured


class Refused(Exception):
    """A request that has no answer: an edit that is declined, a function that cannot be measured. The message
    is the reason, for a person."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop and its verdict. `line` counts from 1, and so does `ordinal`, among the loops of the function;
    `message` is the verdict as a sentence; `evidence` has assumptions, private copies, the witness or the
    rejection."""

    function: str
    ordinal: int
    kind: str
    iterator: str | None
    depth: int
    line: int
    verdict: VerdictWord
    message: str
    evidence: Verdict
    starts: int = field(repr=False)


@dataclass(frozen=True, slots=True)
class Report:
    """Findings of one file: its loops in source order, and the diagnostics that an editor shows."""

    path: str
    language: str
    loops: tuple[Loop, ...]
    findings: tuple[Diagnostic, ...] = field(repr=False)
    source: Source = field(repr=False)
    settings: Settings = field(repr=False)
    facts: FileReport = field(repr=False)


@dataclass(frozen=True, slots=True)
class Action:
    """An action that can be applied to a loop. `preferred`: the best fix for the loop's finding."""

    name: ActionName
    title: str
    preferred: bool
    ask: Ask = field(repr=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """The text of the file after an action, with the files that are created beside it. It is right under the
    `assumptions`; `remarks` are sentences for the person who chose it."""

    text: str
    created: tuple[Created, ...]
    assumptions: tuple[str, ...]
    remarks: tuple[str, ...]


def analyse(path: str | PathLike[str], text: str | None = None, settings: Settings | None = None) -> Report:
    """Verdicts on all loops of a C file, a Python file or a notebook. Without `text`, the file is read.
    Raises `OSError` for a file that cannot be read, `NoNotebook` for an `.ipynb` that is none."""
    settings = settings or Settings()
    name = fspath(path)
    if text is None:
        text = decode(read_file(name, settings.max_file_mb))
    source = read_notebook(text) if name.endswith(".ipynb") else Source(text)
    facts = analysed(name, source.text, settings, edits=True)
    loops = tuple(
        _loop(source, placed, loop) for placed in facts.functions for loop in placed.answer.facts.loops
    )
    found = diagnostics(source, facts, settings)
    return Report(name, facts.language, loops, found, source, settings, facts)


def actions(report: Report, loop: Loop) -> tuple[Action, ...]:
    """Actions on a loop that have an edit, the best one first."""
    found = report.facts
    placed = _placed(found, loop)
    if placed.answer.lacks_trials:
        # There was no time for those of all functions.
        stream = Stream(focus=lambda: (Span(loop.starts, loop.starts),))
        found = analysed(report.path, report.source.text, report.settings, edits=True, stream=stream)
        placed = _placed(found, loop)
    facts = next(each for each in placed.answer.facts.loops if each.ordinal == loop.ordinal)
    listed = lightbulb(report.source, found, report.settings, placed.span(facts.header), makes_files=True)
    return tuple(
        Action(each.ask.action, each.title, each.preferred, each.ask)
        for each in listed
        if isinstance(each, Offer) and not each.disabled
    )


def apply(report: Report, action: Action) -> Edit:
    """The edit of an action, for the caller to write. Raises `Refused`."""
    found = edited(report.path, report.source.text, report.settings, action.ask)
    if isinstance(found, Declined):
        raise Refused(found.reason)
    assumptions = tuple(each.sentence for each in found.assumptions)
    text = applied(report.source.text, found.replacements)
    return Edit(text, found.created, assumptions, found.remarks)


def measure(report: Report, loop: Loop, **sizes: int) -> Measurement:
    """Times of the loop's function and of its versions with the edits of the loop, on generated data of the
    given sizes. Builds and runs the user's code, in a confined process. Raises `Refused`."""
    ask = AskToMeasure(loop.function, loop.starts, loop.ordinal, tuple(sizes.items()))
    plan = measurable(report.path, report.source.text, report.settings, ask)
    if isinstance(plan, NoPlan):
        raise Refused(plan.reason)
    found = carried_out(plan, report.settings, lambda _: None)
    if isinstance(found, NotMeasured):
        raise Refused(found.reason)
    return found


def _placed(found: FileReport, loop: Loop) -> PlacedFunction:
    return next(each for each in found.functions if each.start == loop.starts)


def _loop(source: Source, placed: PlacedFunction, loop: LoopFacts) -> Loop:
    return Loop(
        placed.answer.facts.name,
        loop.ordinal,
        loop.kind,
        loop.iterator,
        loop.depth,
        source.position(placed.span(loop.header).start).line + 1,
        word(loop.verdict),
        verdict_sentence(source, placed, loop),
        loop.verdict,
        placed.start,
    )
