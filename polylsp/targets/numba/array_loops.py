"""Array statements as loops over elements, and arrays local to an iteration, for Numba.

`b[1:-1] = a[:-2] + a[2:]` stores `a[i - 1] + a[i + 1]` to `b[i]`. Statements without such a loop
(products, sums over an axis, masks) stay as they are. Arrays that each iteration fills anew are
created in the loop: Numba then privatises them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polylsp.core.text import Span, newline
from polylsp.frontends.python.kinds import Number
from polylsp.frontends.python.syntax import constant
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Array, Pointer, Type
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.targets.numba.numba_subset import ELEMENTWISE
from polylsp.targets.numba.python_loops import LoopText, Source, loop_text

# --------------------------------------------------------------------------------------------------
# Array statements as the loops that they stand for: `b[1:-1] = a[:-2] + a[2:]` stores `a[i - 1] +
# a[i + 1]` to `b[i]`. Statements without such a loop (products, sums over an axis, masks) are left
# as they are.
# --------------------------------------------------------------------------------------------------


class _Other(Exception):
    """A statement that is none over single elements."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """An array statement over single elements: the `headers` of its loops, outermost first, their body, the
    subscripts with which each array is named in it, which array it `stores` to, and pairs of lengths
    (`equal`) that it takes for the same."""

    headers: tuple[str, ...]
    statement: str
    named: Mapping[str, frozenset[str]]
    stores: str
    equal: tuple[tuple[str, str], ...]


def spelled(source: Source, node: ast.stmt, counters: Sequence[str]) -> Spelled | None:
    """The loops for one statement; `None` where it is no array statement, or there are none for it."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, sign = node.targets[0], "="
    elif isinstance(node, ast.AugAssign) and type(node.op) in _SIGNS:
        target, sign = node.target, f"{_SIGNS[type(node.op)]}="
    else:
        return None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    try:
        writer = _Writer(source, target.value.id, tuple(_ranges(source, target)), tuple(counters))
        headers = tuple(writer.headers())
        stored = writer.element(target, target.value.id)
        text = f"{ast.unparse(stored)} {sign} {ast.unparse(writer.written(node.value))}"
    except _Other:
        return None
    if not all(_is_apart(stored, each, counters) for each in writer.named[target.value.id]):
        return (
            None  # an iteration reads what another one stores: the statement reads all before it stores any
        )
    return Spelled(headers, text, _frozen(writer.named), target.value.id, tuple(dict.fromkeys(writer.equal)))


def _is_apart(stored: ast.Subscript, read: str, counters: Sequence[str]) -> bool:
    """True if an element that an iteration reads is stored by no other: its subscripts with counters are
    those of the stored one (`a[i, k - 1]` beside `a[i, k]`)."""
    own, other = _indices(stored.slice), _indices(ast.parse(read, mode="eval").body)
    pairs = zip(own, other, strict=True)
    return all(ast.dump(a) == ast.dump(b) for a, b in pairs if _counts(a, counters) or _counts(b, counters))


