"""Names on the device, and integer widths there: 64-bit values that fit in 32 bits, and wide strides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.core.language import PYTHON
from polylsp.emit.affine_bounds import Names
from polylsp.emit.footprint import names_before
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Cast,
    Constant,
    Expr,
    Integer,
    Read,
    Statement,
    Variable,
    subexpressions,
    subscripts,
)
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.cuda_expressions import DOUBLE_FUNCTIONS, Words
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.mapping import maps_of
from polylsp.targets.gpu.python_semantics import is_unlimited
from polylsp.targets.gpu.region import Region, names_declared

RESERVED = frozenset((
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "case", "catch",
    "char", "const", "default", "do", "double", "enum", "extern", "float", "goto", "inline", "int", "long",
    "register", "short", "signed", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned",
    "void", "volatile",
    "char16_t", "char32_t", "char8_t", "class", "compl", "concept", "const_cast", "consteval",
    "constexpr", "constinit", "decltype", "delete", "dynamic_cast", "explicit", "export", "false",
    "friend", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "reinterpret_cast", "requires", "static_assert",
    "static_cast", "template", "this", "thread_local", "throw", "true", "try", "typeid", "typename",
    "using", "virtual", "wchar_t", "xor", "xor_eq", "blockIdx", "blockDim", "threadIdx", "gridDim",
    "warpSize", "dim3", "min", "max", "size_t", "ptrdiff_t", "NULL", "TRY", "blocks", "error", "pin",
    "streams", "Real", "Real2", "Whole",
))  # fmt: skip
"""Names that mean something else in CUDA C++, or in what is written around the user's code."""

_HOST_NAMES = frozenset(("status", "grid", "threads", "malloc", "memcpy", "free"))
"""Names that a host function in C has for local variables, and the functions that it calls."""


def is_clear(name: str, others: Iterable[str]) -> bool:
    """True if a host function in C can have a parameter of that name, and the `others` of its caller: the
    file of the kernels gives it no other meaning."""
    kind, _, rest = name.partition("_")
    of_buffer = kind in ("device", "staged", "pinned") and rest in others
    return not of_buffer and name not in RESERVED and name not in _HOST_NAMES


@dataclass
class Fresh:
    """Names that nothing else has."""

    used: set[str]
    _count: dict[str, int] = field(default_factory=dict)

    def name(self, wanted: str) -> str:
        """The `wanted` name, or that name with a number appended."""
        result, number = wanted, 2
        while result in self.used:
            result, number = f"{wanted}{number}", number + 1
        self.used.add(result)
        return result


def fresh_of(region: Region) -> Fresh:
    """Names that neither the user's file nor CUDA uses; in Python, other functions may use them."""
    subject = region.subject
    words = re.findall(r"\w+", subject.text)
    if subject.language == PYTHON.name:
        own = subject.text[subject.start : subject.start + subject.ends[-1]]
        words = [*re.findall(r"\w+", own), *(each for each in words if "_cuda" in each.lower())]
    return Fresh({*words, *RESERVED})


def plain_names(region: Region) -> Names:
    """Spelling of values just before a region, with numbers as numbers: another file has no macros."""
    found = names_before(region.subject, region.scop, region.place)
    return Names(found.parameters, choice=found.choice, values=found.values)


def variable_names(region: Region, fresh: Fresh) -> dict[str, str]:
    """The names of the variables of a function on the device, by their unique names there: those of the
    source, but for names that CUDA uses, or cannot have."""
    subject, found = region.subject, dict[str, str]()
    is_python = subject.language == PYTHON.name
    counters = counters_of(region)
    counted = {v.source_name for v in subject.variables if v.name in counters}
    for each in sorted(subject.variables, key=lambda v: v.name):
        plain = "" if "," in each.source_name else _STRANGE.sub("_", each.source_name)
        meant = is_python and plain in DOUBLE_FUNCTIONS
        # A variable read after a loop of Python may have the name of the loop's counter.
        twin = is_python and each.name not in counters and plain in {*counted, *found.values()}
        found[each.name] = fresh.name(f"{plain}_") if meant or twin else plain_name(each.source_name, fresh)
    return found


