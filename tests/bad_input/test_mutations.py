"""Samples damaged at random: the damage is reported, and all other functions keep their answers."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import mutations
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.frontends.c.outline import Outline, outline
from polylsp.ide.check_json import file_object
from polylsp.ide.terminal import file_lines

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = [*sorted(SAMPLES.glob("programs/*.c")), *sorted(SAMPLES.glob("polybench/c/*.c"))[::8]]

_FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=list(HealthCheck),
)


@lru_cache
def _read(path: Path) -> tuple[str, Outline]:
    text = path.read_text()
    return text, outline(text)


def _checked(path: Path, text: str) -> dict[str, Any]:
    """Output of `check` for a text, as JSON and in a terminal."""
    source, options = Source(text), Settings()
    report = analyse(str(path), text, options, schedules=False)
    assert list(file_lines(source, report, options, 100))
    return file_object(source, report, options)


def _verdicts(path: Path, text: str) -> dict[str, list[dict[str, Any]]]:
    """Verdicts of the loops of each function, without their places."""
    found: dict[str, list[dict[str, Any]]] = {}
    for loop in _checked(path, text)["loops"]:
        told = {key: loop[key] for key in ("ordinal", "iterator", "verdict", "assumptions", "private")}
        found.setdefault(loop["function"], []).append(told)
    return found


def _depending_on(items: Outline, name: str) -> set[str]:
    """The function and all that call it, directly or not."""
    found, grown = {name}, True
    while grown:
        calls = re.compile(rf"\b(?:{'|'.join(found)})\s*\(")
        more = {
            item.name
            for item in items.items
            if item.kind == "function" and calls.search(item.text, item.body)
        }
        grown = not more <= found
        found |= more
    return found


@_FEW
@given(st.data())
def test_damage_in_a_function_costs_that_function_alone(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(FILES))
    text, items = _read(path)
    functions = [
        (start, item)
        for start, item in zip(items.starts, items.items, strict=True)
        if item.kind == "function"
    ]
    start, damaged = data.draw(st.sampled_from(functions))
    first, last = start + damaged.body + 1, start + len(damaged.text) - 1
    mutation = data.draw(mutations.mutations(text, first, last, mutations.INSIDE))
    depending = _depending_on(items, damaged.name)
    before, after = _verdicts(path, text), _verdicts(path, mutation.apply(text))
    assert {name: told for name, told in after.items() if name not in depending} == {
        name: told for name, told in before.items() if name not in depending
    }


@_FEW
@given(st.data())
def test_damage_anywhere_is_answered_in_its_place_and_once(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(FILES))
    text, _ = _read(path)
    for _ in range(data.draw(st.integers(1, 3))):
        text = data.draw(mutations.mutations(text, 0, len(text), mutations.ANYWHERE)).apply(text)
    found = _checked(path, text)
    lines = text.count("\n") + 1
    for each in (*found["loops"], *found["diagnostics"]):
        begin, end = (
            (each["range"][edge]["line"], each["range"][edge]["character"]) for edge in ("start", "end")
        )
        assert begin <= end and end[0] < lines
    said = [(each["code"], str(each["range"]), each["message"]) for each in found["diagnostics"]]
    assert len(said) == len(set(said))


@_FEW
@given(st.data())
def test_a_file_that_ends_too_early_keeps_what_comes_before(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(FILES))
    text, items = _read(path)
    length = data.draw(st.integers(0, len(text)))
    functions = [
        (start + len(item.text), item.name)
        for start, item in zip(items.starts, items.items, strict=True)
        if item.kind == "function"
    ]
    lost = {name for end, name in functions if end > length}
    depending = set().union(*(_depending_on(items, name) for name in lost))
    before, after = _verdicts(path, text), _verdicts(path, text[:length])
    for name in before.keys() - depending:
        assert after[name] == before[name]
