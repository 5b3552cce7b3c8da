"""Edits of NPBench's programs: `python -m tests.bench.npbench FOLDER [--target numba|pycuda] [NAME…]`.

FOLDER is a checkout of NPBench (spcl/npbench on GitHub). Every loop and function of each program's NumPy
version is edited for the target; the program runs before and after the edits on small inputs of NPBench's
own generator, kernels on the stand-in of `tests.gpu`, and must leave and return the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Ask, Declined, applied
from polylsp.model.facts import FunctionFacts
from tests.gpu.playing import Played

SETTINGS = Settings(parallel_threshold=0, offload_threshold=0)
LARGEST = 24
"""Sizes of inputs are cut to about this; no two that are cut are the same."""

_RUN = """
import json, sys, types
import numpy as np
{head}

def matrix(m, n, density=0.1, format="csr", dtype=np.float64, random_state=None, **_):
    dense = random_state.random((m, n)) * (random_state.random((m, n)) < density)
    row = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
    column = np.nonzero(dense)[1].astype(np.int32)
    return types.SimpleNamespace(indptr=row, indices=column, data=dense[dense != 0])

def copied(value):
    return value.copy() if isinstance(value, np.ndarray) else value

def left(source, plan):
    values = dict(plan["parameters"])
    names = {{"__name__": "npbench"}}
    sparse = types.ModuleType("scipy.sparse")
    sparse.random = matrix
    sys.modules |= {{"scipy": types.ModuleType("scipy"), "scipy.sparse": sparse}}
    exec(compile(open(plan["generator"]).read(), plan["generator"], "exec"), names)
    if plan["initialize"]:
        made = names[plan["initialize"]](*(values[one] for one in plan["generated_from"]))
        values.update(zip(plan["generated"], made if isinstance(made, tuple) else (made,)))
    # Numba looks for SciPy as well.
    del sys.modules["scipy"], sys.modules["scipy.sparse"]
    names = {{"__name__": "npbench"}}
    exec(compile(open(source).read(), source, "exec"), names)
    arguments = [copied(values[one]) for one in plan["arguments"]]
    with np.errstate(all="ignore"):
        result = names[plan["function"]](*arguments)
    results = result if isinstance(result, tuple) else (result,)
    return [one for one in (*arguments, *results) if one is not None]

plan = json.load(open(sys.argv[1]))
before, after = left(plan["before"], plan), left(plan["after"], plan)
assert len(before) == len(after)
for one, other in zip(before, after):
    one, other = np.asarray(one), np.asarray(other)
    assert one.shape == other.shape, (one.shape, other.shape)
    assert one.dtype == other.dtype, (one.dtype, other.dtype)
    accuracy = dict(rtol=1e-4, atol=1e-5) if one.dtype.itemsize == 4 else dict(rtol=1e-9, atol=1e-10)
    assert np.allclose(one, other, equal_nan=True, **accuracy), (one.ravel()[:4], other.ravel()[:4])
{tail}
"""
_DEVICE = ("import pycuda.driver", "assert pycuda.driver.calls > 0, 'no call of the device'")


@dataclass(frozen=True)
class Program:
    """A program of NPBench: the text that is edited, and the description of its run."""

    name: str
    source: Path
    plan: dict[str, Any]


@dataclass(frozen=True)
class Tried:
    """The edited text of a program, the number of edits, and the reasons why others were declined."""

    text: str
    edits: int
    declined: tuple[str, ...]


def programs(folder: Path) -> Iterator[Program]:
    """The programs of a checkout."""
    for described in sorted((folder / "bench_info").glob("*.json")):
        told = json.loads(described.read_text(encoding="utf-8"))["benchmark"]
        place = folder / "npbench" / "benchmarks" / told["relative_path"]
        init: dict[str, Any] = told.get("init", {"func_name": "", "input_args": [], "output_args": []})
        plan = {
            "generator": str(place / f"{told['module_name']}.py"),
            "initialize": init["func_name"],
            "generated_from": init["input_args"],
            "generated": init["output_args"],
            "arguments": told["input_args"],
            "function": told["func_name"],
            "parameters": _cut(told["parameters"]["S"]),
        }
        yield Program(described.stem, place / f"{told['module_name']}_numpy.py", plan)


def _cut(sizes: dict[str, Any]) -> dict[str, Any]:
    """Sizes that are small and distinct, in the order of those given."""
    large = [name for name, value in sizes.items() if isinstance(value, int) and value > LARGEST]
    cut = {name: LARGEST + 2 * place for place, name in enumerate(sorted(large, key=lambda one: sizes[one]))}
    return {**sizes, **cut}


def tried(program: Program, target: ActionName) -> Tried:
    """All edits of a program's functions: of each as a whole, else of its loops from the outside in."""
    text = program.source.read_text(encoding="utf-8")
    path = str(program.source)
    declined: list[str] = []
    edits = 0
    names = [each.answer.facts.name for each in analyse(path, text, SETTINGS, schedules=False).functions]
    for name in names:
        wanted: list[int] = [0]
        while wanted:
            ordinal = wanted.pop(0)
            report = analyse(path, text, SETTINGS, schedules=False)
            found = [each for each in report.functions if each.answer.facts.name == name]
            if not found:
                break
            answer = edit(path, text, SETTINGS, Ask(target, name, found[-1].start, ordinal))
            if isinstance(answer, Declined):
                declined.append(f"{name}:{ordinal}: {answer.reason}")
                wanted = [*_within(found[-1].answer.facts, ordinal), *wanted]
            else:
                text = applied(text, answer.replacements)
                edits += 1
    return Tried(text, edits, tuple(declined))