def plain_name(source: str, fresh: Fresh) -> str:
    """The name of a variable of the source on the device. The parts of an assignment to several names in
    Python have their text for a name."""
    if "," in source:
        return fresh.name("value")
    plain = _STRANGE.sub("_", source)
    clear = plain == source and plain not in RESERVED
    return plain if clear else fresh.name(re.sub("__+", "_", f"{plain}_"))


def counters_of(region: Region) -> frozenset[str]:
    """Counters of the loops of the model (unique names): a `while` may have none."""
    loops = [region.subject.loop(ordinal) for ordinal in region.scop.loops]
    return frozenset(counter(region.subject, each.ordinal).name for each in loops if each.step.statements)


_STRANGE = re.compile(r"[^A-Za-z0-9_$]")


def dimension_names(
    region: Region, leaves: Sequence[Leaf], order: isl.UnionMap, words: Words, fresh: Fresh
) -> list[str]:
    """Names for the dimensions of a schedule: a counter's, where the dimension is that counter wherever
    there is one of that name; a new one otherwise."""
    result: list[str] = []
    maps = {each.get_tuple_name(isl.dim_type.in_): each for each in maps_of(order)}
    count = max((each.dim(isl.dim_type.out) for each in maps.values()), default=0)
    for dimension in range(count):
        own = [_counter(region, leaf, maps[leaf.name], dimension, words.narrow) for leaf in leaves]
        known = {words.names[each.name] for each in own if each is not None}
        name = known.pop() if len(known) == 1 else ""
        clear = name and name not in result and _is_only(region, leaves, own, name)
        result.append(name if clear else fresh.name(f"c{dimension}"))
    return result


def _counter(
    region: Region, leaf: Leaf, order: isl.Map, dimension: int, narrow: frozenset[str]
) -> Variable | None:
    """The counter of which a dimension has the value, for one leaf, if it is an `int`."""
    for number, ordinal in enumerate(leaf.loops):
        if order.is_subset(order.equate(isl.dim_type.in_, number, isl.dim_type.out, dimension)):
            own = counter(region.subject, ordinal)
            is_int = own.type == Integer(32, True) or is_unlimited(own.type) or own.name in narrow
            return own if is_int else None
    return None


def _is_only(region: Region, leaves: Sequence[Leaf], own: Sequence[Variable | None], name: str) -> bool:
    """True if no other variable of that name is set in a leaf."""
    for leaf, variable in zip(leaves, own, strict=True):
        counters = [counter(region.subject, ordinal) for ordinal in leaf.loops]
        others = {v.source_name for v in (*leaf.own, *(c for c in counters if c != variable))}
        if name in others | _declared_names(leaf):
            return False
    return True


def _declared_names(leaf: Leaf) -> frozenset[str]:
    return frozenset(name.partition("@")[0] for name in names_declared(leaf.statements))


# --------------------------------------------------------------------------------------------------
# Integer widths on the device: 64-bit values that fit in 32 bits, and wide strides.
#
# A GPU computes with 32 bits at a time. Sizes that the host has checked to be small, and integers
# used only in subscripts, are narrowed. Strides of arrays that may exceed an `int` count are `int`
# only where all elements of a call can be counted in one.
# --------------------------------------------------------------------------------------------------


