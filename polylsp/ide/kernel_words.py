"""Report of NVIDIA's compiler on the kernels of a nest, in words and in a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from typing_extensions import assert_never

from polylsp.ide import wording
from polylsp.ide.hover import Bullets, Part, Table
from polylsp.ide.lookup import loop_by_number, loops
from polylsp.ide.nests import outermost_of_nest
from polylsp.model.action import KERNELS_OF, Ask
from polylsp.model.device_code import Compiled, DeviceCode, KernelWord, NotCompiled, Resources
from polylsp.model.occupancy import occupancy
from polylsp.model.report import FileReport
from polylsp.model.roots import is_governed, parallel_roots

Name = tuple[str, int]
"""An answer's key, and the outermost loop (ordinal) of a nest of it: other code, another name."""


def asks_of(report: FileReport) -> dict[Name, Ask]:
    """Requests for the kernels of each nest of a file that may have some."""
    found: dict[Name, Ask] = {}
    target = KERNELS_OF[report.language]
    for placed, loop in loops(report):
        facts, feasibility = placed.answer.facts, placed.answer.feasibility
        roots = parallel_roots(facts, loop.ordinal)
        if not roots or any(is_governed(facts, root.ordinal) for root in roots):
            continue
        if feasibility is None or not feasibility.why_not(target, loop.ordinal):
            outermost = outermost_of_nest(placed, loop).ordinal
            found[placed.answer.key, outermost] = Ask(target, facts.name, placed.start, outermost)
    return found


def kernel_parts(
    report: FileReport, said: Callable[[Name], KernelWord | None], function: str, ordinal: int
) -> tuple[Part, ...]:
    """Report on the kernels of the nest around a loop; empty where there is none."""
    found = loop_by_number(report, function, ordinal)
    if found is None:
        return ()
    placed, loop = found
    word = said((placed.answer.key, outermost_of_nest(placed, loop).ordinal))
    if word is None:
        return ()
    match word.word:
        case Compiled() as compiled:
            return tuple(_compiled(word.code, compiled))
        case NotCompiled() as refused:
            return (_refused(refused),)
        case _:
            assert_never(word.word)


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
