"""Measurement plan of a function: arguments, sizes, and the text that calls it.

Sizes come from the request, from comments (`// polylsp: n=2000 A=positive-definite`), from macros,
or from a ladder. Matrices that a solver divides by get a heavy diagonal (Golub and Van Loan, Matrix
Computations, 4.1), which bounds results.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Protocol

from polylsp.core.language import C
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.python.definitions import MODULE
from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Call,
    Expr,
    Floating,
    Index,
    Place,
    Read,
    Variable,
    subexpressions,
)
from polylsp.measuring.plans.arguments import Storage, storage, variable_of, with_rows
from polylsp.measuring.plans.data_extents import Contents, Extents, contents
from polylsp.measuring.plans.generated_calls import call, python_call
from polylsp.measuring.plans.python_arguments import PythonExtents, python_storage, why_not_called
from polylsp.measuring.plans.workload import Workloads, workloads
from polylsp.model.action import Declined
from polylsp.model.measurement import MemoryPlan, NoPlan, Rung
from polylsp.poly.budget import Exhausted, budgeted
from polylsp.targets.numba.python_loops import source_of

# --------------------------------------------------------------------------------------------------
# The sizes to choose from when none are given.
# --------------------------------------------------------------------------------------------------


_ROUND = (10, 11, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 45, 50, 56, 64, 72, 80, 90)
_SMALL = (37, 19, 11, 7, 5, 3)
"""Sizes at which each access is checked against the bounds of arrays: no multiple of a tile's side, and the
first for which variables of the file have room."""
_MOST_INSTANCES = 10**12
_MOST_BYTES = 8 * 2**30
_LARGEST = 2 * 10**9
_KERNEL = 5
"""Side of the smaller one of two arrays that slide over each other: of a filter over an image."""
_REPETITIONS = 100
"""Iterations of loops that are no dimension of an array: time steps, attempts."""
_PROBE = 64
_FIXED = 32
"""Largest size of a call that stays as it is while others grow: filters, channels, dimensions of space."""
_SCALES = (1 / 1024, 1 / 256, 1 / 64, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)


class Sizing(Protocol):
    """Needs at some sizes."""

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        ...

    def widths(self, sizes: Mapping[str, int]) -> Sequence[tuple[int, ...]]:
        """Iterations of each loop around each statement at some sizes."""
        ...

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """The name of a memory whose length is fixed and too short for some sizes."""
        ...


def proportions(extents: Sizing, data: Storage, given: Mapping[str, int]) -> dict[str, int]:
    """Sizes that do not grow with the others: those that leave loops hardly an iteration where all sizes are
    equal, and those that no array depends on."""
    free = [name for name in data.sizes if name not in given]
    if len(free) < 2:
        return {}
    equal = {**dict.fromkeys(free, _PROBE), **given}
    more = {**dict.fromkeys(free, 2 * _PROBE), **given}
    widths, rung = extents.widths(equal), extents.rung(more)
    narrow = [(k, at) for k, sides in enumerate(widths) for at, side in enumerate(sides) if 0 <= side <= 1]
    found: dict[str, int] = {}
    for name in free:
        less = extents.widths({**equal, name: _KERNEL})
        if narrow and len(less) == len(widths) and any(less[k][at] > widths[k][at] for k, at in narrow):
            found[name] = _KERNEL
        elif data.memories and extents.rung({**more, name: _PROBE}).extents == rung.extents:
            found[name] = _REPETITIONS
    if len(found) == len(free):  # Extents that are not known say nothing, but the inner loops do.
        inner = [sides[1:] or sides for sides in extents.widths(more)]
        found = {
            name: size
            for name, size in found.items()
            if [sides[1:] or sides for sides in extents.widths({**more, name: _PROBE})] == inner
        }
    return found if len(found) < len(free) else {}


def around(
    extents: Sizing, data: Storage, given: Mapping[str, int], usual: Mapping[str, int]
) -> tuple[tuple[Rung, ...], int]:
    """Sizes in the proportions of a call, smallest first, and the number of the call's own."""
    rungs: list[Rung] = []
    own = 0
    for scale in _SCALES:
        sizes = {name: _scaled(usual[name], scale) for name in data.sizes if name in usual} | {**given}
        if extents.exceeded(sizes) is not None:
            break
        rung = extents.rung(sizes)
        if scale > 1 and (rung.instances > _MOST_INSTANCES or used(data, rung) > _MOST_BYTES):
            break
        if rungs and rung.sizes == rungs[-1].sizes:
            rungs.pop()
        rungs.append(rung)
        own = len(rungs) - 1 if scale <= 1.0 else own
    return tuple(rungs), own


