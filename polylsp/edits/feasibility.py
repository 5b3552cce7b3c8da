"""Feasibility of each action on each loop, by speculative edits, each tried once.

Transforms that only improve speed are offered where they help: useless ones are left out. Each trial has a
limit of isl operations; all of a function end at a distant limit of CPU time, those first that are worth
most.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from time import process_time
from typing import TypeVar

import islpy as isl

from polylsp.core.language import C
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.edits.answer import answer
from polylsp.emit.c_syntax import LoopText, loop_text
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects
from polylsp.ir.program import Array, Pointer, Variable
from polylsp.ir.verdict import Parallel, Sequential
from polylsp.model.action import (
    KERNELS_OF,
    TARGETS_OF,
    WHOLE_FUNCTION,
    ActionName,
    Answer,
    Ask,
    Declined,
    Edited,
    TransformName,
)
from polylsp.model.facts import (
    CHECKED_WHEN_RUN,
    Feasibility,
    LoopFacts,
    Possible,
    Refused,
    assumed,
    is_governed,
    lines_moved,
    parallel_roots,
)
from polylsp.poly.budget import Exhausted, budgeted
from polylsp.poly.scop import Access, Scop
from polylsp.schedule.chain import Chain, chain_around, chain_inside
from polylsp.targets.directives.loop_nesting import work_of
from polylsp.targets.directives.rewriting import without_hints
from polylsp.targets.numpy_slices import loops_of
from polylsp.transforms import simd
from polylsp.transforms.composing import replaced_span

_IN = isl.dim_type.in_
_OUT = isl.dim_type.out


# --- Tiling ------------------------------------------------------------------------------


def reuses(subject: Subject, chain: Chain) -> bool:
    """True if a loop that is not the innermost one reuses memory, a cache line at least, that the loops
    inside it leave (Wolf and Lam 1991): only tiles preserve it in the cache."""
    found = subject.nest(chain.ordinals[0])
    if found is None:
        return False
    scop = found[1].scop
    inside = [a for a in scop.accesses if chain.ordinals[-1] in scop.statements[a.statement].loops]
    return any(_comes_back(scop, each, chain) for each in inside)


def _comes_back(scop: Scop, access: Access, chain: Chain) -> bool:
    statement, dimensions = scop.statements[access.statement], access.memory.dimensions
    if not dimensions:
        return False
    relation = access.relation.gist_domain(statement.domain)
    last = relation.project_out(_OUT, 0, relation.dim(_OUT) - 1)
    first = relation.project_out(_OUT, relation.dim(_OUT) - 1, 1)
    at = [statement.loops.index(ordinal) for ordinal in chain.ordinals]
    for depth, k in enumerate(at[:-1]):
        moves_on = any(relation.involves_dims(_IN, inner, 1) for inner in at[depth + 1 :])
        same = not relation.involves_dims(_IN, k, 1)
        beside = last.involves_dims(_IN, k, 1) and not first.involves_dims(_IN, k, 1) and dimensions > 1
        if moves_on and (same or beside):
            return True
    return False


# --- Which loops, and fusion -------------------------------------------------------------


def fused_pair(subject: Subject, loop: LoopFacts, fused: Edited) -> tuple[LoopFacts, ...]:
    """The two loops that an edit has fused."""
    whole = replaced_span(fused)
    beside = (each for each in subject.facts.loops if each.parent == loop.parent)
    return tuple(each for each in beside if whole.holds(subject.span(each.site)))


def fuses_well(subject: Subject, pair: tuple[LoopFacts, ...], fused: Edited) -> bool:
    """True if both loops use an array, which one loop would bring into the cache once, and two loops that can
    run in parallel still can. (`fuse` says in a remark where the new loop can.)"""
    used = [effects(subject.loop(each.ordinal)).variables for each in pair]
    shared = [v for v in frozenset[Variable].intersection(*used) if isinstance(v.type, (Array, Pointer))]
    parallel = [isinstance(each.verdict, Parallel) for each in pair]
    return bool(shared) and (bool(fused.remarks) or not all(parallel))


def rewritten(subject: Subject, chain: Chain, made: Edited) -> tuple[int, ...]:
    """The loops of a chain that an edit has to do with."""
    whole = replaced_span(made)
    return tuple(o for o in chain.ordinals if whole.holds(subject.span(subject.known(o).site)))


# --- Expansion ---------------------------------------------------------------------------


def expands_to_split(subject: Subject, loop: LoopFacts) -> bool:
    """True if some statement of a body takes part in no dependence that the loop carries, other than by
    scalars: split off, it runs in parallel."""
    found, text = subject.nest(loop.ordinal), loop_text(subject, loop.ordinal)
    if found is None or not isinstance(text, LoopText) or len(text.parts) < 2:
        return False
    carried = [
        d
        for d in found[0].dependences
        if d.carrier == loop.ordinal and not (d.source.text == d.source.variable == d.sink.text)
    ]
    places = [subject.span(end.site).start for d in carried for end in (d.source, d.sink)]
    return any(not any(p.whole.start <= at < p.whole.end for at in places) for p in text.parts)


# --------------------------------------------------------------------------------------------------
# Speculative edits, each tried once.
# --------------------------------------------------------------------------------------------------


logger = logging.getLogger(__name__)
T = TypeVar("T")


class OutOfTimeError(Exception):
    """There is no time left to find out."""


_OPERATIONS = 200_000
"""isl operations that one edit may take here: who asks for one may wait longer."""
_ALL_LOOPS = 5
"""So many times as much for an edit of all loops of a function: blocks of time steps of a stencil in one
dimension take 300,000."""


def trial_settings(settings: Settings) -> Settings:
    """Settings for the analysis of a text that a trial makes: with lower limits, and so an answer apart from
    the one under full limits when the edit is requested."""
    return replace(settings, max_operations=min(_OPERATIONS, settings.max_operations))


@dataclass
class Trials:
    """The edits of one function tried so far. `until` is the time (`process_time`) at which to stop, which
    leaves the trials `unfinished`; `pause` is called before each, and may raise to end it all; `again` reads
    another text of it."""

    subject: Subject
    settings: Settings
    until: float
    pause: Callable[[], None]
    again: Again
    unfinished: bool = False
    _answers: dict[Hashable, Answer | None] = field(default_factory=dict[Hashable, "Answer | None"])

    def answer(self, action: ActionName, ordinal: int, about: Hashable) -> Answer | None:
        """Answer of an action on a loop; `None` if there was no time to try. Loops for which the edit is
        `about` the same are tried once."""
        key = (action, about)
        if key not in self._answers:
            ask = Ask(action, self.subject.function.name, self.subject.start, ordinal)
            most = self._operations * (_ALL_LOOPS if action == "restructure" else 1)
            limited = replace(self.settings, max_operations=most)
            self._answers[key] = self.limited(lambda: answer(self.subject, ask, limited, self._again), most)
        return self._answers[key]

    def succeeds(self, action: ActionName, ordinal: int, about: Hashable) -> bool:
        """True if there is an edit."""
        return isinstance(self.answer(action, ordinal, about), Edited)

    def limited(self, work: Callable[[], T], most: int = 0) -> T | None:
        """Result of `work`; `None` if that takes too long (more operations than `most`, if not as many as an
        edit may), or fails: a speculative edit must not cost the analysis."""
        try:
            self._next()
            found = budgeted(most or self._operations, work)
        except OutOfTimeError:
            self.unfinished = True
            return None
        except MemoryError:
            raise
        except Exception:
            logger.exception("an edit of `%s` that was tried failed", self.subject.function.name)
            return None
        return None if isinstance(found, Exhausted) else found

    def _again(self, text: str, function: str = "") -> Subject | None:
        """An edit of several steps has to be over in time as well, and can be called off between two."""
        self._next()
        return self.again(text, function)

    def _next(self) -> None:
        if process_time() > self.until:
            raise OutOfTimeError
        self.pause()

    @property
    def _operations(self) -> int:
        return trial_settings(self.settings).max_operations


# --------------------------------------------------------------------------------------------------
# Transforms that only make loops faster, and where they help.
# --------------------------------------------------------------------------------------------------


_REORDERING: frozenset[ActionName] = frozenset(
    ("distribute", "interchange", "skew", "tile", "time-tile", "unroll-and-jam")
)
"""Parts of restructuring that directives alone do not do. Sums for the vector unit count too where they stand
inside of other loops: on a loop alone they are an action of their own."""


def faster(trials: Trials) -> Iterator[Possible]:
    """The transforms of a function's loops that make them faster."""
    restructured = tuple(_restructured(trials))
    for loop in trials.subject.facts.loops:
        yield from _sums(trials, loop)
        yield from _jams(trials, loop)
    yield from restructured


