"""Measurement plan of a function: its arguments, the sizes, and the text that calls it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.analysis.effects import walk
from polylsp.codegen.harness.call import call, python_call
from polylsp.codegen.harness.contents import Contents, contents
from polylsp.codegen.harness.extents import Extents
from polylsp.codegen.harness.ladder import Sizing, around, ladder, small
from polylsp.codegen.harness.macros import fixed_size
from polylsp.codegen.harness.pivots import with_pivots
from polylsp.codegen.harness.python_callable import why_not_called
from polylsp.codegen.harness.python_extents import PythonExtents
from polylsp.codegen.harness.python_storage import python_storage
from polylsp.codegen.harness.starts import with_rows
from polylsp.codegen.harness.storage import Storage, storage
from polylsp.codegen.harness.wishes import Usual, Wishes, usual_sizes, wishes
from polylsp.codegen.harness.workload import Workloads, workloads
from polylsp.codegen.numba.source import source_of
from polylsp.codegen.subject import Subject
from polylsp.frontends.python.outline import MODULE
from polylsp.language import C
from polylsp.model.action import Declined
from polylsp.model.measurement import MemoryPlan, NoPlan, Rung
from polylsp.model.program import Assign

_OPERATIONS = 20_000_000


@dataclass(frozen=True, slots=True)
class Harness:
    """Common part of the plan for all versions of a function; see `Plan`."""

    call: str
    data: Storage
    rungs: tuple[Rung, ...]
    small: Rung
    given: bool
    workloads: Workloads
    usual: int | None
    basis: str


def harness(
    subject: Subject, sizes: Mapping[str, int], preset: Mapping[str, int], macros: Container[str] = ()
) -> Harness | NoPlan:
    """Common part of a measurement plan. `sizes` are those of the request, which precede those in comments;
    `preset` those of the settings, which come after, and may name parameters that the function lacks.
    `macros` are sizes that the subject has already."""
    function = subject.function
    if function.name == "main" and subject.language == C.name:
        return NoPlan(
            "`main` is the program itself: put its loops in a function of their own to measure them."
        )
    said = wishes_of(subject)
    made = _in_c(subject, said) if subject.language == C.name else _in_python(subject, said)
    if isinstance(made, NoPlan):
        return made
    data, text, measure = made
    given = {**{k: v for k, v in preset.items() if k in data.sizes}, **said.sizes, **sizes}
    given = {k: v for k, v in given.items() if k not in macros}
    wrong = _wrong(subject, data, said, given)
    needs = contents(subject, data)
    if wrong is not None:
        return wrong
    if isinstance(needs, NoPlan):
        return needs
    data = with_pivots(with_rows(data, needs.rows), subject)
    extents = measure(subject, data, needs)
    fixed = budgeted(_OPERATIONS, lambda: extents.exceeded(given)) if set(data.sizes) <= set(given) else None
    if isinstance(fixed, str):
        return NoPlan(f"`{fixed}` has fewer elements than `{function.name}` needs at these sizes.")
    usual = _usual(subject, data, given)
    rungs = budgeted(_OPERATIONS, lambda: _rungs(extents, data, given, usual))
    if isinstance(rungs, Exhausted):
        return NoPlan(f"How large the arrays of `{function.name}` have to be took too long to find out.")
    steps, least, own = rungs
    counted = budgeted(_OPERATIONS, lambda: workloads(subject, steps, data.sizes))
    work = () if isinstance(counted, Exhausted) else counted
    is_given = not set(data.sizes) - set(given)
    return Harness(text, data, steps, least, is_given, work, own, usual.basis)


def _usual(subject: Subject, data: Storage, given: Mapping[str, int]) -> Usual:
    """Sizes at which the file calls the function, for those that are not given."""
    start, end = subject.start, subject.start + subject.ends[-1]
    name = subject.function.name
    parameters = [each.source_name for each in subject.function.parameters]
    wanted = [each for each in data.sizes if each not in given]
    return usual_sizes(subject.text, start, end, name, parameters, wanted) if wanted else Usual()


def _rungs(
    extents: Sizing, data: Storage, given: Mapping[str, int], usual: Usual
) -> tuple[tuple[Rung, ...], Rung, int | None]:
    """The sizes to choose from, those that accesses are checked at, and the number of the usual ones among
    the former."""
    least = small(extents, data, given)
    known = {**usual.sizes, **given}
    if usual.sizes and set(data.sizes) <= set(known) and extents.exceeded(known) is None:
        steps, own = around(extents, data, given, usual.sizes)
        return steps, least, own
    return ladder(extents, data, known), least, None


def wishes_of(subject: Subject) -> Wishes:
    """Directions for measuring a function in its comments."""
    return wishes(subject.text, subject.start, subject.start + subject.ends[-1])


Made = tuple[Storage, str, Callable[[Subject, Storage, Contents], Sizing]]


def _in_c(subject: Subject, said: Wishes) -> Made | NoPlan:
    """Arguments of a function in C, and the text that calls it."""
    data = storage(subject, said.definite)
    return data if isinstance(data, NoPlan) else (data, call(subject, data), Extents)


def _in_python(subject: Subject, said: Wishes) -> Made | NoPlan:
    """Arguments of a function in Python, and the lines that call it."""
    if subject.function.name == MODULE:
        return NoPlan(
            "Only functions are measured: put these loops into one, and hand it their arrays as parameters."
        )
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return NoPlan(source.reason)
    reason = why_not_called(source)
    if reason:
        return NoPlan(reason)
    data = python_storage(source, said.definite)
    return data if isinstance(data, NoPlan) else (data, python_call(subject, data), PythonExtents)


def _wrong(subject: Subject, data: Storage, said: Wishes, given: Mapping[str, int]) -> NoPlan | None:
    """Objections to the function or to the request."""
    name, sizes = subject.function.name, data.sizes
    if said.wrong:
        if said.wrong.startswith("polylsp"):
            return NoPlan(f"`{said.wrong}` in a comment lacks a colon: write `polylsp:` before the sizes.")
        return NoPlan(f"`{said.wrong}` in a comment is neither NAME=NUMBER nor NAME=positive-definite.")
    unknown = [each for each in given if each not in sizes]
    if unknown:
        fixed = fixed_size(subject.text, unknown[0]) if subject.language == C.name else ""
        if fixed:
            return NoPlan(fixed)
        known = f"its sizes are {', '.join(f'`{each}`' for each in sizes)}" if sizes else "it has none"
        return NoPlan(f"`{name}` has no size `{unknown[0]}`: {known}.")
    matrices = {each.name for each in data.memories if _can_be_definite(each)}
    missing = sorted(said.definite - matrices)
    if missing:
        return NoPlan(f"`{missing[0]}` is no array of real numbers that `{name}` is given.")
    kept = sorted(v.source_name for v in subject.variables if v.storage == "static" and not v.const)
    changed = [s.target.variable for s in walk(subject.function.body) if isinstance(s, Assign)]
    if any(v.storage == "static" for v in changed):
        return NoPlan(
            f"`{kept[0]}` keeps its value from one call to the next: calls of `{name}` are not alike."
        )
    return None


def _can_be_definite(memory: MemoryPlan) -> bool:
    return memory.kind == "f" and memory.fill != "kept"
