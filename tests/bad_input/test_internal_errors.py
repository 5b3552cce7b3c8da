"""An internal error costs one function of a file, and as little of that as can be."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from polylsp.analysis.function_facts import Wanted
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.edits import feasibility as trying
from polylsp.engine import c_files, decisions, queries
from polylsp.ide.diagnostics import diagnostics
from polylsp.ir.program import Function
from polylsp.ir.verdict import Parallel, Sequential, Unknown
from polylsp.model.facts import FileReport, LoopFacts
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
    report: FileReport = queries.analyse("x.c", _FILE.replace("VALUE", value), Settings(), **how)
    return {each.answer.facts.name: each.answer.facts.loops[0] for each in report.functions}


def is_ours(loop: LoopFacts) -> bool:
    verdict = loop.verdict
    return isinstance(verdict, Unknown) and verdict.rejection.advice == "please report it"


def test_a_function_that_cannot_be_decided_costs_itself_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_broken(function: Function, *_: object) -> bool:
        return function.name == "broken"

    monkeypatch.setattr(decisions, "facts", failing(decisions.facts, is_broken))
    loops = found("1.0")
    assert is_ours(loops["broken"])
    assert not is_ours(loops["calls"]) and not isinstance(loops["sound"].verdict, Unknown)


def test_schedules_that_fail_cost_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_schedules(_function: Function, _calls: object, wanted: Wanted, _keep: object) -> bool:
        return wanted.schedules

    monkeypatch.setattr(decisions, "facts", failing(decisions.facts, has_schedules))
    assert not any(isinstance(found("2.0")[name].verdict, Unknown) for name in ("broken", "sound"))


def test_a_summary_that_fails_costs_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decisions, "summarise", failing(decisions.summarise, lambda *_: True))
    loops = found("3.0")
    verdict = loops["calls"].verdict
    assert isinstance(verdict, Unknown) and "internal error of polylsp" in verdict.rejection.message
    assert not isinstance(loops["broken"].verdict, Unknown)


def test_edits_that_cannot_be_tried_cost_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trying, "feasibility", failing(trying.feasibility, lambda *_: True))
    loops = found("4.0", edits=True)
    assert not isinstance(loops["sound"].verdict, Unknown)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (IndexError("a bug of ours"), "internal-error", "An internal error of polylsp stopped the analysis"),
        (MemoryError(), "budget", "This function takes more memory to be analysed than polylsp may use"),
        (RecursionError(), "budget", "This function is nested too deeply to be analysed"),
    ],
)
@pytest.mark.parametrize("step", ["facts", "lowered", "used_macros"])
def test_a_mishap_is_told_at_its_function(
    monkeypatch: pytest.MonkeyPatch, step: str, error: Exception, code: str, told: str
) -> None:
    work = getattr(decisions if step == "facts" else c_files, step)

    def fails(given: Any, *rest: Any) -> Any:
        text = given.name if step == "facts" else given if step == "used_macros" else given.texts
        if "broken" in text and "calls" not in text:
            raise error
        return work(given, *rest)

    monkeypatch.setattr(decisions if step == "facts" else c_files, step, fails)
    text = _FILE.replace("VALUE", f"{ord(step[0])}.0 + {len(code)}.{len(told)}")
    report = queries.analyse("x.c", text, Settings(), schedules=False)
    said = [each for each in diagnostics(Source(text), report, Settings()) if each.function == "broken"]
    assert [each.code for each in said] == [code]
    assert said[0].message.startswith(told)
    assert text[: said[0].span.start].count("\n") == 1
    loops = {each.answer.facts.name: each.answer.facts.loops for each in report.functions}
    assert [type(loop.verdict) for loop in loops["sound"]] == [Parallel]
    assert [type(loop.verdict) for loop in loops["broken"]] == [Unknown]


def test_a_file_that_cannot_be_read_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_files, "environment_of", failing(c_files.environment_of, lambda *_: True))
    report = queries.analyse("unread.c", _FILE, Settings())
    (problem,) = report.problems
    assert problem.code == "internal-error" and "this file" in problem.message


@pytest.mark.parametrize("order", [1, -1])
def test_a_chain_of_calls_is_longer_than_any_stack(order: int) -> None:
    count = 1100
    parts = [f"void f{k}(int n, double *a) {{ f{k + 1}(n, a); }}\n" for k in range(count)]
    declared = "".join(f"void f{k}(int n, double *a);\n" for k in range(count + 1))
    last = f"void f{count}(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = 0.0; }}\n"
    known = "void top(int n, double *a) { for (int j = 0; j < n; j++) f1090(n, a); }\n"
    text = declared + "".join(parts[::order]) + last + known
    report = queries.analyse("chain.c", text, Settings(), schedules=False)
    loops = {each.answer.facts.name: each.answer.facts.loops for each in report.functions}
    assert isinstance(loops[f"f{count}"][0].verdict, Parallel)
    assert isinstance(loops["top"][0].verdict, Sequential), "what the chain writes is known at its other end"


@pytest.mark.parametrize("literal", ["0x" + "f" * 257, "9" * 400, "0b" + "1" * 3000, "0x" + "f" * 6000])
@pytest.mark.parametrize("use", ["i < {}", "i + {} < n", "a[{}] > i"])
def test_a_number_beyond_all_types_costs_its_function(literal: str, use: str) -> None:
    condition = use.format(literal)
    odd = f"void odd(int n, double *a) {{ for (int i = 0; {condition}; i++) a[i] = {literal}; }}\n"
    text = _FILE.replace("VALUE", "6.0") + odd
    report = queries.analyse("numbers.c", text, Settings(), schedules=False)
    found = {each.answer.facts.name: each.answer.facts.loops[0].verdict for each in report.functions}
    assert isinstance(found["sound"], Parallel) and isinstance(found["odd"], Unknown)
    assert found["odd"].rejection.code != "internal-error"


def test_the_log_tells_what_was_met(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(decisions, "facts", failing(decisions.facts, lambda *_: True))
    # No facts of functions that differ in constants alone.
    monkeypatch.setattr(decisions, "_shapes", OrderedDict())
    found("5.0")
    assert "internal error, please report it: analysing the function `broken`" in caplog.text
    assert "IndexError: a bug of ours" in caplog.text
