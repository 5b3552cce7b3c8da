"""An error of our own costs one function of a file, and as little of that as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polylsp import deciding, pipeline
from polylsp.analysis.facts import Wanted
from polylsp.codegen.feasible import function as trying
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Function
from polylsp.model.report import FileReport
from polylsp.model.verdict import Unknown
from polylsp.settings import Settings
from tests.loud import quiet

_FILE = """
static void broken(int n, double *a) { for (int i = 0; i < n; i++) a[i] = VALUE; }
void calls(int n, double *a) { for (int i = 0; i < n; i++) broken(n, a); }
void sound(int n, double *a) { for (int i = 0; i < n; i++) a[i] *= 2.0; }
"""


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


def failing(work: Callable[..., Any], when: Callable[..., bool]) -> Callable[..., Any]:
    def fails(*given: Any) -> Any:
        if when(*given):
            raise IndexError("a bug of ours")
        return work(*given)

    return fails


def found(value: str, **how: bool) -> dict[str, LoopFacts]:
    """The only loop of each function; `value` makes a text that is not remembered."""
    report: FileReport = pipeline.analyse("x.c", _FILE.replace("VALUE", value), Settings(), **how)
    return {each.answer.facts.name: each.answer.facts.loops[0] for each in report.functions}


def is_ours(loop: LoopFacts) -> bool:
    verdict = loop.verdict
    return isinstance(verdict, Unknown) and verdict.rejection.advice == "please report it"


def test_a_function_that_cannot_be_decided_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_broken(function: Function, *_: object) -> bool:
        return function.name == "broken"

    monkeypatch.setattr(deciding, "facts", failing(deciding.facts, is_broken))
    loops = found("1.0")
    assert is_ours(loops["broken"])
    assert not is_ours(loops["calls"]) and not isinstance(loops["sound"].verdict, Unknown)


def test_schedules_that_fail_cost_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_schedules(_function: Function, _calls: object, wanted: Wanted) -> bool:
        return wanted.schedules

    monkeypatch.setattr(deciding, "facts", failing(deciding.facts, has_schedules))
    assert not any(isinstance(found("2.0")[name].verdict, Unknown) for name in ("broken", "sound"))


def test_a_summary_that_fails_costs_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "summarise", failing(deciding.summarise, lambda *_: True))
    loops = found("3.0")
    verdict = loops["calls"].verdict
    assert isinstance(verdict, Unknown) and "internal error of polylsp" in verdict.rejection.message
    assert not isinstance(loops["broken"].verdict, Unknown)


def test_edits_that_cannot_be_tried_cost_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "feasibility", failing(trying.feasibility, lambda *_: True))
    loops = found("4.0", edits=True)
    assert not isinstance(loops["sound"].verdict, Unknown)


def test_the_log_tells_what_was_met(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(deciding, "facts", failing(deciding.facts, lambda *_: True))
    found("5.0")
    assert "internal error, please report it: analysing the function `broken`" in caplog.text
    assert "IndexError: a bug of ours" in caplog.text
