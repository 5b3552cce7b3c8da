"""Parameters and memory of the host function that runs kernels.

Upper limits of sizes ensure that no counter of a kernel overflows an `int`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.emit.c_text import declared_words, element_words
from polylsp.emit.source_names import extents_of, horizon
from polylsp.emit.subject import Member, Subject
from polylsp.frontends.c.environment import Expanded, expand
from polylsp.frontends.c.macros import Macro
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import (
    AddressOf,
    Call,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Floating,
    Index,
    Integer,
    Variable,
    subexpressions,
    within,
)
from polylsp.model.action import Declined
from polylsp.targets.gpu.buffers import Buffer, Memories
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import type_words, wrapped
from polylsp.targets.gpu.emission_context import Setting
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.mapping import Kernel
from polylsp.targets.gpu.region import Region
from polylsp.targets.gpu.slabs import Slabs
from polylsp.targets.gpu.sum_kernels import BLOCKS


@dataclass(frozen=True, eq=False)
class Host:
    """The host function. It takes `scalars` and the buffers of `memories`; `limits` are the values that must
    be small, in C; `slabs` are its units of execution."""

    name: str
    setting: Setting
    scalars: tuple[Variable, ...]
    memories: Memories
    kernels: tuple[tuple[Kernel, Written], ...]
    limits: tuple[str, ...]
    slabs: Slabs | None = None

    @property
    def index(self) -> str:
        """Name of the index type of kernels, if one of them is a template over it."""
        return next((made.index for _, made in self.kernels if made.index), "")

    @property
    def wide(self) -> list[Buffer]:
        """The arrays that may have more elements than an `int` counts: not those of which the host itself
        finds an element."""
        found = {made.target.buffer.variable.name for _, made in self.kernels if made.target is not None}
        return [b for b in self.buffers if b.variable.name in self.setting.wide - found]

    @property
    def hosted(self) -> list[Buffer]:
        """The buffers that the caller has too."""
        return [each for each in self.buffers if each.hosted]

    @property
    def allocated(self) -> list[tuple[str, str, str]]:
        """The memory of the device: its name, the type of its elements, and its size in bytes."""
        parts = self.slabs.parts if self.slabs is not None else {}
        moving = [part.room for part in parts.values()]
        rooms = [parts[b.variable.name].room if b.variable.name in parts else b for b in self.buffers]
        turns = f"{self.slabs.called.turns} * " if self.slabs is not None and self.overlaps else ""
        found = [
            (f"device_{b.name}", b.words, f"{turns if b in moving else ''}{b.allocated} * sizeof({b.words})")
            for b in rooms
        ]
        sums = [(t.scratch, t.words, f"{BLOCKS} * sizeof({t.words})") for t in self.setting.totals]
        return found + sums

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Buffers of its memories; of arrays that are cut, the union of all slabs."""
        parts = self.slabs.parts if self.slabs is not None else {}
        found = self.memories.buffers
        return tuple(parts[b.variable.name].whole if b.variable.name in parts else b for b in found)

    @property
    def moving(self) -> tuple[Buffer, ...]:
        """Buffers that each slab transfers; without slabs, all."""
        if self.slabs is None:
            return self.buffers
        return tuple(part.buffer for part in self.slabs.parts.values())

    @property
    def staying(self) -> tuple[Buffer, ...]:
        """Buffers that stay on the device while slabs come and go."""
        parts = self.slabs.parts if self.slabs is not None else {}
        return tuple(b for b in self.buffers if b.variable.name not in parts) if parts else ()

    @property
    def overlaps(self) -> bool:
        """True if one slab is transferred while another is computed: transfers take their time beside kernels
        where memory is locked, and no slab may change data that another one uses."""
        locked = self.slabs is not None and self.setting.settings.cuda_pinned
        return locked and not self.setting.totals and not any(each.written for each in self.staying)


