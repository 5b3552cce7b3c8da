"""The transforms that the lightbulb offers on a loop: those that have an edit and help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from polylsp.core.text import Source
from polylsp.ide import wording
from polylsp.ide.lookup import nest_of
from polylsp.ir.verdict import Sequential
from polylsp.model.action import ActionName
from polylsp.model.facts import (
    CHECKED_WHEN_RUN,
    LoopFacts,
    PlacedFunction,
    Possible,
    assumed,
    is_governed,
)

_OVERLAP = ("needs-restrict", "needs-assumption")
RUN_CODES = ("parallel-loop", "parallel-band", "reduction-loop", "needs-privatization", *_OVERLAP)
"""Findings that running the loop in parallel answers."""

_REUSING = frozenset[ActionName](("unroll-and-jam", "time-tile"))
"""Parts of restructuring after which a loaded value is used several times."""

_DONE: dict[ActionName, str] = {
    "time-tile": "run time steps in blocks",
    "distribute": "split",
    "interchange": "reorder",
    "skew": "skew",
    "tile": "tile",
    "unroll-and-jam": "unroll",
    "simd": "vectorise sums",
    "openmp": "run in parallel",
}
"""Effect of restructuring, in words."""


@dataclass(frozen=True, slots=True)
class Told:
    """Presentation of an offered transform; see `actions.Offer`."""

    title: str
    kind: Literal["quickfix", "refactor.rewrite"] = "refactor.rewrite"
    codes: tuple[str, ...] = ()
    preferred: bool = False
    conditional: bool = False
    speeds_threads: bool = False


_SERIAL = ("sequential-loop",)
_WORDS: dict[ActionName, Told] = {
    "distribute": Told(
        "Split the loop {name} to run a part of it in parallel", codes=("needs-distribution", *_SERIAL)
    ),
    # A wavefront jumps through memory: it pays only with threads, and not always then.
    "skew": Told(
        "Skew the loops of {name} to run a wavefront in parallel",
        codes=("needs-skewing", *_SERIAL),
        conditional=True,
    ),
    "tile": Told("Tile {names} for cache reuse"),
    "expand": Told("Expand a scalar of the loop {name} into an array to split the loop", codes=_SERIAL),
    "rewrite-reduction": Told("Sum up in a local variable over the loop {name}", codes=("reduction-loop",)),
    "substitute-induction": Told(
        "Compute what the loop {name} counts from its iterator", codes=("parallel-loop",)
    ),
    "fill": Told(
        "Fill arrays by index in the loop {name} instead of appending",
        "quickfix",
        (*_SERIAL, "not-analyzable"),
    ),
    "simd": Told("Vectorise the sum over {name} (reorders additions)"),
    "unroll-and-jam": Told("Unroll and jam the loops around {inner} to reuse loaded values"),
    "numba": Told(
        "Rewrite the loops of {name} and run them in parallel with Numba",
        codes=("needs-skewing", "needs-interchange", "needs-distribution", *_SERIAL),
    ),
}
"""Presentations with the names of the loops alone: of the first, of the last, and of all."""


def told(source: Source, placed: PlacedFunction, loop: LoopFacts, possible: Possible) -> Told | None:
    """Presentation of a transform offered on a loop, with its assumptions; `None` for an action that is no
    transform, or not offered."""
    found = _told(source, placed, loop, possible)
    if found is None:
        return None
    condition = _condition(possible)
    return replace(found, title=f"{found.title}{condition}", conditional=found.conditional or bool(condition))


def _condition(possible: Possible) -> str:
    return f" (right if {wording.assumption_words(possible.assumptions)})" if possible.assumptions else ""


def _told(source: Source, placed: PlacedFunction, loop: LoopFacts, possible: Possible) -> Told | None:
    by_ordinal = {each.ordinal: each for each in placed.answer.facts.loops}
    loops = [by_ordinal[ordinal] for ordinal in possible.loops]
    name, names = wording.subject(loops[0]), wording.listing([wording.subject(each) for each in loops])
    match possible.action:
        case "interchange":
            return _interchange(placed, loop, names)
        case "fuse":
            return Told(f"Fuse the loops {_with_lines(source, placed, loops)}")
        case "privatize":
            fresh = not is_governed(placed.answer.facts, loop.ordinal)
            return Told(_privatized(loop), "quickfix", ("needs-privatization",), fresh, not fresh)
        case "copy":
            return Told(_from_copies(loop), codes=("sequential-loop",))
        case "restrict":
            title = f"Promise with `restrict` that {wording.assumption_words(assumed(loop, 'no-overlap'))}"
            return Told(title, "quickfix", _OVERLAP, conditional=True)
        case "overlap-check":
            checked = wording.assumption_words(assumed(loops[0], *CHECKED_WHEN_RUN))
            title = f"Run {name} in parallel with OpenMP where a check finds that {checked}"
            return Told(title, "quickfix", _OVERLAP)
        case "slices":
            several = f"loops {names}" if len(loops) > 1 else f"loop {names}"
            return Told(f"Write the {several} with NumPy's slices")
        case "restructure":
            # The vector unit adds up in the innermost loops of nests.
            nested = loop.depth > 1 or any(each.parent == loop.ordinal for each in by_ordinal.values())
            speeds = _REUSING | {"simd"} if nested else _REUSING
            return Told(
                _restructuring(placed, possible),
                codes=(*RUN_CODES, "sequential-loop"),
                speeds_threads=not speeds.isdisjoint(possible.parts),
            )
        case _ if possible.action in _WORDS:
            words, inner = _WORDS[possible.action], wording.subject(loops[-1])
            return replace(words, title=words.title.format(name=name, names=names, inner=inner))
        case _:
            return None


def restructuring(placed: PlacedFunction, possible: Possible) -> str:
    """Presentation of restructuring on the header of the function."""
    return f"{_restructuring(placed, possible)}{_condition(possible)}"


def _restructuring(placed: PlacedFunction, possible: Possible) -> str:
    done = wording.listing([word for part, word in _DONE.items() if part in possible.parts])
    return f"Restructure the loops of `{placed.answer.facts.name}` for speed: {done}"


def _interchange(placed: PlacedFunction, loop: LoopFacts, names: str) -> Told:
    nest = nest_of(placed, loop)
    exposes = nest is not None and nest.transform is not None and nest.transform.kind == "interchange"
    why = "to run one of them in parallel" if exposes else "to access memory with stride 1"
    return Told(f"Interchange the loops {names} {why}", codes=("needs-interchange", "sequential-loop"))


def _with_lines(source: Source, placed: PlacedFunction, loops: list[LoopFacts]) -> str:
    """Names of loops, with lines where names may coincide."""
    return wording.listing(
        [f"{wording.subject(one)} on line {wording.site_line(source, placed, one.header)}" for one in loops]
    )


def _from_copies(loop: LoopFacts) -> str:
    former = loop.verdict.former if isinstance(loop.verdict, Sequential) else ()
    reads, copies = wording.copies_words(former)
    return f"Read {reads} from {copies} to run {wording.subject(loop)} in parallel"


def _privatized(loop: LoopFacts) -> str:
    own = loop.terms.private
    if len(own) == 1:
        return f"Declare `{own[0]}` inside the loop {wording.subject(loop)}"
    return f"Declare the temporaries of {wording.subject(loop)} inside the loop"
