"""A device region as an edit: the directives of one target, each in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from polylsp.analysis.scop.obstacles import obstacle
from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import Directive, Stretch
from polylsp.emit.directive_placing import (
    before,
    before_loop,
    before_updates,
    behind,
    is_whole,
    line_before,
    remark,
    removed_hints,
    shares_a_macro,
    start_of,
    stop_of,
    takes_a_declaration,
    together,
)
from polylsp.emit.source_names import settled_by_macros
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, loops_in
from polylsp.ir.program import Array, Block, Declare, If, Loop, Pointer, Site, Statement, within
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import LoopFacts, is_governed, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.data_regions import Transfer, Update
from polylsp.targets.directives.device_loops import (
    Abilities,
    Kernel,
    Region,
    Shared,
    alone,
    is_compiled,
    kernel_of,
    leaves,
    region,
    shared,
)

_SHORT = 20
"""A condition of so many characters is written more than once."""


@dataclass(frozen=True)
class Dialect:
    """Directives of a target. `loops` gives the directives of a kernel, each with its loop; `data` stands
    before a region; `update` moves sections (`to`: `host` or `device`) in the middle of one, both under a
    condition in C, if that is not empty; `routine` stand before and, if there are two, after a function that
    a kernel calls."""

    target: Abilities
    loops: Callable[[Subject, Kernel, Shared | None, Settings], Iterator[tuple[LoopFacts, Directive]]]
    data: Callable[[tuple[Transfer, ...], str], Directive]
    update: Callable[[str, tuple[str, ...], str], Directive]
    routine: tuple[Directive, ...]


def offloaded(subject: Subject, ordinal: int, settings: Settings, dialect: Dialect) -> Answer:
    """The parallel loops on the device, their arrays moved as little as can be: those that an action on
    a loop is about, or (`ordinal` 0) all of the function."""
    target = replace(dialect.target, most=settings.collapse)
    if ordinal:
        found = region(subject, ordinal, target)
        return found if isinstance(found, Declined) else _edited(subject, [found], (), settings, dialect)
    every = regions(subject, target)
    if isinstance(every, Declined):
        return every
    return _edited(subject, list(every.regions), every.remarks, settings, dialect)


def _edited(
    subject: Subject, found: list[Region], remarks: tuple[str, ...], settings: Settings, dialect: Dialect
) -> Answer:
    placed = list(_routines(subject, found, dialect))
    found = list(_named(subject, found, settings))
    for each in found:
        own = list(_placed(subject, each, settings, dialect))
        refused = next((one for one in own if isinstance(one, Declined)), None)
        if refused is not None:
            return refused
        placed += [one for one in own if isinstance(one, Replacement)]
    assumed = dict.fromkeys(a for each in found for a in each.assumptions)
    told = (*remarks, *removed_hints(subject, placed), *_untold(found), *_of_macros(subject, placed))
    return Edited(together(placed), tuple(assumed), told)


def _of_macros(subject: Subject, placed: list[Replacement]) -> Iterator[str]:
    """Remark that sections depend on the present values of macros."""
    numbers = settled_by_macros(subject, [each.text for each in placed])
    if numbers:
        named = ", ".join(f"`{each}`" for each in numbers)
        yield f"Macros make {named} of the sections as they are now: write their names if these may change."


def _untold(found: list[Region]) -> Iterator[str]:
    """Remarks found only when the edit is computed, so that no title has them."""
    for each in dict.fromkeys(a for one in found for a in one.assumptions if a not in one.proven):
        yield f"This is right only if {each.sentence}."
    told = remark(tuple(each for one in found for kernel in one.kernels for each in kernel.sharing.atomic))
    if told:
        yield told


def _named(subject: Subject, found: list[Region], settings: Settings) -> Iterator[Region]:
    """The regions; where several directives depend on one condition, with a variable for it."""
    taken: list[str] = []
    for each in found:
        shared = each.shared
        if shared is None or not _repeats_its_condition(each, shared, settings):
            yield each
        elif takes_a_declaration(subject, shared.place):
            taken.append(fresh_name(subject, "on_device", taken=taken))
            yield replace(each, shared=replace(shared, named=taken[-1]))
        else:
            yield each


def _repeats_its_condition(region: Region, shared: Shared, settings: Settings) -> bool:
    updates = len({(each.place, each.to) for each in shared.updates})
    count = bool(shared.transfers) + len(region.kernels) + updates
    return count > 1 and len(shared.formula(settings)) > _SHORT


def _placed(
    subject: Subject, found: Region, settings: Settings, dialect: Dialect
) -> Iterator[Replacement | Declined]:
    shared = found.shared
    if shared is not None and shared.named:
        start = subject.span(shared.place.site).start
        declared = f"const int {shared.named} = {shared.formula(settings)};"
        yield line_before(subject, start, subject.indentation(start) + declared)
    if shared is not None:
        yield from _moves(subject, shared, shared.condition(settings), dialect)
    for kernel in found.kernels:
        own = list(dialect.loops(subject, kernel, shared, settings))
        for loop, directive in own:
            yield from before_loop(subject, loop, directive)
        yield from before_updates(subject, kernel.sharing.atomic, own[0][1])
    if shared is not None and shared.transfers and shared.together:
        span = subject.span(shared.place.site)
        yield behind(subject, span.start, span.end, "}")


def _moves(
    subject: Subject, shared: Shared, condition: str, dialect: Dialect
) -> Iterator[Replacement | Declined]:
    if shared.transfers:
        start = subject.span(shared.place.site).start
        directive = dialect.data(shared.transfers, condition)
        yield before(subject, start, directive, "{" if shared.together else "")
    # Transfers after a statement precede those before the next one.
    for to in ("device", "host"):
        for place, sections in _grouped(shared.updates, to):
            yield _update(subject, place, to, dialect.update(to, sections, condition), sections)


def _routines(subject: Subject, found: list[Region], dialect: Dialect) -> Iterator[Replacement]:
    """The directives of the functions that are called, each once."""
    called = {each.start: each for one in found for kernel in one.kernels for each in kernel.routines}
    for each in called.values():
        if not is_compiled(subject.text, each.start):
            first, *last = dialect.routine
            yield before(subject, each.start, first)
            yield from (behind(subject, each.start, each.end, one.text("")) for one in last)


def _grouped(updates: tuple[Update, ...], to: str) -> Iterator[tuple[Stretch, tuple[str, ...]]]:
    places = dict.fromkeys(each.place for each in updates if each.to == to)
    for place in sorted(places, key=lambda one: one.site):
        yield place, tuple(sorted({u.section for u in updates if u.place == place and u.to == to}))


def _update(
    subject: Subject, place: Stretch, to: str, directive: Directive, sections: tuple[str, ...]
) -> Replacement | Declined:
    start, stop = start_of(subject, place), stop_of(subject, place)
    if start is None or stop is None or not is_whole(subject.text[start:stop]):
        names = ", ".join(f"`{each.partition('[')[0]}`" for each in sections)
        return Declined(
            f"{names} would have to be moved where no directive can stand: "
            "write what the host does with it as statements of their own."
        )
    if to == "host":
        return before(subject, start, directive)
    return behind(subject, start, stop, directive.text(subject.indentation(start)).lstrip())


# --------------------------------------------------------------------------------------------------
# Regions of loops that follow one another in a block, so that the results of one on the device are available
# to the next. A region is one statement, with braces around: it ends before a statement that leaves it, that
# declares a variable used after it, or that calls a function, which may use the device itself.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regions:
    """The regions of a function, and why loops were left on the host or apart."""

    regions: tuple[Region, ...]
    remarks: tuple[str, ...]


def regions(subject: Subject, target: Abilities) -> Regions | Declined:
    """All parallel loops of a function on the device: those that follow one another share a region."""
    chosen, remarks = _chosen(subject, target)
    found: list[Region] = []
    for block, around in _blocks(subject, subject.function.body, (), frozenset(chosen)):
        for run in _unbroken(subject, block, frozenset(chosen)):
            for first, last in _spans(subject, block, run):
                made, said = _region(subject, block[first : last + 1], chosen, around, target)
                found += made
                remarks += said
    remarks = list(dict.fromkeys(remarks))
    if found:
        return Regions(tuple(found), tuple(remarks))
    return Declined(remarks[0] if remarks else "No loop here is known to be parallel.")


def _chosen(subject: Subject, target: Abilities) -> tuple[dict[int, LoopFacts], list[str]]:
    """The loops that can run on the device, by ordinal, and why others cannot."""
    found: dict[int, LoopFacts] = {}
    remarks: list[str] = []
    for outer in subject.facts.loops:
        if outer.depth > 1:
            continue
        for root in parallel_roots(subject.facts, outer.ordinal):
            if is_governed(subject.facts, root.ordinal):
                continue
            kernel = kernel_of(subject, root, target)
            if isinstance(kernel, Declined):
                remarks.append(kernel.reason)
            else:
                found[root.ordinal] = root
    return found, remarks


Statements = tuple[Statement, ...]


def _blocks(
    subject: Subject, block: Block, around: tuple[int, ...], roots: frozenset[int]
) -> Iterator[tuple[Statements, tuple[int, ...]]]:
    """The blocks whose statements can stand in regions, with the loops around each: the function's, and those
    inside statements that cannot."""
    statements = tuple(_unwrapped(block.statements))
    yield statements, around
    for each in statements:
        if not _breaks(subject, each, roots):
            continue
        match each:
            case Loop():
                yield from _blocks(subject, each.body, (*around, each.ordinal), roots)
            case If(_, then, otherwise, _):
                yield from _blocks(subject, then, around, roots)
                yield from _blocks(subject, otherwise, around, roots)
            case Block():
                yield from _blocks(subject, each, around, roots)
            case _:
                pass


def _unwrapped(statements: Statements) -> Iterator[Statement]:
    """The statements as a person wrote them: the declaration of a `for` stands before it, not in a block."""
    for each in statements:
        if isinstance(each, Block) and each.statements and _declares_a_counter(each):
            yield from each.statements
        else:
            yield each


def _declares_a_counter(block: Block) -> bool:
    first, last = block.statements[0], block.statements[-1]
    return (
        isinstance(first, Declare)
        and isinstance(last, Loop)
        and last.header.first <= first.site.first
        and sum(isinstance(each, Loop) for each in block.statements) == 1
    )


def _unbroken(subject: Subject, block: Statements, roots: frozenset[int]) -> Iterator[list[int]]:
    """The loops that lead to the device (numbers of statements), as long as nothing between breaks a
    region."""
    run: list[int] = []
    for number, each in enumerate(block):
        if _breaks(subject, each, roots):
            yield run
            run = []
        elif isinstance(each, Loop) and _roots_in(each, roots):
            run.append(number)
    yield run


def _breaks(subject: Subject, statement: Statement, roots: frozenset[int]) -> bool:
    if not isinstance(statement, Loop) and _roots_in(statement, roots):
        return True
    if not isinstance(statement, Block) and not _roots_in(statement, roots):
        in_header = any(within(statement.site, loop.header) for loop in subject.facts.loops)
        # Nothing can be moved between statements of one macro.
        if not in_header and shares_a_macro(subject, statement.site):
            return True
    calls = any(not _is_inside(subject, call.site, roots) for call in effects(statement).calls)
    return calls or obstacle(statement, subject.calls) is not None or leaves(statement)


def _is_inside(subject: Subject, site: Site, roots: frozenset[int]) -> bool:
    """True if some code stands in a loop of the device."""
    found = [subject.known(root).site for root in roots]
    return any(within(site, root) for root in found)


def _roots_in(statement: Statement, roots: frozenset[int]) -> list[int]:
    return [loop.ordinal for loop in loops_in(statement) if loop.ordinal in roots]


def _spans(subject: Subject, block: Statements, run: list[int]) -> Iterator[tuple[int, int]]:
    """The first and the last statement of each region, as long as can be."""
    rest = list(run)
    while rest:
        count = next(
            n for n in range(len(rest), 0, -1) if n == 1 or _fits(subject, block, rest[0], rest[n - 1])
        )
        yield rest[0], rest[count - 1]
        rest = rest[count:]


def _fits(subject: Subject, block: Statements, first: int, last: int) -> bool:
    """True if braces can enclose the statements: declarations inside are used there alone, `#if` branches are
    complete, and so are uses of macros."""
    site = _site(block[first : last + 1])
    span = subject.span(site)
    if not is_whole(subject.text[span.start : span.end]) or not subject.is_written_out(site):
        return False
    declared = [
        s.variable for s in block[first : last + 1] if isinstance(s, Declare) and not _in_header(block, s)
    ]
    later = {v.name for v in effects(*block[last + 1 :]).variables}
    words = {subject.token(k) for k in range(site.last + 1, len(subject.starts))}
    return not any(
        v.name in later or v.source_name in words or isinstance(v.type, (Array, Pointer)) for v in declared
    )


def _in_header(block: Statements, declare: Declare) -> bool:
    return any(isinstance(s, Loop) and s.header.first <= declare.site.first <= s.header.last for s in block)


def _site(statements: Statements) -> Site:
    loops = [s for s in statements if isinstance(s, Loop)]
    return Site(loops[0].site.first, loops[-1].site.last)


def _region(
    subject: Subject,
    statements: Statements,
    chosen: dict[int, LoopFacts],
    around: tuple[int, ...],
    target: Abilities,
) -> tuple[list[Region], list[str]]:
    """A single region of statements; if that is impossible, one for each of their loops, and the reason."""
    loops = [s for s in statements if isinstance(s, Loop)]
    roots = [chosen[r] for loop in loops for r in _roots_in(loop, frozenset(chosen))]
    place = Stretch(_site(statements), around)
    made = (
        alone(subject, roots[0], target)
        if [loop.ordinal for loop in loops] == [roots[0].ordinal]
        else shared(subject, place, statements, tuple(roots), target)
    )
    if isinstance(made, Region):
        return [made], []
    if len(loops) == 1:
        return [], [made.reason]
    found, remarks = list[Region](), [f"The loops do not share a region: {made.reason}"]
    for loop in loops:
        if _roots_in(loop, frozenset(chosen)):
            one, said = _region(subject, (loop,), chosen, around, target)
            found += one
            remarks += said
    return found, remarks
