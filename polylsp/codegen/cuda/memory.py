"""Arrays of a region: the parts of them on the device, and the transfers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from polylsp.analysis.aliases import overlap_assumptions
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.liveness import exposed, live_after_loops
from polylsp.codegen.cuda.buffers import Buffer, Memories
from polylsp.codegen.cuda.leaves import Former, Leaves
from polylsp.codegen.cuda.naming import plain_names
from polylsp.codegen.cuda.python_whole import exact_words, is_unlimited
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.footprint import section
from polylsp.codegen.moving import Question
from polylsp.codegen.naming import why_not_named
from polylsp.codegen.transfer import array_data, unknown_extent
from polylsp.codegen.transform.type_words import element_words, plain_words
from polylsp.language import PYTHON
from polylsp.model.action import Declined
from polylsp.model.program import Floating, Integer
from polylsp.model.scop import Access, Memory
from polylsp.model.verdict import Assumption


def memories_of(region: Region, found: Leaves) -> Memories | Declined:
    """Memory of a region on the device; or the reason why it cannot be determined."""
    buffers: list[Buffer] = []
    assumed: list[Assumption] = []
    formers = {each.memory.variable.name: each for each in found.formers}
    for name, accesses in _moved(found).items():
        if name in formers:
            continue
        one = (
            _alone(region, accesses[0].memory)
            if name in found.opened
            else _of_each(region, found, accesses, assumed)
        )
        if isinstance(one, Declined):
            return one
        buffers.append(one)
    ordered = tuple(sorted(buffers, key=lambda each: each.name))
    apart = [p for p in combinations(ordered, 2) if (p[0].written or p[1].written) and _may_overlap(*p)]
    assumed += _overlaps(found, apart, {*found.private, *formers})
    handed = [each for pair in apart for each in pair]
    known = tuple(
        each if each in handed or _moves(region, each) else replace(each, hosted=False) for each in ordered
    )
    copies = tuple(_copy(each, known) for each in found.formers)
    return Memories((*known, *copies), tuple(apart), tuple(dict.fromkeys(assumed)))


def _overlaps(
    found: Leaves, apart: Sequence[tuple[Buffer, Buffer]], without: set[str]
) -> Iterator[Assumption]:
    """No-overlap assumptions that the host does not check: pairs that are `apart`; `without` those that only
    the device has (unique names)."""
    placed = [a for _, a in found.shared if a.memory.variable.name not in without]
    every = list({a.memory.name: a.memory for a in placed}.values())
    written = {a.memory.name for a in placed if a.kind == "write"}
    told = {frozenset((one.memory.path, other.memory.path)) for one, other in apart}
    for each in overlap_assumptions([m for m in every if m.name in written], every, set()):
        if frozenset(each.subjects) not in told:
            yield each


def _copy(former: Former, known: Sequence[Buffer]) -> Buffer:
    """A copy of an array, which is laid out as that one is."""
    base = next(each for each in known if each.memory is former.of)
    own = replace(base, variable=former.memory.variable, memory=former.memory, of=base.name, limit="")
    return replace(own, comes_in=False, goes_out=False, written=False, hosted=False)


def _moves(region: Region, buffer: Buffer) -> bool:
    """True if the caller has to pass an array: not if only kernels use it."""
    return buffer.comes_in or buffer.goes_out or region.subject.language == PYTHON.name


def _moved(found: Leaves) -> dict[str, list[Access]]:
    """The accesses to transferred memory, by variable: arrays, and scalars that the device sets."""
    result: dict[str, list[Access]] = {}
    for _, access in found.shared:
        if access.memory.variable.name not in found.private:
            result.setdefault(access.memory.variable.name, []).append(access)
    return {
        name: accesses
        for name, accesses in result.items()
        if any(a.memory.shape or a.kind == "write" for a in accesses)
    }


def _may_overlap(one: Buffer, other: Buffer) -> bool:
    return any(True for _ in overlap_assumptions([one.memory], [other.memory], set()))


def _of_each(
    region: Region, found: Leaves, accesses: list[Access], assumed: list[Assumption]
) -> Buffer | Declined:
    """Buffer of an array, which may be expanded by iterations of some loops."""
    accesses = accesses + [a for f in found.formers if f.of is accesses[0].memory for a in f.originals]
    one = next((each for each in found.expanded if each.memory is accesses[0].memory), None)
    if one is None:
        return _buffer(region, accesses, assumed)
    if not one.originals:
        words = _words(region, one.memory) or ""
        return Buffer(
            one.memory.variable,
            one.memory,
            words,
            "0",
            "",
            (),
            False,
            False,
            True,
            hosted=False,
            loops=one.courses,
        )
    made = _buffer(region, list(one.originals), assumed)
    return replace(made, memory=one.memory, loops=one.courses) if isinstance(made, Buffer) else made


def _buffer(region: Region, accesses: list[Access], assumed: list[Assumption]) -> Buffer | Declined:
    memory, variable = accesses[0].memory, accesses[0].memory.variable
    name = variable.source_name
    if not name.isidentifier():
        return Declined(f"`{name}` belongs to an object: give it a name of its own before the loops.")
    if any(a.memory is not memory for a in accesses) or any(step != "[]" for step in memory.shape):
        return Declined(f"`{name}` is a structure, or is seen in two ways: use an array of numbers.")
    reason = why_not_named(region.subject, region.place, variable, accesses)
    words = _words(region, memory)
    if reason or words is None:
        return Declined(reason or _strange(memory))
    asked = Question(region.subject, Conflicts(region.scop), region.place, (), region.last)
    written = any(a.kind == "write" for a in accesses)
    data = array_data(asked, variable, accesses, [])
    if isinstance(data, Declined) and region.subject.language == PYTHON.name and memory.shape:
        # All of it: an array has its lengths, however it was allocated.
        return Buffer(
            variable, memory, words, "0", f"{name}.shape[0]", _lengths(memory), True, written, written
        )
    if isinstance(data, Declined):
        return data
    (moved,) = data.transfers
    names = plain_names(region)
    part = section(region.subject, region.scop, accesses, region.place, names) if memory.shape else None
    # What the host compares with the size of an array need not be assumed.
    is_checked = part is not None and bool(part.limit)
    assumed += [each for each in data.assumptions if not (is_checked and each.kind == "in-bounds")]
    if not memory.shape and region.subject.language == PYTHON.name:
        return _python_number(region, memory, words)
    if not memory.shape:
        return Buffer(variable, memory, words, "0", "1", (), True, moved.goes_out, written, True)
    if part is None:
        return unknown_extent(variable)
    inner, count = part.inner, part.count
    if region.subject.language == PYTHON.name:
        inner, count = _lengths(memory), _in_python(count)
    comes, goes = moved.comes_in, moved.goes_out
    return Buffer(variable, memory, words, part.first, count, inner, comes, goes, written, limit=part.limit)


def _strange(memory: Memory) -> str:
    """Reason why a GPU does not support numbers of a type."""
    name = memory.variable.source_name
    if memory.shape:
        return f"The elements of `{name}` have a type that a GPU does not have."
    if is_unlimited(memory.element):
        advice = f"count in an element of an array instead (`{name} = np.zeros(1, np.int64)`)"
        return f"`{name}` is a whole number without limits, which a GPU does not have: {advice}."
    return f"`{name}` has a type that a GPU does not have."


def _in_python(count: str) -> str:
    """Number of rows, unless there are none, as Python spells it."""
    found = re.fullmatch(r"\((.*) \? (.*) : 0\)", count)
    return f"({found[2]} if {found[1].replace(' && ', ' and ')} else 0)" if found else count


def _lengths(memory: Memory) -> tuple[str, ...]:
    """The lengths of all dimensions but the first, in Python."""
    return tuple(f"{memory.variable.source_name}.shape[{k}]" for k in range(1, len(memory.shape)))


def _python_number(region: Region, memory: Memory, words: str) -> Buffer | Declined:
    """A number of Python that the loops change: it is handed over, and given back where it is needed."""
    variable, name = memory.variable, memory.variable.source_name
    subject = region.subject
    after = live_after_loops(subject.function, subject.calls.summaries)[region.last.ordinal]
    needed = bool({variable.name, "*"} & after) or variable.storage != "local"
    if needed and variable.name not in exposed(region.statements):
        return Declined(f"The last value of `{name}` is needed behind the loops: set it there.")
    return Buffer(variable, memory, words, "0", "1", (), True, needed, True, True)


def _alone(region: Region, memory: Memory) -> Buffer | Declined:
    """A scalar that only the device has."""
    words = _words(region, memory)
    if words is None:
        return Declined(f"`{memory.variable.source_name}` has a type that a GPU does not have.")
    return Buffer(memory.variable, memory, words, "0", "1", (), False, False, True, True, False)


def _words(region: Region, memory: Memory) -> str | None:
    """The type of an element, in words that C++ has and, but for `bool`, C too."""
    if not isinstance(memory.element, (Integer, Floating)):
        return None
    if isinstance(memory.element, Floating) and memory.element.bits not in (32, 64):
        return None
    if region.subject.language == PYTHON.name:
        return exact_words(memory.element)
    words = element_words(region.subject, memory.variable, memory.element) or ""
    own = [word for word in words.split() if word not in ("const", "volatile", "restrict")]
    if own and all(word in _BASIC for word in own):
        return " ".join(own)
    plain = plain_words(memory.element)
    return "bool" if plain == "_Bool" else plain


_BASIC = frozenset(("char", "short", "int", "long", "float", "double", "signed", "unsigned"))
