"""Emission context shared by the kernels of a region: names, array alignment, device functions.

Functions of the file that kernels call are copied for the device; one that cannot be copied raises
`Unwritable`. Rows aligned to the vector width permit vector access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import islpy as isl

from polylsp.core.language import PYTHON
from polylsp.core.settings import Settings
from polylsp.emit.affine_bounds import Names
from polylsp.emit.c_text import plain_words
from polylsp.ir.effects import nodes, variables_of, walk
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Floating,
    Function,
    Integer,
    Jump,
    OtherType,
    Pointer,
    Read,
    Statement,
    Type,
    Variable,
    stripped,
)
from polylsp.model.action import Declined
from polylsp.poly.scop import Access, Memory, parameters_in
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.gpu.buffers import REAL, Buffer, Memories
from polylsp.targets.gpu.cuda_expressions import Helper, Unwritable, Words
from polylsp.targets.gpu.cuda_statements import INDENT, lines_of, type_words
from polylsp.targets.gpu.device_names import (
    Fresh,
    counters_of,
    fresh_of,
    is_wide,
    narrow,
    plain_name,
    plain_names,
    strides,
    variable_names,
)
from polylsp.targets.gpu.leaves import Leaf, Leaves
from polylsp.targets.gpu.python_semantics import LONG, PythonWords, Sizes, is_unlimited
from polylsp.targets.gpu.region import Region
from polylsp.targets.gpu.schedule_choice import sites_of
from polylsp.targets.gpu.sum_kernels import Total


def helpers_of(region: Region, fresh: Fresh) -> dict[str, Helper]:
    """The copies of a region's helpers, by the names of the functions; raises `Unwritable`."""
    found: dict[str, Helper] = {}
    is_python = region.subject.language == PYTHON.name
    bodies = [Block(region.statements), *(one.function.body for one in region.helpers)]
    for one in region.helpers:
        function = one.function
        array = next((v for v in function.parameters if _elements(v) is not None), None)
        if is_python and array is not None:
            told = f"`{function.name}` takes the array `{array.source_name}`"
            raise Unwritable(f"{told}, and functions on a device take numbers: pass elements.")
        types = {call.type for call in _calls(*bodies) if call.function == function.name}
        if len(types) != 1:
            raise Unwritable(f"The calls of `{function.name}` do not agree on its type.")
        words = Words(
            region.subject.of(one),
            _names(function, fresh),
            {v.name: () for v in variables_of(function) if _elements(v) is not None},
            frozenset(),
            helpers=found,
            returns=types.pop(),
            exact=PythonWords(None, _sizes(found), {}) if is_python else None,
        )
        made = _copy(function, words, fresh.name(f"{function.name}_device"))
        found[function.name] = replace(made, largest=_largest(function, _sizes(found))) if is_python else made
    return found


def _sizes(helpers: Mapping[str, Helper], small: frozenset[str] = frozenset()) -> Sizes:
    return Sizes(small, {name: each.largest for name, each in helpers.items()})


def _largest(function: Function, sizes: Sizes) -> int:
    """Largest whole number that a function in Python returns, by its absolute value; raises `Unwritable`."""
    jumps = (s for s in walk(function.body) if isinstance(s, Jump) and s.value is not None)
    values = [s.value for s in jumps if s.value is not None and isinstance(s.value.type, Integer)]
    found = max(map(sizes.size, values), default=0)
    if found > LONG:
        raise Unwritable(f"What `{function.name}` returns may be larger than a GPU's whole numbers.")
    return found


def handed_on(region: Region) -> frozenset[str]:
    """The arrays whose addresses are given to helpers (unique names): no other copy of their elements may
    stand for these."""
    names = {one.function.name for one in region.helpers}
    calls = [call for call in _calls(Block(region.statements)) if call.function in names]
    arguments = [
        stripped(a) for call in calls for a in call.arguments if isinstance(a.type, (Array, Pointer))
    ]
    places = [each.place for each in arguments if isinstance(each, (AddressOf, Read))]
    return frozenset(each.variable.name for each in places)


_LONG = "long long"
"""The type of a whole number of Python that a function is given, or returns."""


def _copy(function: Function, words: Words, name: str) -> Helper:
    assert words.returns is not None
    written = _written(function, words.helpers)
    parameters = [
        _parameter(v, number in written, words.names[v.name]) for number, v in enumerate(function.parameters)
    ]
    head = f"static __device__ {_type(words.returns, function)} {name}({', '.join(parameters)})"
    body = [f"{INDENT}{line}" for line in lines_of(function.body.statements, words)]
    return Helper(name, function, (head, "{", *body, "}"), written)