def _scaled(size: int, scale: float) -> int:
    return size if size <= _FIXED else max(_FIXED, round(size * scale))


def ladder(extents: Sizing, data: Storage, given: Mapping[str, int]) -> tuple[Rung, ...]:
    """Sizes that grow together, those left out that are given; one where all are."""
    free = [name for name in data.sizes if name not in given]
    if not free:
        return (extents.rung(given),)
    fixed = proportions(extents, data, given)
    found: list[Rung] = []
    for value in _values():
        sizes = {**{name: min(value, fixed.get(name, value)) for name in free}, **given}
        if found and extents.exceeded(sizes) is not None:
            break
        rung = extents.rung(sizes)
        if found and (rung.instances > _MOST_INSTANCES or used(data, rung) > _MOST_BYTES):
            break
        if len(found) > 5 and rung.instances == found[-5].instances:
            break  # What the sizes say does not depend on these.
        found.append(rung)
    return tuple(found)


def small(extents: Sizing, data: Storage, given: Mapping[str, int]) -> Rung:
    """Sizes at which the function does little."""
    fixed = {**{k: min(v, 3) for k, v in proportions(extents, data, given).items() if v == _KERNEL}, **given}
    tried = [{name: min(most, fixed.get(name, most)) for name in data.sizes} for most in _SMALL]
    return extents.rung(next((each for each in tried if extents.exceeded(each) is None), tried[0]))


def used(data: Storage, rung: Rung) -> int:
    """The bytes of all memories."""
    return sum(each.count * memory.size for each, memory in zip(rung.extents, data.memories, strict=True))


def _values() -> Iterator[int]:
    scale = 1
    while scale <= _LARGEST:
        yield from (value * scale for value in _ROUND if value * scale <= _LARGEST)
        scale *= 10


# --------------------------------------------------------------------------------------------------
# Sizes that are macros of the file, as in `#ifndef N`, `#define N 40`, `#endif`.
# --------------------------------------------------------------------------------------------------


_GUARDED = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1[ \t]+[^\n]*\d", re.MULTILINE
)
"""A macro's number in the file that the compiler's flags may override."""
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?[ \t]*\d", re.MULTILINE)


def macros(text: str, sizes: Mapping[str, int], known: Iterable[str]) -> dict[str, int]:
    """Sizes that are macros which the compiler may define; `known` are sizes of the function itself."""
    found = guarded(text).difference(known)
    return {name: size for name, size in sizes.items() if name in found}


def guarded(text: str) -> set[str]:
    """Macros with a number that the compiler's flags may override."""
    return set(_GUARDED.findall(text))


def told_already(found: Mapping[str, int], defines: Sequence[str]) -> NoPlan | None:
    """Reason why a macro cannot be set: the file's compile flags set it too."""
    names = {each.partition("=")[0] for each in defines}
    name = next((name for name in found if name in names), None)
    return NoPlan(f"`{name}` is set by the flags of the compiler already: change it there.") if name else None


def fixed_size(text: str, name: str) -> str:
    """Advice on a size that is a macro which the file always sets itself; empty if it is none."""
    if name not in _DEFINED.findall(text):
        return ""
    return f"`{name}` is always what its `#define` says: put `#ifndef {name}` around it, or change it there."


# --------------------------------------------------------------------------------------------------
# Sizes that a file gives for measuring a function: directions in comments, and those of its own
# calls.
#
# Comments: `// polylsp: n=2000 A=positive-definite` (or `spd A`); in Python also the length of an
# array, `# polylsp: x.shape[0]=500`.
# --------------------------------------------------------------------------------------------------


_WORD = r"spd\s+[A-Za-z_]\w*|[A-Za-z_](?:[\w.\[\]]|->)*=[\w-]+"
_COMMENT = re.compile(rf"(?:/[/*]|#)\s*polylsp:((?:\s+(?:{_WORD}))+)")
_WITHOUT_COLON = re.compile(rf"(?:/[/*]|#)\s*(polylsp\s+(?:{_WORD}))")
_ABOVE = re.compile(r"(?:^[ \t]*(?://[^\n]*|#[^\n]*|/\*.*?\*/[ \t]*)\n)+[ \t]*\Z", re.MULTILINE)
_DEFINITE = "positive-definite"


