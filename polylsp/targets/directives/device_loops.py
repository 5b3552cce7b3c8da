"""Device regions for OpenACC and OpenMP offloading: loops, data, profitability, called functions.

Finds the kernels of a loop, the arrays they share, and the functions of the file that must be
compiled for the device.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.scop.regions import Nest
from polylsp.core.language import PYTHON
from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Stretch, left_out, of_another_family, stretch_of
from polylsp.emit.directive_placing import no_room
from polylsp.emit.source_names import unnamed_pointer
from polylsp.emit.subject import Companion, Subject
from polylsp.frontends.c.types import is_pure
from polylsp.ir.directive import Family
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.program import (
    Array,
    Block,
    Call,
    If,
    Jump,
    Loop,
    Pointer,
    Site,
    Statement,
    Unsupported,
)
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.poly.scop import Scop
from polylsp.targets.directives.data_regions import Data, Question, Transfer, Update, moved
from polylsp.targets.directives.host_code import headers, merged, runs
from polylsp.targets.directives.loop_nesting import Work, largest_of, limited, work_in, work_of
from polylsp.targets.directives.sharing import Sharing, sharing, static_inside

_COMPILED = re.compile(
    r"#[ \t]*pragma[ \t]+(acc[ \t]+routine|omp[ \t]+(begin[ \t]+)?declare[ \t]+target)\b[^\n]*\s*$"
)


def routines(subject: Subject, code: Statement, copied: bool = False) -> tuple[Companion, ...] | Declined:
    """The functions that some code calls, directly or not, those that are called first; without those of
    the library that devices have. They are compiled where they stand, or `copied` to another file."""
    found: dict[str, Companion] = {}
    reason = _collect(subject, code, found, (), copied)
    return Declined(reason) if reason else tuple(found.values())


def is_compiled(text: str, start: int) -> bool:
    """True if a directive before the function that starts at an offset compiles it for the device."""
    return _COMPILED.search(text, max(0, start - 400), start) is not None


def _collect(
    subject: Subject, code: Statement, found: dict[str, Companion], callers: tuple[str, ...], copied: bool
) -> str:
    """Add the functions that the code calls; return the reason why it cannot be compiled for the device, or
    empty."""
    for name in _called(code, subject.language == PYTHON.name):
        known = [each for each in subject.companions if each.function.name == name]
        reason = _why_not(subject, name, known, callers, copied)
        if reason:
            return reason
        if name not in found:
            reason = _collect(subject, known[0].function.body, found, (*callers, name), copied)
            if reason:
                return reason
            found[name] = known[0]
    return ""


def _why_not(
    subject: Subject, name: str, known: list[Companion], callers: tuple[str, ...], copied: bool
) -> str:
    called = f"The loop calls `{name}`, "
    if name in (*callers, subject.function.name):
        return f"{called}which calls itself: a device cannot run it."
    if len(known) != 1 and copied:
        headers = "" if subject.language == PYTHON.name else " or its headers"
        return f"{called}whose definition is not in this file{headers}: a GPU cannot run it."
    if len(known) == 1 and known[0].text and not copied:
        return f"{called}which a header defines and no device has: define it in this file."
    if len(known) != 1:
        return f"{called}which is not compiled for the device: define it in this file, before the loop."
    (one,) = known
    if one.start > subject.start and not copied:
        return f"{called}which is defined further down: move it before `{subject.function.name}`."
    if one.function.problems or any(isinstance(s, Unsupported) for s in walk(one.function.body)):
        return f"{called}of which not all is understood: inline it first."
    if one.function.directives:
        return (
            f"{called}in which there are directives: a device cannot run these inside of a loop of its own."
        )
    outside = sorted(
        v.source_name
        for v in effects(one.function.body).variables
        if v.storage in ("global", "static", "cell")
    )
    if outside:
        return f"{called}which uses `{outside[0]}`, and a device does not have that: pass it as an argument."
    return ""


def _called(code: Statement, is_python: bool) -> Iterator[str]:
    """The functions that are called, apart from those of the library that devices have too. In Python pure
    ones are all the library's."""
    for statement in walk(code):
        for node in nodes(statement):
            if isinstance(node, Call) and not (node.pure and (is_python or is_pure(node.function))):
                yield node.function


# --------------------------------------------------------------------------------------------------
# Common parts of OpenACC and OpenMP's offloading: loops, data transfers, and profitability.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel:
    """A loop that runs on the device, together with those that become one loop with it. `moved` are
    arrays that move for this kernel alone, `uses` the names of those that it finds there, `routines` the
    functions of the file that it calls."""

    loops: tuple[LoopFacts, ...]
    sharing: Sharing
    work: Work | None
    moved: tuple[Transfer, ...] = ()
    uses: frozenset[str] = frozenset()
    routines: tuple[Companion, ...] = ()