def _within(facts: FunctionFacts, ordinal: int) -> list[int]:
    """The loops directly in one, or the outermost ones of a function (0)."""
    around = next((each for each in facts.loops if each.ordinal == ordinal), None)
    depth = around.depth if around is not None else 0
    inside: list[int] = []
    for each in facts.loops:
        if each.ordinal > ordinal and each.depth <= depth:
            break
        inside += [each.ordinal] if each.ordinal > ordinal and each.depth == depth + 1 else []
    return inside


def compared(program: Program, edited: str, target: ActionName, played: Played | None) -> str:
    """Difference between a program and its edited text when both run; empty where there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "after.py").write_text(edited, encoding="utf-8")
        plan = {**program.plan, "before": str(program.source), "after": str(folder / "after.py")}
        (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
        head, tail = _DEVICE if target == "pycuda" else ("", "")
        environment = played.environment if played is not None else os.environ
        command = [sys.executable, "-c", _RUN.format(head=head, tail=tail), str(folder / "plan.json")]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=900, check=False
            )
        except subprocess.TimeoutExpired:
            return "it takes too long"
        return ran.stderr.strip().splitlines()[-1] if ran.returncode else ""


_UNUSED = "no call of the device"
"""End of the message where all edits left the work to the original: equal, but of no use."""


def main(given: Sequence[str] | None = None) -> int:
    """Prints a line for each program, and the number of those with an edit."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("names", nargs="*")
    options.add_argument("--target", choices=("numba", "pycuda"), default="numba")
    options.add_argument("--write", type=Path, help="folder for the edited texts")
    chosen = options.parse_args(given)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        played = Played("g++", Path(folder), "-w") if chosen.target == "pycuda" else None
        for program in programs(chosen.folder):
            if chosen.names and program.name not in chosen.names:
                continue
            done = tried(program, chosen.target)
            wrong = compared(program, done.text, chosen.target, played) if done.edits else ""
            unused = wrong.endswith(_UNUSED)
            outcome = "none" if not done.edits else "unused" if unused else "WRONG" if wrong else "equal"
            outcomes[outcome] += 1
            print(f"{program.name}: {done.edits} edits, {outcome} {wrong}", flush=True)
            for reason in done.declined:
                print(textwrap.indent(reason, "    "), flush=True)
            if chosen.write is not None:
                chosen.write.mkdir(parents=True, exist_ok=True)
                (chosen.write / f"{program.name}.py").write_text(done.text, encoding="utf-8")
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    return 1 if outcomes["WRONG"] else 0


if __name__ == "__main__":
    sys.exit(main())
