"""The text of a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.effects import effects
from polylsp.codegen.affine import highest, lowest
from polylsp.codegen.cuda.expressions import Unwritable, Words
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import Buffer
from polylsp.codegen.cuda.naming import Fresh, dimension_names
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.scan import expression, scanned
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.statements import INDENT, braced, declared, lines_of, type_words
from polylsp.codegen.transform.leaves import counter
from polylsp.model.program import Variable

_PARAM, _SET, _OUT = isl.dim_type.param, isl.dim_type.set, isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Setting:
    """What the kernels of a region have in common: the words of its statements, `parameters` as C writes
    them (isl name to text, in signed types), the variables behind these, and its buffers."""

    region: Region
    leaves: Mapping[str, Leaf]
    words: Words
    parameters: Mapping[str, str]
    variables: Mapping[str, Variable]
    buffers: tuple[Buffer, ...]
    fresh: Fresh


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension of threads: `name` counts it from `first` to before `end` (in C, as the host knows them
    too), in blocks of `threads`."""

    letter: str
    name: str
    first: str
    end: str
    threads: int


@dataclass(frozen=True, eq=False)
class Written:
    """A kernel's text. `counters` are those of the host, of which it takes `passed`; it takes `scalars` by
    value and `buffers`. `plain`: all its counters are the user's."""

    name: str
    counters: tuple[str, ...]
    passed: tuple[str, ...]
    scalars: tuple[Variable, ...]
    buffers: tuple[Buffer, ...]
    axes: tuple[Axis, ...]
    lines: tuple[str, ...]
    plain: bool


def written(setting: Setting, kernel: Kernel, name: str) -> Written:
    """A kernel in CUDA C++; raises `Unwritable`."""
    leaves = [setting.leaves[each] for each in _tuples(kernel.domain)]
    words, fresh = setting.words, setting.fresh
    counters = dimension_names(setting.region, leaves, _on(kernel.outer, kernel), words.names, fresh)
    names = dimension_names(setting.region, leaves, _on(kernel.schedule, kernel), words.names, fresh)
    names = [fresh.name(f"{each}_") if each in counters else each for each in names]
    # The outermost of many parallel dimensions stay loops of a thread.
    chosen, place = _chosen(setting, kernel), _launch(setting, kernel)
    axes = list(_axes(setting, counters, names, chosen, place))
    own = {*words.names.values()}
    plain = own.issuperset((*counters, *(names[k] for k in range(len(names)) if _moves(place, k))))
    lines = _body(setting, leaves, counters, names, chosen, axes, place)
    ends = [end for axis, _ in axes for end in (axis.first, axis.end)]
    scalars = _named(setting, leaves, [*lines, *ends])
    found = {word for line in (*lines, *ends) for word in _WORD.findall(line)}
    buffers = tuple(b for b in setting.buffers if words.names[b.variable.name] in found)
    passed = tuple(each for each in counters if each in found)
    made = Written(name, tuple(counters), passed, scalars, buffers, tuple(a for a, _ in axes), (), plain)
    head = wrapped(f"__global__ void {name}(", _parameters(made, words), ")")
    text = (f"// {_comment(setting, leaves)}", *head, "{", *(f"{INDENT}{line}" for line in lines), "}")
    return replace(made, lines=text)


def _moves(place: Place, dimension: int) -> bool:
    """Whether a dimension has more than one fixed value."""
    return not bool(_values(place.order, dimension).is_singleton())


def _on(order: isl.UnionMap, kernel: Kernel) -> isl.UnionMap:
    return order.intersect_domain(kernel.domain)


def _tuples(domain: isl.UnionSet) -> list[str]:
    """The leaves that a set has instances of, in source order."""
    found: list[tuple[tuple[int, ...], str]] = []

    def add(each: isl.Set) -> None:
        name = each.get_tuple_name() or ""
        found.append((tuple(int(part) for part in name[1:].split("_")), name))

    domain.foreach_set(add)
    return [name for _, name in sorted(found)]


# --- Threads -----------------------------------------------------------------------------

_BLOCKS = {0: (), 1: (256,), 2: (32, 8), 3: (32, 4, 2)}
"""Threads in a block, from `x` on."""


def _chosen(setting: Setting, kernel: Kernel) -> list[int]:
    """The dimensions that are threads, `x` first: along it, neighbours use neighbouring elements most."""
    order = _on(kernel.schedule, kernel)
    weights = {k: _coalesced(setting, order, k) for k in range(kernel.parallel)}
    if not weights:
        return []
    first = max(weights, key=lambda k: (weights[k], k))
    rest = [k for k in reversed(range(kernel.parallel)) if k != first]
    return [first, *rest][:3]