def _parameter(variable: Variable, is_written: bool, name: str) -> str:
    element = _elements(variable)
    if isinstance(variable.type, (Integer, Floating)):
        return f"{_LONG if is_unlimited(variable.type) else type_words(variable)} {name}"
    words = plain_words(element) if element is not None else None
    if words is None:
        raise Unwritable(f"The parameter `{variable.source_name}` of a function has no copy on the device.")
    words = "bool" if words == "_Bool" else words
    return f"{'' if is_written else 'const '}{words} *{name}"


def _elements(variable: Variable) -> Type | None:
    """The type of the numbers that a variable points to, or is an array of."""
    match variable.type:
        case Pointer(to=element) | Array(element=element):
            return element if isinstance(element, (Integer, Floating)) else None
        case _:
            return None


def _type(of_type: Type, function: Function) -> str:
    if is_unlimited(of_type):
        return _LONG
    words = "void" if of_type == OtherType("void") else plain_words(of_type)
    if words is None or (isinstance(of_type, Floating) and of_type.bits > 64):
        raise Unwritable(f"`{function.name}` has a type that the device does not have.")
    return "bool" if words == "_Bool" else words


def _written(function: Function, known: Mapping[str, Helper]) -> frozenset[int]:
    """The numbers of the parameters through which a function writes, or what it calls."""
    names = {s.target.variable.name for s in walk(function.body) if isinstance(s, Assign) and s.target.steps}
    for call in _calls(function.body):
        helper = known.get(call.function)
        for number in helper.written if helper is not None else ():
            value = stripped(call.arguments[number])
            if isinstance(value, (AddressOf, Read)):
                names.add(value.place.variable.name)
    return frozenset(k for k, v in enumerate(function.parameters) if v.name in names)


def _names(function: Function, fresh: Fresh) -> dict[str, str]:
    own = Fresh({*fresh.used})
    return {
        v.name: plain_name(v.source_name, own) for v in sorted(variables_of(function), key=lambda v: v.name)
    }


def _calls(*statements: Statement) -> Iterator[Call]:
    for each in walk(*statements):
        yield from (node for node in nodes(each) if isinstance(node, Call))


# --------------------------------------------------------------------------------------------------
# Emission context shared by the kernels of a region.
# --------------------------------------------------------------------------------------------------


_USUAL = Settings()


@dataclass(frozen=True, eq=False)
class Setting:
    """Names in a region's statements, the accesses that its leaves share, `parameters` as C writes them (isl
    name to text, in signed types), their variables, and its buffers. `totals` are the sums of blocks that its
    kernels requested, `settings` the user's settings; `slab` are C's names for the ends of a slab, for
    launches with slabs. `private` are the scalars that live in registers alone, by unique name with their
    types. Arrays that are `wide` (unique names) may have more elements than an `int` counts: C calls it
    `many` if there are, and `run` the function that then runs the kernels."""

    region: Region
    leaves: Mapping[str, Leaf]
    shared: tuple[tuple[Leaf, Access], ...]
    words: Words
    parameters: Mapping[str, str]
    variables: Mapping[str, Variable]
    buffers: tuple[Buffer, ...]
    fresh: Fresh
    settings: Settings
    totals: list[Total] = field(default_factory=list[Total])
    slab: tuple[str, ...] = ()
    private: Mapping[str, str] = field(default_factory=dict[str, str])
    wide: frozenset[str] = frozenset()
    many: str = ""
    run: str = ""

    @cached_property
    def copied(self) -> list[tuple[Leaf, Access]]:
        """The accesses to elements of which a thread, or a block, may have copies: it can be said when these
        are touched."""
        atomic = {a.memory.name for _, a in self.shared if a.site in self.words.atomic}
        vague = {
            a.memory.name for _, a in self.shared if {*parameters_in(a.relation)} - self.parameters.keys()
        }
        handed = handed_on(self.region)
        apart = [each for each in self.shared if each[1].memory.name not in atomic | vague]
        return [each for each in apart if each[1].memory.variable.name not in handed]


