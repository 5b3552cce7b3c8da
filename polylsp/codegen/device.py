"""What OpenACC and OpenMP's offloading have in common: which loops, what moves, and when it pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.effects import expressions, subexpressions, walk
from polylsp.codegen.names import names_at
from polylsp.codegen.nesting import collapsible
from polylsp.codegen.sharing import Sharing, sharing
from polylsp.codegen.subject import Subject
from polylsp.codegen.transfer import Transfer, transfers
from polylsp.codegen.work import Work, work_of
from polylsp.frontends.c.lower.builtins import is_pure
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Call
from polylsp.model.roots import parallel_roots


@dataclass(frozen=True)
class Kernel:
    """A loop that runs on the device, together with those that become one loop with it. `moved` are
    arrays that move for this kernel alone."""

    loops: tuple[LoopFacts, ...]
    sharing: Sharing
    moved: tuple[Transfer, ...]
    work: Work | None


@dataclass(frozen=True)
class Region:
    """Kernels; `shared` are arrays that stay on the device while `around`, a loop of the host, runs them."""

    kernels: tuple[Kernel, ...]
    around: LoopFacts | None = None
    shared: tuple[Transfer, ...] = ()


def region(subject: Subject, ordinal: int) -> Region | Declined:
    """What runs on the device when a person asks it of loop `ordinal`."""
    roots = parallel_roots(subject.facts, ordinal)
    if not roots:
        return Declined("No loop here is known to be parallel.")
    for root in roots:
        reason = _obstacle(subject, root)
        if reason:
            return Declined(reason)
    chosen = subject.known(ordinal)
    if roots[0].depth > chosen.depth:
        return _shared(subject, chosen, roots)
    moved = transfers(subject, roots[0], roots)
    if isinstance(moved, Declined):
        return moved
    kernel = _kernel(subject, roots[0], moved)
    return kernel if isinstance(kernel, Declined) else Region((kernel,))


def _shared(subject: Subject, around: LoopFacts, roots: tuple[LoopFacts, ...]) -> Region | Declined:
    """Kernels inside a loop of the host; arrays stay on the device for all of it."""
    shared = transfers(subject, around, roots)
    if isinstance(shared, Declined):
        return shared
    used = _used_by_host(subject, around, roots)
    for each in shared:
        if each.name in used:
            return Declined(
                f"The host uses `{each.name}` between the parallel loops: "
                "it would have to be moved each time."
            )
    kernels: list[Kernel] = []
    for root in roots:
        kernel = _kernel(subject, root, ())
        if isinstance(kernel, Declined):
            return kernel
        kernels.append(kernel)
    return Region(tuple(kernels), around, shared)


def _used_by_host(subject: Subject, around: LoopFacts, roots: tuple[LoopFacts, ...]) -> set[str]:
    """The variables that code of the loop uses outside the kernels."""
    found = subject.nest(around.ordinal)
    if found is None:
        return set()
    scop = found[1].scop
    inside = {root.ordinal for root in roots}
    return {
        a.memory.variable.source_name
        for a in scop.accesses
        if around.ordinal in scop.statements[a.statement].loops
        and inside.isdisjoint(scop.statements[a.statement].loops)
    }


def _kernel(subject: Subject, root: LoopFacts, moved: tuple[Transfer, ...]) -> Kernel | Declined:
    loops = collapsible(subject, root)
    data = sharing(subject, loops, "atomic")
    if isinstance(data, Declined):
        return data
    if data.lastprivate:
        names = ", ".join(f"`{name}`" for name in data.lastprivate)
        return Declined(
            f"The last value of {names} is needed after the loop `{root.iterator}`, "
            "and a device does not give it back: set it after the loop."
        )
    return Kernel(loops, data, moved, _work(subject, root))


def _obstacle(subject: Subject, root: LoopFacts) -> str:
    if root.misfit:
        return f"A directive cannot stand before the loop `{root.iterator}`: {root.misfit}."
    if subject.begins_in_macro(root.site):
        return f"The loop `{root.iterator}` stands inside a macro: write it out first."
    called = next(_foreign(subject, root), None)
    if called is not None:
        return f"The loop calls `{called}`, which is not compiled for the device: inline it first."
    return ""


def _foreign(subject: Subject, root: LoopFacts) -> Iterator[str]:
    """The functions that a loop calls, apart from those of the library that devices have too."""
    for statement in walk(subject.loop(root.ordinal)):
        for expression in expressions(statement):
            for node in subexpressions(expression):
                if isinstance(node, Call) and not (node.pure and is_pure(node.function)):
                    yield node.function


def _work(subject: Subject, root: LoopFacts) -> Work | None:
    found = subject.nest(root.ordinal)
    if found is None:
        return None
    scop = found[1].scop
    return work_of(scop, root.ordinal, names_at(subject, scop, root.site))
