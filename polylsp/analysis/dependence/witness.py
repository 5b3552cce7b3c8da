"""Witnesses: two concrete iterations that conflict, and the shape of a dependence over all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, before, earlier, same_iteration
from polylsp.analysis.scop.delinearisation import consistent
from polylsp.ir.program import Array, Rejection
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import AccessPoint, Dependence, Witness
from polylsp.poly.budget import LimitReachedError, coalesced, costly
from polylsp.poly.scop import Access, Memory, ScopStatement, parameters_in


def dependence(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> Dependence:
    """The dependence as the user sees it."""
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    depth = source.loops.index(ordinal)
    shared = _shared(source, sink)
    loops = [conflicts.scop.loops[o] for o in source.loops[:shared]]
    distance = fixed_distance(conflict.relation, depth)
    return Dependence(
        conflict.kind,
        access_point(conflict.source),
        access_point(conflict.sink),
        ordinal,
        None if distance is None else distance // loops[depth].step,
        tuple(_direction(conflict.relation, k, loop.direction) for k, loop in enumerate(loops)),
        conflict.certain,
    )


def witness(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> Witness | None:
    """Two iterations that really conflict: small parameters, the earliest source, the nearest sink;
    `None` where no parameters were found that agree with each other."""
    return _shown(conflicts, conflict, lambda: dependence(conflicts, conflict, ordinal))


def meeting(conflicts: Conflicts, conflict: Conflict) -> Witness | None:
    """As `witness`, for a conflict between pieces of a program that no loop carries."""
    ends = access_point(conflict.source), access_point(conflict.sink)
    found = Dependence(conflict.kind, *ends, 0, None, (), conflict.certain)
    return _shown(conflicts, conflict, lambda: found)


def _shown(conflicts: Conflicts, conflict: Conflict, told: Callable[[], Dependence]) -> Witness | None:
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    defined = conflict.relation.intersect_params(conflicts.defined(hints=True))
    # Accesses that leave their arrays may rule out all sizes at which there is a conflict.
    possible = None if defined.is_empty() else consistent(defined.wrap(), conflicts.scop.products)
    if possible is None or _is_entangled(conflicts, conflict):
        return None
    point = _smallest(possible)
    parameters = _coordinates(point, isl.dim_type.param)
    parameters.sort(key=lambda p: p[0] in conflicts.scop.converted)
    spelled = conflicts.scop.shown_parameters
    shown = {spelled.get(n, n): v for n, v in reversed(parameters)}
    values = [
        point.get_coordinate_val(isl.dim_type.set, k).to_python()
        for k in range(len(source.loops) + len(sink.loops))
    ]
    split = len(source.loops)
    return Witness(
        told(),
        _named(conflicts, source, values[:split]),
        _named(conflicts, sink, values[split:]),
        tuple(reversed(shown.items())),
        _conditions(conflict, _words(conflicts, conflict, dict(parameters))),
        conflict.if_input,
    )


def _is_entangled(conflicts: Conflicts, conflict: Conflict) -> bool:
    """True if a conflict rests on the value of an expression that the model takes for an input of its own
    (`(double)k < n`), and on another input that is named in it: not all pairs of their values exist."""
    scop = conflicts.scop
    words = {
        name: frozenset(_NAME.findall(scop.parameters.get(name, name)))
        for name in parameters_in(conflict.relation.params())
        if name not in scop.products and name not in scop.converted
    }
    computed = (n for n in words if _is_condition(scop.parameters.get(n, n)))
    return any(
        not words[name].isdisjoint(words[other]) for name in computed for other in words if other != name
    )


def _is_condition(text: str) -> bool:
    """True for a comparison, a logical operation, a quotient or a remainder, without calls: a size of arrays
    that a call makes has inputs of the call in it, but any size is possible."""
    return _DECIDES.search(text) is not None and _CALL.search(text) is None


_NAME = re.compile(r"[^\W\d]\w*")
_DECIDES = re.compile(r"[<=!&|/%]|(?<!-)>")
_CALL = re.compile(r"\w\(")


def _conditions(conflict: Conflict, on_parameters: str) -> str:
    """The conditions of a conflict as one clause."""
    if not conflict.if_input:
        return on_parameters
    own = f"{conflict.if_input} in both"
    return f"{on_parameters} and {own}" if on_parameters.startswith("if ") else f"if {own}"


_WORDS = 8
"""Part of the work on a verdict that the words for the condition of its witness may take: one in so many."""


def _words(conflicts: Conflicts, conflict: Conflict, example: Mapping[str, int]) -> str:
    try:
        return costly(_WORDS, lambda: condition(conflicts, conflict, example))
    except LimitReachedError:
        spelled = conflicts.scop.shown_parameters
        values = " and ".join(f"`{spelled.get(name, name)} == {value}`" for name, value in example.items())
        return f"at some inputs, such as {values}" if values else ""


def condition(conflicts: Conflicts, conflict: Conflict, example: Mapping[str, int]) -> str:
    """Condition on inputs under which two iterations conflict, beyond loops being long enough, as words that
    follow a sentence ("if `k == 0`"); empty where there is none, or none was found. `example` are values at
    which they do."""
    scop = conflicts.scop
    defined = conflicts.defined(hints=True)
    related = conflict.relation.params()
    meeting = related.intersect(defined)
    loops = {o for end in (conflict.source, conflict.sink) for o in conflicts.statement(end).loops}
    sizes = set().union(*(parameters_in(scop.loops[o].domain.params()) for o in loops))
    # What is defined alone brings in others: sizes of arrays, which accesses stay inside of.
    involved = parameters_in(related)
    free = [name for name in involved if name not in sizes]
    if not free:
        # A size that is in a subscript, too: `a[i + k]` while `i + k < n`.
        ends = conflict.source.relation, conflict.sink.relation
        free = [name for name in involved if any(_depends(end, name) for end in ends)]
        if free and _long_loops(conflicts, loops).intersect(defined).is_subset(meeting):
            return ""
    if not free or any(n in scop.products or n in scop.derived or n in scop.converted for n in free):
        return ""
    for ordinal in loops:
        defined = defined.intersect(scop.loops[ordinal].domain.params())
    own = coalesced(_only(meeting, free).gist(_only(defined, free)))
    spelled = scop.shown_parameters
    text = _formula(own, spelled)
    if text:
        return f"if `{text}`"
    rest = [name for name in parameters_in(meeting) if name in sizes]
    if _only(meeting, rest).intersect(defined).is_subset(meeting):
        return ""
    names = " and ".join(f"`{spelled.get(n, n)}`" for n in free)
    values = " and ".join(str(example[n]) for n in free if n in example)
    return f"at some values of {names}, such as {values}" if values else ""


def _long_loops(conflicts: Conflicts, ordinals: Iterable[int]) -> isl.Set:
    """The parameter values at which each of some loops has many iterations."""
    many = isl.Set(f"{{ [d] : d >= {_MANY} or d <= -{_MANY} }}")
    result = isl.Set("{ : }")
    for ordinal in ordinals:
        pairs, depth = _pairs_of(conflicts, ordinal)
        result = result.intersect(iteration_distances(pairs, depth).intersect(many).params())
    return result


_MANY = 64
"""Iterations of a long loop."""


def _pairs_of(conflicts: Conflicts, ordinal: int) -> tuple[isl.Map, int]:
    """The pairs of iterations of a loop, the first one earlier, in the same iterations of the loops around
    it; and the number of these loops."""
    loop = conflicts.scop.loops[ordinal]
    depth = loop.domain.dim(isl.dim_type.set) - 1
    pairs = same_iteration(isl.Map.from_domain_and_range(loop.domain, loop.domain), depth)
    return earlier(pairs, depth, loop.direction), depth


def _depends(relation: isl.Map, name: str) -> bool:
    """True if the elements that an access reaches in an iteration depend on a parameter."""
    at = relation.find_dim_by_name(isl.dim_type.param, name)
    return at >= 0 and not relation.project_out(isl.dim_type.param, at, 1).is_single_valued()


def _only(values: isl.Set, names: Sequence[str]) -> isl.Set:
    """The values that some parameters have in a set, for any values of the others."""
    for name in parameters_in(values):
        if name not in names:
            values = values.project_out(
                isl.dim_type.param, values.find_dim_by_name(isl.dim_type.param, name), 1
            )
    return values


def _formula(values: isl.Set, spellings: Mapping[str, str]) -> str:
    """A set of parameter values in C's notation; empty where that would be long, or is no condition."""
    if values.plain_is_universe():
        return ""
    pieces = values.get_basic_sets()
    if len(pieces) > 1:
        others = coalesced(values.complement()).get_basic_sets()
        constraints = others[0].get_constraints() if len(others) == 1 else []
        if len(constraints) == 1 and constraints[0].is_equality():
            return _comparison(constraints[0], spellings).replace("==", "!=")
    constraints = pieces[0].get_constraints() if len(pieces) == 1 else []
    constraints = [each for each in constraints if not _is_limit(each)]
    texts = [_comparison(each, spellings) for each in constraints]
    return " && ".join(texts) if len(texts) <= 2 and all(texts) else ""


