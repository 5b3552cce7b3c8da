"""Polyhedral model of a nest (`Scop`): iteration domains, access relations, loops and schedule.

Includes the first and last iteration of a loop, the source order as dates (Feautrier 1992; Kelly
and Pugh) and as a schedule tree, and strongly connected components (Kosaraju; Sharir 1981).
isl objects live inside one analysis process: they are never pickled and never cache keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import Literal, TypeVar, Union

import islpy as isl

from polylsp.ir.pointer_flow import PointerCopy, PointerFlow
from polylsp.ir.program import HOLDS, Rejection, Site, Type, Variable
from polylsp.ir.verdict import Assumption, ReductionOperator

Polynomial = tuple[tuple[tuple[str, ...], int], ...]
"""A sum of products of parameters (isl names), each with its coefficient."""

VALUE_OF = "__value_of_"
"""Beginning of the isl name of a value that a variable has where a loop begins (`Scop.valued`)."""

AROUND = "__at_"
"""Beginning of the isl name of a parameter that stands for the iterator of a loop around a region. No name of
a model begins like this."""


@dataclass(frozen=True, slots=True)
class Input:
    """A value that a condition on inputs depends on: an element or a scalar, by its object and its subscripts
    (`None` where values in memory choose it); the comparison with a constant that has to hold for it (`None`
    for any other condition), and the least and the largest value of its type (`None` if it is no integer)."""

    object: Hashable
    subscripts: Hashable
    test: tuple[str, float] | None = None
    limits: tuple[int, int] | None = None

    def may_be(self, other: Input) -> bool:
        """True if two conditions may be about one value."""
        told = self.subscripts is not None and other.subscripts is not None
        return self.object == other.object and (not told or self.subscripts == other.subscripts)


def satisfiable(inputs: Sequence[Input]) -> bool:
    """True if some values satisfy all conditions on inputs at once. Two conditions on one value have to be
    comparisons with constants, of which one value near these satisfies all."""
    for each in inputs:
        same = [other for other in inputs if each.may_be(other)]
        tests = [other.test for other in same if other.test is not None]
        if len(same) > 1 and len(tests) < len(same):
            return False
        constants = sorted(constant for _, constant in tests)
        near = {constant + by for constant in constants for by in (-1, 0, 1)}
        if each.limits is None:
            near |= {(one + other) / 2 for one, other in pairwise(constants)}
        low, high = each.limits or (-inf, inf)
        possible = [value for value in near if low <= value <= high]
        found = (all(HOLDS[o](value, constant) for o, constant in tests) for value in possible)
        if tests and not any(found):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Guard:
    """A run-time condition. `depth` loops stand around it; one evaluation of it is one iteration of these.
    `kind` is `loop` where the condition continues a loop: then an iteration runs only if all earlier ones
    did. `on_input` is the condition in words where it depends on inputs alone, which the nest does not
    change, so that some inputs satisfy it in all iterations (of a loop, that of its first iteration, in all
    of its runs); else empty. `inputs` are those that it depends on."""

    identity: int
    depth: int
    kind: Literal["if", "loop"]
    on_input: str = ""
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class BoundCondition:
    """An assumption about a memory (its isl name), and the parameter values at which it does not hold."""

    assumption: Assumption
    memory: str
    fails: isl.Set


@dataclass(frozen=True, slots=True, eq=False)
class UntakenBranch:
    """A branch that is presumed not to be taken: the parameter values at which the loops around surely reach
    it, and why these stay unknown where that is so."""

    reached: isl.Set
    otherwise: Rejection


@dataclass(frozen=True, slots=True)
class ScopLoop:
    """A loop of a nest. `dimension` is its name in isl, `iterator` its name for the user, `step` its
    increment per round; `domain` its iterations and those of the loops around it; `obstacles` are reasons why
    it cannot be decided; `thread_bound` why its iterations must stay on one thread, if they must;
    `conditions` are assumptions in terms of parameters; `untaken` branches in it that are presumed not to be
    taken; `even` the unique names of variables to which each round adds the same amount."""

    ordinal: int
    dimension: str
    iterator: str
    step: int
    domain: isl.Set
    obstacles: tuple[Rejection, ...]
    assumptions: tuple[Assumption, ...]
    thread_bound: Rejection | None = None
    conditions: tuple[BoundCondition, ...] = ()
    untaken: tuple[UntakenBranch, ...] = ()
    even: frozenset[str] = frozenset()

    @property
    def direction(self) -> int:
        """The sign of the step."""
        return 1 if self.step > 0 else -1


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Memory accessed by a nest: a scalar (no dimensions) or an array, by its isl name.

    `source_name` is the variable's; `path` names the object (`p.x`); `pointer` is the variable whose
    pointer value leads there, if one does; `element` the type of an element; `scoped` counts the
    leading dimensions that stand for the iteration in which a variable of an inner scope lives;
    `followed`: the steps of its shape, by number, that follow pointers found in memory; `fresh`: it was
    allocated in the function; `from_entry`: the pointer has the value that it had when the function
    began; `shape`: its subscripts (`[]`) and fields (`.x`) as the source has them; `strides`: where one
    subscript stands for several dimensions, how many elements each steps over, largest first;
    `inner_strides`: the same of the last subscript behind others (`d->x[i*n + j]`); `members`: the
    structures that it is in, by name, each with the member; `whole`: all elements of an array whose
    name gets new ones; `via`: the variables through which it is accessed; `promised`: these are all
    `restrict` pointers of the function; `bytewise`: some accesses are of characters, whatever the type
    of the pointer; `recast`: the variable has a pointer to elements of another type; `lent`: the
    address of the variable only goes to functions that neither keep nor return it; `sources`: the
    pointers, and the variables (`&x`), from which the pointer that leads there may be computed; `settled`:
    the ordinal of the loop at whose start the pointer has its value (0: not known).
    """

    name: str
    variable: Variable
    path: str
    element: Type
    dimensions: int
    scoped: int
    pointer: Variable | None
    followed: frozenset[int] = frozenset()
    fresh: bool = False
    shape: tuple[str, ...] = ()
    from_entry: bool = False
    strides: tuple[Polynomial, ...] = ()
    inner_strides: tuple[Polynomial, ...] = ()
    members: frozenset[tuple[str, str]] = frozenset()
    whole: isl.Set | None = None
    via: frozenset[str] = frozenset()
    promised: bool = False
    bytewise: bool = False
    recast: bool = False
    lent: bool = False
    sources: frozenset[str] = frozenset()
    settled: int = 0

    @property
    def follows_pointers(self) -> bool:
        """True if pointers found in memory lead to it."""
        return bool(self.followed)

    @property
    def own_subscripts(self) -> int:
        """The number of subscripts after the last field."""
        fields = [k for k, step in enumerate(self.shape) if step != "[]"]
        return len(self.shape) - max(fields, default=-1) - 1


