"""Reads suites of actions and plays them: a program with a cursor, an action, and what becomes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from pathlib import Path

from cases_markdown import Fence, fences

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.engine.queries import analyse, edit
from polylsp.ide.actions import function_offers, mend_offers, offers, suppress_offers
from polylsp.model.action import Declined, ReadyOffer, applied
from polylsp.model.facts import FileReport

SUFFIXES = {"c": ".c", "python": ".py"}
_FLAGS = ("crlf", "fragment")
_CURSOR = re.compile(r"\$0|\$<|\$>")


@dataclass(frozen=True, slots=True)
class Case:
    """A program and an action. `outcome` is the fence `c after` (or `python after`) or `text declined`;
    `remarks` and `titles` are checked where the suite has a fence for them."""

    path: Path
    title: str
    program: Fence
    headers: tuple[tuple[str, str], ...]
    outcome: Fence | None = None
    remarks: Fence | None = None
    titles: Fence | None = None

    @property
    def action(self) -> str:
        """The name of the action, such as `openmp`, `ignore:parallel-loop` or `mend:wrong-pragma`."""
        return self._options.get("action", "")

    @property
    def uses_crlf(self) -> bool:
        """True if the lines of the program end as on Windows."""
        return "crlf" in self._options

    @property
    def compiles(self) -> bool:
        """True if the program after the action compiles by itself."""
        return (
            self.outcome is not None and self.outcome.options == "after" and "fragment" not in self._options
        )

    @property
    def settings(self) -> Settings:
        """The settings, with those that the program's fence names."""
        names = {each.name for each in fields(Settings)}
        values = {key: value.replace(",", " ") for key, value in self._options.items() if key in names}
        unknown = set(self._options) - set(values) - {"action", *_FLAGS}
        if unknown:
            raise ValueError(f"{self.path}:{self.program.line - 1}: unknown option {', '.join(unknown)}")
        # However slow the machine is, what is offered is the same.
        return Settings(max_seconds=200.0).with_parameters(tuple(values.items()))

    @property
    def _options(self) -> dict[str, str]:
        return dict((*each.split("=", 1), "")[:2] for each in self.program.options.split())


@dataclass(frozen=True, slots=True)
class Played:
    """Outcome for a program. `kind` is `c after`, `python after` or `text declined`, and `text` is the text
    or the reason. `remarks` and `titles` have a line for each."""

    kind: str
    text: str
    remarks: str
    titles: str


def suite(path: Path) -> list[Case]:
    """The cases of a suite, in order."""
    found: list[Case] = []
    headers: list[tuple[str, str]] = []
    for title, fence in fences(path.read_text(encoding="utf-8")):
        name = re.search(r"\bfile=(\S+)", fence.options)
        kind = f"{fence.info} {fence.options}"
        if fence.info == "c" and name:
            headers.append((name[1], fence.text))
        elif kind in ("c after", "python after", "text declined"):
            found[-1] = replace(found[-1], outcome=fence)
        elif kind == "text remarks":
            found[-1] = replace(found[-1], remarks=fence)
        elif kind == "text titles":
            found[-1] = replace(found[-1], titles=fence)
        elif fence.info in SUFFIXES:
            found.append(Case(path, title, fence, tuple(headers)))
            headers = []
        else:
            raise ValueError(f"{path}:{fence.line}: no fence is called `{kind}` here")
    return found


def play(case: Case, folder: Path) -> Played:
    """Lists the actions at the cursor, takes the one that the case names, and applies its edit."""
    for name, text in case.headers:
        (folder / name).write_text(text, encoding="utf-8")
    text, span = _with_cursor(case)
    path = str(folder / f"case{SUFFIXES[case.program.info]}")
    source, report = Source(text), analyse(path, text, case.settings, edits=True)
    titles = "".join(f"{each}\n" for each in _titles(source, report, span, case.settings))
    if ":" in case.action:
        return replace(_at_once(source, report, span, case), titles=titles)
    listed = (
        *offers(source, report, case.settings, span),
        *function_offers(source, report, case.settings, span),
    )
    offer = next((each for each in listed if each.ask.action == case.action), None)
    if offer is None:
        return Played("text declined", "It is not offered.\n", "", titles)
    if offer.disabled:
        return Played("text declined", f"{offer.disabled}\n", "", titles)
    answer = edit(path, text, case.settings, offer.ask)
    if isinstance(answer, Declined):
        return Played("text declined", f"{answer.reason}\n", "", titles)
    assumed = [f"Assumed: {each.sentence}." for each in answer.assumptions]
    remarks = "".join(f"{each}\n" for each in (*assumed, *answer.remarks))
    return Played(f"{case.program.info} after", applied(text, answer.replacements), remarks, titles)


def _titles(source: Source, report: FileReport, span: Span, settings: Settings) -> list[str]:
    ready = _ready(source, report, span, settings)
    chosen = (*offers(source, report, settings, span), *function_offers(source, report, settings, span))
    listed = (*ready["mend"], *chosen, *ready["ignore"])
    return [f"{each.title} [{each.disabled}]" if each.disabled else each.title for each in listed]


def _ready(
    source: Source, report: FileReport, span: Span, settings: Settings
) -> dict[str, tuple[ReadyOffer, ...]]:
    return {
        "mend": mend_offers(source, report, settings, span),
        "ignore": suppress_offers(source, report, settings, span),
    }


def _at_once(source: Source, report: FileReport, span: Span, case: Case) -> Played:
    verb, _, code = case.action.partition(":")
    listed = _ready(source, report, span, case.settings)[verb]
    offer = next((each for each in listed if each.code == code), None)
    if offer is None:
        return Played("text declined", "It is not offered.\n", "", "")
    return Played(f"{case.program.info} after", applied(source.text, (offer.replacement,)), "", "")


def _with_cursor(case: Case) -> tuple[str, Span]:
    """The program without its cursor, and where that was."""
    text = case.program.text
    marks = [match.group() for match in _CURSOR.finditer(text)]
    if marks not in (["$0"], ["$<", "$>"]):
        raise ValueError(f"{case.path}:{case.program.line}: a program has one `$0`, or `$<` and `$>`")
    if case.uses_crlf:
        text = text.replace("\n", "\r\n")
    before, *rest = _CURSOR.split(text)
    end = len(before) + (len(rest[0]) if len(rest) > 1 else 0)
    return "".join((before, *rest)), Span(len(before), end)