def setting_of(
    region: Region, found: Leaves, memories: Memories, settings: Settings = _USUAL
) -> Setting | Declined:
    """The setting of a region; or why there is none."""
    subject, fresh = region.subject, fresh_of(region)
    try:
        helpers = helpers_of(region, fresh)
        private = {v.name: type_words(v) for v in subject.variables if v.name in found.private}
    except Unwritable as reason:
        return Declined(str(reason))
    names = variable_names(region, fresh)
    names |= {v.name: fresh.name(v.source_name) for v in (each.memory.variable for each in found.formers)}
    is_python = subject.language == PYTHON.name
    plain = plain_names(region)
    lengths = _lengths(memories, names, fresh, plain) if is_python else {}
    texts, variables = _parameters(region, plain, names, lengths)
    counted = {*subject.sizes.values(), *plain.values}
    variables |= {names[v.name]: v for v in subject.variables if v.source_name in counted}
    sizes = () if is_python else [v for name, v in variables.items() if _text(v, name) in texts.values()]
    words = _without_widths(region, found, memories, names, lengths, helpers)
    words = replace(words, narrow=frozenset() if is_python else narrow(region, found, sizes))
    called = {names[v.name]: v for v in (*subject.variables, *lengths.values())}
    counted = strides(found, words.extents, called, words.narrow)
    words = replace(words, strides=counted, index=fresh.name("Index") if counted else "")
    wide = (n for n, inner in words.extents.items() if is_wide(inner, called, counted, words.narrow))
    made = Setting(
        region,
        {leaf.name: leaf for leaf in found.leaves},
        found.shared,
        words,
        texts,
        variables,
        memories.buffers,
        fresh,
        settings,
        private=private,
        wide=frozenset(wide),
        many=fresh.name("many") if counted else "",
        run=fresh.name("run") if counted else "",
    )
    unnamed = _unnamed(made)
    if unnamed:
        return Declined(f"`{unnamed}` is not known before the loop: set a variable to it first.")
    return made


def _without_widths(
    region: Region,
    found: Leaves,
    memories: Memories,
    names: Mapping[str, str],
    lengths: Mapping[str, Variable],
    helpers: Mapping[str, Helper],
) -> Words:
    """Names on the device, before the widths of their numbers are determined."""
    arrays = [b for b in memories.buffers if not b.scalar]
    return Words(
        region.subject,
        names,
        {b.variable.name: tuple(names.get(each, each) for each in b.extents) for b in arrays},
        frozenset(b.variable.name for b in memories.buffers if b.scalar),
        before=_before(region, found, names),
        exact=_python_words(region, lengths, helpers) if region.subject.language == PYTHON.name else None,
        helpers=helpers,
        atomic=sites_of(found),
        formers={site: each.memory.variable.name for each in found.formers for site in each.sites},
    )