@dataclass(frozen=True, slots=True)
class Wishes:
    """Sizes by name, and the names of matrices that have to be symmetric and positive definite; `wrong` is
    the first word that is neither."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    definite: frozenset[str] = frozenset()
    wrong: str = ""


def wishes(text: str, start: int, end: int) -> Wishes:
    """The wishes in the comments of a function, and in those directly above it."""
    above = _ABOVE.search(text, 0, start)
    first = above.start() if above else start
    if (found := _WITHOUT_COLON.search(text, first, end)) is not None:
        return Wishes(wrong=found[1])
    words = [
        word for comment in _COMMENT.finditer(text, first, end) for word in re.findall(_WORD, comment[1])
    ]
    sizes: dict[str, int] = {}
    definite: set[str] = set()
    for word in words:
        name, _, value = word.partition("=")
        if word.startswith("spd") and not value:
            definite.add(word.split()[1])
        elif value.isdecimal():
            sizes[name] = int(value)
        elif value == _DEFINITE:
            definite.add(name)
        else:
            return Wishes(wrong=word)
    return Wishes(sizes, frozenset(definite))


# --- Sizes that the rest of the file gives ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Usual:
    """Sizes at which the file itself runs a function, and the call or the header that says so."""

    sizes: dict[str, int] = field(default_factory=dict[str, int])
    basis: str = ""


def usual_sizes(
    text: str, start: int, end: int, name: str, parameters: Sequence[str], sizes: Sequence[str]
) -> Usual:
    """Sizes of the largest call of a function in its file whose arguments are numbers: literals, macros,
    variables that are set to one before it, arrays that are made with a shape. Without such a call, the
    defaults of its parameters. They choose what is measured, and nothing else rests on them."""
    best = Usual()
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}\s*\(", text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if start <= match.start() < end or re.search(r"//|#|\bdef\b", line):
            continue
        arguments = _arguments(text, match.end())
        target = re.search(r"[\w.\[\]]+\s*=\s*$", line)
        before = match.start() - (len(target[0]) if target is not None else 0)
        found = dict(_called(text, before, arguments, parameters, sizes))
        if found and prod(found.values()) > prod(best.sizes.values()):
            spelled = re.sub(r"\s+", " ", f"{name}({', '.join(arguments)})")
            short = spelled if len(spelled) <= _LONGEST_CALL else spelled[: _LONGEST_CALL - 1] + "…"
            best = Usual(found, f"the call `{short}`")
    return best if best.sizes else _defaults(text[start:end], sizes)


_LONGEST_CALL = 60
_MOST = 10**10


def _defaults(function: str, sizes: Sequence[str]) -> Usual:
    header = function[: max(0, function.find("\n", function.find("):")))]
    found: dict[str, int] = {}
    for size in sizes:
        default = re.search(rf"\b{re.escape(size)}\s*(?::[^=,()]+)?=\s*(\d+)\s*[,)]", header)
        if default is not None:
            found[size] = int(default[1])
    return Usual(found, "the defaults of its parameters") if found else Usual()


def _called(
    text: str, at: int, arguments: Sequence[str], parameters: Sequence[str], sizes: Sequence[str]
) -> Iterator[tuple[str, int]]:
    """The sizes that the arguments of a call give, by their names."""
    for parameter, argument in zip(parameters, arguments, strict=False):
        lengths = [each for each in sizes if each.startswith(f"{parameter}.shape[")]
        if parameter in sizes:
            value = _number(text, at, argument)
            if value is not None:
                yield parameter, value
        elif lengths:
            shape = _shape(text, at, argument)
            for each in lengths:
                place = int(each[len(parameter) + len(".shape[") : -1])
                if place < len(shape) and shape[place] is not None:
                    yield each, shape[place] or 1


def _arguments(text: str, at: int) -> list[str]:
    """The arguments of a call whose parenthesis opens before `at`."""
    found, depth, first = list[str](), 0, at
    for place in range(at, min(len(text), at + 2000)):
        letter = text[place]
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (letter == "," and depth == 0):
            found.append(text[first:place].strip())
            first = place + 1
        if depth < 0:
            return found
    return []


def _number(text: str, at: int, expression: str, depth: int = 4) -> int | None:
    """The positive whole number that an expression is at a place of a text."""
    cleaned = re.sub(r"\(\s*(?:unsigned |const )?(?:int|long|size_t|unsigned)\s*\)", "", expression)
    try:
        tree = ast.parse(re.sub(r"(?<=\d)[uUlL]+\b", "", cleaned.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    value = _evaluated(text, at, tree, depth)
    return value if value is not None and 0 < value < _MOST else None


def _evaluated(text: str, at: int, node: ast.expr, depth: int) -> int | None:
    match node:
        case ast.Constant(value=int() | float() as value):
            return int(value) if value == int(value) else None
        case ast.Name(id=name) if depth:
            return _variable(text, at, name, depth - 1)
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return _evaluated(text, at, inner, depth)
        case ast.BinOp(left=left, op=operator, right=right):
            one, other = _evaluated(text, at, left, depth), _evaluated(text, at, right, depth)
            if one is None or other is None or not 0 <= other < _MOST:
                return None
            match operator:
                case ast.Add():
                    return one + other
                case ast.Sub():
                    return one - other
                case ast.Mult():
                    return one * other
                case ast.LShift() if other < 34:
                    return one << other
                case ast.Pow() if other < 34 and one < 1000:
                    return one**other
                case ast.Div() | ast.FloorDiv() if other:
                    return one // other
                case _:
                    return None
        case _:
            return None


def _variable(text: str, at: int, name: str, depth: int) -> int | None:
    """Value of a macro, or of a variable by the last assignment before a place; of `a ? b : 100`, 100."""
    macro = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{name}[ \t]+([^\n/]+)", text, re.MULTILINE)
    if macro is not None:
        return _number(text, at, macro[1], depth)
    before = re.compile(rf"(?<![\w.]){name}\s*(?::[^=\n]+)?=(?!=)\s*([^;\n#]+)")
    assigned = [*before.finditer(text, 0, at)]
    if not assigned:
        return None
    value = assigned[-1][1].rpartition(" : ")[2] if "?" in assigned[-1][1] else assigned[-1][1]
    return _number(text, at, re.split(r",(?![^(]*\))", value)[0], depth)


_LIKE = ("zeros_like", "ones_like", "empty_like", "copy", "astype", "array", "ascontiguousarray", "abs")
_SHAPED = ("zeros", "ones", "empty", "full", "random", "standard_normal", "random_sample")
_BY_SIZES = ("rand", "randn")
_BY_SIZE = ("randint", "integers", "normal", "uniform")


def _shape(text: str, at: int, argument: str, depth: int = 4) -> tuple[int | None, ...]:
    """Shape of an array that an expression makes, as far as it can be read off."""
    try:
        tree = ast.parse(argument.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return _shape_of(text, at, tree, depth)


def _shape_of(text: str, at: int, node: ast.expr, depth: int) -> tuple[int | None, ...]:
    match node:
        case ast.Name(id=name) if depth:
            assigned = [*re.finditer(rf"(?<![\w.]){name}\s*=(?!=)\s*([^\n#]+)", text[:at])]
            return _shape(text, assigned[-1].start(), assigned[-1][1], depth - 1) if assigned else ()
        case ast.BinOp(left=left, right=right):
            return _shape_of(text, at, left, depth) or _shape_of(text, at, right, depth)
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=args, keywords=keywords):
            sizes = [each.value for each in keywords if each.arg in ("size", "shape")]
            if sizes or (attr in _SHAPED and args):
                return _lengths(text, at, (sizes or args)[0])
            if attr in _BY_SIZES:
                return tuple(_evaluated(text, at, each, 4) for each in args)
            if attr == "arange" and len(args) == 1:
                return (_evaluated(text, at, args[0], 4),)
            if attr == "linspace" and len(args) > 2:
                return (_evaluated(text, at, args[2], 4),)
            if attr in _BY_SIZE and len(args) > 2:
                return _lengths(text, at, args[2])
            if attr in _LIKE:
                return _shape_of(text, at, args[0] if args and attr != "astype" else value, depth)
            return ()
        case _:
            return ()


def _lengths(text: str, at: int, node: ast.expr) -> tuple[int | None, ...]:
    nodes = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
    return tuple(_evaluated(text, at, each, 4) for each in nodes)


# --------------------------------------------------------------------------------------------------
# Matrices whose diagonal a function divides by, or takes the root of, as solvers do.
#
# With arbitrary numbers, the results grow from row to row until they are infinite, or the root of a
# negative number: then versions cannot be compared. A diagonal that outweighs its rows (Golub and
# Van Loan, Matrix Computations, 4.1) keeps all results small.
# --------------------------------------------------------------------------------------------------


_ROOTS = frozenset({"sqrt", "sqrtf", "sqrtl"})


def with_pivots(data: Storage, subject: Subject) -> Storage:
    """Arguments of the function, where some matrices have a heavy diagonal."""
    found = {data.number_at(place) for place in _pivots(subject)}
    memories = (
        replace(m, fill="positive-definite") if k in found and m.kind == "f" and m.fill == "random" else m
        for k, m in enumerate(data.memories)
    )
    return replace(data, memories=tuple(memories))


def _pivots(subject: Subject) -> Iterator[Place]:
    """The places on diagonals that something is divided by, also by way of a variable."""
    for node in (part for value in _divisors(subject) for part in subexpressions(value)):
        if isinstance(node, Read):
            values = [node] if node.place.steps else [a.value for a in subject.assigned(node.place.variable)]
            yield from (v.place for v in values if isinstance(v, Read) and _is_diagonal(v.place))


def _divisors(subject: Subject) -> Iterator[Expr]:
    """Divisors of real numbers, and operands of roots."""
    for statement in walk(subject.function.body):
        if isinstance(statement, Assign) and statement.operator == "/":
            yield statement.value
        for node in nodes(statement):
            match node:
                case Binary("/", _, right, Floating()):
                    yield right
                case Call(name, arguments) if name.rpartition(".")[2] in _ROOTS:
                    yield from arguments
                case _:
                    pass


def _is_diagonal(place: Place) -> bool:
    """True for `a[i][i]` and `a[i * n + i]`."""
    subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
    last = subscripts[-2:]
    if len(last) == 2:
        return variable_of(last[0]) is not None and variable_of(last[0]) == variable_of(last[1])
    match last:
        case [Binary("+", left, right)]:
            return _is_row(left, variable_of(right)) or _is_row(right, variable_of(left))
        case _:
            return False


def _is_row(value: Expr, row: Variable | None) -> bool:
    """True for the element offset of row `row`, a multiple of the row length."""
    match value:
        case Binary("*", left, right):
            return row is not None and row in (variable_of(left), variable_of(right))
        case _:
            return False


# --------------------------------------------------------------------------------------------------
# Measurement plan of a function: its arguments, the sizes, and the text that calls it.
# --------------------------------------------------------------------------------------------------


_OPERATIONS = 20_000_000


@dataclass(frozen=True, slots=True)
class Harness:
    """Common part of the plan for all versions of a function; see `Plan`."""

    call: str
    data: Storage
    rungs: tuple[Rung, ...]
    small: Rung
    given: bool
    workloads: Workloads
    usual: int | None
    basis: str


def harness(
    subject: Subject,
    sizes: Mapping[str, int],
    preset: Mapping[str, int],
    again: Again,
    macros: Container[str] = (),
) -> Harness | NoPlan:
    """Common part of a measurement plan. `sizes` are those of the request, which precede those in comments;
    `preset` those of the settings, which come after, and may name parameters that the function lacks.
    `again` reads another text of the function; `macros` are sizes that the subject has already."""
    function = subject.function
    if function.name == "main" and subject.language == C.name:
        return NoPlan(
            "`main` is the program itself: put its loops in a function of their own to measure them."
        )
    said = wishes_of(subject)
    made = _in_c(subject, said) if subject.language == C.name else _in_python(subject, said)
    if isinstance(made, NoPlan):
        return made
    data, text, measure = made
    given = {**{k: v for k, v in preset.items() if k in data.sizes}, **said.sizes, **sizes}
    given = {k: v for k, v in given.items() if k not in macros}
    wrong = _wrong(subject, data, said, given)
    needs = contents(subject, data)
    if wrong is not None:
        return wrong
    if isinstance(needs, NoPlan):
        return needs
    data = with_pivots(with_rows(data, needs.rows), subject)
    extents = measure(subject, data, needs)
    fixed = budgeted(_OPERATIONS, lambda: extents.exceeded(given)) if set(data.sizes) <= set(given) else None
    if isinstance(fixed, str):
        return NoPlan(f"`{fixed}` has fewer elements than `{function.name}` needs at these sizes.")
    usual = _usual(subject, data, given)
    rungs = budgeted(_OPERATIONS, lambda: _rungs(extents, data, given, usual))
    if isinstance(rungs, Exhausted):
        return NoPlan(f"How large the arrays of `{function.name}` have to be took too long to find out.")
    steps, least, own = rungs
    counted = budgeted(_OPERATIONS, lambda: workloads(subject, steps, data.sizes, again))
    work = () if isinstance(counted, Exhausted) else counted
    is_given = not set(data.sizes) - set(given)
    return Harness(text, data, steps, least, is_given, work, own, usual.basis)


def _usual(subject: Subject, data: Storage, given: Mapping[str, int]) -> Usual:
    """Sizes at which the file calls the function, for those that are not given."""
    start, end = subject.start, subject.start + subject.ends[-1]
    name = subject.function.name
    parameters = [each.source_name for each in subject.function.parameters]
    wanted = [each for each in data.sizes if each not in given]
    return usual_sizes(subject.text, start, end, name, parameters, wanted) if wanted else Usual()


def _rungs(
    extents: Sizing, data: Storage, given: Mapping[str, int], usual: Usual
) -> tuple[tuple[Rung, ...], Rung, int | None]:
    """The sizes to choose from, those that accesses are checked at, and the number of the usual ones among
    the former."""
    least = small(extents, data, given)
    known = {**usual.sizes, **given}
    if usual.sizes and set(data.sizes) <= set(known) and extents.exceeded(known) is None:
        steps, own = around(extents, data, given, usual.sizes)
        return steps, least, own
    return ladder(extents, data, known), least, None


def wishes_of(subject: Subject) -> Wishes:
    """Directions for measuring a function in its comments."""
    return wishes(subject.text, subject.start, subject.start + subject.ends[-1])


Made = tuple[Storage, str, Callable[[Subject, Storage, Contents], Sizing]]


def _in_c(subject: Subject, said: Wishes) -> Made | NoPlan:
    """Arguments of a function in C, and the text that calls it."""
    data = storage(subject, said.definite)
    return data if isinstance(data, NoPlan) else (data, call(subject, data), Extents)


def _in_python(subject: Subject, said: Wishes) -> Made | NoPlan:
    """Arguments of a function in Python, and the lines that call it."""
    if subject.function.name == MODULE:
        return NoPlan(
            "Only functions are measured: put these loops into one, and hand it their arrays as parameters."
        )
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return NoPlan(source.reason)
    reason = why_not_called(source)
    if reason:
        return NoPlan(reason)
    data = python_storage(source, said.definite)
    return data if isinstance(data, NoPlan) else (data, python_call(subject, data), PythonExtents)


def _wrong(subject: Subject, data: Storage, said: Wishes, given: Mapping[str, int]) -> NoPlan | None:
    """Objections to the function or to the request."""
    name, sizes = subject.function.name, data.sizes
    if said.wrong:
        if said.wrong.startswith("polylsp"):
            return NoPlan(f"`{said.wrong}` in a comment lacks a colon: write `polylsp:` before the sizes.")
        return NoPlan(f"`{said.wrong}` in a comment is neither NAME=NUMBER nor NAME=positive-definite.")
    unknown = [each for each in given if each not in sizes]
    if unknown:
        fixed = fixed_size(subject.text, unknown[0]) if subject.language == C.name else ""
        if fixed:
            return NoPlan(fixed)
        known = f"its sizes are {', '.join(f'`{each}`' for each in sizes)}" if sizes else "it has none"
        return NoPlan(f"`{name}` has no size `{unknown[0]}`: {known}.")
    matrices = {each.name for each in data.memories if _can_be_definite(each)}
    missing = sorted(said.definite - matrices)
    if missing:
        return NoPlan(f"`{missing[0]}` is no array of real numbers that `{name}` is given.")
    kept = sorted(v.source_name for v in subject.variables if v.storage == "static" and not v.const)
    changed = [s.target.variable for s in walk(subject.function.body) if isinstance(s, Assign)]
    if any(v.storage == "static" for v in changed):
        return NoPlan(
            f"`{kept[0]}` keeps its value from one call to the next: calls of `{name}` are not alike."
        )
    return None


def _can_be_definite(memory: MemoryPlan) -> bool:
    return memory.kind == "f" and memory.fill != "kept"
