"""Device buffers: the parts of arrays on the device, as expressions of the host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.codegen.cuda.leaves import Course
from polylsp.model.program import Variable
from polylsp.model.scop import Memory
from polylsp.model.verdict import Assumption


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
        return " * ".join([_counted("size_t", self.count), *map(factor, self.inner)])

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
        return " * ".join([_counted("ptrdiff_t", self.first), *map(factor, self.inner)])


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


def _counted(words: str, text: str) -> str:
    """A number of elements in a type of 64 bits: no product in it is computed with fewer."""
    if re.fullmatch(r"\w+(?: \* \w+)*", text):
        return f"({words}){text}"
    return f"({words}){factor(_PRODUCT.sub(_WIDE, text))}"


_PRODUCT = re.compile(r"(\b(?:\d+ \* )?)([A-Za-z_]\w*(?: \* [A-Za-z_]\w*)+)")
_WIDE = r"\1(long long)\2"
"""Several sizes in a term of a sum, and how they are multiplied with 64 bits."""


def _is_whole(text: str) -> bool:
    """True if parentheses enclose all of a text."""
    depth = [text[: k + 1].count("(") - text[: k + 1].count(")") for k in range(len(text))]
    return text.startswith("(") and depth[-1] == 0 and all(depth[:-1])