def _before(region: Region, found: Leaves, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The counters that tell which array of an expanded one an iteration has, by that array's name."""
    return {
        one.memory.variable.name: tuple(names[counter(region.subject, loop).name] for loop in one.loops)
        for one in found.expanded
    }


_LENGTH = re.compile(r"(\w+)\.shape\[(\d+)\]")


def _lengths(memories: Memories, names: dict[str, str], fresh: Fresh, known: Names) -> dict[str, Variable]:
    """The lengths of arrays that have no variable of the source, by their spelling, which is their unique
    name: the device gets a name for each."""
    factors = [each for text in known.parameters.values() for each in text.split(" * ")]
    arrays = [b for b in memories.buffers if not b.of]
    own = [f"{b.name}.shape[{k}]" for b in arrays for k in range(len(b.memory.shape))]
    found: dict[str, Variable] = {}
    for text in sorted({*factors, *own}):
        length = _LENGTH.fullmatch(text)
        if length is not None:
            names[text] = fresh.name(f"{length[1]}_shape{length[2]}")
            found[text] = Variable(text, text, Integer(32, True), "parameter")
    return found


def _python_words(
    region: Region, lengths: Mapping[str, Variable], helpers: Mapping[str, Helper]
) -> PythonWords:
    subject = region.subject
    counters = counters_of(region)
    given = {v.name for v in subject.variables if v.storage in ("parameter", "cell")}
    found = region.subscripts
    # A call looks through the arrays whose elements are subscripts, or ends of their ranges.
    seen = {each.name for each in (*found.elements, *found.ranges.values())}
    return PythonWords(region, _sizes(helpers, counters | given | seen), lengths)


def _parameters(
    region: Region, plain: Names, names: Mapping[str, str], lengths: Mapping[str, Variable]
) -> tuple[dict[str, str], dict[str, Variable]]:
    by_source = {v.source_name: v for v in region.subject.variables} | dict(lengths)
    texts: dict[str, str] = {}
    variables: dict[str, Variable] = {names[each]: v for each, v in lengths.items()}
    for parameter, spelled in sorted(plain.parameters.items()):
        factors = spelled.split(" * ")
        own = [by_source[factor] for factor in factors if factor in by_source]
        if len(own) < len(factors):
            continue
        texts[parameter] = " * ".join(_text(v, names[v.name]) for v in own)
        variables.update({names[v.name]: v for v in own})
    return texts, variables


def with_signs(region: Region, texts: Mapping[str, str]) -> dict[str, str]:
    """Values in C, without sizes that have no sign: a value below such a one may be negative. The host has
    checked that they are small."""
    unsigned = {v.source_name for v in region.subject.variables if has_no_sign(v)}
    split = {name: text.split(" * ") for name, text in texts.items()}
    return {
        name: " * ".join(f"(int){each}" if each in unsigned else each for each in factors)
        for name, factors in split.items()
    }


def has_no_sign(variable: Variable) -> bool:
    """True for an unsigned integer."""
    return isinstance(variable.type, Integer) and not variable.type.signed


def _unnamed(setting: Setting) -> str:
    """Unnamed value before the loops that bounds of loops, or elements, depend on; empty if there is none."""
    relations = (access.relation for _, access in setting.shared)
    out = isl.dim_type.out
    elements = (each.drop_constraints_not_involving_dims(out, 0, each.dim(out)) for each in relations)
    for each in (*(leaf.domain for leaf in setting.leaves.values()), *elements):
        for name in sorted({*parameters_in(each)} - setting.parameters.keys()):
            return setting.region.scop.parameters.get(name, name)
    return ""


def _text(variable: Variable, name: str) -> str:
    """A size as an `int`: the host has seen that it is one."""
    of_type = variable.type
    is_int = isinstance(of_type, Integer) and of_type.signed and not 32 < of_type.bits <= 64
    return name if is_int else f"(int){name}"


# --------------------------------------------------------------------------------------------------
# Alignment of array elements on the device: rows that begin at multiples of the vector width.
# --------------------------------------------------------------------------------------------------


_BYTES = {"float": 4, "double": 8, "int": 4, REAL: 8}
"""The types of elements of which CUDA has vectors, such as `float4`, and how wide they are at most."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Elements of a row that lie at multiples of some number of elements: those whose last subscript, less
    `origin` (in C), has the `rest` when divided by that; if all `conditions` (in C) hold."""

    origin: str
    rest: int
    conditions: tuple[str, ...]


def placed(setting: Setting, memory: Memory, width: int) -> Placed | Declined:
    """Elements of an array at multiples of `width` on the device; or the reason why there are none, if a
    person could change that. Memory of CUDA begins at multiples of 256 bytes (`cudaMalloc`), and the first
    element of a buffer is there; where others may have allocated it, kernels check."""
    buffer = next(each for each in setting.buffers if each.memory.name == memory.name)
    extents, name = setting.words.extents[memory.variable.name], f"`{buffer.name}`"
    if buffer.words not in _BYTES:
        return Declined("")
    row = _row(name, extents[-1], width) if extents else ()
    if isinstance(row, Declined):
        return row
    if setting.region.subject.language == PYTHON.name:
        start = f"(size_t){setting.words.names[memory.variable.name]}"
        return Placed("", 0, (f"{start} % {width * _BYTES[buffer.words]} == 0", *row))
    if buffer.inner:
        # A row begins with its first element.
        return Placed("", 0, row)
    if buffer.first.isdigit():
        return Placed("", int(buffer.first) % width, row)
    if extents or setting.slab:
        return Declined(f"which element of {name} is the first on the device is only known when it runs")
    return Placed(buffer.first, 0, row)


def _row(name: str, extent: str, width: int) -> tuple[str, ...] | Declined:
    """Condition for all rows to begin at a multiple if one does; or the reason why they never do."""
    if not extent.isdigit():
        return (f"{extent if extent.isidentifier() else f'({extent})'} % {width} == 0",)
    if int(extent) % width:
        return Declined(f"a row of {name} has {extent} elements, which is no multiple of {width}")
    return ()