@dataclass(frozen=True, slots=True)
class ByCallee:
    """Access of a variable with static storage by a called function, which names the variable itself; not
    `certain`: which may do so."""

    function: str
    certain: bool = True


@dataclass(frozen=True, slots=True)
class ByAddress:
    """Access of a variable's storage through a pointer. `pointer` is the variable with the address, by its
    source name; `loops` are the ordinals of the loops around the point where the address was taken."""

    pointer: str
    loops: frozenset[int]


@dataclass(frozen=True, slots=True)
class AddressRead:
    """Use of a pointer that has the address of a variable (its unique name), inside of `loops` (ordinals)."""

    variable: str
    reached: ByAddress
    loops: frozenset[int]
    site: Site


@dataclass(frozen=True, slots=True)
class Addresses:
    """Escape analysis of a function: `stored` are the unique names of its variables whose addresses are
    stored, by itself or perhaps by functions of the project that it calls; `keeping` are the functions that
    may keep an address that they are given, `lent` the variables whose addresses only go to functions that
    neither keep nor return them; `resetting`: functions are called that may set pointers with static
    storage. `copies` are the assignments of a pointer to a pointer in memory (`p->x = q`), `flow` the values
    that pointers may have, `data` the integers and arrays of integers of the function that decide neither
    addresses nor what runs."""

    stored: frozenset[str] = frozenset()
    keeping: frozenset[str] = frozenset()
    lent: frozenset[str] = frozenset()
    resetting: bool = False
    copies: tuple[PointerCopy, ...] = ()
    flow: PointerFlow = field(default_factory=PointerFlow)
    data: frozenset[str] = frozenset()


