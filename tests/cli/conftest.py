"""Fixtures: the hand-written facts of tests/ide serve here too; `polylsp` runs in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "ide"))

import facts

from polylsp.cli import check, main, one_file, report
from polylsp.cli.pool import Finished, Share, Steps, Work
from polylsp.core.settings import Settings
from polylsp.engine import queries
from polylsp.engine.prepared import SILENT, Stream
from polylsp.model.facts import FileReport


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


Run = Callable[..., Ran]


def in_this_process(
    work: Work[Any, Any], arguments: Sequence[Any], jobs: int, settings: Settings
) -> Iterator[Any]:
    """In the place of `pool.results`, so that what a test puts in the place of something is seen."""
    return (work(argument, frozenset(), lambda *_: None) for argument in arguments)


def streamed_in_this_process(
    work: Steps[Any, Any], arguments: Sequence[Any], jobs: int, settings: Settings
) -> Iterator[tuple[int, Any]]:
    """The same in the place of `pool.stream`."""
    for number, argument in enumerate(arguments):
        values: list[Any] = []
        work(argument, Share(), lambda *_: None, lambda _, value, told=values: told.append(value))
        yield from ((number, value) for value in values)
        yield number, Finished()


@pytest.fixture
def polylsp(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line in an empty folder, without colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check, "stream", streamed_in_this_process)
    monkeypatch.setattr(one_file, "results", in_this_process)
    monkeypatch.setattr(report, "results", in_this_process)
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Ran:
        try:
            status = main(arguments)
        except SystemExit as leaving:
            status = int(leaving.code or 0)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Settings]]:
    """Replace the analysis by hand-written facts: the text of a file chooses them. The result lists the
    requests."""
    asked: list[tuple[str, Settings]] = []

    def analyse(
        path: str, text: str, settings: Settings, *, stream: Stream = SILENT, **_: object
    ) -> FileReport:
        asked.append((path, settings))
        if "boom" in text:
            raise RuntimeError("a bug")
        samples = (facts.recurrence(), facts.many())
        report = next((one for source, one in samples if source.text == text), FileReport(path, "c", ()))
        if stream.opened is not None:
            stream.opened("c", tuple(each.start for each in report.functions), report.problems)
        for each in report.functions:
            stream.found(each.start, each.answer)
        return report

    monkeypatch.setattr(queries, "analyse", analyse)
    return asked
