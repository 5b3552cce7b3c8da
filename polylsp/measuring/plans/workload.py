"""Call of a function on generated data, and its workload on a device at numeric sizes: operations, bytes,
parallelism, launches.

Boxes around iterations and elements stand for them; the fill ratio of the box around a statement's
iterations is counted at a small size. The results are only a basis for an estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.emit.subject import Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Assign, Binary, Floating, Integer, Jump, subexpressions
from polylsp.ir.verdict import Parallel
from polylsp.measuring.plans.arguments import Storage
from polylsp.measuring.plans.data_extents import box, fixed, is_modelled
from polylsp.measuring.plans.structures import row
from polylsp.model.measurement import Argument, DeviceWork, Number, Pointee, Rung, Size, Structure
from polylsp.poly.scop import Access, Scop, ScopStatement

_IN, _SET = isl.dim_type.in_, isl.dim_type.set
_SMALL = 11
_TILE = 16
"""Number of uses of a reused element for each load, with simple tiling."""
_SECTOR = 32
"""The bytes that a device moves at least at once."""
_SEVERAL = 4


Workloads = tuple[tuple[int, tuple[DeviceWork, ...]], ...]


def workloads(subject: Subject, rungs: Sequence[Rung], names: Sequence[str]) -> Workloads:
    """The work at a few of some sizes (their numbers), enough to tell it for all; none if that cannot be."""
    if not is_modelled(subject) or subject.effects.calls:
        return ()
    last = len(rungs) - 1
    chosen = sorted({last * k // _SEVERAL for k in range(_SEVERAL + 1)})
    counting = _Counting(subject)
    try:
        return tuple((k, counting.work(dict(zip(names, rungs[k].sizes, strict=True)))) for k in chosen)
    except _Unbounded:
        return ()


class _Unbounded(Exception):
    """Number of runs of a statement is undetermined."""


class _Counting:
    """Statements of a function in groups that one launch runs, evaluated at one size after another."""

    def __init__(self, subject: Subject) -> None:
        self._operations = {
            s.site: _operations(s) for s in walk(subject.function.body) if isinstance(s, Assign)
        }
        verdicts = {loop.ordinal: loop.verdict for loop in subject.facts.loops}
        found = {o: v for o, v in verdicts.items() if isinstance(v, Parallel)}
        self._sums = {o for o, v in found.items() if v.reductions}
        self._sequential = verdicts.keys() - found.keys()
        self._kernels = [(nest.scop, each) for nest in subject.nests for each in self._grouped(nest.scop)]

    def _grouped(self, scop: Scop) -> list[list[int]]:
        """The statements of a nest by the first parallel loop around them: their numbers."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, statement in enumerate(scop.statements):
            groups.setdefault(statement.loops[: self._depth(statement) + 1], []).append(number)
        return list(groups.values())

    def _depth(self, statement: ScopStatement) -> int:
        """Number of loops around the first one whose iterations a kernel would distribute: one without a sum,
        if there is any. Where there is none at all, one thread does all the work."""
        shared = [k for k, ordinal in enumerate(statement.loops) if ordinal not in self._sequential]
        plain = [k for k in shared if statement.loops[k] not in self._sums]
        return next(iter([*plain, *shared]), 0)

    def _is_shared(self, ordinal: int, first: int) -> bool:
        """True if threads of a kernel distribute a loop, given the `first` one that they distribute."""
        return ordinal == first or ordinal not in self._sequential | self._sums

    def work(self, sizes: Mapping[str, int]) -> tuple[DeviceWork, ...]:
        """Work of each group."""
        return tuple(self._kernel(scop, numbers, sizes) for scop, numbers in self._kernels)

    def _kernel(self, scop: Scop, numbers: Sequence[int], sizes: Mapping[str, int]) -> DeviceWork:
        counted = [self._statement(scop, scop.statements[k], sizes) for k in numbers]
        reads = _traffic(scop, numbers, counted, sizes, "read")
        writes = _traffic(scop, numbers, counted, sizes, "write")
        widths = [
            a.memory.element.bits for a in _accesses(scop, numbers) if isinstance(a.memory.element, Floating)
        ]
        return DeviceWork(
            float(max(each.launches for each in counted)),
            float(max(each.parallel for each in counted)),
            float(sum(each.points * each.operations for each in counted)),
            max(widths, default=64),
            reads.least + writes.least,
            reads.most + writes.most,
        )

    def _statement(self, scop: Scop, statement: ScopStatement, sizes: Mapping[str, int]) -> _Counted:
        ends = box(statement.domain, scop, sizes)
        if ends is None:
            raise _Unbounded
        trips = [max(0, high - low + 1) for low, high in ends]
        depth = self._depth(statement)
        inside = list(zip(statement.loops, trips, strict=False))[depth:]
        around = statement.domain.project_out(_SET, depth, len(trips) - depth)
        shared = [o for o, _ in inside if o not in self._sequential]
        middles = tuple((low + high) // 2 for low, high in ends[:depth])
        return _Counted(
            prod(trips) * _fullness(statement.domain, scop, sizes),
            prod(trips[:depth]) * _fullness(around, scop, sizes),
            prod(count for o, count in inside if shared and self._is_shared(o, shared[0])),
            self._operations.get(statement.site, 1),
            middles,
        )


@dataclass(frozen=True, slots=True)
class _Counted:
    """A statement at some sizes; `middles` are values of the iterators around its first parallel loop."""

    points: float
    launches: float
    parallel: int
    operations: int
    middles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Bytes that have to move, and that move where caches are used as well as by simple tiles."""

    least: float
    most: float


def _traffic(
    scop: Scop, numbers: Sequence[int], counted: Sequence[_Counted], sizes: Mapping[str, int], kind: str
) -> _Traffic:
    """Neighbours of an element come with it: of a memory that a statement uses several times, that counts
    which moves most."""
    least: dict[str, float] = {}
    most: dict[tuple[int, str], float] = {}
    for number, found in zip(numbers, counted, strict=True):
        for access in _accesses(scop, [number]):
            if access.kind != kind:
                continue
            ends, size = _touched(access, scop, found.middles, sizes), _size(access)
            name, spread = access.memory.name, _spread(access, ends, scop, sizes)
            in_box = prod(max(0, high - low + 1) for low, high in ends) if ends is not None else 1
            # A box around a diagonal has more elements than there are accesses.
            used = min(found.launches * in_box, found.points)
            least[name] = max(least.get(name, 0), used * size * spread)
            moved = max(used, found.points / _TILE) * size * spread
            most[number, name] = max(most.get((number, name), 0), moved)
    return _Traffic(sum(least.values()), sum(most.values()))


def _accesses(scop: Scop, numbers: Sequence[int]) -> Iterator[Access]:
    wanted = set(numbers)
    yield from (a for a in scop.accesses if a.statement in wanted and a.memory.dimensions)


def _touched(
    access: Access, scop: Scop, middles: tuple[int, ...], sizes: Mapping[str, int]
) -> list[tuple[int, int]] | None:
    """A box around the elements that one launch touches, about; `None` where there is none."""
    relation = access.relation
    for dimension, value in enumerate(middles):
        relation = relation.fix_val(_IN, dimension, isl.Val(value))
    return box(relation.range(), scop, sizes)


def _spread(
    access: Access, ends: list[tuple[int, int]] | None, scop: Scop, sizes: Mapping[str, int]
) -> float:
    """Bytes moved for each byte that is used: a piece of a row brings all of its sectors."""
    memory, size = access.memory, _size(access)
    spelled = scop.parameters
    steps: Sequence[int] = [
        sum(c * prod(sizes.get(spelled.get(n, n), 0) for n in names) for names, c in stride)
        for stride in memory.strides
    ] or (row(memory.variable.type, sizes) or ())
    if ends is None or len(ends) < 2 or len(steps) < len(ends) or len(memory.shape) > len(ends):
        return 1.0
    piece, whole = (ends[-1][1] - ends[-1][0] + 1) * size, steps[len(ends) - 2] * size
    return max(1.0, min(max(piece, _SECTOR), whole) / piece) if piece > 0 else 1.0


def _size(access: Access) -> int:
    element = access.memory.element
    return max(1, element.bits // 8) if isinstance(element, (Integer, Floating)) else 8


def _fullness(domain: isl.Set, scop: Scop, sizes: Mapping[str, int]) -> float:
    """The part of the box around a domain that it fills."""
    small = {name: min(size, _SMALL) for name, size in sizes.items()}
    ends = box(domain, scop, small)
    whole = prod(max(0, high - low + 1) for low, high in ends) if ends is not None else 0
    if not whole or whole > _SMALL**4:
        return 1.0
    return fixed(domain, scop, small).count_val().to_python() / whole


def _operations(assign: Assign) -> int:
    """Operations on real numbers that an assignment does."""
    nodes = [node for value in expressions(assign) for node in subexpressions(value)]
    found = sum(isinstance(node, Binary) and isinstance(node.type, Floating) for node in nodes)
    return found + (assign.operator is not None)


# --------------------------------------------------------------------------------------------------
# The text that calls a function: in C it stands after a version of the file; see
# `measuring/driver.c`.
# --------------------------------------------------------------------------------------------------


_DECLARATIONS = """\
extern long long polylsp_integer(int);
extern double polylsp_real(int);
extern void *polylsp_memory(int);
extern void polylsp_object(int, void *, unsigned long);
extern void polylsp_structure(int, unsigned long);
extern void polylsp_field(int, const char *, unsigned long, unsigned long, unsigned long, char);
extern void polylsp_result(const void *, unsigned long, char);
"""


def call(subject: Subject, data: Storage) -> str:
    """Lines that register the variables of the file, and call the function indirectly: the compiler must not
    inline it into its caller."""
    name = subject.function.name
    given = data.arguments[: len(subject.function.parameters)]
    arguments = ", ".join(_argument(number, each) for number, each in enumerate(given))
    lines = [
        "",
        '#line 1 "polylsp"',
        _DECLARATIONS + "\n".join(_structures(given)),
        *_led_to(data),
        "void polylsp_register(void)",
        "{",
        *_links(data),
        *_objects(data),
        *_fields(data),
        "}",
        "void polylsp_call(void)",
        "{",
        f"    __auto_type polylsp_function = &{name};",
        '    __asm__ volatile("" : "+r"(polylsp_function));',
        *_members(data, len(given)),
        *_called(subject, f"polylsp_function({arguments})"),
        "}",
        "",
    ]
    return "\n".join(lines)


def python_call(subject: Subject, data: Storage) -> str:
    """The lines that make objects, then the expression that calls a function of Python; see
    `measuring/driver.py`."""
    name = subject.function.name
    given = [(k, each) for k, each in enumerate(data.arguments) if "." not in _spelling(each)]
    makers = [_maker(k, each, name, data) for k, each in given if isinstance(each, Structure)]
    called = f"function.{name}({', '.join(_handed(k, each) for k, each in given)})"
    return "\n".join((*makers, called))


def _spelling(argument: Argument) -> str:
    """Spelling of an argument; empty for an array."""
    return "" if isinstance(argument, Pointee) else argument.name


def _maker(number: int, made: Structure, function: str, data: Storage) -> str:
    """Makes an object without its `__init__`: the attributes that the function uses are set, but for numbers
    that its class sets and that are no sizes."""
    sizes, numbers = list[str](), list[str]()
    for k, each in enumerate(data.arguments):
        of, dot, attribute = _spelling(each).rpartition(".")
        if dot and of == made.name:
            text = f"{_attribute(attribute, function)!r}: number({k})"
            (sizes if isinstance(each, Size) else numbers).append(text)
    for k, variable in enumerate(data.variables):
        of, dot, attribute = variable.source_name.rpartition(".")
        if dot and of == made.name:
            sizes.append(f"{_attribute(attribute, function)!r}: memory({k})")
    parts = ", ".join((f"{{{', '.join(sizes)}}}", f"{{{', '.join(numbers)}}}"))
    return f"make({number}, {made.name!r}, function.{made.type}, {parts})"


def _attribute(name: str, function: str) -> str:
    """An attribute as its object has it: Python puts the class before names that begin with `__`."""
    owner = function.rpartition(".")[0].rpartition(".")[2].lstrip("_")
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{owner}{name}" if is_private and owner else name


def _handed(number: int, argument: Argument) -> str:
    match argument:
        case Pointee(memory):
            return f"memory({memory})"
        case Structure():
            return f"made({number})"
        case _:
            return f"number({number})"


def _objects(data: Storage) -> Iterator[str]:
    for number, memory in enumerate(data.memories):
        if memory.is_global:
            place = _place(memory.name)
            yield f"    polylsp_object({number}, (void *)&{place}, sizeof {place});"


def _fields(data: Storage) -> Iterator[str]:
    """Fields in the structures of memories."""
    for number, memory in enumerate(data.memories):
        if memory.members:
            yield f"    polylsp_structure({number}, sizeof({memory.structure}));"
        for each in memory.members:
            offset = f"__builtin_offsetof({memory.structure}, {each.name})"
            whole = f"sizeof((({memory.structure} *)0)->{each.name})"
            told = f"\"{each.name}\", {offset}, {whole}, {each.size}, '{each.kind}'"
            yield f"    polylsp_field({number}, {told});"


def _structures(given: Iterable[Argument]) -> Iterator[str]:
    for each in given:
        if isinstance(each, Structure):
            yield f"static {each.type} polylsp_structure_{each.name};"


def _inner(data: Storage) -> tuple[str, ...]:
    """The structures that pointers in others lead to, those that lead there first."""
    names = [each.name for each in (*data.arguments, *data.memories) if not isinstance(each, Pointee)]
    paths = (name.split("->")[:-1] for name in names)
    found = {"->".join(path[:last]) for path in paths for last in range(2, len(path) + 1)}
    return tuple(sorted(found))


def _led_to(data: Storage) -> Iterator[str]:
    """The room for those: bytes, as the type may be one that does not let itself be changed."""
    types = {each.name: each.type for each in data.arguments if isinstance(each, Structure)}
    for number, path in enumerate(_inner(data)):
        name, _, member = path.partition("->")
        size = f"sizeof(*(({types[name]} *)0)->{member})"
        yield f"static unsigned char polylsp_inner_{number}[{size}] __attribute__((aligned));"


def _links(data: Storage) -> Iterator[str]:
    """Let pointers in structures lead to the others."""
    for number, path in enumerate(_inner(data)):
        yield _set(path, f"(void *)polylsp_inner_{number}")


def _members(data: Storage, first: int) -> Iterator[str]:
    """Initial values of members of structures."""
    for number, each in enumerate(data.arguments[first:], first):
        assert isinstance(each, (Size, Number))
        yield _set(each.name, _argument(number, each))
    for number, memory in enumerate(data.memories):
        if "->" in memory.name and not memory.is_global:
            yield _set(memory.name, f"polylsp_memory({number})")


def _set(member: str, value: str) -> str:
    """A member set, also where it is one that does not let itself be changed."""
    place = _place(member)
    if "->" not in place:
        return f"    {place} = {value};"
    copied = f"__builtin_memcpy((void *)&{place}, &value, sizeof value);"
    return f"    {{ __auto_type value = {place}; value = {value}; {copied} }}"


def _place(name: str) -> str:
    """A variable of the file, or a member of a generated structure."""
    structure, arrow, member = name.partition("->")
    return f"polylsp_structure_{structure}.{member}" if arrow else name


def _argument(number: int, argument: Argument) -> str:
    match argument:
        case Structure(name):
            return f"&polylsp_structure_{name}"
        case Size():
            return f"polylsp_integer({number})"
        case Number(_, value):
            return f"polylsp_{'real' if isinstance(value, float) else 'integer'}({number})"
        case Pointee(memory):
            return f"polylsp_memory({memory})"


def _called(subject: Subject, text: str) -> Iterator[str]:
    if not any(
        isinstance(s, Jump) and s.kind == "return" and s.value is not None
        for s in walk(subject.function.body)
    ):
        yield f"    {text};"
        return
    yield f"    __auto_type polylsp_value = {text};"
    yield "    polylsp_result(&polylsp_value, sizeof polylsp_value,"
    yield "        _Generic(polylsp_value, float: 'f', double: 'f', long double: 'f', default: 'i'));"