Reached = Union[ByCallee, ByAddress, None]
"""Access path to a variable's storage; `None`: by the variable's name, or the memory is no variable's."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexElement:
    """The element `e` of an index array of which the subscript at `dimension` of an access is computed, as
    `factor * e + offset`: `relation` is `S[i] -> [subscripts into the index array]`, over all its subscripts,
    `offset` is `S[i] -> [offset]`, and `far` has the pairs of offsets that are `factor` or more apart.
    `in_row`: the subscript is not less than that, and less than what the next element gives. `column` is
    `S[i] -> [column]` where the subscript is `factor * (e + length * column) + offset`, and all offsets are
    less than `factor` apart; `length` is a parameter's isl name. Where a condition on parameters that
    `unless` identifies holds, `e` is its subscript; `bounded`: it never is, and no sum wraps around."""

    dimension: int
    memory: Memory
    relation: isl.Map
    factor: Hashable
    offset: isl.Map
    far: isl.Map
    in_row: bool = False
    column: isl.Map | None = None
    length: str = ""
    unless: Hashable = None
    bounded: bool = True

    def may_differ(self, other: IndexElement) -> isl.Map | None:
        """The pairs of instances in which two subscripts may be equal though the elements of the index array
        have different values, or are the starts of different rows, of one column; `None` for elements of two
        arrays."""
        same = self.memory is other.memory and self.factor == other.factor and self.length == other.length
        same = same and self.unless == other.unless
        if not same or self.dimension != other.dimension or self.in_row != other.in_row:
            return None
        # Rows that are all moved by as much do not overlap; with a factor of 1, `far` has all other pairs.
        return self.offset.apply_range(self.far).apply_range(other.offset.reverse())

    def in_columns(self, other: IndexElement, pairs: isl.Map) -> tuple[isl.Map, isl.Map]:
        """Of some pairs of instances, those of one column, and those of two."""
        if self.column is None or other.column is None:
            return pairs, isl.Map.empty(pairs.get_space())
        same = self.column.apply_range(other.column.reverse())
        return pairs.intersect(same), pairs.subtract(same)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """An access relation `S[i] -> A[x]`. `exact`: it accesses exactly these elements whenever its statement
    runs; otherwise these at most. `update` marks both halves of a reduction, whose reassociation rests on the
    `assumed` conditions; `indirect`: which elements depends on data; `outside` gives the parameter values at
    which it leaves the array's declared dimensions (the outermost one of a parameter, which is only a hint,
    counted on request), `from_end` those at which it counts from the end of the array, but need not; `row`
    identifies the pointers found in memory that lead there, `row_dimensions` the iterators that choose among
    them; `reached` says the access path to a variable's storage; `neighbour`: a bit-field that is written
    with the one in `text`; `beyond` gives the instances at which it leaves the array; `chosen_by` are
    elements of index arrays that are subscripts as they are; `bytewise` as in `Memory`."""

    statement: int
    memory: Memory
    kind: Literal["read", "write"]
    relation: isl.Map
    exact: bool
    site: Site
    text: str
    update: ReductionOperator | None = None
    indirect: bool = False
    outside: Callable[[bool], isl.Set] | None = None
    row: tuple[object, ...] = ()
    row_dimensions: frozenset[str] = frozenset()
    from_end: Callable[[], FromEnd | None] | None = None
    reached: Reached = None
    assumed: tuple[Assumption, ...] = ()
    neighbour: bool = False
    beyond: Callable[[bool], isl.Set] | None = None
    chosen_by: tuple[IndexElement, ...] = ()
    bytewise: bool = False

    @property
    def in_first_row(self) -> bool:
        """True if all subscripts but the last are zero: the source may treat all rows of an array as one."""
        rows = self.relation.range()
        last = self.memory.dimensions - 1
        first = last + 1 - self.memory.own_subscripts
        return last > first >= 0 and all(
            rows.plain_get_val_if_fixed(isl.dim_type.set, k).is_zero() for k in range(first, last)
        )


@dataclass(frozen=True, slots=True, eq=False)
class FromEnd:
    """The parameter values at which a subscript is negative, and counts from the end; the `least` values that
    subscripts have."""

    values: isl.Set
    least: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ScopStatement:
    """A statement: its iteration domain over the loops around it (`loops`, ordinals) and its place
    among its siblings at each depth (`position`, one number more than loops)."""

    name: str
    domain: isl.Set
    loops: tuple[int, ...]
    position: tuple[int, ...]
    guards: tuple[Guard, ...]
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class Scop:
    """A nest. `loops` by ordinal, in source order; `parameters` maps isl names to spellings; of these
    `derived` stand for values that the function computed before, `products` for products of others, and
    `converted` for values converted to another type, under the spelling of the conversion. `inherited` are
    assumptions of loops around the nest; `defined`: the values of parameters that their types can hold, and
    at which no counter overflows; `addresses` of the function's variables, and the `address_reads` of the
    nest; `outdated` parameters are values at function entry of variables that have other ones by now; `held`:
    for each outermost loop the variables that have the values of parameters all through it, by isl names;
    `valued`: for each loop those that have other values of parameters all through it, with the value,
    `{ [value] }`, in which iterators of loops around it are parameters (`AROUND`); `enclosed`: the function's
    own arrays (unique names) that it uses nowhere else."""

    context: isl.Set
    loops: dict[int, ScopLoop]
    statements: tuple[ScopStatement, ...]
    accesses: tuple[Access, ...]
    parameters: dict[str, str]
    site: Site
    derived: frozenset[str] = frozenset()
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)
    converted: frozenset[str] = frozenset()
    inherited: tuple[Assumption, ...] = ()
    defined: isl.Set = field(default_factory=lambda: isl.Set("{ : }"))
    addresses: Addresses = field(default_factory=Addresses)
    address_reads: tuple[AddressRead, ...] = ()
    outdated: frozenset[str] = frozenset()
    held: Mapping[int, Mapping[str, str]] = field(default_factory=dict[int, Mapping[str, str]])
    valued: Mapping[int, Mapping[str, isl.Set]] = field(default_factory=dict[int, Mapping[str, isl.Set]])
    enclosed: frozenset[str] = frozenset()

    @property
    def shown_parameters(self) -> dict[str, str]:
        """The spellings of parameters, by isl name, such that none is taken for the value of a variable that
        has another one by now."""
        return {n: f"{text} on entry" if n in self.outdated else text for n, text in self.parameters.items()}

    @property
    def depth(self) -> int:
        """The most loops around a statement."""
        return max((len(s.loops) for s in self.statements), default=0)

    def certain(self, access: Access) -> bool:
        """True if an access is a must-access: unguarded, at exactly the element stated."""
        return access.exact and not self.statements[access.statement].guards


# --------------------------------------------------------------------------------------------------
# The iterations of one loop, and the first and the last of them.
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def iterations(scop: Scop, ordinal: int) -> isl.Map:
    """`{ [outer iterators] -> [iterator] }` of a loop."""
    domain = scop.loops[ordinal].domain
    domain = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    depth = domain.dim(isl.dim_type.set) - 1
    return isl.Map.from_domain(domain).move_dims(_OUT, 0, _IN, depth, 1)


def last(found: isl.Map, direction: int) -> isl.Map:
    """Final iterations where the iterator moves in a direction; none of a loop that does not end in the
    model. isl's lexicographic optimum is an error then, and can be wrong beside strides."""
    before = isl.Map("{ [i] -> [j] : j < i }" if direction > 0 else "{ [i] -> [j] : j > i }")
    return found.subtract(found.apply_range(before))