def _coalesced(setting: Setting, order: isl.UnionMap, dimension: int) -> int:
    """How many accesses go to the next element where a dimension grows by one."""
    relations = (
        of_leaf(leaf, access.relation).to_union_map()
        for leaf in setting.leaves.values()
        for access in setting.region.scop.accesses
        if access.statement in leaf.numbers and access.memory.shape
    )
    seen = (order.reverse().apply_range(each) for each in relations)
    return sum(_is_next(isl.Map.from_union_map(each), dimension) for each in seen if not each.is_empty())


def _is_next(seen: isl.Map, dimension: int) -> bool:
    names = [f"d{k}" for k in range(seen.dim(isl.dim_type.in_))]
    moved = [f"{n} + 1" if k == dimension else n for k, n in enumerate(names)]
    neighbour = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(moved)}] }}")
    elements = [f"a{k}" for k in range(seen.dim(_OUT))]
    array = seen.get_tuple_name(_OUT)
    following = isl.Map(
        f"{{ {array}[{', '.join(elements)}] -> {array}[{', '.join(elements[:-1])}{', ' * (len(elements) > 1)}"
        f"{elements[-1]} + 1] }}"
    )
    return bool(seen.reverse().apply_range(neighbour).apply_range(seen).is_subset(following))


def _axes(
    setting: Setting, counters: list[str], names: list[str], chosen: list[int], place: Place
) -> Iterator[tuple[Axis, isl.Set]]:
    """The dimensions of threads, each with the values between its ends, which are parameters."""
    threads = _BLOCKS[len(chosen)]
    for number, dimension in enumerate(chosen):
        values = _values(place.order, dimension)
        low, high = _ends(values)
        atoms = {**setting.parameters, **_atoms("__h", counters)}
        first, end = (
            expression(one, place.context, atoms) for one in (low, high.add_constant_val(isl.Val(1)))
        )
        above = isl.Set.from_pw_aff(low).apply(isl.Map("{ [v] -> [x] : x >= v }"))
        between = above.intersect(isl.Set.from_pw_aff(high).apply(isl.Map("{ [v] -> [x] : x <= v }")))
        axis = Axis("xyz"[number], names[dimension], first, end, threads[number])
        yield axis, _as_parameters(between, [f"__p{dimension}"])


def _values(order: isl.UnionMap, dimension: int) -> isl.Set:
    """The values of one dimension of a schedule."""
    every = isl.Set.from_union_set(order.range())
    return every.project_out(_SET, dimension + 1, every.dim(_SET) - dimension - 1).project_out(
        _SET, 0, dimension
    )


def _ends(values: isl.Set) -> tuple[isl.PwAff, isl.PwAff]:
    for each in (values, values.remove_divs(), isl.Set(values.simple_hull())):
        low, high = lowest(each), highest(each)
        if low is not None and high is not None:
            return low.coalesce(), high.coalesce()
    raise Unwritable("How many iterations run at once cannot be computed before the loop.")


# --- Where it runs -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Place:
    """One launch: the `order` in which its threads run instances, with the host's counters as parameters, and
    what is known of parameters then."""

    order: isl.UnionMap
    context: isl.Set


def _launch(setting: Setting, kernel: Kernel) -> Place:
    names = [f"__h{k}" for k in range(kernel.counters)]
    fixed = isl.Set(_equal(names, range(len(names)), len(names)))
    own = kernel.outer.intersect_domain(kernel.domain).intersect_range(fixed.to_union_set()).domain()
    context = spelled(setting, own.params().intersect(setting.region.context.params()))
    return Place(kernel.schedule.intersect_domain(own), context)


def spelled(setting: Setting, known: isl.Set) -> isl.Set:
    """What is known of the parameters that have a name on the device."""
    for k in reversed(range(known.dim(_PARAM))):
        name = known.get_dim_name(_PARAM, k) or ""
        if name not in setting.parameters and not name.startswith("__h"):
            known = known.project_out(_PARAM, k, 1)
    return known


def _equal(names: list[str], dimensions: Sequence[int], length: int) -> str:
    """The points of which some dimensions are parameters, in isl's notation."""
    points = ", ".join(f"d{k}" for k in range(length))
    equal = " and ".join(f"d{k} = {name}" for name, k in zip(names, dimensions, strict=True))
    return f"[{', '.join(names)}] -> {{ [{points}] : {equal or 'true'} }}"


def _as_parameters(values: isl.Set, names: list[str]) -> isl.Set:
    at = values.dim(_PARAM)
    moved = values.move_dims(_PARAM, at, _SET, 0, values.dim(_SET))
    for number, name in enumerate(names):
        moved = moved.set_dim_name(_PARAM, at + number, name)
    return moved.params()


