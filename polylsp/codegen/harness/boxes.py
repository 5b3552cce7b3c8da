"""Iterations and elements of the models of a function, and boxes around them at sizes that are numbers.

With the parameters fixed, isl's optima are whole numbers: parametric ones, which can be wrong beside strides,
are not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.model.scop import Memory, Scop

_PARAM, _SET = isl.dim_type.param, isl.dim_type.set


@dataclass(frozen=True, slots=True)
class Touched:
    """The elements of a memory that a nest touches, for any parameters."""

    scop: Scop
    memory: Memory
    elements: isl.Set


def domains_of(subject: Subject) -> list[tuple[Scop, isl.Set]]:
    """The iteration domains of a function's statements."""
    return [(nest.scop, domain) for nest in subject.nests for domain in domains(nest.scop)]


def is_modelled(subject: Subject) -> bool:
    """True if there is a model of all loops."""
    statements = [each for nest in subject.nests for each in nest.scop.statements]
    known = {ordinal for each in statements for ordinal in each.loops}
    return all(loop.ordinal in known for loop in subject.facts.loops)


def counted(known: list[tuple[Scop, isl.Set]], sizes: Mapping[str, int]) -> int:
    """Number of instances in boxes around domains."""
    return sum(points(domain, scop, sizes) or 0 for scop, domain in known)


def widths(known: list[tuple[Scop, isl.Set]], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    """Sides of the box around each domain, in their order; -1 for those of a domain that is not bounded."""
    found: list[tuple[int, ...]] = []
    for scop, domain in known:
        ends = box(domain, scop, sizes)
        none = (-1,) * domain.dim(_SET)
        found.append(none if ends is None else tuple(max(0, high - low + 1) for low, high in ends))
    return found


def touched(subject: Subject, name: str, *, follows: bool = False) -> Iterator[Touched]:
    """The elements of the memory that a variable leads to, or (`follows`) that pointers found there lead to,
    by nest; one object can be several memories. Elements that data choose are apart from the others, whose
    box they would take away."""
    for nest in subject.nests:
        by_memory: dict[tuple[Memory, bool], isl.Set] = {}
        for access in nest.scop.accesses:
            memory = access.memory
            # A path does not say which of its members are pointers.
            if name != memory.variable.name and name.replace("->", ".") != memory.path.replace("->", "."):
                continue
            if memory.fresh or memory.follows_pointers != follows:
                continue
            elements = access.relation.range()
            key = memory, bool(elements.is_bounded())
            before = by_memory.get(key)
            by_memory[key] = elements if before is None else before.union(elements)
        yield from (Touched(nest.scop, memory, elements) for (memory, _), elements in by_memory.items())


def domains(scop: Scop) -> list[isl.Set]:
    """The iteration domains of the statements, one of those in the same loops."""
    by_loops: dict[tuple[tuple[int, ...], str], isl.Set] = {}
    for statement in scop.statements:
        plain = statement.domain.reset_tuple_id() if statement.domain.has_tuple_id() else statement.domain
        by_loops.setdefault((statement.loops, str(plain)), plain)
    return list(by_loops.values())


def spoken_of(subject: Subject) -> frozenset[str]:
    """Spellings of the parameters on which the number of runs depends."""
    return frozenset(
        nest.scop.parameters.get(domain.get_dim_name(_PARAM, k) or "", "")
        for nest in subject.nests
        for domain in domains(nest.scop)
        for k in range(domain.dim(_PARAM))
        if domain.involves_dims(_PARAM, k, 1)
    )


def points(domain: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> int | None:
    """The iterations in a box around a domain; `None` where there is none."""
    ends = box(domain, scop, sizes)
    return None if ends is None else prod(max(0, high - low + 1) for low, high in ends)


def box(values: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> list[tuple[int, int]] | None:
    """The least and the greatest value of each dimension; empty ranges where there are none, `None` where
    they are not bounded."""
    known = fixed(values, scop, sizes)
    if known.is_empty():
        return [(0, -1)] * known.dim(_SET)
    ends: list[tuple[int, int]] = []
    for k in range(known.dim(_SET)):
        low, high = known.dim_min_val(k), known.dim_max_val(k)
        if not (low.is_int() and high.is_int()):
            return None
        ends.append((int(str(low)), int(str(high))))
    return ends


def fixed(values: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> isl.Set:
    """The set at some sizes, for any values of the other parameters."""
    for k in range(values.dim(_PARAM)):
        name = values.get_dim_name(_PARAM, k) or ""
        text = scop.parameters.get(name, "")
        if text in sizes and name not in scop.derived:
            values = values.fix_val(_PARAM, k, isl.Val(sizes[text]))
        elif name in scop.products:
            values = values.fix_val(_PARAM, k, isl.Val(_product(scop, name, sizes)))
    return values.project_out(_PARAM, 0, values.dim(_PARAM))


def _product(scop: Scop, name: str, sizes: Mapping[str, int]) -> int:
    return prod(sizes.get(scop.parameters.get(factor, ""), 1) for factor in scop.products[name])