def _is_limit(constraint: isl.Constraint) -> bool:
    """True if a constraint comes from the range of a type, and is irrelevant for usual values."""
    return abs(constraint.get_constant_val().to_python()) >= _LIMIT


_LIMIT = 1 << 29


def _comparison(constraint: isl.Constraint, spellings: Mapping[str, str]) -> str:
    """A constraint on parameters, such as `k <= n - 1`; empty if it is about divisions."""
    if constraint.dim(isl.dim_type.div) > 0:
        return ""
    constant = constraint.get_constant_val().to_python()
    terms: list[tuple[int, str]] = []
    for k in range(constraint.dim(isl.dim_type.param)):
        factor = constraint.get_coefficient_val(isl.dim_type.param, k).to_python()
        name = constraint.get_dim_name(isl.dim_type.param, k) or ""
        if factor:
            terms.append((factor, spellings.get(name, name)))
    if constraint.is_equality() and terms[0][0] < 0:
        terms, constant = [(-f, n) for f, n in terms], -constant
    left = _sum([(f, n) for f, n in terms if f > 0], 0)
    right = _sum([(-f, n) for f, n in terms if f < 0], -constant)
    if constraint.is_equality():
        return f"{left} == {right}"
    if left == "0":
        return f"{_sum([(-f, n) for f, n in terms], 0)} <= {constant}"
    return f"{left} >= {right}"