def _sums(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Sums for the vector unit."""
    if not simd.pays(trials.subject, loop.ordinal):
        return
    made = trials.answer("simd", loop.ordinal, loop.ordinal)
    if isinstance(made, Edited):
        yield Possible("simd", loop.ordinal, (loop.ordinal,), assumptions=made.assumptions)


def _jams(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Iterations that share loaded elements, if the vector unit runs them."""
    subject = trials.subject
    chain = trials.limited(lambda: chain_inside(subject, loop.ordinal))
    if not isinstance(chain, Chain) or len(chain.ordinals) < 2:
        return
    made = trials.answer("unroll-and-jam", loop.ordinal, chain.ordinals)
    if isinstance(made, Edited) and "simd" in made.parts:
        loops = rewritten(subject, chain, made)
        if loop.ordinal in loops:
            yield Possible("unroll-and-jam", loop.ordinal, loops, assumptions=made.assumptions)


def _restructured(trials: Trials) -> Iterator[Possible]:
    """All loops of the function at once: offered on each that is rewritten."""
    subject = trials.subject
    made = trials.answer("restructure", subject.facts.loops[0].ordinal, subject.function.name)
    if not isinstance(made, Edited):
        return
    whole = replaced_span(made)
    outermost = [each for each in subject.facts.loops if each.depth == 1]
    chosen = [o for o in outermost if _meet(whole, subject.span(o.site))]
    nests = any(each.parent == o.ordinal for o in chosen for each in subject.facts.loops)
    helping = _REORDERING | {"simd"} if nests else _REORDERING
    if helping.isdisjoint(made.parts):
        return
    loops = tuple(o.ordinal for o in chosen)
    for loop in subject.facts.loops:
        if any(o.site.first <= loop.site.first <= o.site.last for o in chosen):
            yield Possible("restructure", loop.ordinal, loops, made.parts, made.assumptions)


def _meet(first: Span, second: Span) -> bool:
    return first.start < second.end and second.start < first.end


# --------------------------------------------------------------------------------------------------
# Trial of each action on each loop of a function.
# --------------------------------------------------------------------------------------------------


_CHAINED: tuple[TransformName, ...] = ("interchange", "skew", "tile")
"""Transforms with the same result for all loops of a perfect nest."""

_REWRITING: tuple[TransformName, ...] = ("rewrite-reduction", "substitute-induction")
"""Transforms that rewrite a loop's computation, so that its iterations can run in any order."""


def feasibility(trials: Trials) -> Feasibility:
    """The actions of a function that have an edit and help, and why the directives that do not have one
    are refused; as much of it as the trials have time for."""
    possible: list[Possible] = []
    refused: list[Refused] = []
    transformed = trials.subject.language == C.name
    # Those worth most are tried first.
    speed = list(faster(trials)) if transformed else []
    for loop in trials.subject.facts.loops:
        refused += _refused(trials, loop)
        if not transformed:
            possible += [*_rewritten(trials, loop), *_on_slices(trials, loop), *_from_copies(trials, loop)]
            possible += _filled(trials, loop)
        if transformed:
            possible += [*_assumed(trials, loop), *_chained(trials, loop), *_alone(trials, loop)]
    if transformed:
        refused += _not_together(trials)
    refused += _without_kernels(trials)
    work = tuple(_operations(trials))
    return Feasibility((*possible, *speed), tuple(refused), work, trials.unfinished)


# --- Directives --------------------------------------------------------------------------


def _roots(trials: Trials, loop: LoopFacts) -> tuple[LoopFacts, ...]:
    """Loops that would get a directive when loop `loop` is to run in parallel."""
    facts = trials.subject.facts
    roots = parallel_roots(facts, loop.ordinal)
    return () if any(is_governed(facts, root.ordinal) for root in roots) else roots


def _without_kernels(trials: Trials) -> Iterator[Refused]:
    """Loops without kernels: loops of one nest are tried together."""
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    target = KERNELS_OF[trials.subject.language]
    for loop in trials.subject.facts.loops:
        inside = trials.subject.nest(loop.ordinal)
        if not _roots(trials, loop):
            continue
        around = (*trials.subject.around(loop.ordinal), loop)
        modelled = inside[0].loops if inside is not None else ()
        outer = next((each.ordinal for each in around if each.ordinal in modelled), loop.ordinal)
        found = trials.answer(target, loop.ordinal, outer)
        if isinstance(found, Declined):
            yield Refused(target, loop.ordinal, lines_moved(found.reason, -above))


def _refused(trials: Trials, loop: LoopFacts) -> Iterator[Refused]:
    roots = _roots(trials, loop)
    if not roots:
        return
    ordinals = tuple(root.ordinal for root in roots)
    around = loop.ordinal if roots[0].depth > loop.depth else 0
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    for target in TARGETS_OF[trials.subject.language]:
        found = trials.answer(target, loop.ordinal, (ordinals, around))
        if isinstance(found, Declined):
            yield Refused(target, loop.ordinal, lines_moved(found.reason, -above))


def _rewritten(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Rewriting of an outermost loop of Python without any parallel one so that there are some."""
    if loop.depth > 1 or _roots(trials, loop) or is_governed(trials.subject.facts, loop.ordinal):
        return
    for target in TARGETS_OF[trials.subject.language]:
        found = trials.answer(target, loop.ordinal, loop.ordinal)
        if isinstance(found, Edited):
            yield Possible(target, loop.ordinal, (loop.ordinal,), assumptions=found.assumptions)


def _on_slices(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Rewriting of a loop to a statement on slices, where that is impossible together with those around
    it."""
    above = trials.subject.around(loop.ordinal)
    if any(trials.succeeds("slices", each.ordinal, each.ordinal) for each in above):
        return
    found = trials.answer("slices", loop.ordinal, loop.ordinal)
    if isinstance(found, Edited):
        loops = loops_of(trials.subject, loop.ordinal)
        yield Possible("slices", loop.ordinal, loops, assumptions=found.assumptions)


def _filled(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Arrays in the place of lists that a loop appends to."""
    span = trials.subject.span(loop.site)
    if ".append(" in trials.subject.text[span.start : span.end]:
        found = trials.answer("fill", loop.ordinal, loop.ordinal)
        if isinstance(found, Edited):
            yield Possible("fill", loop.ordinal, (loop.ordinal,), assumptions=found.assumptions)


def _from_copies(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Parallelisation of a loop by reading from copies of arrays."""
    if isinstance(loop.verdict, Sequential) and loop.verdict.former:
        found = trials.answer("copy", loop.ordinal, loop.ordinal)
        if isinstance(found, Edited):
            yield Possible("copy", loop.ordinal, (loop.ordinal,), assumptions=found.assumptions)


def _not_together(trials: Trials) -> Iterator[Refused]:
    """The targets on which the parallel loops of the function cannot run all at once."""
    facts = trials.subject.facts
    outermost = [loop.ordinal for loop in facts.loops if loop.depth == 1]
    if sum(len(parallel_roots(facts, ordinal)) for ordinal in outermost) < 2:
        return
    above = trials.subject.text.count("\n", 0, trials.subject.start)
    for target in WHOLE_FUNCTION:
        found = trials.answer(target, 0, 0)
        if isinstance(found, Declined):
            yield Refused(target, 0, lines_moved(found.reason, -above))


def _operations(trials: Trials) -> Iterator[tuple[int, int]]:
    """Number of operations of each loop that can run in parallel, where it is a constant."""
    subject = trials.subject
    for root in subject.facts.loops:
        if not isinstance(root.verdict, Parallel):
            continue
        work = trials.limited(lambda r=root: work_of(subject, r))
        if work is not None and not work.factors:
            yield root.ordinal, work.known


# --- Assumptions -------------------------------------------------------------------------


def _assumed(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """Edits that make an assumption true, or check it."""
    if assumed(loop, "no-overlap") and trials.succeeds("restrict", loop.ordinal, loop.ordinal):
        yield Possible("restrict", loop.ordinal, (loop.ordinal,))
    roots = _roots(trials, loop)
    chosen = tuple(root.ordinal for root in roots)
    is_checked = len(roots) == 1 and bool(assumed(roots[0], *CHECKED_WHEN_RUN))
    made = trials.answer("overlap-check", loop.ordinal, chosen) if is_checked else None
    if isinstance(made, Edited):
        yield Possible("overlap-check", loop.ordinal, chosen, assumptions=made.assumptions)


# --- Orders ------------------------------------------------------------------------------


def _chained(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    subject = trials.subject
    bare = trials.limited(lambda: without_hints(subject, loop.ordinal, trials.again)) or subject
    chain = trials.limited(lambda: chain_around(bare, loop.ordinal))
    if not isinstance(chain, Chain) or len(chain.ordinals) < 2:
        return
    for action in _CHAINED:
        if action == "tile" and not reuses(subject, chain):
            continue
        found = trials.answer(action, loop.ordinal, chain.ordinals)
        if isinstance(found, Edited):
            # Lines alone are replaced where hints go too.
            loops = chain.ordinals if bare is not subject else rewritten(subject, chain, found)
            yield Possible(action, loop.ordinal, loops, assumptions=found.assumptions)


def _alone(trials: Trials, loop: LoopFacts) -> Iterator[Possible]:
    """The transforms of one loop, and of two neighbours."""
    ordinal, parallel = loop.ordinal, isinstance(loop.verdict, Parallel)
    if parallel and trials.succeeds("privatize", ordinal, ordinal):
        yield Possible("privatize", ordinal, (ordinal,))
    actions: tuple[TransformName, ...] = _REWRITING if parallel else ("distribute",)
    if not parallel and expands_to_split(trials.subject, loop):
        actions = (*actions, "expand")
    for action in actions:
        made = trials.answer(action, ordinal, ordinal)
        if isinstance(made, Edited):
            yield Possible(action, ordinal, (ordinal,), assumptions=made.assumptions)
    yield from _from_copies(trials, loop)
    fused = trials.answer("fuse", ordinal, ordinal)
    if isinstance(fused, Edited):
        pair = fused_pair(trials.subject, loop, fused)
        if fuses_well(trials.subject, pair, fused):
            loops = tuple(each.ordinal for each in pair)
            yield Possible("fuse", ordinal, loops, assumptions=fused.assumptions)
