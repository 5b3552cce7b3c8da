"""Functions of Python with objects, other names of arrays and calls around a loop, whose verdicts are run:
`python -m tests.codegen.python_objects --programs 5000`.

CPython runs each loop that is claimed independent with its iterations in other orders; all that can be
observed afterwards must be as in the source's order. A claim counts where its assumptions are satisfied by
the run, and is wrong too where it assumes that two names of one object, which the function makes, are apart.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import traceback
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Assumption, Parallel, Unknown
from tests.codegen.python_nests import ORDERS
from tests.codegen.python_object_programs import GROUPS, Written, written

SETTINGS = Settings(parallel_threshold=0, max_operations=300_000, cache=False)
_MODULE = "drawn_elsewhere"
"""A module whose code the analysis does not see."""


@dataclass(frozen=True)
class Claim:
    """A loop by its line that the analysis says to be independent under assumptions, or (`is_advice`) that
    would be under them; `by_names`: it has no model."""

    line: int
    assumptions: tuple[Assumption, ...]
    lastprivate: bool
    is_advice: bool
    by_names: bool


@dataclass(frozen=True)
class Failure:
    """A claim that is wrong, and what was seen."""

    program: Written
    claim: Claim
    seen: str

    def report(self) -> str:
        """The failure for a person."""
        how = "parallel if" if self.claim.is_advice else "parallel"
        how += " by its names" if self.claim.by_names else ""
        marked = self.program.text.splitlines()
        assumed = "; ".join(one.sentence for one in self.claim.assumptions)
        marked[self.claim.line - 1] += f"  # {how}: {assumed}"
        return f"=== {self.program.group}: {self.seen}\n" + "\n".join(marked)


def claims(text: str) -> list[Claim]:
    """The loops of a text that are independent, or would be under an assumption."""
    source, found = Source(text), list[Claim]()
    for placed in analyse("drawn.py", text, SETTINGS, schedules=False).functions:
        for loop in placed.answer.facts.loops:
            line = source.position(placed.span(loop.header).start).line + 1
            match loop.verdict:
                case Parallel() as one:
                    is_last, by_names = bool(one.lastprivate), bool(loop.unmodelled)
                    found.append(Claim(line, one.assumptions, is_last, False, by_names))
                case Unknown(would_help=assumptions) if assumptions:
                    found.append(Claim(line, assumptions, True, True, bool(loop.unmodelled)))
                case _:
                    pass
    return found


# --- Runs


class _Ordered:
    """A loop's values in another order, with the assumptions of its claim tested each time that it begins."""

    def __init__(self, claim: Claim, order: Callable[[Sequence[Any]], Sequence[Any]] | None) -> None:
        self.claim, self.order = claim, order
        self.unsatisfied: dict[str, None] = {}
        self.most = 0

    def __call__(self, values: Iterable[Any]) -> Iterable[Any]:
        frame = sys._getframe(1)
        for one in self.claim.assumptions:
            if not _is_satisfied(one, frame.f_globals, frame.f_locals):
                self.unsatisfied[one.sentence] = None
        listed = list(values)
        self.most = max(self.most, len(listed))
        if self.order is None:
            return listed
        if self.claim.lastprivate:
            return [*self.order(listed[:-1]), *listed[-1:]]
        return list(self.order(listed))


def _is_satisfied(one: Assumption, names: dict[str, Any], local: dict[str, Any]) -> bool:
    """True if a condition holds at the start of a loop; false for those that are not known here."""

    def value(text: str) -> Any:
        return eval(text, names, local)

    sentence = one.sentence
    quoted = re.findall("`([^`]*)`", sentence)
    try:
        if one.kind == "pure-call":
            return all("pure" in each for each in one.subjects)
        if one.kind == "no-overlap":
            return _are_apart(*map(value, quoted[:2]))
        if sentence.endswith("has no repeated value, and no negative one"):
            values = list(value(quoted[0]))
            return len(set(values)) == len(values) and all(each >= 0 for each in values)
        if sentence.endswith("is not negative"):
            return value(quoted[0]) >= 0
        if sentence.startswith("each element of"):
            return len({id(each) for each in value(quoted[0])}) == len(value(quoted[0]))
        if sentence.endswith("changes nothing"):
            of, _, name = quoted[0].rpartition(".")
            return not isinstance(getattr(value(of), name, None), types.MethodType)
        if "is not overridden in another file" in sentence:
            return True
        if " is a NumPy array of numbers" in sentence or " is an array of " in sentence:
            found = value(quoted[0])
            return type(found) is np.ndarray and found.dtype != object
        if sentence.endswith("is an array or a list"):
            found = value(quoted[0])
            return type(found) is list or (type(found) is np.ndarray and 0 not in found.strides)
        if sentence.endswith("is a NumPy array"):
            return type(value(quoted[0])) is np.ndarray
    except Exception:
        return False
    return False