def _sum(terms: list[tuple[int, str]], constant: int) -> str:
    """A sum of products with factors that are not negative, and a number."""
    text = " + ".join(name if factor == 1 else f"{factor} * {name}" for factor, name in terms)
    if not text:
        return str(constant)
    return f"{text} {'-' if constant < 0 else '+'} {abs(constant)}" if constant else text


def first_iterations(
    conflicts: Conflicts, ordinal: int
) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]] | None:
    """The first two iterations of a loop, and parameters at which it has two; `None` if it never has."""
    scop = conflicts.scop
    pairs, depth = _pairs_of(conflicts, ordinal)
    pairs = pairs.intersect_params(conflicts.defined(hints=True))
    possible = None if pairs.is_empty() else consistent(pairs.wrap(), scop.products)
    around = next((s.loops for s in scop.statements if ordinal in s.loops), None if depth else (ordinal,))
    if possible is None or around is None:
        return None
    point = _smallest(possible)
    spelled = scop.shown_parameters
    shown = {spelled.get(n, n): v for n, v in reversed(_coordinates(point, isl.dim_type.param))}
    names = [scop.loops[o].iterator for o in around[: depth + 1]]
    values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(2 * depth + 2)]
    first, second = values[: depth + 1], values[depth + 1 :]
    named = tuple(zip(names, first, strict=True)), tuple(zip(names, second, strict=True))
    return *named, tuple(reversed(shown.items()))