_SUM = re.compile(r"[\w\s+*()-]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


def strides(
    found: Leaves,
    extents: Mapping[str, tuple[str, ...]],
    called: Mapping[str, Variable],
    narrow: frozenset[str],
) -> frozenset[str]:
    """The unique names of those sizes, given the `extents` of arrays on the device (by their unique names)
    and the variables `called` so there; those that are `narrow` are `int`s anyway."""
    every = {v.name for inner in extents.values() for v in _named(inner, called) if _is_int(v, narrow)}
    able = frozenset(every - _without_sign(found))
    wide = (inner for inner in extents.values() if is_wide(inner, called, able, narrow))
    return able & {v.name for inner in wide for v in _named(inner, called)}


def is_wide(
    inner: tuple[str, ...], called: Mapping[str, Variable], counted: frozenset[str], narrow: frozenset[str]
) -> bool:
    """True if the rows of an array are counted with enough bits, given the sizes that are `counted` so: the
    type of the first product determines the rest of the computation."""
    if not inner or not _SUM.fullmatch(inner[0]):
        return False
    own = [called.get(word) for word in _WORD.findall(inner[0])]
    return bool(own) and all(v is not None and (v.name in counted or _is_long(v, narrow)) for v in own)


def _named(inner: tuple[str, ...], called: Mapping[str, Variable]) -> list[Variable]:
    """The sizes in the length of a row."""
    words = _WORD.findall(inner[0]) if inner else []
    return [called[word] for word in words if word in called]


def _is_int(variable: Variable, narrow: frozenset[str]) -> bool:
    return variable.type == Integer(32, True) or is_unlimited(variable.type) or variable.name in narrow


def _is_long(variable: Variable, narrow: frozenset[str]) -> bool:
    of_type = variable.type
    return isinstance(of_type, Integer) and of_type.bits == 64 and variable.name not in narrow


def _without_sign(found: Leaves) -> set[str]:
    """The scalars in unsigned computations: of another type, their results would differ."""
    every = (node for leaf in found.leaves for s in walk(*leaf.statements) for node in nodes(s))
    computed = (each for each in every if isinstance(each.type, Integer) and not each.type.signed)
    parts = (part for each in computed for part in subexpressions(each))
    return {p.place.variable.name for p in parts if isinstance(p, Read) and not p.place.steps}


# --------------------------------------------------------------------------------------------------
# 64-bit integers of the source that fit in 32 bits on the device: those used only in subscripts.
# The host has checked that these are small, and a GPU computes with 32 bits at a time.
# --------------------------------------------------------------------------------------------------


_LARGEST = 1 << 20
"""Largest constant added in a subscript: sums of this and a size are far from overflow."""


def narrow(region: Region, found: Leaves, sizes: Iterable[Variable]) -> frozenset[str]:
    """The counters of loops, and of the `sizes` that the host compares with a limit, those that are `int`s
    on the device (unique names)."""
    counters = {counter(region.subject, ordinal) for leaf in found.leaves for ordinal in leaf.loops}
    wide = {v.name for v in (*counters, *sizes) if _is_wide(v)}
    statements = [s for leaf in found.leaves for s in leaf.statements]
    if not wide:
        return frozenset()
    every = Counter(_reads(statements))
    inside = Counter(_of_subscripts(statements))
    set_there = effects(*statements).scalars | found.kept
    return frozenset(name for name in wide - set_there if every[name] == inside[name])


def _is_wide(variable: Variable) -> bool:
    of_type = variable.type
    return isinstance(of_type, Integer) and (
        of_type.bits == 64 or (of_type.bits == 32 and not of_type.signed)
    )


def _reads(statements: Iterable[Statement]) -> Iterator[str]:
    """The scalars that are read, each time."""
    for value in _values(statements):
        if isinstance(value, Read) and not value.place.steps:
            yield value.place.variable.name


def _of_subscripts(statements: list[Statement]) -> Iterator[str]:
    """Variables that are a subscript, up to an added constant."""
    targets = [s.target for s in walk(*statements) if isinstance(s, Assign)]
    places = [value.place for value in _values(statements) if isinstance(value, Read)]
    for place in (*targets, *places):
        for subscript in subscripts(place):
            name = _alone(subscript)
            if name:
                yield name


def _values(statements: Iterable[Statement]) -> Iterator[Expr]:
    for statement in walk(*statements):
        yield from nodes(statement)


def _alone(subscript: Expr) -> str:
    """The variable of `i`, `i + 1` or `i - 1`; empty for anything else."""
    match _converted(subscript):
        case Binary("+" | "-", left, right) if _is_small(right):
            subscript = left
        case Binary("+", left, right) if _is_small(left):
            subscript = right
        case _:
            pass
    own = _converted(subscript)
    return own.place.variable.name if isinstance(own, Read) and not own.place.steps else ""


def _converted(value: Expr) -> Expr:
    """A number before it is converted to a type that surely holds it."""
    while isinstance(value, Cast) and isinstance(value.type, Integer) and value.type.bits >= 32:
        value = value.operand
    return value


def _is_small(value: Expr) -> bool:
    plain = _converted(value)
    return isinstance(plain, Constant) and isinstance(plain.type, Integer) and abs(plain.value) <= _LARGEST