def _atoms(prefix: str, names: Sequence[str]) -> dict[str, str]:
    return {f"{prefix}{number}": name for number, name in enumerate(names)}


# --- Text --------------------------------------------------------------------------------


def _body(
    setting: Setting,
    leaves: list[Leaf],
    counters: list[str],
    names: list[str],
    chosen: list[int],
    axes: list[tuple[Axis, isl.Set]],
    place: Place,
) -> list[str]:
    """What a thread runs."""
    context = place.context
    for _, between in axes:
        context = context.intersect(between)
    length = len(names)
    fixed = isl.Set(_equal([f"__p{k}" for k in chosen], chosen, length))
    left = [k for k in range(length) if k not in chosen]
    points = ", ".join(f"d{k}" for k in range(length))
    rest = isl.Map(f"{{ [{points}] -> [{', '.join(f'd{k}' for k in left)}] }}")
    order = place.order.intersect_range(fixed.to_union_set()).apply_range(rest.to_union_map())
    atoms = {**setting.parameters, **_atoms("__h", counters), **_atoms("__p", names)}
    inside = {f"__d{number}": names[k] for number, k in enumerate(left)}
    by_name = {leaf.name: leaf for leaf in leaves}

    def call(name: str, values: list[str]) -> Iterator[str]:
        return _instance(setting, by_name[name], values)

    lines = scanned(order, context, list(inside), {**atoms, **inside}, call)
    for axis, _ in axes:
        a, n = axis.letter, axis.name
        start = f"blockIdx.{a} * blockDim.{a} + threadIdx.{a}"
        first = start if axis.first == "0" else f"{axis.first} + {start}"
        step = f"gridDim.{a} * blockDim.{a}"
        lines = list(braced(f"for (int {n} = {first}; {n} < {axis.end}; {n} += {step})", iter(lines)))
    return lines


def _instance(setting: Setting, leaf: Leaf, values: list[str]) -> Iterator[str]:
    """A leaf, with its counters at some values."""
    lines: list[str] = []
    body = list(lines_of(leaf.statements, setting.words))
    named = {w for line in body for w in _WORD.findall(line)}
    for ordinal, value in zip(leaf.loops, values, strict=True):
        own = counter(setting.region.subject, ordinal)
        name = setting.words.names[own.name]
        if name in named and name != value:
            lines.append(f"const {type_words(own)} {name} = {value};")
    lines += [f"{declared(own, setting.words)};" for own in leaf.own]
    if lines or any(line.startswith(_DECLARES) for line in body):
        yield from braced("", iter([*lines, *body]))
    else:
        yield from body


_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_DECLARES = ("char ", "signed ", "unsigned ", "short ", "int ", "long ", "float ", "double ", "bool ")


def _named(setting: Setting, leaves: list[Leaf], text: Sequence[str]) -> tuple[Variable, ...]:
    """The scalars that a kernel takes by value."""
    read: dict[str, Variable] = dict(setting.variables)
    for leaf in leaves:
        inside = {v.name for v in leaf.own} | declared_in(leaf.statements)
        inside |= {counter(setting.region.subject, o).name for o in leaf.loops}
        for variable in effects(*leaf.statements).variables:
            if variable.name not in inside:
                read[setting.words.names[variable.name]] = variable
    moved = {b.variable.name for b in setting.buffers}
    words = {word for line in text for word in _WORD.findall(line)}
    found = {v for name, v in read.items() if name in words and v.name not in moved}
    return tuple(sorted(found, key=lambda v: _order(setting.region, v)))


def _order(region: Region, variable: Variable) -> tuple[int, str]:
    """As the function's parameters stand."""
    listed = region.subject.function.parameters
    return (listed.index(variable) if variable in listed else len(listed), variable.name)


def _comment(setting: Setting, leaves: list[Leaf]) -> str:
    """Which loops a kernel came from."""
    subject = setting.region.subject
    ordinals = sorted({ordinal for leaf in leaves for ordinal in leaf.loops})
    loops = [
        f"`{subject.known(o).iterator}` (line {subject.line_number(subject.known(o).site)})" for o in ordinals
    ]
    return f"The loop{'s' if len(loops) > 1 else ''} {', '.join(loops)}."


def _parameters(kernel: Written, words: Words) -> list[str]:
    """What stands between the parentheses of a kernel's header."""
    found = [f"int {name}" for name in kernel.passed]
    found += [f"{type_words(v)} {words.names[v.name]}" for v in kernel.scalars]
    return found + [
        f"{'' if b.written else 'const '}{b.words} *__restrict__ {words.names[b.variable.name]}"
        for b in kernel.buffers
    ]