@dataclass(frozen=True)
class Shared:
    """Arrays that stay on the device for all of `place`; `together`: that is more than one statement. `work`
    is the work of the kernels there, `largest` that of one run of the largest of them; `named` is the
    variable with the result of the profitability test, if there is one."""

    place: Stretch
    together: bool
    transfers: tuple[Transfer, ...]
    updates: tuple[Update, ...]
    work: Work | None
    largest: Work | None
    named: str = ""

    def condition(self, settings: Settings) -> str:
        """The condition under which it all pays, in C; empty if that is not open."""
        return self.named or self.formula(settings)

    def formula(self, settings: Settings) -> str:
        """The same in full: its work is worth the transfers, and a kernel the start of threads."""
        pays = self.work.condition(settings.offload_threshold) if self.work is not None else ""
        if not pays or self.largest is None or self.largest == self.work:
            return pays
        starts = self.largest.condition(settings.parallel_threshold)
        return f"{pays} && {starts}" if starts else pays


def pays(kernel: Kernel, shared: Shared | None, settings: Settings) -> str:
    """The condition under which a kernel runs on the device, in C: that of all its region, since arrays are
    on the device either for all of it or not at all."""
    if shared is not None:
        return shared.condition(settings)
    return kernel.work.condition(settings.offload_threshold) if kernel.work is not None else ""


@dataclass(frozen=True)
class Region:
    """Kernels, and their shared arrays; `apart` are assumptions about these, besides those of the loops."""

    kernels: tuple[Kernel, ...]
    shared: Shared | None = None
    apart: tuple[Assumption, ...] = ()

    @property
    def proven(self) -> tuple[Assumption, ...]:
        """Assumptions of the verdicts of its loops."""
        return tuple(dict.fromkeys(a for k in self.kernels for a in k.loops[0].terms.assumptions))

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Assumptions for the correctness of the whole region."""
        clauses = (a for kernel in self.kernels for a in kernel.sharing.assumed)
        return tuple(dict.fromkeys((*self.proven, *self.apart, *clauses)))


@dataclass(frozen=True)
class Abilities:
    """Capabilities of the directives of one target, of a `family`: `together` gives the loops, the first one
    first, that share a directive, `refuses` says why they cannot run a kernel (empty if they can). `most` is
    the user's limit on loops that share one (0: as many as possible)."""

    family: Family
    together: Callable[[Subject, LoopFacts], tuple[LoopFacts, ...]]
    refuses: Callable[[Subject, Kernel], str]
    most: int = 0


def region(subject: Subject, ordinal: int, target: Abilities) -> Region | Declined:
    """Region that runs on the device for loop `ordinal`."""
    roots = parallel_roots(subject.facts, ordinal)
    chosen = subject.known(ordinal)
    if not roots:
        return Declined("No loop here is known to be parallel.")
    if roots[0].depth > chosen.depth:
        return shared(subject, stretch_of(subject, chosen), (subject.loop(ordinal),), roots, target)
    return alone(subject, roots[0], target)


def alone(subject: Subject, root: LoopFacts, target: Abilities) -> Region | Declined:
    """Region of one kernel, with the arrays that it uses."""
    kernel = kernel_of(subject, root, target)
    if isinstance(kernel, Declined):
        return kernel
    place = stretch_of(subject, root)
    data = _data(subject, _model(subject, place.site), place, (subject.loop(root.ordinal),), (root,))
    if isinstance(data, Declined):
        return data
    return Region((replace(kernel, moved=data.transfers),), None, data.assumptions)


def shared(
    subject: Subject,
    place: Stretch,
    statements: tuple[Statement, ...],
    roots: tuple[LoopFacts, ...],
    target: Abilities,
) -> Region | Declined:
    """Kernels inside statements that follow one another at `place`; arrays stay on the device for all of
    these."""
    if any(map(leaves, statements)):
        return Declined(
            "A jump leaves these loops, which compilers do not take where arrays stay on the device: "
            "choose the parallel loop inside alone."
        )
    kernels: list[Kernel] = []
    for root in roots:
        kernel = kernel_of(subject, root, target)
        if isinstance(kernel, Declined):
            return kernel
        kernels.append(kernel)
    mixed = of_another_family(subject, place.site, target.family) or _with_copy(subject, kernels)
    if mixed:
        return Declined(mixed)
    scop = _model(subject, place.site)
    data = _data(subject, scop, place, statements, roots)
    if isinstance(data, Declined):
        return data
    together = sum(isinstance(each, Loop) for each in statements) > 1
    kernels = [replace(each, uses=data.uses[each.loops[0].ordinal]) for each in kernels]
    work = work_in(subject, scop, place, roots) if scop is not None else None
    largest = largest_of(each.work for each in kernels)
    stays = Shared(place, together, data.transfers, data.updates, work, largest)
    return Region(tuple(kernels), stays, data.assumptions)


