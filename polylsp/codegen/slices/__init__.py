"""Loops of Python as statements of NumPy on slices, for functions that are not compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.codegen.numba.decorator import is_compiled
from polylsp.codegen.numba.loop_text import LoopText, chain_around, replaced
from polylsp.codegen.numba.source import Source, source_of
from polylsp.codegen.slices.counters import Counter, counters_of
from polylsp.codegen.slices.elements import RefusedError, known_of
from polylsp.codegen.slices.expressions import Store, assumptions, on_slices, remarks, target_of
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import unstable
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.leaves import Leaf, LeafDependence
from polylsp.model.action import Answer, Declined, Edited
from polylsp.model.verdict import Assumption, Parallel


def edit(subject: Subject, ordinal: int) -> Answer:
    """A loop, and those that are all that stands in it, as one statement for each one of the body."""
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    if is_compiled(source):
        return Declined(f"Numba compiles `{subject.function.name}`: loops are as fast as slices there.")
    if source.lists:
        return Declined(f"`{source.lists[0]}` is a list: what its slices give are copies.")
    chain = _chain(source, ordinal)
    stores = _stores(chain) if not isinstance(chain, Declined) else chain
    counters = counters_of(source, chain) if not isinstance(chain, Declined) else chain
    for found in (chain, stores, counters):
        if isinstance(found, Declined):
            return found
    return _sliced(source, chain, stores, counters)  # type: ignore[arg-type]


def loops_of(subject: Subject, ordinal: int) -> tuple[int, ...]:
    """The loops that the edit of a loop is about, outermost first."""
    source = source_of(subject, for_numba=False)
    chain = _chain(source, ordinal) if isinstance(source, Source) else source
    return (ordinal,) if isinstance(chain, Declined) else tuple(text.ordinal for text in chain)


def _chain(source: Source, ordinal: int) -> tuple[LoopText, ...] | Declined:
    whole = chain_around(source, ordinal)
    if isinstance(whole, Declined):
        return whole
    return tuple(text for text in whole if text.ordinal >= ordinal)


def _stores(chain: tuple[LoopText, ...]) -> list[Store] | Declined:
    """The statements of the innermost body, each of which stores an element of an array."""
    found: list[Store] = []
    for part in chain[-1].parts:
        node = _store(part.nodes[0]) if len(part.nodes) == 1 else None
        if node is None:
            text = ast.unparse(part.nodes[0]).partition("\n")[0]
            return Declined(f"`{text}` does not store one element of an array.")
        found.append(node)
    return found


def _store(node: ast.stmt) -> Store | None:
    """A statement that stores one element."""
    match node:
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign(target=ast.Subscript()):
            return node
        case _:
            return None


def _sliced(
    source: Source, chain: tuple[LoopText, ...], stores: Sequence[Store], counters: tuple[Counter, ...]
) -> Answer:
    known = known_of(source, counters)
    try:
        lines = [on_slices(known, node) for node in stores]
    except RefusedError as refused:
        return Declined(str(refused))
    ordinals = tuple(text.ordinal for text in chain)
    leaves = [Leaf(part.span, ordinals, k) for k, part in enumerate(chain[-1].parts)]
    found = unstable(source.subject, ordinals) or leaves_of(source.subject, leaves)
    if isinstance(found, Declined):
        return found
    broken = next((each for each in found.dependences if not _is_kept(source, each, stores)), None)
    if broken is not None:
        return _refusal(source, broken)
    pieces = (*_comments(source, chain[0]), *lines)
    assumed = (*_assumed(source, ordinals), *found.assumptions, *assumptions(known, stores))
    return Edited(
        (replaced(source, chain[0], pieces),), tuple(dict.fromkeys(assumed)), tuple(remarks(stores))
    )


def _is_kept(source: Source, dependence: LeafDependence, stores: Sequence[Store]) -> bool:
    """True if statements that run as wholes, and read all operands before the first store, preserve a
    dependence: from earlier statements to later ones, and from a read to a write."""
    if dependence.source != dependence.sink:
        return dependence.source < dependence.sink
    target = source.parsed.site(target_of(stores[dependence.source]))
    return dependence.second.site == target != dependence.first.site


def _refusal(source: Source, broken: LeafDependence) -> Declined:
    first, second = broken.first, broken.second
    one, other = source.subject.line_number(first.site), source.subject.line_number(second.site)
    where = f"`{first.text}` on line {one}" if one != other else f"`{first.text}`"
    return Declined(
        f"`{second.text}` on line {other} needs {where} of an earlier iteration: a statement on slices reads "
        "everything before it stores anything."
    )


def _assumed(source: Source, ordinals: Sequence[int]) -> Iterator[Assumption]:
    for ordinal in ordinals:
        verdict = source.subject.known(ordinal).verdict
        yield from verdict.assumptions if isinstance(verdict, Parallel) else ()


def _comments(source: Source, root: LoopText) -> Iterator[str]:
    """The comments of loops: there are no strings in their bodies."""
    for line in source.subject.text[root.span.start : root.span.end].splitlines():
        if "#" in line:
            yield line[line.index("#") :]