def first(found: isl.Map, direction: int) -> isl.Map:
    """The iterations that none comes before."""
    return last(found, -direction)


# --------------------------------------------------------------------------------------------------
# The order in which a nest runs its statements: as a map to dates, and as a schedule tree.
# --------------------------------------------------------------------------------------------------


def dates(scop: Scop, free: frozenset[int] = frozenset()) -> isl.UnionMap:
    """`{ S[i] -> [position, i, position, …] }`, all of one length (Feautrier 1992; Kelly and Pugh). The
    loops of `free` (ordinals) take no time: all their iterations have one date."""
    length = max((2 * len(s.loops) + 1 for s in scop.statements), default=1)
    result = isl.UnionMap("{ }")
    for statement in scop.statements:
        result = result.union(_date(scop, statement, length, free).to_union_map())
    return result


def _date(scop: Scop, statement: ScopStatement, length: int, free: frozenset[int]) -> isl.Map:
    names = [f"i{k}" for k in range(len(statement.loops))]
    date: list[str] = []
    for k, position in enumerate(statement.position):
        date.append(str(position))
        if k < len(names):
            sign = "" if scop.loops[statement.loops[k]].direction > 0 else "-"
            date.append("0" if statement.loops[k] in free else f"{sign}{names[k]}")
    date += ["0"] * (length - len(date))
    return isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> [{', '.join(date)}] }}")


def schedule_tree(scop: Scop) -> isl.Schedule:
    """The order as an isl schedule tree."""
    if not scop.statements:
        return isl.Schedule('{ domain: "{ }" }')
    return _sequence(scop, list(scop.statements), 0)


