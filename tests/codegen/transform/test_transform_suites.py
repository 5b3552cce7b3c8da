"""Suites of edits, before and after: a fence ```` ```c ACTION ```` has `$0` before the loop that is asked
about; the fence that follows is the text after the edit (`c after`), or why there is none (`declined`)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from cases_markdown import Fence, fences
from edited import WARNINGS

from polylsp.codegen.transform import TRANSFORMS
from polylsp.model.action import Answer, Ask, Edited, applied
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.verdict import Parallel
from polylsp.pipeline import analyse, edit
from polylsp.settings import Settings

SUITES = sorted(Path(__file__).parent.glob("*.md"))


@dataclass(frozen=True)
class Case:
    """An edit that is asked for, and what should come of it."""

    path: Path
    title: str
    before: Fence
    wanted: Fence


def _cases(path: Path) -> list[Case]:
    found = list(fences(path.read_text(encoding="utf-8")))
    assert len(found) % 2 == 0, f"{path}: each program needs one outcome"
    return [
        Case(path, title, before, wanted)
        for (title, before), (_, wanted) in zip(found[::2], found[1::2], strict=True)
    ]


CASES = [case for suite in SUITES for case in _cases(suite)]


def _asked(case: Case) -> tuple[str, Answer]:
    """The program of a case, and what its action answers on the loop behind `$0`."""
    at = case.before.text.index("$0")
    text = case.before.text.replace("$0", "")
    settings = Settings(tile_sizes=(32,))
    placed, ordinal = _loop(analyse("case.c", text, settings), at)
    ask = Ask(case.before.options.split()[0], placed.answer.facts.name, placed.start, ordinal)
    return text, edit("case.c", text, settings, ask)


def _loop(report: FileReport, at: int) -> tuple[PlacedFunction, int]:
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            if placed.span(loop.header).start == at:
                return placed, loop.ordinal
    raise ValueError("no loop at `$0`")


def _told(answer: Answer, text: str) -> Fence:
    """The outcome as the suite has it."""
    if isinstance(answer, Edited):
        return Fence("c", "after", 0, applied(text, answer.replacements))
    return Fence("declined", "", 0, answer.reason + "\n")


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.path.stem}: {c.title}")
def test_an_edit_is_as_the_suite_says(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text, answer = _asked(case)
    got = _told(answer, text)
    same = (got.info, got.options, got.text) == (case.wanted.info, case.wanted.options, case.wanted.text)
    if not same and request.config.getoption("update"):
        _rewrite(case, got)
    elif not same:
        pytest.fail(
            f"{case.path.name}:{case.wanted.line}: got `{got.info} {got.options}`\n{got.text}", pytrace=False
        )
    if isinstance(answer, Edited):
        for version in (text, got.text):
            source = tmp_path / "case.c"
            source.write_text(version)
            command = [
                "gcc",
                "-std=c11",
                "-fopenmp",
                *WARNINGS,
                "-Wno-unused-function",
                "-c",
                source,
                "-o",
                tmp_path / "case.o",
            ]
            made = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert made.returncode == 0, f"{made.stderr}\n{version}"


def _rewrite(case: Case, got: Fence) -> None:
    """The outcome in the suite, replaced; it may have moved since the suite was read."""
    page = case.path.read_text(encoding="utf-8")
    old = f"```{case.wanted.info} {case.wanted.options}".rstrip() + f"\n{case.wanted.text}```\n"
    new = f"```{got.info} {got.options}".rstrip() + f"\n{got.text}```\n"
    start = page.index(case.before.text)
    at = page.index(old, start)
    case.path.write_text(page[:at] + new + page[at + len(old) :], encoding="utf-8")


def test_each_transform_has_accepted_and_refused_cases() -> None:
    for action in TRANSFORMS:
        outcomes = {case.wanted.info for case in CASES if case.before.options.split()[0] == action}
        assert outcomes == {"c", "declined"}, action


@pytest.mark.parametrize("action", ["interchange", "distribute", "skew"])
def test_an_exposing_transform_leaves_a_parallel_loop(action: str) -> None:
    checked = 0
    for case in CASES:
        if case.before.options.split() == [action, "exposes"]:
            text, answer = _asked(case)
            assert isinstance(answer, Edited)
            report = analyse("case.c", applied(text, answer.replacements), Settings())
            verdicts = [loop.verdict for p in report.functions for loop in p.answer.facts.loops]
            assert any(isinstance(v, Parallel) for v in verdicts), case.title
            checked += 1
    assert checked