def _are_apart(one: Any, other: Any) -> bool:
    """True if two values lead to no common object that can change."""
    mine, others = ([each for each in _reached(of) if _changes(each)] for of in (one, other))
    arrays = [each for each in mine if isinstance(each, np.ndarray)]
    return {id(each) for each in mine}.isdisjoint(id(each) for each in others) and not any(
        np.shares_memory(each, another)
        for each in arrays
        for another in others
        if isinstance(another, np.ndarray) and object not in (each.dtype, another.dtype)
    )


def _changes(value: Any) -> bool:
    return not isinstance(value, (type, types.ModuleType, types.FunctionType, tuple, frozenset))


def _reached(value: Any) -> list[Any]:
    found: dict[int, Any] = {}
    pending = [value]
    while pending:
        one = pending.pop()
        if id(one) not in found and not isinstance(one, (int, float, str, complex, type(None), np.generic)):
            found[id(one)] = one
            pending += [part for _, part in _parts(one)]
    return list(found.values())


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The objects that one leads to, each with the way to it."""
    if isinstance(value, np.ndarray):
        yield from ((f"[{k}]", one) for k, one in enumerate(value.ravel().tolist()))
    elif isinstance(value, dict):
        yield from ((f"[{k}]", one) for k, pair in enumerate(value.items()) for one in pair)
        yield from ((".default_factory", one) for one in [getattr(value, "default_factory", None)] if one)
    elif isinstance(value, (list, tuple, deque)):
        yield from ((f"[{k}]", one) for k, one in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from ((f"[{k}]", one) for k, one in enumerate(sorted(value, key=repr)))
    elif isinstance(value, types.FunctionType):
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        yield from ((f".{name}", cell.cell_contents) for name, cell in cells if _is_full(cell))
        yield from ((f".default{k}", one) for k, one in enumerate(value.__defaults__ or ()))
    elif isinstance(value, types.MethodType):
        yield ".self", value.__self__
    elif isinstance(value, type) and value.__module__ == "drawn":
        yield from ((f".{name}", one) for name, one in vars(value).items() if not name.startswith("__"))
    if getattr(type(value), "__module__", "") == "drawn":
        slots = [name for base in type(value).__mro__ for name in getattr(base, "__slots__", ())]
        yield from ((f".{name}", getattr(value, name)) for name in slots if hasattr(value, name))
        yield from ((f".{name}", one) for name, one in getattr(value, "__dict__", {}).items())


def _is_full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _seen(values: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """All that can be observed of some values: types, contents, and which of them are one object."""
    found: list[tuple[str, Any]] = []
    numbers: dict[int, int] = {}
    alive: list[Any] = []
    pending = [*values][::-1]
    while pending:
        way, one = pending.pop()
        if isinstance(one, (int, float, str, complex, type(None), np.generic)):
            found.append((way, repr(one)))
            continue
        is_new = id(one) not in numbers
        number = numbers.setdefault(id(one), len(numbers))
        alive.append(one)
        found.append((way, (number, type(one).__name__)))
        if is_new:
            pending += [(way + step, part) for step, part in [*_parts(one)][::-1]]
    return found


def _left(text: str, claim: Claim, ordered: _Ordered | None) -> list[tuple[str, Any]]:
    """All that is left by the call of `run`."""
    tree = ast.parse(text)
    if ordered is not None:
        loop = next(n for n in ast.walk(tree) if isinstance(n, ast.For) and n.lineno == claim.line)
        loop.iter = ast.Call(ast.Name("ordered_values", ast.Load()), [loop.iter], [])
        ast.fix_missing_locations(tree)
    module = types.ModuleType("drawn")
    elsewhere = types.ModuleType(_MODULE)
    exec(ELSEWHERE, vars(elsewhere))
    sys.modules[_MODULE], sys.modules["drawn"] = elsewhere, module
    vars(module)["ordered_values"] = ordered
    names = vars(module)
    exec(compile(tree, "drawn.py", "exec"), names)
    with np.errstate(all="ignore"):
        result = names["run"]()
    values = {
        name: one
        for name, one in names.items()
        if not name.startswith("__")
        and not isinstance(one, types.ModuleType)
        and getattr(one, "__module__", "drawn") == "drawn"
        and name != "ordered_values"
    }
    return _seen((("result", result), *values.items(), *vars(elsewhere).get("state", {}).items()))


ELSEWHERE = """
state = {"kept": [], "count": [0]}


