"""Suites of edits, before and after, in the notation of tests/actions: a fence `c action=NAME` has `$0`
before the loop in question; the fence that follows is the text after the edit (`c after`), or why there is
none (`text declined`). `exposes` says that some loop can run in parallel then."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from cases_markdown import Fence, fences, rewrite

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Ask, Edited, applied
from polylsp.model.facts import FileReport, PlacedFunction
from polylsp.transforms import MODULES as TRANSFORMS
from tests.codegen.transform.edited import WARNINGS

SUITES = sorted(Path(__file__).parent.glob("*.md"))


@dataclass(frozen=True)
class Case:
    """A requested edit, and the expected result."""

    path: Path
    title: str
    before: Fence
    wanted: Fence

    @property
    def options(self) -> list[str]:
        """The name of the action, and what else is said of the program."""
        return self.before.options.removeprefix("action=").split()


def _cases(path: Path) -> list[Case]:
    found = list(fences(path.read_text(encoding="utf-8")))
    assert len(found) % 2 == 0, f"{path}: each program needs one outcome"
    return [
        Case(path, title, before, wanted)
        for (title, before), (_, wanted) in zip(found[::2], found[1::2], strict=True)
    ]


CASES = [case for suite in SUITES for case in _cases(suite)]


def _asked(case: Case) -> tuple[str, Answer]:
    """Program of a case, and the answer of its action on the loop after `$0`."""
    at = case.before.text.index("$0")
    text = case.before.text.replace("$0", "")
    settings = Settings(tile_sizes=(32,))
    placed, ordinal = _loop(analyse("case.c", text, settings), at)
    ask = Ask(case.options[0], placed.answer.facts.name, placed.start, ordinal)
    return text, edit("case.c", text, settings, ask)


def _loop(report: FileReport, at: int) -> tuple[PlacedFunction, int]:
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            if placed.span(loop.header).start == at:
                return placed, loop.ordinal
    raise ValueError("no loop at `$0`")


def _told(answer: Answer, text: str) -> tuple[str, str]:
    """The outcome as the suite has it."""
    if isinstance(answer, Edited):
        return "c after", applied(text, answer.replacements)
    return "text declined", answer.reason + "\n"


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.path.stem}: {c.title}")
def test_an_edit_is_as_the_suite_says(case: Case, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text, answer = _asked(case)
    kind, got = _told(answer, text)
    wanted = f"{case.wanted.info} {case.wanted.options}"
    if (wanted, case.wanted.text) != (kind, got):
        if request.config.getoption("update"):
            rewrite(case.path, case.wanted, got, kind)
        else:
            pytest.fail(f"{case.path.name}:{case.wanted.line}: got `{kind}`\n{got}", pytrace=False)
    if isinstance(answer, Edited):
        for version in (text, got):
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


def test_each_transform_has_accepted_and_refused_cases() -> None:
    for action in TRANSFORMS:
        outcomes = {case.wanted.options for case in CASES if case.options[0] == action}
        assert outcomes == {"after", "declined"}, action


@pytest.mark.parametrize("action", ["interchange", "distribute", "skew", "copy"])
def test_an_exposing_transform_leaves_a_parallel_loop(action: str) -> None:
    checked = 0
    for case in CASES:
        if case.options == [action, "exposes"]:
            text, answer = _asked(case)
            assert isinstance(answer, Edited)
            report = analyse("case.c", applied(text, answer.replacements), Settings())
            verdicts = [loop.verdict for p in report.functions for loop in p.answer.facts.loops]
            assert any(isinstance(v, Parallel) for v in verdicts), case.title
            checked += 1
    assert checked
