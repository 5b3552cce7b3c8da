"""What NVIDIA's compiler says of the kernels of a nest, in words and in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polylsp.ide import wording
from polylsp.ide.hover import Bullets, Part, Table
from polylsp.ide.lookup import loop_by_number
from polylsp.model.device_code import Compiled, CompilerWord, DeviceCode, NotCompiled, Resources
from polylsp.model.report import FileReport
from polylsp.runtime.occupancy import occupancy

Said = Callable[[DeviceCode], "CompilerWord | None"]
"""What the compiler says of kernels, if it was asked."""


def codes_of(report: FileReport) -> tuple[DeviceCode, ...]:
    """The kernels of all nests of a file, as far as it is known that there are some."""
    known = (placed.answer.feasibility for placed in report.functions)
    return tuple(each.code for found in known if found is not None for each in found.kernels)


def kernel_parts(report: FileReport, said: Said, function: str, ordinal: int) -> tuple[Part, ...]:
    """What is said of the kernels of the nest around a loop; nothing where nothing is."""
    code = _code_around(report, function, ordinal)
    word = said(code) if code is not None else None
    if code is None or word is None:
        return ()
    return tuple(_compiled(code, word)) if isinstance(word, Compiled) else (_refused(word),)


def _code_around(report: FileReport, function: str, ordinal: int) -> DeviceCode | None:
    found = loop_by_number(report, function, ordinal)
    feasibility = found[0].answer.feasibility if found is not None else None
    if found is None or feasibility is None:
        return None
    placed, loop = found
    codes = {each.outermost: each.code for each in feasibility.kernels}
    parents = {each.ordinal: each.parent for each in placed.answer.facts.loops}
    at = loop.ordinal
    while at and at not in codes:
        at = parents[at] or 0
    return codes.get(at)


def _compiled(code: DeviceCode, word: Compiled) -> Iterator[Part]:
    names = dict(code.threads)
    known = [each for each in word.resources if each.kernel in names]
    if not known:
        return
    architectures = dict.fromkeys(f"sm_{each.architecture}" for each in known)
    yield f"Kernels for a GPU, as NVIDIA's compiler makes them for {wording.listing(list(architectures))}:"
    header = ("kernel", "threads of a block", "registers", "shared bytes", "spilled bytes", "occupancy")
    rows = [_row(name, threads, [e for e in known if e.kernel == name]) for name, threads in code.threads]
    yield Table(header, tuple(rows))


def _row(name: str, threads: int, taken: Sequence[Resources]) -> tuple[str, ...]:
    """A kernel on all architectures: one figure where they agree."""
    return (
        f"`{name}`",
        str(threads),
        _figures([str(each.registers) for each in taken]),
        _figures([str(each.shared) for each in taken]),
        _figures([str(each.spilled) for each in taken]),
        _figures([f"{occupancy(each, threads):.0%}" for each in taken]),
    )


def _figures(each: Sequence[str]) -> str:
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _refused(word: NotCompiled) -> Bullets:
    heading = "ERROR in polylsp: NVIDIA's compiler refuses the kernels of this loop; please report it"
    return Bullets(heading, (f"sm_{word.architecture}: `{word.message}`",))
