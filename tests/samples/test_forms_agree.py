"""A PolyBench kernel in C and in Python is one program: the same model, and the same verdicts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import islpy as isl
import pytest
from polybench_sizes import default_sizes

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Assumption, Dependence, Parallel, Sequential, Unknown, word
from polylsp.model.facts import FunctionFacts, LoopFacts, NestModel

POLYBENCH = Path(__file__).parents[2] / "samples" / "polybench"
KERNELS = sorted(path.stem for path in (POLYBENCH / "c").glob("*.c"))
RENAMED = {"deriche": {"in": "image"}, "doitgen": {"np": "width"}}
"""Names in C that mean something else in Python."""

LOCAL = {"symm": "above", "durbin": "sum"}
"""Variables of a loop's body: in Python they belong to the function, and C is adapted to that."""

CONSTANT = {"correlation": "smallest"}
"""Constants of C with a constant value: Python has variables alone, and so has C then."""


@dataclass(frozen=True, slots=True)
class Form:
    """A kernel in one language: facts of its functions, by name."""

    functions: dict[str, FunctionFacts]


@cache
def in_c(name: str) -> Form:
    path = POLYBENCH / "c" / f"{name}.c"
    text = path.read_text()
    if name in CONSTANT:
        text = text.replace(f"const double {CONSTANT[name]}", f"double {CONSTANT[name]}")
    if name in LOCAL:
        text = text.replace(f"double {LOCAL[name]} = ", f"{LOCAL[name]} = ")
        text = re.sub(r"(kernel_\w+\([^)]*\)\n{)", rf"\1 double {LOCAL[name]};", text, count=1)
    return analysed(path, text)


@cache
def in_python(name: str) -> Form:
    path = POLYBENCH / "python" / f"{name}.py"
    return analysed(path, path.read_text())


def analysed(path: Path, text: str) -> Form:
    report = analyse(str(path), text, Settings(), schedules=True, relations=True)
    return Form({placed.answer.facts.name: placed.answer.facts for placed in report.functions})


def both(name: str, function: str) -> tuple[FunctionFacts, FunctionFacts]:
    called = function if function == "init" else f"kernel_{name.replace('-', '_')}"
    return in_c(name).functions[called], in_python(name).functions[called]


@pytest.mark.sweep
@pytest.mark.parametrize("function", ["kernel", "init"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_loops_have_the_same_verdicts(name: str, function: str) -> None:
    c, python = both(name, function)
    iterators = {loop.iterator for loop in c.loops}
    assert [verdict(name, loop, iterators) for loop in c.loops] == [
        verdict("", loop, iterators) for loop in python.loops
    ]


def verdict(name: str, loop: LoopFacts, iterators: set[str | None]) -> tuple[object, ...]:
    """Verdict of a loop, with the names of Python, except for assumptions that C's `restrict` promises, and
    copies of iterators, which a declaration outside the loop needs."""
    found = (loop.ordinal, loop.kind, renamed(name, loop.iterator or ""), loop.depth, word(loop.verdict))
    match loop.verdict:
        case Parallel() as v:
            reductions = {(r.operator, renamed(name, r.variable)) for r in v.reductions}
            copies = [renamed(name, n) for n in v.private if n not in iterators]
            last = [renamed(name, n) for n in v.lastprivate]
            return (*found, copies, last, reductions, {a.kind for a in v.assumptions if needed(a)})
        case Sequential(carried=carried):
            return (*found, {dependence(name, d) for d in carried})
        case Unknown(rejection=r):
            return (*found, r.code)


def needed(assumption: Assumption) -> bool:
    """True if C needs an assumption too: it declares the properties of Python's parameters."""
    return assumption.kind != "no-overlap" and not re.search(r" has \w+ dimensions?$", assumption.sentence)


def dependence(name: str, d: Dependence) -> tuple[object, ...]:
    return (d.kind, renamed(name, d.source.variable), d.carrier, d.distance, d.directions, d.certain)


@pytest.mark.parametrize("function", ["kernel", "init"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_nests_have_the_same_models(name: str, function: str) -> None:
    c, python = both(name, function)
    assert [nest.loops for nest in c.nests] == [nest.loops for nest in python.nests]
    for one, other in zip(c.nests, python.nests, strict=True):
        assert one.model is not None
        assert other.model is not None
        assert not differences(name, one.model, other.model)


def told(model: NestModel, part: str) -> str:
    return model.domain if part == "domain" else getattr(model.relations, part)


def differences(name: str, c: NestModel, python: NestModel) -> list[str]:
    """The parts of two models that are not equal as sets, at sizes that are positive: at others, an
    index may count from the end in Python."""
    sizes = default_sizes(POLYBENCH / "c" / f"{name}.c")
    parameters = re.match(r"\[(.*?)\] -> {", python.domain)
    names = set(parameters[1].split(", ")) if parameters else set[str]()
    conditions = [f"{size} = {value}" for size, value in sizes.items()]
    conditions += [f"{size} > 0" for size in sorted(names - sizes.keys())]
    context = isl.Set(f"[{', '.join(sorted(names | sizes.keys()))}] -> {{ : {' and '.join(conditions)} }}")
    unequal: list[str] = []
    for part in ("domain", "reads", "may_writes", "must_writes", "flow", "false"):
        kind = isl.UnionSet if part == "domain" else isl.UnionMap
        texts = (renamed(name, told(c, part)), told(python, part))
        one, other = (kind(text).intersect_params(context) for text in texts)
        if not one.is_equal(other):
            unequal.append(f"{part}: C {one.subtract(other)}, Python {other.subtract(one)}")
    return unequal


def renamed(name: str, text: str) -> str:
    for old, new in RENAMED.get(name, {}).items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text