def header(host: Host) -> list[str]:
    """Header of the function: C that is C++ as well."""
    steps = [f"unsigned long long {name}" for _, name in step_names(host)]
    return wrapped(f"int {host.name}(", [*parameters(host), *steps], ")")


def member_of(host: Host, buffer: Buffer) -> Member | None:
    """The member of an array of structures that a buffer is, if it is one."""
    member = host.setting.region.subject.members.get(buffer.name)
    return member if member is not None and member.size else None


def step_names(host: Host) -> list[tuple[str, str]]:
    """The sizes of the structures of which it is given members, each as the caller says it with its name."""
    found = [each for each in (member_of(host, b) for b in host.hosted) if each is not None]
    sizes = dict.fromkeys(each.size for each in found)
    return [(size, f"{host.name}_step{number}") for number, size in enumerate(sizes)]


def parameters(host: Host) -> list[str]:
    """Parameters, with their types."""
    found = [f"{type_words(v)} {v.source_name}" for v in host.scalars]
    return found + [f"{'' if b.goes_out else 'const '}{b.words} *{b.name}" for b in host.hosted]


def is_staged(buffer: Buffer) -> bool:
    """True if results are fetched to a staging buffer first, as the host still needs its data."""
    return buffer.goes_out and buffer.comes_in


def bytes_of(buffer: Buffer) -> str:
    """Size in bytes, in C."""
    return f"{buffer.elements} * sizeof({buffer.words})"


def on_device(buffer: Buffer) -> str:
    """Address of the caller's elements on the device, in C."""
    return f"device_{buffer.name} + {buffer.last}" if buffer.last else f"device_{buffer.name}"


Transfer = Callable[[str, str, Buffer, str], Iterator[str]]
"""The lines of a transfer: to where, from where, of which buffer, and its kind."""


def former_lines(buffers: Sequence[Buffer], transfer: Transfer) -> Iterator[str]:
    """Copies on the device of arrays as they are before the kernels."""
    for each in buffers:
        if each.of:
            yield f"/* `{each.name}` is `{each.of}` as it was before the loops. */"
            yield from transfer(on_device(each), f"device_{each.of}", each, "cudaMemcpyDeviceToDevice")


def start_of(host: Host, buffer: Buffer) -> str:
    """Start of the buffer on the host, in C. The pointer leads to the caller's array, or to the packed
    members, which begin with the first one that the device has."""
    return _behind(buffer.name, buffer, "" if member_of(host, buffer) is None else _whole(host, buffer))


def staged_start(host: Host, buffer: Buffer) -> str:
    """Start of the buffer in the memory for results, in C."""
    return _behind(f"staged_{buffer.name}", buffer, _whole(host, buffer))


def _whole(host: Host, buffer: Buffer) -> str:
    """Offset of the first element that the device has in any slab."""
    return next(each.offset for each in host.buffers if each.variable.name == buffer.variable.name)


def _behind(pointer: str, buffer: Buffer, first: str) -> str:
    """Address of a buffer, given a pointer to the element at the offset `first`. The offsets are subtracted
    from each other: a pointer to before an array is undefined, and `_FORTIFY_SOURCE` ends such programs."""
    if buffer.offset == first:
        return pointer
    if not first:
        return f"{pointer} + {buffer.offset}"
    return f"{pointer} + ({buffer.offset or 0} - {first})"


# --------------------------------------------------------------------------------------------------
# Upper limits of sizes, so that no counter of a kernel overflows an `int`.
# --------------------------------------------------------------------------------------------------


LARGEST = 1 << 30
"""Limit where counters are the user's, and never added to."""

SMALLER = (1 << 26, 1 << 24, 1 << 22, 1 << 20, 1 << 18, 1 << 14)
"""Limits where a kernel computes sums of the user's counters: the first with which none of these is large."""

_COUNTED = (1 << 31) - (1 << 28)
"""Limit of counters: threads look for further iterations after the last one, as far on as all blocks of a
launch reach, which are 65535 of 1024 threads with four values each at most."""


