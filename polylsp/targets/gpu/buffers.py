"""Device buffers of a region: array parts as host expressions, and their transfers.

Gives the buffers, or the reason why they cannot be determined. Products of sizes must fit in `int`,
in which the device counts elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.scop.objects import overlap_assumptions
from polylsp.core.language import PYTHON
from polylsp.emit.c_text import element_words, plain_words
from polylsp.emit.footprint import section
from polylsp.emit.source_names import why_not_named
from polylsp.ir.effects import walk
from polylsp.ir.liveness import exposed
from polylsp.ir.program import Assign, Complex, Floating, Integer, Variable
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Declined
from polylsp.poly.scop import Access, Memory
from polylsp.targets.directives.data_regions import Question, array_data, unknown_extent
from polylsp.targets.gpu.device_names import plain_names
from polylsp.targets.gpu.leaves import Course, Former, Leaves
from polylsp.targets.gpu.python_semantics import exact_words, is_unlimited
from polylsp.targets.gpu.region import Region


@dataclass(frozen=True, eq=False)
class Buffer:
    """Variable of the host with memory on the device: `count` rows from `first` on, each of `inner` elements
    of type `words`; all in C. A `scalar` is one element. `hosted`: the caller has it too. The device has such
    an array for each iteration of some `loops`; the last one is the caller's. An array of scalars has no
    `count`. `limit`: declared number of rows of the caller's array, if these may be more. `of`: name of the
    array of which it is a copy from before the loops."""

    variable: Variable
    memory: Memory
    words: str
    first: str
    count: str
    inner: tuple[str, ...]
    comes_in: bool
    goes_out: bool
    written: bool
    scalar: bool = False
    hosted: bool = True
    loops: tuple[Course, ...] = ()
    limit: str = ""
    of: str = ""

    @property
    def name(self) -> str:
        """Name in the source."""
        return self.variable.source_name

    @property
    def end(self) -> str:
        """The row after the last one, in C."""
        return self.count if self.first == "0" else f"({factor(self.first)} + {self.count})"

    @property
    def elements(self) -> str:
        """Number of elements on the device, as a product in `size_t`."""
        return " * ".join([counted("size_t", self.count), *map(factor, self.inner)])

    @property
    def each(self) -> tuple[str, ...]:
        """For how many values of each loop's counter there are arrays: from 0 on."""
        return tuple(loop.behind for loop in self.loops)

    @property
    def extents(self) -> tuple[str, ...]:
        """Extents of its dimensions on the device, except for the first."""
        own = (self.count, *self.inner) if self.count else self.inner
        return (*self.each[1:], *own) if self.each else self.inner

    @property
    def allocated(self) -> str:
        """Number of elements that the device allocates for it, as a product in `size_t`."""
        if not self.each:
            return self.elements
        return " * ".join(["(size_t)" + factor(self.each[0]), *map(factor, self.extents)])

    @property
    def last(self) -> str:
        """The first element of the caller's array on the device, of those of all iterations; empty for the
        very first."""
        number = ""
        for loop in self.loops:
            own = loop.least if loop.down else f"{factor(loop.behind)} - 1"
            if number:
                number = f"({number} * {factor(loop.behind)} + {own})"
            elif own != "0":
                number = f"(size_t){factor(own)}"
        return " * ".join([number, *map(factor, (self.count, *self.inner))]) if number else ""

    @property
    def offset(self) -> str:
        """The first of these elements; empty for the very first."""
        if self.first == "0":
            return ""
        return " * ".join([counted("ptrdiff_t", self.first), *map(factor, self.inner)])


@dataclass(frozen=True, eq=False)
class Memories:
    """The buffers by name, pairs of them that must not overlap, and further assumptions."""

    buffers: tuple[Buffer, ...]
    apart: tuple[tuple[Buffer, Buffer], ...]
    assumptions: tuple[Assumption, ...]


def sizes(buffers: Sequence[Buffer]) -> Iterator[str]:
    """The products that must stay within `int`, in which the device counts elements."""
    for each in buffers:
        if each.each and each.extents:
            yield " * ".join(["(long long)" + factor(each.each[0]), *map(factor, each.extents)])
        elif each.inner:
            yield " * ".join(["(long long)" + factor(each.end), *map(factor, each.inner)])


def factor(text: str) -> str:
    """An expression as it stands in a product, in C or in Python."""
    return text if text.isidentifier() or text.isdigit() or _is_whole(text) else f"({text})"


def counted(words: str, text: str) -> str:
    """A number of elements in a type of 64 bits: no product in it is computed with fewer."""
    if re.fullmatch(r"\w+(?: \* \w+)*", text):
        return f"({words}){text}"
    return f"({words}){factor(_PRODUCT.sub(_WIDE, text))}"


_SIZE = r"(?:[A-Za-z_]\w*|\([^()]*\))"
_PRODUCT = re.compile(rf"(?<![\w)])((?:\d+ \* )?)({_SIZE}(?: \* {_SIZE})+)")
_WIDE = r"\1(long long)\2"
"""Several sizes in a term of a sum, quotients among them, and how they are multiplied with 64 bits."""


def _is_whole(text: str) -> bool:
    """True if parentheses enclose all of a text."""
    depth = [text[: k + 1].count("(") - text[: k + 1].count(")") for k in range(len(text))]
    return text.startswith("(") and depth[-1] == 0 and all(depth[:-1])


# --------------------------------------------------------------------------------------------------
# Arrays of a region: the parts of them on the device, and the transfers.
# --------------------------------------------------------------------------------------------------


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
    if isinstance(memory.element, Complex):
        advice = "use arrays of their real and imaginary parts, or the directives of OpenACC or OpenMP"
        return f"`{name}` holds complex numbers, which kernels do not have: {advice}."
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
    after = subject.live_after[region.last.ordinal]
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
        return of_each_call(region, memory) or exact_words(memory.element)
    words = element_words(region.subject, memory.variable, memory.element) or ""
    own = [word for word in words.split() if word not in ("const", "volatile", "restrict")]
    if own and all(word in _BASIC for word in own):
        return " ".join(own)
    plain = plain_words(memory.element)
    return "bool" if plain == "_Bool" else plain


REAL, WHOLE = "Real", "Whole"
"""The types of elements of arrays in Python that are `float64` or `float32`, and `int64` or `int32`: those of
each call."""


def of_each_call(region: Region, memory: Memory) -> str:
    """The type of the elements of an array in Python of which nothing but a call says what it is; empty for
    others. NumPy treats what is stored in small whole numbers in its own way."""
    is_assumed = any(" is an array of " in each for each in memory.variable.assumed)
    if not memory.shape or not is_assumed:
        return ""
    if memory.element == Floating(64):
        return REAL
    changed = {s.target.variable.name for s in walk(*region.statements) if isinstance(s, Assign)}
    return WHOLE if memory.element == Integer(64, True) and memory.variable.name not in changed else ""


_BASIC = frozenset(("char", "short", "int", "long", "float", "double", "signed", "unsigned"))