def _indices(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _counts(node: ast.expr, counters: Sequence[str]) -> bool:
    return any(isinstance(one, ast.Name) and one.id in counters for one in ast.walk(node))


_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def _frozen(named: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {name: frozenset(texts) for name, texts in named.items()}


@dataclass(frozen=True, slots=True)
class _Range:
    """A dimension that is stored to: its first index, and the one that is not reached; each a number that
    counts from the front or from the `end` (`a.shape[0]`)."""

    first: _Bound
    last: _Bound
    end: str


@dataclass(frozen=True, slots=True)
class _Bound:
    """`base` and a number more."""

    base: str
    more: int

    def text(self, more: int = 0) -> str:
        """As Python."""
        number = self.more + more
        if not self.base:
            return str(number)
        return f"{self.base} {'+' if number > 0 else '-'} {abs(number)}" if number else self.base


def _ranges(source: Source, target: ast.Subscript) -> Iterator[_Range]:
    assert isinstance(target.value, ast.Name)
    for at, each in enumerate(_subscripts(source, target)):
        if isinstance(each, ast.Slice):
            yield _Range(*_bounds(each, target.value.id, at), f"{target.value.id}.shape[{at}]")


def _subscripts(source: Source, node: ast.Subscript) -> list[ast.expr]:
    """The subscripts of all dimensions of an array; whole ones where none are written."""
    assert isinstance(node.value, ast.Name)
    found = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    rank = _rank(source, node.value.id)
    if any(not _is_plain(each) for each in found) or len(found) > rank:
        raise _Other
    return [*found, *(ast.Slice() for _ in range(rank - len(found)))]


def _is_plain(node: ast.expr) -> bool:
    """True if a subscript is a slice without a step, or one index: a number, a name, a sum."""
    if isinstance(node, ast.Slice):
        return node.step is None or constant(node.step) == 1
    return constant(node) is not None or isinstance(node, (ast.Name, ast.BinOp))


def _bounds(node: ast.Slice, array: str, at: int) -> tuple[_Bound, _Bound]:
    end = f"{array}.shape[{at}]"
    return _bound(node.lower, end, _Bound("", 0)), _bound(node.upper, end, _Bound(end, 0))


def _bound(node: ast.expr | None, end: str, absent: _Bound) -> _Bound:
    if node is None:
        return absent
    number = constant(node)
    if number is None:
        # A name may be negative, and then counts from the end.
        raise _Other
    return _Bound(end if number < 0 else "", number)


def _rank(source: Source, name: str) -> int:
    """Number of dimensions of an array; raises for any other name."""
    found = [v for v in source.subject.variables if v.source_name == name]
    if len(found) != 1 or not isinstance(found[0].type, (Array, Pointer)):
        raise _Other
    return _depth(found[0].type)


def _depth(of_type: Type) -> int:
    match of_type:
        case Array(element=element):
            return 1 + _depth(element)
        case Pointer(to=to):
            return 1 + _depth(to)
        case _:
            return 0


@dataclass
class _Writer:
    source: Source
    array: str
    ranges: tuple[_Range, ...]
    counters: tuple[str, ...]
    named: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    equal: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def headers(self) -> Iterator[str]:
        """The loops over the target."""
        if not self.ranges or len(self.ranges) > len(self.counters):
            raise _Other
        for counter, each in zip(self.counters, self.ranges, strict=False):
            first, last = each.first.text(), each.last.text()
            yield (
                f"for {counter} in range({last}):"
                if first == "0"
                else f"for {counter} in range({first}, {last}):"
            )

    def written(self, node: ast.expr) -> ast.expr:
        """An expression for one element."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node
            case ast.Name(id=name) if self._is_number(name):
                return node
            case ast.Name(id=name):
                whole = ast.Subscript(node, ast.Tuple([ast.Slice() for _ in range(_rank(self.source, name))]))
                return self.element(whole, name)
            case ast.Subscript(value=ast.Name(id=name)):
                return self.element(node, name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as operation, operand=operand):
                return ast.UnaryOp(operation, self.written(operand))
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return ast.BinOp(self.written(left), operation, self.written(right))
            case ast.Call(func=function, args=arguments, keywords=[]) if self._is_elementwise(function):
                return ast.Call(function, [self.written(each) for each in arguments], [])
            case _:
                raise _Other

    def _is_number(self, name: str) -> bool:
        found = [v for v in self.source.subject.variables if v.source_name == name]
        return not any(isinstance(v.type, (Array, Pointer)) for v in found) and (
            bool(found) or name not in self.source.local
        )

    def _is_elementwise(self, function: ast.expr) -> bool:
        root, _, name = self.source.path(function).rpartition(".")
        return root == "numpy" and name in ELEMENTWISE

    def element(self, node: ast.Subscript, name: str) -> ast.Subscript:
        """The element of a part of an array that an iteration is about."""
        subscripts = _subscripts(self.source, node)
        count = sum(isinstance(each, ast.Slice) for each in subscripts)
        if count > len(self.ranges):
            raise _Other
        running = iter(range(len(self.ranges) - count, len(self.ranges)))
        made = [
            self._index(each, next(running), name, at) if isinstance(each, ast.Slice) else each
            for at, each in enumerate(subscripts)
        ]
        index = made[0] if len(made) == 1 else ast.Tuple(made)
        found = ast.Subscript(ast.Name(name), index)
        self.named.setdefault(name, set()).add(ast.unparse(index))
        return found

    def _index(self, node: ast.Slice, number: int, name: str, at: int) -> ast.expr:
        """The index for an iteration: slices that begin at the front are as far apart as their firsts."""
        own = self.ranges[number]
        first, last = _bounds(node, name, at)
        as_long = last.more - first.more == own.last.more - own.first.more
        if first.base or own.first.base or bool(own.last.base) != bool(last.base) or not as_long:
            raise _Other
        if last.base and last.base != own.end:
            self.equal.append((last.base, own.end))
        shift = first.more - own.first.more
        counter = self.counters[number] if number < len(self.counters) else ""
        return ast.parse(_Bound(counter, shift).text(), mode="eval").body


# --------------------------------------------------------------------------------------------------
# Array statements of a function that Numba is to run in parallel: it does so with them as well.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Overlaps:
    """Array statements of a function that run in parallel: the reason why one is `refused`, empty if none is,
    and pairs of parameters that must be arrays `apart` from each other."""

    refused: str
    apart: tuple[tuple[str, str], ...] = ()


def overlapping_statements(source: Source) -> Overlaps:
    """Overlaps of the arrays that array statements store to with those that they read: Numba stores some
    elements before others are computed."""
    known = source.subject.variables
    numbers = {v.source_name for v in known if not isinstance(v.type, (Array, Pointer))}
    arrays = {v.source_name for v in known} - numbers
    bound = {name.id for name in _bindings(source)}
    given = {one.arg for one in ast.walk(source.definition.args) if isinstance(one, ast.arg)} - bound
    pairs: dict[tuple[str, str], None] = {}
    for statement, target, value in _stores(source):
        stored = _roots(source, _root(target), given)
        for read in _read(source, value, target):
            # A bound name without a variable is that of a part of an array.
            if read not in arrays and read not in bound - numbers:
                continue
            beside = _roots(source, read, given)
            if not stored or not beside or stored & beside:
                line = source.line(statement)
                told = f"The array statement on line {line} may read what it stores to, in `{read}`"
                return Overlaps(
                    f"{told}, which Numba gets wrong in parallel: write a loop in its place first."
                )
            pairs |= {(min(a, b), max(a, b)): None for a in stored & given for b in beside & given}
    return Overlaps("", tuple(pairs))


def _root(target: ast.expr) -> str:
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _bindings(source: Source) -> Iterator[ast.Name]:
    """The names that are bound, other than by `a += …`, which changes the elements of an array."""
    changed = {id(n.target) for n in source.nodes if isinstance(n, ast.AugAssign)}
    names = (n for n in source.nodes if isinstance(n, ast.Name) and not _is_load(n))
    return (one for one in names if id(one) not in changed)


def _roots(source: Source, name: str, given: set[str], seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The arrays whose elements a name stands for: parameters that keep their values (`given`), and arrays
    that the function creates; empty where they are undetermined."""
    if name in given:
        return frozenset((name,))
    bound = [one for one in _bindings(source) if one.id == name]
    values = {id(n.targets[0]): n.value for n in source.nodes if isinstance(n, ast.Assign)}
    found: set[str] = set()
    for each in bound:
        value = values.get(id(each))
        if value is not None and _creates(source, value):
            found.add(name)
            continue
        base = _root(value) if isinstance(value, (ast.Subscript, ast.Name)) else ""
        below = (
            _roots(source, base, given, seen | {name}) if base and base not in seen | {name} else frozenset()
        )
        if not below:
            return frozenset()
        found |= below
    return frozenset(found)


def is_new(source: Source, name: str) -> bool:
    """True if a name is only bound to arrays that the function creates."""
    return _roots(source, name, set()) == frozenset((name,))


_CREATORS = frozenset(
    (*(f"{name}{like}" for name in ("empty", "zeros", "ones", "full") for like in ("", "_like")), "copy")
)


def _creates(source: Source, value: ast.expr) -> bool:
    """True if a value is an array that nothing else refers to; arithmetic creates one."""
    match value:
        case ast.BinOp() | ast.Call(func=ast.Attribute(value=ast.Name(), attr="copy"), args=[], keywords=[]):
            return True
        case _:
            pass
    root, _, name = source.path(value.func).rpartition(".") if isinstance(value, ast.Call) else ("", "", "")
    return root == "numpy" and name in _CREATORS


def _stores(source: Source) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """The statements that store to several elements of arrays, with their targets and values."""
    loops = loops_in(source.subject.function.body)
    implied = {loop.site.first for loop in loops if loop.implied}
    for node in source.nodes:
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        site = source.parsed.site(node)
        if any(site.first <= first <= site.last for first in implied):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                is_one = isinstance(source.kinds.of(target), Number)
                if not is_one and (isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign)):
                    yield node, target, node.value


_COMPUTED_FIRST = ("sum", "prod", "mean", "cumsum")
"""Functions whose result Numba computes before it stores any of the elements that are computed from it."""


def _read(source: Source, value: ast.expr, target: ast.expr, is_elementwise: bool = True) -> Iterator[str]:
    """The arrays of which a value reads others than the elements that are stored at the same time."""
    if is_elementwise and _is_in_step(source, value, target):
        return
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Call(func=function) if source.path(function).removeprefix("numpy.") in _COMPUTED_FIRST:
            pass
        case _:
            plain = (
                isinstance(value, ast.UnaryOp)
                or (isinstance(value, ast.BinOp) and not isinstance(value.op, ast.MatMult))
                or (
                    isinstance(value, ast.Call)
                    and source.path(value.func).removeprefix("numpy.") in ELEMENTWISE
                )
            )
            for each in ast.iter_child_nodes(value):
                if isinstance(each, ast.expr):
                    yield from _read(source, each, target, is_elementwise and plain)


def _is_in_step(source: Source, read: ast.expr, target: ast.expr) -> bool:
    """True if an operand reads the element that is stored, or one that no element of the statement is: its
    slices are those of the target, in the same dimensions (`a[:, j - 1]` beside `a[:, j]`)."""
    if ast.unparse(read) == ast.unparse(target):
        return True
    if not isinstance(read, ast.Subscript) or not isinstance(target, ast.Subscript):
        return False
    own, other = _indices(read.slice), _indices(target.slice)
    if ast.unparse(read.value) != ast.unparse(target.value) or len(own) != len(other):
        return False
    return all(
        ast.unparse(a) == ast.unparse(b)
        if isinstance(a, ast.Slice) or isinstance(b, ast.Slice)
        else isinstance(source.kinds.of(a), Number) and isinstance(source.kinds.of(b), Number)
        for a, b in zip(own, other, strict=True)
    )


# --------------------------------------------------------------------------------------------------
# Arrays that each iteration fills anew, created in the loop: Numba then privatises them.
# --------------------------------------------------------------------------------------------------


_MAKERS = frozenset(f"numpy.{name}{like}" for name in ("empty", "zeros", "ones") for like in ("", "_like"))


def created_inside(source: Source, ordinal: int) -> Answer:
    """The definitions of the arrays that a loop uses for nothing but one iteration, moved into it."""
    text, verdict = loop_text(source, ordinal), source.subject.known(ordinal).verdict
    if isinstance(text, Declined):
        return text
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    shared = [one for one in verdict.private if one in arrays] if isinstance(verdict, Parallel) else []
    if not shared or not isinstance(verdict, Parallel):
        return Declined("The loop has no array of which each iteration could have its own.")
    edits: list[Replacement] = []
    for name in shared:
        made = _moved(source, text, name)
        if isinstance(made, Declined):
            return made
        edits += made
    return Edited(tuple(sorted(edits, key=lambda each: each.span)), verdict.assumptions)


def _moved(source: Source, text: LoopText, name: str) -> list[Replacement] | Declined:
    why = f"All iterations of `{text.header}` use the one array `{name}`: create it inside the loop."
    definition = _definition(source, name)
    span = _own_lines(source, definition) if definition is not None else None
    if definition is None or span is None or not _is_same_later(source, definition):
        return Declined(why)
    subject = source.subject
    start = source.span(text.node.body[0]).start
    at = subject.text.rfind("\n", 0, start) + 1
    stated = subject.text[source.span(definition).start : span.end].rstrip()
    copy = Replacement(Span(at, at), f"{subject.indentation(start)}{stated}{newline(subject.text)}")
    inside = {id(n) for n in ast.walk(text.node)}
    outside = (n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and id(n) not in inside)
    is_used = any(isinstance(n.ctx, ast.Load) for n in outside)
    return [copy] if is_used else [Replacement(span, ""), copy]


def _definition(source: Source, name: str) -> ast.Assign | None:
    """The one statement that makes an array, whose contents do not matter."""
    stores = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and not _is_load(n)]
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call(func=function)) if stores == [
                target
            ]:
                return node if source.path(function) in _MAKERS else None
            case _:
                continue
    return None


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_same_later(source: Source, definition: ast.Assign) -> bool:
    """True if the definition would create the same array in the loop: the names in it are bound once."""
    used = {n.id for n in ast.walk(definition.value) if isinstance(n, ast.Name)}
    bound = [n.id for n in source.nodes if isinstance(n, ast.Name) and not _is_load(n)]
    arguments = {n.arg for n in ast.walk(source.definition.args) if isinstance(n, ast.arg)}
    return all(bound.count(name) + (name in arguments) <= 1 for name in used)


def _own_lines(source: Source, node: ast.stmt) -> Span | None:
    """The lines of a statement with their end, if nothing else stands on them."""
    text, span = source.subject.text, source.span(node)
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    rest = text[span.end : end].strip()
    if end < 0 or text[start : span.start].strip() or (rest and not rest.startswith("#")):
        return None
    return Span(start, end + 1)