def out_of_bounds(conflicts: Conflicts, access: Access) -> Rejection:
    """Rejection of an access that certainly leaves its declared array, with the first iteration in which it
    does."""
    memory, loops, scop = access.memory, conflicts.statement(access).loops, conflicts.scop
    text = f"`{access.text}` leaves `{_declared(memory)}`"
    where = access.beyond(False) if access.beyond is not None else None
    if where is not None and not where.is_empty() and not scop.products:
        point = _smallest(where)
        values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(len(loops))]
        parts = [f"{scop.loops[o].iterator} = {v}" for o, v in zip(loops, values, strict=True)]
        named = set(_WORD.findall(text))
        spelled = scop.shown_parameters
        inputs = [(spelled.get(n, n), v) for n, v in _coordinates(point, isl.dim_type.param)]
        parts = [f"{name} = {value}" for name, value in inputs if name in named] + parts
        elements = access.relation.intersect_domain(isl.Set.from_point(point)).range().sample_point()
        subscripts = [
            elements.get_coordinate_val(isl.dim_type.set, k).to_python()
            for k in range(memory.scoped, memory.dimensions)
        ]
        own = memory.own_subscripts
        if len(subscripts) == memory.shape.count("[]") and not any(subscripts[:-own]):
            done = "reads" if access.kind == "read" else "writes"
            shown = memory.path + "".join(f"[{k}]" for k in subscripts[-own:])
            return Rejection(
                "out-of-bounds", access.site, f"{text}: {', '.join(parts)} {done} {shown}", _MEND
            )
        text += f" at {', '.join(parts)}"
    return Rejection("out-of-bounds", access.site, text, _MEND)


_WORD = re.compile(r"\w+")
_MEND = "change the bounds of the loop, or the subscript"


def _declared(memory: Memory) -> str:
    """An array with its declared extents."""
    extents, of_type = "", memory.variable.type
    while isinstance(of_type, Array):
        extents += f"[{'' if of_type.extent is None else spell(of_type.extent)}]"
        of_type = of_type.element
    return memory.path + (extents if memory.own_subscripts == len(memory.shape) else "")


def value_based(conflicts: Conflicts, flow: Conflict, ordinal: int) -> isl.Map:
    """Of a flow conflict's pairs, those in which no other write can come between."""
    scop = conflicts.scop
    source, sink = conflicts.statement(flow.source), conflicts.statement(flow.sink)
    remaining = flow.relation
    for other in conflicts.accesses(flow.source.memory, ordinal):
        if other.kind != "write":
            continue
        middle = conflicts.statement(other)
        depth = source.loops.index(ordinal)
        first = before(conflicts.same_element(flow.source, other), source, middle, scop, depth)
        if other is flow.source and flow.started:
            # Later rounds of inner loops may happen: then the last of them passes the value on.
            first = first.subtract(same_iteration(first, depth + 1))
        second = before(conflicts.same_element(other, flow.sink), middle, sink, scop, depth)
        remaining = remaining.subtract(first.apply_range(second))
        if remaining.is_empty():
            break
    return remaining


def fixed_distance(pairs: isl.Map, depth: int) -> int | None:
    """Distance from the first iterator to the second at one depth; `None` where it is not constant."""
    own = iteration_distances(pairs, depth)
    own = own.project_out(isl.dim_type.param, 0, own.dim(isl.dim_type.param))
    if not own.is_singleton():
        return None
    return own.sample_point().get_coordinate_val(isl.dim_type.set, 0).to_python()


def iteration_distances(pairs: isl.Map, depth: int) -> isl.Set:
    """The distances between the iterators at one depth, for each choice of parameters."""
    return _one_dimension(pairs, depth).deltas()