def _sequence(scop: Scop, statements: list[ScopStatement], depth: int) -> isl.Schedule:
    """The schedule of statements that share the outer `depth` loops and positions."""
    groups: dict[int, list[ScopStatement]] = {}
    for statement in statements:
        groups.setdefault(statement.position[depth], []).append(statement)
    result: isl.Schedule | None = None
    for _, members in sorted(groups.items()):
        one = _one(scop, members, depth)
        result = one if result is None else result.sequence(one)
    assert result is not None
    return result


def _one(scop: Scop, statements: list[ScopStatement], depth: int) -> isl.Schedule:
    if len(statements[0].loops) == depth:
        return isl.Schedule.from_domain(statements[0].domain.to_union_set())
    inner = _sequence(scop, statements, depth + 1)
    loop = scop.loops[statements[0].loops[depth]]
    sign = "" if loop.direction > 0 else "-"
    parts = isl.UnionMap("{ }")
    for statement in statements:
        names = [f"i{k}" for k in range(len(statement.loops))]
        text = f"{{ {statement.name}[{', '.join(names)}] -> L{loop.ordinal}[{sign}{names[depth]}] }}"
        parts = parts.union(isl.Map(text).to_union_map())
    partial = isl.MultiUnionPwAff.from_union_map(parts)
    return inner.insert_partial_schedule(partial)


# --------------------------------------------------------------------------------------------------
# Strongly connected components (Kosaraju; Sharir 1981).
# --------------------------------------------------------------------------------------------------


def components(nodes: Iterable[int], edges: set[tuple[int, int]]) -> list[list[int]]:
    """The strongly connected components, each before those that it has edges to; as close to the
    order of the numbers as that allows."""
    every = list(nodes)
    after, before = _neighbours(every, edges), _neighbours(every, {(b, a) for a, b in edges})
    component: dict[int, int] = {}
    for start in reversed(_finished(every, after)):
        waiting = [] if start in component else [start]
        while waiting:
            node = waiting.pop()
            if node not in component:
                component[node] = start
                waiting += before[node]
    groups: dict[int, list[int]] = {}
    for node in every:
        groups.setdefault(component[node], []).append(node)
    return _in_order(list(groups.values()), edges)


def _neighbours(nodes: list[int], edges: set[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {node: [] for node in nodes}
    for a, b in edges:
        found[a].append(b)
    return found


def _finished(nodes: list[int], after: dict[int, list[int]]) -> list[int]:
    """The nodes in the order in which a search in depth leaves them."""
    found: list[int] = []
    seen: set[int] = set()
    for start in nodes:
        path = [] if start in seen else [(start, iter(after[start]))]
        seen.add(start)
        while path:
            node, rest = path[-1]
            fresh = next((each for each in rest if each not in seen), None)
            if fresh is None:
                found.append(node)
                path.pop()
            else:
                seen.add(fresh)
                path.append((fresh, iter(after[fresh])))
    return found


def _in_order(groups: list[list[int]], edges: set[tuple[int, int]]) -> list[list[int]]:
    """The groups, each before those that it has edges to, the first of them as early as that allows."""
    home = {node: k for k, group in enumerate(groups) for node in group}
    between = {(home[a], home[b]) for a, b in edges if home[a] != home[b]}
    after = _neighbours(list(range(len(groups))), between)
    needed = Counter(b for _, b in between)
    ready = [k for k in range(len(groups)) if not needed[k]]
    ordered: list[list[int]] = []
    while ready:
        k = heappop(ready)
        ordered.append(groups[k])
        for each in after[k]:
            needed[each] -= 1
            if not needed[each]:
                heappush(ready, each)
    return ordered


Instances = TypeVar("Instances", isl.Set, isl.Map)


def with_parameters(values: Instances, iterators: Iterable[str]) -> Instances:
    """A set of iterations, or a relation from these, with the outermost dimensions as parameters, which stand
    for `iterators` (`AROUND`)."""
    outermost = isl.dim_type.set if isinstance(values, isl.Set) else isl.dim_type.in_
    for name in iterators:
        at = values.dim(isl.dim_type.param)
        values = values.move_dims(isl.dim_type.param, at, outermost, 0, 1)
        values = values.set_dim_name(isl.dim_type.param, at, f"{AROUND}{name}")
    return values


def parameters_in(values: isl.Set | isl.Map) -> list[str]:
    """The parameters that a set or a relation depends on, in the order of its space."""
    names = [name or "" for name in values.get_var_names(isl.dim_type.param)]
    return [name for k, name in enumerate(names) if values.involves_dims(isl.dim_type.param, k, 1)]


def without_name(values: isl.Set) -> isl.Set:
    """The set as one of plain tuples."""
    return values.reset_tuple_id() if values.has_tuple_id() else values