def pure(*given):
    return sum(float(np_sum(one)) for one in given) * 0.5 + 1.0


def np_sum(one):
    import numpy
    is_none = isinstance(one, str) or one is None or callable(one)
    return 0.0 if is_none else numpy.sum(numpy.asarray(one, float))


def pure_pair(x, y):
    return [np_sum(x), np_sum(y)]
"""


# --- Trials


@dataclass(frozen=True)
class Tried:
    """Results for one program: how many claims were run, the wrong ones, conditions that were not satisfied,
    and the error that its own run ends in."""

    run: int = 0
    failures: tuple[Failure, ...] = ()
    unsatisfied: tuple[str, ...] = ()
    error: str = ""


def trial(one: Written) -> Tried:
    """Run each claim about a program."""
    found = claims(one.text)
    if not found:
        return Tried()
    count, failures, unsatisfied = 0, list[Failure](), list[str]()
    for claim in found:
        try:
            wanted = _left(one.text, claim, None)
        except Exception:
            return Tried(error=traceback.format_exc(limit=-1))
        plain = _Ordered(claim, None)
        seen = _difference(one.text, claim, plain, wanted)
        # Two names of one object that the function makes itself are not to be assumed apart.
        excused = [each for each in plain.unsatisfied if not (one.shows and "do not overlap" in each)]
        if excused:
            unsatisfied += [re.sub("`[^`]*`", "`...`", each) for each in excused]
            continue
        if plain.most < 3:
            continue
        count += 1
        for order in ORDERS:
            seen = seen or _difference(one.text, claim, _Ordered(claim, order), wanted)
        if seen:
            failures.append(Failure(one, claim, seen))
    return Tried(count, tuple(failures), tuple(unsatisfied))


def _difference(text: str, claim: Claim, ordered: _Ordered, wanted: list[tuple[str, Any]]) -> str:
    try:
        found = _left(text, claim, ordered)
    except Exception:
        return traceback.format_exc(limit=-1)
    for mine, other in zip(wanted, found, strict=False):
        if mine != other:
            return f"{mine[0]} is {other[1]} where it was {mine[1]}"
    return "" if len(found) == len(wanted) else "more or fewer objects"


def main() -> int:
    """Draw as many as requested; failures are printed, the smallest of each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--classes", default=",".join(GROUPS))
    parser.add_argument("--shown", type=int, default=20, help="how many failures are printed")
    asked = parser.parse_args()
    groups = asked.classes.split(",")
    failures: list[Failure] = []
    counts: Counter[str] = Counter()
    unsatisfied: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for number in range(asked.programs):
        one = written(groups[number % len(groups)], asked.seed, number)
        tried = trial(one)
        counts[f"{one.group}: programs"] += 1
        counts[f"{one.group}: claims run"] += tried.run
        counts[f"{one.group}: wrong"] += len(tried.failures)
        failures += tried.failures
        unsatisfied.update(tried.unsatisfied)
        errors.update([tried.error.strip().splitlines()[-1]] if tried.error else [])
    shown: set[str] = set()
    for each in sorted(failures, key=lambda one: len(one.program.text)):
        kind = each.program.kind
        if kind not in shown and len(shown) < asked.shown:
            shown.add(kind)
            print(f"\n{each.report()}", flush=True)
    for found in (unsatisfied, errors, Counter(each.program.kind for each in failures)):
        print()
        for reason, count in found.most_common(40):
            print(f"{count:6}  {reason}")
    for key, count in counts.items():
        print(f"{key}: {count}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
