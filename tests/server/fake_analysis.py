"""A stand-in for `polylsp.engine.queries`: quick, predictable, and able to misbehave on request.

Run as a program it is a worker. A function is `void NAME(...) {...}`; each `for (ITERATOR ...)` in it is a
loop: sequential if its iterator is `t` (with a skewing transform when schedules are requested), undecided if
the function was given up, else parallel. Words in a function's text make trouble:

    STALL             computes and never ends
    DIE               the process is killed
    NEEDS_<name>      the process ends unless the file <name> exists in the folder $FAKE_GATES
    GREEDY            asks for 4 GiB
    BUG               an exception
    WAIT_<name>       waits until the file <name> exists in the folder $FAKE_GATES
    MARK_<name>       makes the file <name> in that folder when the function's analysis begins
    FOCUS             waits until a focus has arrived
    UNTRIED           has no edits that were tried, unless it is in the focus of a full analysis

The file `analysed` in that folder has a line for each function that was really analysed, in order:
`quick` or `full`, and its name.

The same words after `FULL_` make trouble when schedules are requested, and only then. After `EDIT_` they do
when an edit of the function is requested. That edit puts a directive above the loop; `EDIT_DECLINE` refuses
it, `EDIT_REMARK` has a remark on it. After `DRAW_` they do when a drawing is requested; `DRAW_NOTHING` has
none.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from polylsp.core.processes import Stop
from polylsp.core.query import digest
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine.prepared import SILENT, Stream, urgent_first
from polylsp.ir.program import Rejection, Site
from polylsp.ir.verdict import AccessPoint, Dependence, Parallel, Sequential, Unknown, Verdict, Witness
from polylsp.model.action import Answer, Ask, Declined, Edited, Replacement
from polylsp.model.facts import (
    Band,
    Feasibility,
    FileProblem,
    FileReport,
    FunctionAnswer,
    FunctionFacts,
    LoopFacts,
    NestFacts,
    NestModel,
    PlacedFunction,
    Possible,
    Transform,
)
from polylsp.model.iteration_points import Arrow, Drawing, Drawn, IterationSpace, Order
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan, Rung, Variant

_FUNCTION = re.compile(r"void (\w+)\(.*?^\}", re.DOTALL | re.MULTILINE)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_MODEL = NestModel("", "")
_TILES = Feasibility((Possible("tile", 1, (1,)),))
_answers: dict[str, FunctionAnswer] = {}


def analyse(
    path: str,
    text: str,
    settings: Settings,
    *,
    schedules: bool = True,
    edits: bool = False,
    given_up: Mapping[str, Stop] | None = None,
    observe: Callable[[str, str, int, int], None] | None = None,
    stream: Stream = SILENT,
) -> FileReport:
    found = [(Span(*match.span()), match) for match in _FUNCTION.finditer(text)]
    answers: dict[int, FunctionAnswer] = {}
    for start, match in urgent_first(found, stream.focus):
        body = match.group()
        key = digest(schedules, settings.max_operations, body)
        if key in (given_up or {}):
            answer = _answer(f"stopped-{key}", match.group(1), body, schedules, budget=True)
        elif known := _answers.get(key) or stream.finished(key):
            answer = known
        elif stream.busy(key):
            continue
        else:
            if observe:
                observe(key, match.group(1), len(answers), len(found))
            if "FAKE_GATES" in os.environ:
                with (_gates() / "analysed").open("a") as log:
                    log.write(f"{'full' if schedules else 'quick'} {match.group(1)}\n")
            _misbehave(re.sub(r"(EDIT|DRAW)_\w+" if schedules else r"(EDIT|DRAW|FULL)_\w+", "", body))
            while "FOCUS" in body and not stream.focus():
                threading.Event().wait(0.005)
            answer = _answers[key] = _answer(key, match.group(1), body, schedules, budget=False)
        if edits and answer.lacks_trials and _shown(Span(*match.span()), stream):
            answer = _answers[key] = replace(answer, key=f"{key}-tried", feasibility=_TILES)
        answers[start] = answer
        stream.found(start, answer)
    placed = [PlacedFunction(start, answers[start]) for start in sorted(answers)]
    problems = tuple(
        FileProblem("missing-header", Span(*match.span()), "`missing.h` was not found.")
        for match in re.finditer(r"#include <missing.h>", text)
    )
    return FileReport(path, "c", tuple(placed), problems)


def _shown(function: Span, stream: Stream) -> bool:
    return any(each.touches(function) for each in stream.focus())


def edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    body = next((each.group() for each in _FUNCTION.finditer(text) if each.start() == ask.starts), "")
    wishes = " ".join(re.findall(r"EDIT_(\w+)", body))
    _misbehave(wishes)
    if not body or "DECLINE" in wishes:
        return Declined(f"`{ask.function}` is declined.")
    loops = [each.start() for each in re.finditer(r"\bfor\b", body)]
    line = text.rfind("\n", 0, ask.starts + loops[ask.ordinal - 1]) + 1
    remarks = ("It is a small loop.",) if "REMARK" in wishes else ()
    return Edited((Replacement(Span(line, line), f"#pragma {ask.action}\n"),), (), remarks)


_TUNED = ((("collapse", "2"),), (("unroll_factors", "1"),), (("tile_sizes", "16"),), (("cache_kb", "64"),))
"""The settings that make something else of functions that can be tuned."""


def measurable(path: str, text: str, settings: Settings, wanted: AskToMeasure) -> Plan | NoPlan:
    body = next((each.group() for each in _FUNCTION.finditer(text) if each.start() == wanted.starts), "")
    if not body or "MEASURE_DECLINE" in body:
        return NoPlan(f"`{wanted.function}` cannot be measured.")
    made = f"/*{wanted.parameters if 'TUNE' in body and wanted.parameters in _TUNED else ''}*/"
    variant = Variant(
        "openmp", "restructured", text.replace("for", f"{made} for"), parameters=wanted.parameters
    )
    rung = Rung(tuple(size for _, size in wanted.sizes), 1, ())
    call = f"void polylsp_register(void) {{ }}\nvoid polylsp_call(void) {{ {wanted.function}(100); }}\n"
    names = tuple(name for name, _ in wanted.sizes)
    is_given = names != () or "SIZES_UNKNOWN" not in body
    if not is_given:
        names, rung = ("n",), Rung((100,), 1, ())
    return Plan(path, wanted.function, 1, text, call, names, (), (), (rung,), rung, (variant,), (), is_given)


def draw(path: str, text: str, settings: Settings, asked: Drawing) -> Drawn:
    body = next((each.group() for each in _FUNCTION.finditer(text) if each.start() == asked.starts), "")
    _misbehave(" ".join(re.findall(r"DRAW_(\w+)", body)))
    if not body or "DRAW_NOTHING" in body:
        return Rejection("budget", Site(0, 0), "nothing to draw")
    if asked.dimensions is not None and "x" in asked.dimensions:
        return Rejection("unsupported-statement", Site(0, 0), "`x` is not an iterator of this nest")
    header = list(re.finditer(r"\bfor\b", body))[asked.ordinal - 1]
    at = Site(*[next(n for n, token in enumerate(_tokens(body)) if token[1] == header.start())] * 2)
    ends = AccessPoint("a", "a[t]", "write", at), AccessPoint("a", "a[t - 1]", "read", at)
    points = ((0, 0), (1, 0), (2, 0))
    arrows = (Arrow("flow", (0, 0), (1, 0), ends),)
    written = Order(tuple((each,) for each in points))
    return IterationSpace(
        ("i", ""), points, arrows, (("n", 3),), written=written, parallel=Order((points,), ("i",))
    )


def _misbehave(body: str) -> None:
    gates = _gates()
    for name in re.findall(r"MARK_(\w+)", body):
        (gates / name).touch()
    for name in re.findall(r"WAIT_(\w+)", body):
        while not (gates / name).exists():
            threading.Event().wait(0.005)
    if "STALL" in body:
        while True:
            pass
    if any(not (gates / name).exists() for name in re.findall(r"NEEDS_(\w+)", body)):
        os._exit(3)
    if "DIE" in body:
        os.kill(os.getpid(), signal.SIGKILL)
    if "GREEDY" in body:
        bytearray(2**32)
    if "BUG" in body:
        raise ValueError("a bug in the analysis")


def _gates() -> Path:
    return Path(os.environ.get("FAKE_GATES", "."))


@lru_cache
def _tokens(body: str) -> tuple[tuple[str, int, int], ...]:
    return tuple((match.group(), match.start(), match.end()) for match in _TOKEN.finditer(body))


def _answer(key: str, name: str, body: str, schedules: bool, *, budget: bool) -> FunctionAnswer:
    tokens = _tokens(body)
    starts = [index for index, token in enumerate(tokens) if token[0] == "for"]
    loops: list[LoopFacts] = []
    nests: list[NestFacts] = []
    for ordinal, first in enumerate(starts, 1):
        last = next(index for index in range(first, len(tokens)) if tokens[index][0] == ")")
        header = Site(first, last)
        iterator = tokens[first + 2][0]
        verdict: Verdict = Parallel()
        if budget:
            verdict = Unknown(Rejection("budget", header, "the analysis took too long"))
        elif iterator == "t":
            verdict = _sequential(header)
        loops.append(LoopFacts(ordinal, "for", iterator, 1, 0, header, header, verdict))
        transform = Transform("skew", "", "the wavefront t + i") if schedules and iterator == "t" else None
        band = Band((ordinal,), True, (iterator != "t",))
        nests.append(NestFacts(header, (ordinal,), band, transform, _MODEL if schedules else None, ()))
    facts = FunctionFacts(name, Site(1, 1), tuple(loops), tuple(nests))
    places = tuple(token[1] for token in tokens), tuple(token[2] for token in tokens)
    tried = Feasibility() if schedules and "UNTRIED" not in body else None
    return FunctionAnswer(key, facts, *places, feasibility=tried)


def _sequential(header: Site) -> Sequential:
    write = AccessPoint("a", "a[t]", "write", header)
    read = AccessPoint("a", "a[t - 1]", "read", header)
    dependence = Dependence("flow", write, read, 1, 1, ("<",), True)
    witness = Witness(dependence, (("t", 1),), (("t", 2),), ())
    return Sequential(witness, (dependence,))


if __name__ == "__main__":
    from polylsp.server import worker_main

    worker_main.main(analyse, worker_main.Answering(edit, measurable, draw))