def leaves(statement: Statement, in_loop: bool = False) -> bool:
    """True if a statement may leave the code around it."""
    match statement:
        case Jump(kind, _, _):
            return kind == "return" or not in_loop
        case Loop():
            return any(leaves(s, True) for s in (statement.prologue, statement.body, statement.step))
        case If(_, then, otherwise, _):
            return leaves(then, in_loop) or leaves(otherwise, in_loop)
        case Block(inner):
            return any(leaves(s, in_loop) for s in inner)
        case _:
            return False


def _with_copy(subject: Subject, kernels: Sequence[Kernel]) -> str:
    """Reason why kernels cannot be in one region: a reduction copies a whole array, of which the region has a
    part; empty if none does."""
    arrays = {v.source_name for v in subject.variables if isinstance(v.type, (Array, Pointer))}
    items = (item for each in kernels for clause in each.sharing.reductions for item in clause.arguments)
    names = (item.partition("[")[0] for item in items)
    copied = next((name for name in names if name in arrays), "")
    return f"A loop combines elements of `{copied}` in a copy of its own." if copied else ""


def kernel_of(subject: Subject, root: LoopFacts, target: Abilities) -> Kernel | Declined:
    """A loop as a kernel, without the arrays that move for it."""
    reason = _obstacle(subject, root) or left_out(subject, root)
    reason = reason or of_another_family(subject, root.site, target.family)
    reason = reason or no_room(subject, root, "acc" if target.family == "acc" else "omp-device")
    reason = reason or subject.state_of_thread(root.ordinal) or static_inside(subject, root)
    if reason:
        return Declined(reason)
    loops = limited(target.together(subject, root), target.most)
    data = sharing(subject, loops, "atomic")
    if isinstance(data, Declined):
        return data
    if data.lastprivate:
        names = ", ".join(f"`{name}`" for name in data.lastprivate)
        return Declined(
            f"The last value of {names} is needed after the loop `{root.iterator}`, "
            "and a device does not give it back: set it after the loop."
        )
    called = routines(subject, subject.loop(root.ordinal))
    if isinstance(called, Declined):
        return called
    kernel = Kernel(loops, data, work_of(subject, root), routines=called)
    reason = target.refuses(subject, kernel)
    return Declined(reason) if reason else kernel


def _data(
    subject: Subject,
    scop: Scop | None,
    place: Stretch,
    statements: tuple[Statement, ...],
    roots: tuple[LoopFacts, ...],
) -> Data | Declined:
    if scop is None:
        return Declined("What this loop accesses is only partly known.")
    ordinals = frozenset(root.ordinal for root in roots)
    last = [loop for loop in subject.facts.loops if place.holds(loop.site)]
    asked = Question(
        subject,
        Conflicts(scop),
        place,
        roots,
        max(last, key=lambda loop: (-loop.depth, loop.ordinal)),
        tuple(runs(statements, ordinals, place.around)),
        frozenset(headers(statements, ordinals)),
    )
    data = moved(asked)
    if isinstance(data, Declined):
        return data
    named = {each.name for each in data.transfers}
    for root in roots:
        pointer = unnamed_pointer(subject, root, named)
        if pointer:
            return Declined(
                f"`{pointer}` has an address of the host: "
                f"use the array that it leads to in the loop `{root.iterator}`."
            )
    return data


def _model(subject: Subject, site: Site) -> Scop | None:
    """Joint model of all loops in a stretch of code."""
    inside = Stretch(site, ())
    found = [subject.nest(each.ordinal) for each in subject.facts.loops if inside.holds(each.site)]
    nests: dict[int, Nest] = {id(each[1]): each[1] for each in found if each is not None}
    return None if None in found else merged(tuple(nests.values()))


def _obstacle(subject: Subject, root: LoopFacts) -> str:
    if root.misfit:
        return f"A directive cannot stand before the loop `{root.iterator}`: {root.misfit}."
    if subject.begins_in_macro(root.site):
        return f"The loop `{root.iterator}` stands inside a macro: write it out first."
    if is_compiled(subject.text, subject.start):
        return f"`{subject.function.name}` runs on the device already, inside of other loops."
    return ""
