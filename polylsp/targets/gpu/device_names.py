"""Names on the device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.core.language import PYTHON
from polylsp.emit.affine_bounds import Names
from polylsp.emit.footprint import names_before
from polylsp.ir.program import Integer, Variable
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.cuda_expressions import DOUBLE_FUNCTIONS, Words
from polylsp.targets.gpu.leaves import Leaf
from polylsp.targets.gpu.python_semantics import is_unlimited
from polylsp.targets.gpu.region import Region, declared_in

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
    "streams",
))  # fmt: skip
"""Names that mean something else in CUDA C++, or in what is written around the user's code."""


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
    """Names that neither the user's file nor CUDA uses."""
    return Fresh({*re.findall(r"\w+", region.subject.text), *RESERVED})


def plain_names(region: Region) -> Names:
    """Spelling of values just before a region, with numbers as numbers: another file has no macros."""
    found = names_before(region.subject, region.scop, region.place)
    return Names(found.parameters, choice=found.choice)


def variable_names(region: Region, fresh: Fresh) -> dict[str, str]:
    """The names of the variables of a function on the device, by their unique names there: those of the
    source, but for names that CUDA uses, or cannot have."""
    subject, found = region.subject, dict[str, str]()
    is_python = subject.language == PYTHON.name
    counters = counters_of(region)
    counted = {v.source_name for v in subject.variables if v.name in counters}
    for each in sorted(subject.variables, key=lambda v: v.name):
        plain = _STRANGE.sub("_", each.source_name)
        meant = is_python and plain in DOUBLE_FUNCTIONS
        # A variable read after a loop of Python may have the name of the loop's counter.
        twin = is_python and each.name not in counters and plain in {*counted, *found.values()}
        found[each.name] = fresh.name(f"{plain}_") if meant or twin else plain_name(each.source_name, fresh)
    return found


def plain_name(source: str, fresh: Fresh) -> str:
    """The name of a variable of the source on the device."""
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
    maps = {each.get_tuple_name(isl.dim_type.in_): each for each in _maps(order)}
    count = max((each.dim(isl.dim_type.out) for each in maps.values()), default=0)
    for dimension in range(count):
        own = [_counter(region, leaf, maps[leaf.name], dimension, words.narrow) for leaf in leaves]
        known = {words.names[each.name] for each in own if each is not None}
        name = known.pop() if len(known) == 1 else ""
        clear = name and name not in result and _is_only(region, leaves, own, name)
        result.append(name if clear else fresh.name(f"c{dimension}"))
    return result


def _maps(order: isl.UnionMap) -> Iterator[isl.Map]:
    found: list[isl.Map] = []
    order.foreach_map(found.append)
    yield from found


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
    return frozenset(name.partition("@")[0] for name in declared_in(leaf.statements))
