"""CUDA target for Python: a nest to kernels in the module's text, a host function, and its call.

PyCUDA, CuPy or Numba runs them, by a module that is written beside the file (`polylsp_gpu.py`).

Numerical differences between kernels and Python are remarks for the user.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.subject import Subject
from polylsp.frontends.python.definitions import MODULE as WHOLE_FILE
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.nodes import nodes_in
from polylsp.ir.effects import expressions, loops_in, walk
from polylsp.ir.program import Assign, Binary, Call, Constant, Expr, Floating, Statement, subexpressions
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Created, Declined, Edited, Replacement
from polylsp.model.facts import is_governed
from polylsp.targets.gpu import numba_cuda
from polylsp.targets.gpu.buffers import REAL
from polylsp.targets.gpu.cuda import made_of
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import wrapped
from polylsp.targets.gpu.launched import Launched, device_code, launched
from polylsp.targets.gpu.pycuda_helper import MODULE, helper
from polylsp.targets.gpu.pycuda_host import NAMES, host_of, is_checked
from polylsp.targets.gpu.region import Region, loops_at, region_of
from polylsp.targets.numba.python_imports import above_comments, importing, spelled
from polylsp.targets.numba.python_loops import Source, fresh, lines_of, source_of


@dataclass(frozen=True, slots=True)
class Library:
    """A library that runs kernels, and the class of `polylsp_gpu.py` that uses it. `imports` are the names
    that its kernels need, by module. `compiles` Python: kernels are the loops as they are, on whole arrays
    on the device."""

    title: str
    runner: str
    imports: tuple[tuple[str, str], ...] = ()
    compiles: bool = False


PYCUDA, CUPY = Library("PyCUDA", "PyCuda"), Library("CuPy", "CuPy")
NUMBA = Library("Numba-CUDA", "NumbaCuda", (("numba", "cuda"),), compiles=True)


def differences(found: Launched) -> Iterator[str]:
    """Remarks on numerical differences for the user."""
    region = found.region
    code = (*region.statements, *(each.function.body for each in region.helpers))
    values = [e for s in walk(*code) for e in expressions(s)]
    if any(_may_fail(each) for value in values for each in subexpressions(value)):
        stops = "a division by zero, or at the root of a negative number"
        yield f"Where Python stops at {stops}, a GPU goes on with inf or nan."
    if any(each.memory.element == Floating(32) or each.words == REAL for each in found.memories.buffers):
        yield "The GPU computes with 64 bits where NumPy rounds to the type of an array."


def _may_fail(value: Expr) -> bool:
    match value:
        case Binary("/", _, right):
            return not isinstance(right, Constant)
        case Call():
            return True
        case _:
            return False


# --------------------------------------------------------------------------------------------------
# A nest to kernels in the text of a module, a function that runs them, and a call of it before the
# loops.
# --------------------------------------------------------------------------------------------------


_UNIT = "    "


@dataclass(frozen=True, eq=False)
class Made:
    """A region on the device: its kernels, the text that stands before the function, the edit of its loops,
    and the assumptions behind kernels that are `stated` beside those of the launches."""

    launched: Launched
    lines: tuple[str, ...]
    replacements: tuple[Replacement, ...]
    stated: tuple[Assumption, ...] = ()


def edit(
    subject: Subject,
    ordinal: int,
    settings: Settings,
    conditions: Sequence[str] = (),
    library: Library = PYCUDA,
) -> Answer:
    """Kernels for the nest around a loop, which a `library` runs; for all nests of the function (0), where
    those that follow one another share the memory on the device. They run where the `conditions` hold."""
    source = _source(subject, library)
    if isinstance(source, Declined):
        return source
    needed = {MODULE: library.runner, **dict(library.imports)}
    there = {module: spelled(source, module, name) for module, name in needed.items()}
    missing = {module: name for module, name in needed.items() if not there[module]}
    other = next((name for name in missing.values() if name in source.declarations), "")
    if other:
        return Declined(f"`{other}` is something else in this file: give it another name first.")
    settings = replace(settings, cuda_slabs=settings.cuda_slabs and not library.compiles)
    runner = there[MODULE] or library.runner

    def made(region: Region, taken: frozenset[str] = frozenset()) -> Made | Declined:
        return _made(source, region, settings, conditions, library, runner, taken)

    def edited(found: Sequence[Made], reasons: Sequence[str] = ()) -> Edited:
        imported = (importing(source, each, [name], beside=each == MODULE) for each, name in missing.items())
        answer = _edited(source, found, reasons)
        return replace(answer, replacements=(*answer.replacements, *imported))

    if ordinal == 0:
        every = made_of(subject, made)
        return every if isinstance(every, Declined) else edited(*every)
    region = region_of(subject, ordinal)
    one = made(region) if isinstance(region, Region) else region
    return edited([one]) if isinstance(one, Made) else one


def _source(subject: Subject, library: Library) -> Source | Declined:
    name = subject.function.name
    if name == WHOLE_FILE:
        return Declined("Kernels are launched from a function: put the loops into one first.")
    if "." in name:
        told = f"`{name}` stands in a class or in another function"
        return Declined(f"{told}: put the loops into one of their own.")
    if subject.indentation(subject.start):
        return Declined(f"`{name}` stands inside of another statement: kernels cannot stand before it.")
    source = source_of(subject)
    if isinstance(source, Source) and source.definition.decorator_list:
        decorator = ast.unparse(source.definition.decorator_list[0])
        told = f"`@{decorator}` may compile `{name}`, which {library.title}'s calls do not allow"
        return Declined(f"{told}: take it away first.")
    return source


def _made(
    source: Source,
    region: Region,
    settings: Settings,
    conditions: Sequence[str],
    library: Library,
    runner: str,
    taken: frozenset[str],
) -> Made | Declined:
    reason = _already(region) or _unplaced(source, region)
    if reason:
        return Declined(reason)
    found = launched(region, settings, taken)
    if isinstance(found, Declined):
        return found
    listed = next((b.name for b in found.memories.buffers if b.name in source.lists), "")
    if listed:
        # The host function's check of its arguments would send each call to the loops as they are.
        return Declined(f"`{listed}` is a list, and kernels work on arrays of NumPy: make it an array first.")
    try:
        known = [*_known(source, region), *conditions]
        host = host_of(found, known)
        if library.compiles:
            own = numba_cuda.kernels_of(source, _nodes(source, region), host, known, settings, runner)
            lines, arguments, stated = own.lines, own.arguments, own.assumptions
        else:
            stated = ()
            lines, arguments = helper(host, known, settings, runner)
    except Unwritable as reason:
        return Declined(str(reason))
    unchecked = _unchecked(source, region, conditions, arguments)
    if unchecked:
        return Declined(
            f"An array statement counts from the end where `{unchecked}` does not hold, which is not known "
            "before the loops."
        )
    absent = _absent(lines)
    if absent:
        return Declined(
            f"The sizes here are those of `{absent}`, which the loops do not use: pass its shape."
        )
    returned = [b.name for b in host.returned]
    replacements = tuple(_called(source, region, found.name, arguments, returned))
    return Made(found, tuple(lines), replacements, stated)


def _unchecked(source: Source, region: Region, conditions: Sequence[str], arguments: Sequence[str]) -> str:
    """A condition on names that the loops change, or that their function does not get; empty if none."""
    changed = {name for each in walk(*region.statements) for name in _assigned(each)}
    given = {name for each in arguments for name in NAMES.findall(each)} - changed
    own = source.local - given
    return next((each for each in conditions if not own.isdisjoint(NAMES.findall(each))), "")


def _assigned(statement: Statement) -> Iterator[str]:
    if isinstance(statement, Assign) and not statement.target.steps:
        yield statement.target.variable.source_name


def _absent(lines: Sequence[str]) -> str:
    """An array whose lengths the text of a module uses in a function that does not know it; empty if none."""
    for function in ast.parse("\n".join(lines)).body:
        if isinstance(function, ast.FunctionDef):
            nodes = nodes_in(function)
            known = {n.arg for n in nodes if isinstance(n, ast.arg)}
            known |= {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
            sized = (n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr == "shape")
            names = (one.id for one in sized if isinstance(one, ast.Name))
            if absent := next((name for name in names if name not in known), ""):
                return absent
    return ""


def _already(region: Region) -> str:
    """Reason why the loops already run elsewhere, or cannot; empty otherwise."""
    subject, loop = region.subject, loops_at(region.statements)[0]
    inside = loops_in(*region.statements)
    if any(is_governed(subject.facts, each.ordinal) for each in inside):
        return "`prange` runs this loop in parallel already."
    if any(each.implied for each in inside):
        line = subject.line_number(next(each.site for each in inside if each.implied))
        return f"The array statement in line {line} has no kernel yet: write it as a loop first."
    before = subject.text[: subject.span(loop.site).start].rstrip()
    called = re.search(r"if not (\w+_cuda\d*)\([^()]*\):$", before)
    return f"`{called[1]}` runs this loop on a GPU already." if called else ""


def _edited(source: Source, found: Sequence[Made], reasons: Sequence[str] = ()) -> Edited:
    subject = source.subject
    end = newline(subject.text)
    lines = [line for one in found for line in (*one.lines, "", "")]
    at = above_comments(subject.text, subject.start)
    before = Replacement(Span(at, at), "".join(f"{line}{end}" for line in lines))
    assumed = tuple(
        dict.fromkeys(
            each
            for one in found
            for each in (*one.launched.assumptions, *one.stated)
            if not is_checked(one.launched, each)
        )
    )
    told = (each for one in found for each in (*one.launched.remarks, *differences(one.launched)))
    remarks = (*dict.fromkeys(told), *dict.fromkeys(reasons))
    replacements = (before, *(each for one in found for each in one.replacements))
    code = tuple(device_code(one.launched) for one in found)
    shared = Created(f"{MODULE}.py", Path(__file__).with_name(f"{MODULE}.py").read_text("utf-8"), shared=True)
    return Edited(replacements, assumed, remarks, created=(shared,), device_code=code)


# --- The loops ---------------------------------------------------------------------------


def _nodes(source: Source, region: Region) -> list[ast.For | ast.While]:
    """The loops of a region in the source."""
    firsts = [each.site.first for each in loops_at(region.statements)]
    loops = [n for n in source.nodes if isinstance(n, (ast.For, ast.While))]
    return [n for first in firsts for n in loops if source.parsed.site(n).first == first]


def _unplaced(source: Source, region: Region) -> str:
    """Reason why no call can stand before the loops; empty if one can."""
    nodes = _nodes(source, region)
    lines = lines_of(source, nodes) if nodes else None
    line = source.subject.line_number(loops_at(region.statements)[0].site)
    if lines is None or len(nodes) < len(loops_at(region.statements)):
        return f"Put the loop in line {line} on lines of its own first."
    if not _in_a_row(source, nodes):
        return f"A statement stands between the loop in line {line} and those after it: put it before them."
    first, last = (source.parsed.site(n) for n in (nodes[0], nodes[-1]))
    if any("\n" in source.subject.token(k) for k in range(first.first, last.last + 1)):
        return f"A string of several lines stands in the loop in line {line}: put it before the loop."
    return ""


def _in_a_row(source: Source, nodes: Sequence[ast.stmt]) -> bool:
    """True if statements follow one another in the source. The model has none that makes an empty array."""
    found = next(block for block in source.blocks if nodes[0] in block)
    first = found.index(nodes[0])
    return found[first : first + len(nodes)] == list(nodes)


def _called(
    source: Source, region: Region, name: str, arguments: Sequence[str], returned: Sequence[str]
) -> Iterator[Replacement]:
    nodes = _nodes(source, region)
    span = lines_of(source, nodes)
    assert span is not None
    text, end = source.subject.text, newline(source.subject.text)
    indentation = source.subject.indentation(source.span(nodes[0]).start)
    body = nodes[0].body[0]
    unit = source.subject.indentation(source.span(body).start).removeprefix(indentation) or _UNIT
    call = wrapped(f"if not {name}(", arguments, "):")
    if returned:
        found = fresh(source, "given", "given_back")
        targets = f"({returned[0]},)" if len(returned) == 1 else ", ".join(returned)
        call = wrapped(f"{found} = {name}(", arguments, ")")
        call += [f"if {found}:", f"{unit}{targets} = {found}", "else:"]
    at, before = span.start, "".join(f"{indentation}{line}{end}" for line in call)
    for line in text[span.start : span.end].split("\n"):
        if line.strip():
            yield Replacement(Span(at, at), f"{before}{unit}")
            before = ""
        at += len(line) + 1


# --- Numbers of the file -----------------------------------------------------------------


def _known(source: Source, region: Region) -> Iterator[str]:
    """Conditions that numbers of the file still have the values they had when it was read."""
    subject = region.subject
    helpers = [(subject.of(each), (each.function.body,)) for each in region.helpers]
    found: dict[str, float] = {}
    for own, statements in ((subject, region.statements), *helpers):
        local = source.local if own is subject else {v.source_name for v in own.variables}
        values = [e for statement in walk(*statements) for e in expressions(statement)]
        for each in (inner for value in values for inner in subexpressions(value)):
            if isinstance(each, Constant) and _is_named(source, own.source(each.site), local):
                found.setdefault(own.source(each.site), each.value)
    for text, value in sorted(found.items()):
        yield f"{text} == {value!r}" if text.isidentifier() else f"({text}) == {value!r}"


def _is_named(source: Source, text: str, local: Collection[str]) -> bool:
    """True if a number is written with names of the file only."""
    names = NAMES.findall(text)
    declared = [source.declarations.get(name) for name in names]
    plain = re.fullmatch(r"[\w.+\-*() ]+", text) is not None and "(" not in re.sub(r"(?<!\w)\(", "", text)
    known = all(isinstance(each, Value) and each.constant is not None for each in declared)
    return bool(names) and plain and known and set(names).isdisjoint(local)