def _one_dimension(pairs: isl.Map, depth: int) -> isl.Map:
    for kind in (isl.dim_type.in_, isl.dim_type.out):
        size = pairs.dim(kind)
        pairs = pairs.project_out(kind, depth + 1, size - depth - 1).project_out(kind, 0, depth)
    pairs = pairs.reset_tuple_id(isl.dim_type.in_) if pairs.has_tuple_id(isl.dim_type.in_) else pairs
    return pairs.reset_tuple_id(isl.dim_type.out) if pairs.has_tuple_id(isl.dim_type.out) else pairs


def _direction(pairs: isl.Map, depth: int, sign: int) -> str:
    iterators, signs = (isl.dim_type.in_, depth, isl.dim_type.out, depth), "<=>" if sign > 0 else ">=<"
    ways = zip((pairs.order_lt, pairs.equate, pairs.order_gt), signs, strict=True)
    found = (direction for restricted, direction in ways if not restricted(*iterators).is_empty())
    first, second = next(found, "*"), next(found, "")
    return "*" if second else first


def _shared(source: ScopStatement, sink: ScopStatement) -> int:
    count = 0
    for a, b in zip(source.loops, sink.loops, strict=False):
        if a != b:
            break
        count += 1
    return count


def access_point(access: Access) -> AccessPoint:
    """The access as the user sees it."""
    return AccessPoint(access.memory.variable.source_name, access.text, access.kind, access.site)


# What a parameter is in a witness, the first that is possible: small, but not so small as to be special.
_LIKED = (*range(3, 13), 2, 1, 0, -1)


def _smallest(wrapped: isl.Set) -> isl.Point:
    """A point, of a set or of pairs in one, at small parameter values."""
    for k in range(wrapped.dim(isl.dim_type.param)):
        tried = (wrapped.fix_val(isl.dim_type.param, k, isl.Val(value)) for value in _LIKED)
        wrapped = next((t for t in tried if not t.is_empty()), None) or _nearest_zero(wrapped, k)
    return _earliest(wrapped)


def _nearest_zero(pairs: isl.Set, parameter: int) -> isl.Set:
    """The pairs at one value of a parameter, not further from zero than its order of magnitude."""
    size = 64  # passed to isl as text: it may outgrow a machine word
    while True:
        near = pairs.lower_bound_val(isl.dim_type.param, parameter, isl.Val(f"-{size}"))
        near = near.upper_bound_val(isl.dim_type.param, parameter, isl.Val(str(size)))
        if not near.is_empty():
            value = near.sample_point().get_coordinate_val(isl.dim_type.param, parameter)
            return near.fix_val(isl.dim_type.param, parameter, value)
        size *= 64


def _earliest(pairs: isl.Set) -> isl.Point:
    """The earliest pair at given parameter values."""
    point = pairs.sample_point()
    for k in range(pairs.dim(isl.dim_type.set)):
        # One coordinate after the other: isl's lexmin refuses some sets with divisions.
        own = pairs.project_out(isl.dim_type.set, k + 1, pairs.dim(isl.dim_type.set) - k - 1)
        own = own.project_out(isl.dim_type.set, 0, k)
        low = own.dim_min_val(0)
        # Beside divisions isl's optimum can lie outside the set: the given point does not.
        first = pairs.fix_val(isl.dim_type.set, k, low) if low.is_int() else None
        if first is None or first.is_empty():
            first = pairs.fix_val(isl.dim_type.set, k, point.get_coordinate_val(isl.dim_type.set, k))
        pairs = first
        point = pairs.sample_point()
    return point


def _coordinates(point: isl.Point, kind: isl.dim_type) -> list[tuple[str, int]]:
    space = point.get_space()
    return [
        (space.get_dim_name(kind, k) or "", point.get_coordinate_val(kind, k).to_python())
        for k in range(space.dim(kind))
    ]


def _named(conflicts: Conflicts, statement: ScopStatement, values: list[int]) -> tuple[tuple[str, int], ...]:
    return tuple((conflicts.scop.loops[o].iterator, v) for o, v in zip(statement.loops, values, strict=True))