def largest(leaves: Iterable[Leaf], candidates: Iterable[int]) -> int:
    """The first of some limits on sizes with which all counters stay small; raises `Unwritable`."""
    domains = [leaf.domain for leaf in leaves]
    for each in candidates:
        if all(_stays_small(domain, each) for domain in domains):
            return each
    raise Unwritable("A counter may be larger than a GPU's whole numbers.")


def _stays_small(domain: isl.Set, limit: int) -> bool:
    """True if counters stay small while the parameters of their bounds do."""
    for k in range(domain.dim(isl.dim_type.param)):
        bound = isl.Val(limit)
        domain = domain.upper_bound_val(isl.dim_type.param, k, bound)
        domain = domain.lower_bound_val(isl.dim_type.param, k, bound.neg())
    counters = range(domain.dim(isl.dim_type.set))
    values = [each for k in counters for each in (domain.dim_max_val(k), domain.dim_min_val(k))]
    return domain.is_empty() or all(v.is_int() and abs(v.to_python()) < _COUNTED for v in values)


# --------------------------------------------------------------------------------------------------
# Macros of the source that are plain numbers in the new file: the call checks their values, so that
# a program built with others runs its loops on the host.
# --------------------------------------------------------------------------------------------------


_NAME = re.compile(r"[A-Za-z_]\w*")
_IDENTIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]")
_STEP = re.compile(r"\+\+|--")
_TYPE_WORDS = frozenset(
    ("char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "const", "enum")
)
_LIBRARY_TYPES = frozenset(
    ("bool", "size_t", "ptrdiff_t", "ssize_t", "intptr_t", "uintptr_t", "int8_t", "int16_t", "int32_t")
) | {"int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t"}
_SEVERAL = frozenset(("signed char", "long", "unsigned long"))
"""Types beside which C has another one of the same size and sign, on the machines that polylsp knows."""
_STANDARD = re.compile(
    r"true|false|M_\w+|(FLT|DBL)_\w+|CHAR_BIT|(U|S)?(CHAR|SHRT|INT|LONG|LLONG|INT\d+|SIZE)_(MAX|MIN)"
)
"""Numbers that the headers of C say, the same on all machines that polylsp knows."""
_LITERAL = re.compile(r"\W*\.?\d[\w.]*")
_PURE = re.compile(r"[-+*/%()<>~!&|^?:,]|<<|>>|[<>=!]=|&&|\|\||'.*'|\.?\d.*")
"""Numbers, and operators that store nothing."""
_STATEMENT = frozenset(("case", "do", "else", "for", "goto", "if", "return", "switch", "while"))
_MORE_THAN_A_NUMBER = "The macro `{}` is more than a number: put its value into a variable first."


def baked(region: Region, buffers: Sequence[Buffer]) -> list[str] | Declined:
    """Conditions in C that are true if the source is built with other numbers than it was read with."""
    found: dict[str, set[str]] = {}
    subjects = [region.subject, *map(region.subject.of, region.helpers)]
    last, place = horizon(region.subject, region.place.site), region.place.site
    # Calls outside of the region give its variables no value that is known.
    called = [s.site for s in walk(region.subject.function.body) if isinstance(s, Evaluate)]
    apart = [each for each in called if not within(each, place)]
    for subject, constant in ((each, c) for each in subjects for c in _constants(each)):
        unused = constant.site.first > last or any(within(constant.site, each) for each in apart)
        if subject is region.subject and unused:
            continue
        text = subject.source(constant.site).strip()
        number = _number(constant)
        if not number or _LITERAL.fullmatch(text) or _STANDARD.fullmatch(text):
            continue
        inside = _inside_macros(subject, text, number)
        if isinstance(inside, frozenset):
            for name in inside:
                found.setdefault(name, set()).add(number)
        elif _is_named(subject, text, constant.value):
            if unfit := next((name for name in _NAME.findall(text) if not _is_fixed(subject, name)), ""):
                return Declined(_MORE_THAN_A_NUMBER.format(unfit))
            if not _NAME.fullmatch(text) and not subject.is_written_out(constant.site):
                return Declined(f"`{text}` hides the number {number} in a macro: write it out first.")
            found.setdefault(text, set()).add(number)
    for name, values in found.items():
        if len(values) > 1:
            return Declined(_MORE_THAN_A_NUMBER.format(name))
    names = [f"{_grouped(t)} != {min(v)}" for t, v in sorted(found.items()) if not _follows(t, found)]
    return [*names, *dict.fromkeys(each for b in buffers for each in _shape(region, b))]


def _number(constant: Constant) -> str:
    """A constant in C; empty where it has no plain spelling."""
    if isinstance(constant.value, int):
        return str(constant.value)
    if not math.isfinite(constant.value):
        return ""
    if constant.value.is_integer() and abs(constant.value) < 1 << 53:
        return str(int(constant.value))
    exact = (constant.value * 1024).is_integer()
    return f"{constant.value!r}{'f' if constant.type == Floating(32) and not exact else ''}"


def _inside_macros(subject: Subject, text: str, number: str) -> frozenset[str] | None:
    """The macros without parameters that give a number to the use of a macro with some; none where the macro
    itself says the number. `None` where the text is another one, or the number comes from elsewhere."""
    macros = {each.name: each for each in subject.macros}
    used = macros.get(text.partition("(")[0].strip())
    if used is None or used.parameters is None:
        return None
    reached, literal, waiting = set[str](), False, _NAME.findall(text)
    while waiting:
        one = macros.get(waiting.pop())
        if one is None or one.name in reached:
            continue
        reached.add(one.name)
        literal |= one.parameters is not None and number in one.body
        waiting += [word for word in one.body if _NAME.fullmatch(word)]
    giving = frozenset(
        name for name in reached if macros[name].parameters is None and _says(macros[name], number)
    )
    literal |= re.search(rf"(?<![\w.]){re.escape(number)}(?![\w.])", text) is not None
    return giving if giving or literal else None


def _is_fixed(subject: Subject, name: str) -> bool:
    """True unless a name is a macro for an initialiser, a statement, a call, or a value of variables: a
    condition with that would not compile, have effects, or be about other values than the macro's number."""
    expanded = expand(name, subject.macros)
    words, variables = expanded.texts if isinstance(expanded, Expanded) else ("{",), _local(subject)
    for word, behind in zip(words, (*words[1:], ""), strict=True):
        is_name = _NAME.fullmatch(word) is not None and word not in _STATEMENT
        is_call = is_name and behind == "(" and word != "sizeof"
        if not _PURE.fullmatch(word) and (not is_name or is_call or (word in variables and word != name)):
            return False
    return True


def _says(macro: Macro, number: str) -> bool:
    """True if a macro stands for a number alone."""
    body = [word for word in macro.body if word not in "()"]
    if len(body) != 1:
        return False
    try:
        return float(body[0].rstrip("uUlLfF")) == float(number.rstrip("f"))
    except ValueError:
        return False


def _is_named(subject: Subject, text: str, value: float) -> bool:
    """True if a number is written with a name; where an array stands, C means its first element."""
    words = set(_NAME.findall(text))
    implied = value in (0, 1) and not _NAME.fullmatch(text)
    if implied or words & _local(subject) or _STEP.search(text):
        return False
    return bool(_IDENTIFIER.search(text))


def _local(subject: Subject) -> set[str]:
    """Variables of the function, whose initial numbers are not macros. Others are arrays, for which C reads
    the first element, and variables and called functions (weak ones) compared with zero."""
    statements = list(walk(subject.function.body))
    declared = {s.variable for s in statements if isinstance(s, Declare)}
    known = {v for v in subject.variables if not v.const}
    parts = (part for s in statements for value in expressions(s) for part in subexpressions(value))
    called = {part.function for part in parts if isinstance(part, Call)}
    return called | {v.source_name for v in (*declared, *known)}


def _follows(text: str, found: Mapping[str, set[str]]) -> bool:
    """True if the value of a computation is determined by its parts'."""
    words = set(_NAME.findall(text))
    return text not in words and words <= found.keys()


def _grouped(text: str) -> str:
    return text if _NAME.fullmatch(text) else f"({text})"


def _constants(subject: Subject) -> Iterator[Constant]:
    """All numbers in the statements of a function, and in the types of its parameters."""
    values: list[Expr] = [e for s in walk(subject.function.body) for e in expressions(s)]
    for parameter in subject.function.parameters:
        values += extents_of(parameter.type)
    for value in values:
        parts = list(subexpressions(value))
        # A pointer to a row is the address of its first element.
        rows = (
            (node.site, step) for node in parts if isinstance(node, AddressOf) for step in node.place.steps
        )
        implied = {id(s.subscript) for at, s in rows if isinstance(s, Index) and s.subscript.site == at}
        yield from (node for node in parts if isinstance(node, Constant) and id(node) not in implied)


def _shape(region: Region, buffer: Buffer) -> Iterator[str]:
    """Conditions on the size of an array's rows of fixed length, and on that of elements with a named type:
    the declaration may be another one when the source is built."""
    element = buffer.memory.element
    assert isinstance(element, (Integer, Floating))
    member = region.subject.members.get(buffer.name)
    if member is not None and member.size:
        yield f"sizeof({member.first[1:]}) != {element.bits // 8}"
        if member.depth:
            count = prod(int(each) for each in buffer.inner[-member.depth :])
            yield f"sizeof({member.rows}) != {count * element.bits // 8}"
        return
    if member is not None:
        steps = "[0]" * (0 if buffer.scalar else 1 + len(buffer.inner))
        yield f"sizeof({buffer.name}{steps}) != {element.bits // 8}"
    size, depth = element.bits // 8, len(buffer.inner)
    while depth and buffer.inner[depth - 1].isdigit():
        depth -= 1
        size *= int(buffer.inner[depth])
    fixed = _has_fixed_type(region.subject, buffer, element)
    if depth < len(buffer.inner) and not (fixed and _is_spelled(region.subject, buffer)):
        yield f"sizeof({buffer.name}{'[0]' * (depth + 1)}) != {size}"
    elif depth == len(buffer.inner) and not fixed:
        steps = "[0]" * (0 if buffer.scalar else depth + 1)
        yield f"sizeof({buffer.name}{steps}) != {size}"


def _is_spelled(subject: Subject, buffer: Buffer) -> bool:
    """True if a parameter's declaration has the lengths of its rows as numbers."""
    written = (subject.source(each.site) for each in extents_of(buffer.variable.type))
    plain = all(_LITERAL.fullmatch(text) or text.isidentifier() for text in written)
    return buffer.variable.storage == "parameter" and plain


def converted(subject: Subject, buffer: Buffer, pointer: str) -> str:
    """A pointer to the elements of a buffer as the host function takes it: C has several types of their
    size, of which the source may use another one (`char`, `long long`) than the host function."""
    element = buffer.memory.element
    words = declared_words(subject, buffer.variable, element)
    plain = " ".join(word for word in (words or "").split() if word not in ("const", "volatile", "restrict"))
    if plain == buffer.words or plain in _LIBRARY_TYPES or buffer.words not in _SEVERAL:
        return pointer
    return f"({'' if buffer.goes_out else 'const '}{buffer.words} *){pointer}"


def _has_fixed_type(subject: Subject, buffer: Buffer, element: Integer | Floating) -> bool:
    """True if a variable is declared with a type of the language, or of its library."""
    words = element_words(subject, buffer.variable, element)
    return words is None or words in _LIBRARY_TYPES or set(words.split()) <= _TYPE_WORDS
