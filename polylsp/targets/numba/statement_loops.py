"""Array statements as loops over elements: `b[1:-1] = a[:-2] + a[2:]` stores `a[i - 1] + a[i + 1]` to `b[i]`.

Products and sums of arrays are computed in loops of their own before the element that they are for.
The loops store each element before they read others: statements for which that makes a difference
have none. Masks, steps, and functions of whole arrays have none either.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polylsp.frontends.python.callables import undetermined
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.nodes import nodes_in
from polylsp.ir.program import Floating, Variable
from polylsp.ir.verdict import Assumption
from polylsp.targets.numba.numba_subset import ELEMENTWISE, dimensions_of, element_of
from polylsp.targets.numba.python_loops import Block, Piece, Source
from polylsp.targets.numba.slice_bounds import (
    ONE,
    ZERO,
    Affine,
    Dimension,
    Facts,
    Range,
    affine,
    facts_at,
    is_impossible,
    is_plain,
    length,
    name,
    within,
)


class _Other(Exception):
    """A statement without loops over single elements."""


@dataclass(frozen=True, slots=True)
class Spelled:
    """An array statement over single elements: the `headers` of its loops, outermost first, their body (what
    is computed `before` the element, and the `statement` that stores it), the subscripts with which each
    array is named in it, which arrays it `stores` to (none for a number), pairs of lengths (`equal`) that it
    takes for the same, conditions on bounds that are `assumed`, by the form that is not negative, and
    parameters that it takes for `numbers`, as nothing tells that they are not arrays."""

    headers: tuple[str, ...]
    before: tuple[Piece, ...]
    statement: str
    named: Mapping[str, frozenset[str]]
    stores: frozenset[str]
    equal: tuple[tuple[str, str], ...]
    assumed: Mapping[Affine, Assumption]
    numbers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Names:
    """Names that loops may use: `counters`, and `totals` of sums."""

    counters: tuple[str, ...]
    totals: tuple[str, ...]


def spelled(
    source: Source, node: ast.stmt, names: Names, *, products: bool, meant: ast.Assign | None = None
) -> Spelled | None:
    """The loops for one statement; `None` where it is no array statement, or there are none for it. Products
    of matrices have loops on request (`products`); another statement may be `meant` by this one."""
    match meant or node:
        case ast.Assign(targets=targets, value=value):
            sign = "="
        case ast.AugAssign(target=target, op=operation, value=value) if type(operation) in _SIGNS:
            targets, sign = [target], f"{_SIGNS[type(operation)]}="
        case _:
            return None
    try:
        return _Writer(source, names, _facts(source, node), products).statement(targets, sign, value)
    except _Other:
        return None


@dataclass(frozen=True, slots=True)
class Extents:
    """Numbers of elements of the dimensions of a value (`counts`), and conditions for them: pairs of lengths
    that are `equal`, and bounds that are `assumed`."""

    counts: tuple[Affine, ...]
    equal: tuple[tuple[str, str], ...]
    assumed: tuple[Assumption, ...]


def extents(source: Source, node: ast.stmt, value: ast.expr) -> Extents | None:
    """The extents of a value that a statement computes of arrays; `None` for others."""
    writer = _Writer(source, Names((), ()), _facts(source, node), products=True)
    try:
        counts = writer.counts(value)
    except _Other:
        return None
    return Extents(counts, tuple(writer.equal), tuple(writer.assumed.values()))


_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_SIGNS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_OUTER: dict[str, type[ast.operator]] = {
    "outer": ast.Mult, "multiply.outer": ast.Mult, "add.outer": ast.Add, "subtract.outer": ast.Sub,
}  # fmt: skip
"""NumPy's functions that combine each element of one vector with each of another one."""
_SUMS = ("dot", "matmul")
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_COMBINING = (*ELEMENTWISE, "where")
"""Functions with one value for each element of their arguments."""


def _facts(source: Source, node: ast.stmt) -> Facts:
    arrays = {v.source_name for v in source.subject.variables if dimensions_of(v)}
    return facts_at(source, node, lambda text: text not in arrays)


# --------------------------------------------------------------------------------------------------
# Elements that an iteration is about.
# --------------------------------------------------------------------------------------------------


_Frame = tuple[Dimension, ...]
"""Dimensions of a value, outermost first."""


@dataclass(frozen=True, slots=True)
class _Element:
    """An element that is read: its subscripts, `None` for those without an affine form, and the loops of sums
    around it."""

    node: ast.Subscript
    subscripts: tuple[Affine | None, ...]
    sums: _Frame


@dataclass
class _Writer:
    source: Source
    names: Names
    facts: Facts
    products: bool
    frame: _Frame = ()
    sums: _Frame = ()
    before: list[Piece] = field(default_factory=list[Piece])
    read: dict[str, list[_Element]] = field(default_factory=dict[str, list[_Element]])
    equal: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    assumed: dict[Affine, Assumption] = field(default_factory=dict[Affine, Assumption])
    numbers: dict[str, None] = field(default_factory=dict[str, None])
    used: int = 0
    totals: int = 0

    # --- Statements ---

    def statement(self, targets: Sequence[ast.expr], sign: str, value: ast.expr) -> Spelled:
        """The loops of a statement that stores a value to targets, one after the other."""
        arrays = [self._array(each, sign) for each in targets]
        self.frame = tuple(self._dimension(each) for each in self._ranges(targets[0]))
        if any(self._rank(each) != len(self.frame) for each in targets) or ("" in arrays and arrays != [""]):
            raise _Other
        pairs = zip(targets, arrays, strict=True)
        stored = [(array, self._element(each, array, self.frame)) for each, array in pairs if array]
        if sign != "=":
            self._note(stored)
        found = self.written(value, self.frame)
        if not self.frame and not self.before:
            raise _Other
        if self.frame:
            for number, (array, each) in enumerate(stored):
                # A later target of the same array has its values in the end.
                before = [one for other, one in stored[:number] if other == array]
                self._check_order(each, [*self.read.get(array, ()), *before])
        self._note(stored)
        texts = [ast.unparse(each.node) for _, each in stored] if stored else list(map(ast.unparse, targets))
        return Spelled(
            tuple(each.range.header(each.counter) for each in self.frame),
            tuple(self.before),
            f"{' = '.join(texts)} {sign} {ast.unparse(found)}",
            {one: frozenset(ast.unparse(e.node.slice) for e in every) for one, every in self.read.items()},
            frozenset(array for array, _ in stored),
            tuple(self.equal),
            self.assumed,
            tuple(self.numbers),
        )

    def _note(self, elements: Iterable[tuple[str, _Element]]) -> None:
        for array, each in elements:
            self.read.setdefault(array, []).append(each)

    def _array(self, target: ast.expr, sign: str) -> str:
        """The array that is stored to; empty for a number."""
        match target:
            case ast.Name(id=text) if self._is_number(text):
                return ""
            case ast.Subscript(value=ast.Name(id=text)):
                return text
            case ast.Name(id=text) if sign != "=":
                return text
            case _:
                # A name that is bound to a new array.
                raise _Other

    def _check_order(self, stored: _Element, read: Sequence[_Element]) -> None:
        """Refuse an iteration that reads what an earlier one stores: statements read before they store."""
        earlier = {each.counter: f"earlier {each.counter}" for each in self.frame}
        for one in read:
            around = (*self.frame, *one.sums)
            ranges = [form for each in around for form in within(each, {})]
            ranges += [form for each in self.frame for form in within(each, earlier)]
            for own, other in zip(stored.subscripts, one.subscripts, strict=True):
                if own is not None and other is not None:
                    apart = own.renamed(earlier) - other
                    ranges += [apart, apart.times(-1)]
            same: list[Affine] = []
            for each in self.frame:
                apart = name(each.counter) - name(earlier[each.counter])
                if not is_impossible((*self.facts.forms, *ranges, *same, apart - ONE)):
                    raise _Other
                same += [apart, apart.times(-1)]

    # --- Values ---

    def written(self, node: ast.expr, frame: _Frame) -> ast.expr:
        """An expression for one element of a value with the dimensions of a frame."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return node
            case ast.Name(id=text) if self._is_number(text):
                if text in undetermined(self.source.definition, self.source.declarations):
                    self.numbers[text] = None
                return node
            case ast.Name(id=text) | ast.Subscript(value=ast.Name(id=text)):
                found = self._element(node, text, frame)
                self._note([(text, found)])
                return found.node
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as operation, operand=operand):
                return ast.UnaryOp(operation, self.written(operand, frame))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self._product(left, right, frame)
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                if isinstance(operation, ast.Pow) and self._counts(left):
                    # NumPy's whole numbers have no negative powers, and others overflow.
                    raise _Other
                return ast.BinOp(self.written(left, frame), operation, self.written(right, frame))
            case ast.Compare(left=left, ops=[operation], comparators=[right]) if isinstance(
                operation, _COMPARISONS
            ):
                return ast.Compare(self.written(left, frame), [operation], [self.written(right, frame)])
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(function, arguments, frame)
            case _:
                raise _Other

    def _call(self, function: ast.expr, arguments: Sequence[ast.expr], frame: _Frame) -> ast.expr:
        called = self._called(function)
        if called in ELEMENTWISE:
            return ast.Call(function, [self.written(each, frame) for each in arguments], [])
        if called == "where" and len(arguments) == 3 and isinstance(arguments[0], ast.Compare):
            condition, chosen, other = (self.written(each, frame) for each in arguments)
            return ast.IfExp(condition, chosen, other)
        if called == "arange" and len(frame) == 1:
            numbers = self._numbers(arguments)
            return ast.parse(self._index(numbers, frame[0]).text(), mode="eval").body
        if called in _SUMS and len(arguments) == 2:
            return self._product(arguments[0], arguments[1], frame)
        if called in _OUTER and len(arguments) == 2 and len(frame) >= 2:
            pairs = zip(arguments, frame[-2:], strict=True)
            left, right = (self.written(one, (dimension,)) for one, dimension in pairs)
            return ast.BinOp(left, _OUTER[called](), right)
        if called == "sum" and len(arguments) == 1:
            rank = self._rank(arguments[0])
            return self._sum([(arguments[0], tuple(range(rank)))], rank, (), frame)
        raise _Other

    def _counts(self, node: ast.expr) -> bool:
        """True if there is `np.arange(…)` in a value."""
        return any(isinstance(n, ast.Call) and self._called(n.func) == "arange" for n in nodes_in(node))

    def _numbers(self, arguments: Sequence[ast.expr]) -> Range:
        """The whole numbers of `np.arange(…)`."""
        if not 1 <= len(arguments) <= 2:
            raise _Other
        bounds = [self._bound(each) for each in arguments]
        first, last = bounds if len(bounds) == 2 else (ZERO, bounds[0])
        return Range(first, last)

    def _called(self, function: ast.expr) -> str:
        """The name of a function of NumPy; empty for others."""
        path = self.source.path(function)
        return path.removeprefix("numpy.") if path.startswith("numpy.") else ""

    def _product(self, left: ast.expr, right: ast.expr, frame: _Frame) -> ast.expr:
        """`left @ right`."""
        one, other = self._rank(left), self._rank(right)
        if not (1 <= one <= 2 and 1 <= other <= 2) or (one == other == 2 and not self.products):
            raise _Other
        rows, columns = tuple(range(one - 1)), tuple(range(one - 1, one + other - 2))
        inner = one + other - 2
        return self._sum([(left, (*rows, inner)), (right, (inner, *columns))], 1, (*rows, *columns), frame)

    def _sum(
        self,
        factors: Sequence[tuple[ast.expr, tuple[int, ...]]],
        count: int,
        outer: tuple[int, ...],
        frame: _Frame,
    ) -> ast.expr:
        """The name of a sum of products, which is computed before. Each factor comes with its dimensions in
        those of the result (`outer`) and the `count` ones that are summed up, which the first factor has."""
        if len(outer) != len(self.frame) or frame != self.frame or self.sums or not count:
            # Others would be computed again for elements that share them.
            raise _Other
        first, dimensions = factors[0]
        added = [dimensions.index(len(outer) + number) for number in range(count)]
        self.sums = tuple(self._dimension(self._range_in(first, at, len(dimensions))) for at in added)
        every = (*frame, *self.sums)
        terms = [self.written(one, tuple(every[k] for k in at)) for one, at in factors]
        term = terms[0] if len(terms) == 1 else ast.BinOp(terms[0], ast.Mult(), terms[1])
        if self.totals == len(self.names.totals):
            raise _Other
        total = self.names.totals[self.totals]
        piece: Piece = f"{total} += {ast.unparse(term)}"
        for each in reversed(self.sums):
            piece = Block(each.range.header(each.counter), (piece,))
        self.before += [f"{total} = 0.0", piece]
        self.totals += 1
        self.sums = ()
        self.used = len(self.frame)
        return ast.Name(total)

    def _rank(self, node: ast.expr) -> int:
        """Number of dimensions of a value."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return 0
            case ast.Name(id=text):
                return 0 if self._is_number(text) else self._rank_of(text)
            case ast.Subscript(value=ast.Name(id=text)):
                return sum(isinstance(each, ast.Slice) for each in self._subscripts(node, text))
            case ast.Call(func=function, args=arguments, keywords=[]) if self._called(function) == "arange":
                self._numbers(arguments)
                return 1
            case _ if (factors := self._factors(node)) is not None:
                one, other = map(self._rank, factors)
                return one + other - 2 if 1 <= one <= 2 and 1 <= other <= 2 else 0
            case _:
                return max(map(self._rank, self._operands(node)))

    def _factors(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """The factors of a product of arrays; `None` for other values."""
        match node:
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return left, right
            case ast.Call(func=function, args=[left, right], keywords=[]) if self._called(function) in _SUMS:
                return left, right
            case _:
                return None

    def _operands(self, node: ast.expr) -> list[ast.expr]:
        """The values that one is computed of, element by element."""
        match node:
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return [operand]
            case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _OPERATIONS:
                return [left, right]
            case ast.Compare(left=left, ops=[operation], comparators=[right]) if isinstance(
                operation, _COMPARISONS
            ):
                return [left, right]
            case ast.Call(func=function, args=[*arguments], keywords=[]) if (
                arguments and self._called(function) in _COMBINING
            ):
                return arguments
            case _:
                raise _Other

    def _range_in(self, node: ast.expr, at: int, rank: int) -> Range:
        """The indices that a dimension of a value runs over, as those of an array in it."""
        match node:
            case ast.Name() | ast.Subscript():
                return list(self._ranges(node))[at]
            case ast.Call(func=function, args=arguments) if self._called(function) == "arange":
                return self._numbers(arguments)
            case _ if (factors := self._factors(node)) is not None:
                left, right = factors
                own = self._rank(left)
                if at < own - 1:
                    return self._range_in(left, at, own)
                other = self._rank(right)
                return self._range_in(right, other - 1, other)
            case _:
                full = (each for each in self._operands(node) if self._rank(each) == rank)
                ranges = [self._range_in(each, at, rank) for each in full]
                # A dimension of one element is stretched to the others.
                return next((each for each in ranges if each.count != ONE), ranges[0])

    def counts(self, node: ast.expr) -> tuple[Affine, ...]:
        """The numbers of elements of the dimensions of a value that is computed of arrays. Those of its
        operands are noted as equal."""
        rank = self._rank(node)
        ranges = [self._range_in(node, at, rank) for at in range(rank)]
        self._compare(node, tuple(Dimension("", each) for each in ranges))
        return tuple(each.count for each in ranges)

    def _compare(self, node: ast.expr, frame: _Frame) -> None:
        """Note which lengths have to be equal for a value to have the dimensions of a frame."""
        if isinstance(node, (ast.Name, ast.Subscript)):
            own = list(self._ranges(node))
            if self._may_have_more(node, len(own), len(frame)):
                raise _Other
            for each, dimension in zip(own, frame[len(frame) - len(own) :], strict=True):
                self._index(each, dimension)
        elif isinstance(node, (ast.UnaryOp, ast.BinOp, ast.Compare, ast.Call)) and not self._factors(node):
            counted = isinstance(node, ast.Call) and self._called(node.func) == "arange"
            for each in () if counted else self._operands(node):
                self._compare(each, frame)

    def _is_number(self, text: str) -> bool:
        found = self._variables(text)
        return not any(dimensions_of(v) for v in found) and (bool(found) or text not in self.source.local)

    def _variables(self, text: str) -> list[Variable]:
        return [v for v in self.source.subject.variables if v.source_name == text]

    def _rank_of(self, array: str) -> int:
        ranks = {dimensions_of(v) for v in self._variables(array)}
        if len(ranks) != 1 or 0 in ranks or array in self.source.lists:
            raise _Other
        return ranks.pop()

    # --- Elements ---

    def _element(self, node: ast.expr, array: str, frame: _Frame) -> _Element:
        """The element of a part of an array that an iteration is about."""
        subscripts = self._subscripts(node, array)
        count = sum(isinstance(each, ast.Slice) for each in subscripts)
        if count > len(frame) or self._may_have_more(node, count, len(frame)):
            raise _Other
        if self.sums and not self._is_double(array):
            # A total of other types is rounded, or overflows, in another way.
            raise _Other
        running = iter(frame[len(frame) - count :])
        indices: list[ast.expr] = []
        forms: list[Affine | None] = []
        for at, each in enumerate(subscripts):
            if isinstance(each, ast.Slice):
                form = self._index(self._range(each, array, at), next(running))
                indices.append(ast.parse(form.text(), mode="eval").body)
                forms.append(form)
            else:
                indices.append(each)
                form = affine(each, self._is_number)
                from_end = form is not None and not form.terms and form.number < 0
                forms.append(length(array, at) + form if form is not None and from_end else form)
        index = indices[0] if len(indices) == 1 else ast.Tuple(indices)
        return _Element(ast.Subscript(ast.Name(array), index), tuple(forms), self.sums)

    def _may_have_more(self, node: ast.expr, count: int, wanted: int) -> bool:
        """True if an array stands beside others of more dimensions, and nothing tells how many it has."""
        kind = self.source.kinds.of_name(node.id) if isinstance(node, ast.Name) else None
        return count < wanted and isinstance(kind, Array) and kind.guessed

    def _is_double(self, array: str) -> bool:
        return all(element_of(each) == Floating(64) for each in self._variables(array))

    def _index(self, own: Range, dimension: Dimension) -> Affine:
        """The index for an iteration: slices of one length are as far apart as their firsts. A slice of one
        element is stretched to the dimension."""
        wanted = dimension.range
        if own.count == ONE != wanted.count:
            return own.first
        if wanted.count == ONE != own.count:
            raise _Other
        apart = own.count - wanted.count
        if not self.facts.is_zero(apart):
            if not apart.terms:
                raise _Other
            pair = own.count, wanted.count
            if len(apart.terms) == 2 and not apart.number and {k for _, k in apart.terms} == {1, -1}:
                pair = tuple(name(text) for text, _ in apart.terms)
            self.equal[pair[0].text(), pair[1].text()] = None
        return name(dimension.counter) + own.first - wanted.first

    def _dimension(self, of: Range) -> Dimension:
        if self.used == len(self.names.counters):
            raise _Other
        self.used += 1
        return Dimension(self.names.counters[self.used - 1], of)

    def _ranges(self, node: ast.expr) -> Iterator[Range]:
        """Indices of the dimensions of a part of an array."""
        match node:
            case ast.Name(id=text) if self._is_number(text):
                return
            case ast.Name(id=text) | ast.Subscript(value=ast.Name(id=text)):
                for at, each in enumerate(self._subscripts(node, text)):
                    if isinstance(each, ast.Slice):
                        yield self._range(each, text, at)
            case _:
                raise _Other

    def _subscripts(self, node: ast.expr, array: str) -> list[ast.expr]:
        """The subscripts of all dimensions of an array; whole ones where none are written."""
        found: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            found = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        rank = self._rank_of(array)
        names = [n.id for each in found for n in nodes_in(each) if isinstance(n, ast.Name)]
        if len(found) > rank or not all(map(is_plain, found)) or not all(map(self._is_number, names)):
            raise _Other
        return [*found, *(ast.Slice() for _ in range(rank - len(found)))]

    def _range(self, node: ast.Slice, array: str, at: int) -> Range:
        """The indices of a slice, under the assumption that it is inside of the array: NumPy cuts off what is
        not, and counts negative bounds from the end."""
        end = self.facts.lengths.get(f"{array}.shape[{at}]", length(array, at))
        first = self._bound(node.lower) if node.lower is not None else ZERO
        last = self._bound(node.upper) if node.upper is not None else end
        if not first.terms and first.number < 0:
            raise _Other
        if not last.terms and last.number < 0:
            last = end + last
        elif last != end:
            self._assume(last, f"`{last.text()}` is not negative", last.text(), f"{last.text()} >= 0")
            self._assume(end - last, f"`{end.text()}` is at least `{last.text()}`", array)
        self._assume(first, f"`{first.text()}` is not negative", first.text(), f"{first.text()} >= 0")
        return Range(first, last)

    def _assume(self, form: Affine, sentence: str, subject: str, guard: str = "") -> None:
        """A condition that a form is not negative. Subscripts in range imply those without a guard."""
        if not self.facts.holds(form):
            self.assumed[form] = Assumption("in-bounds", (subject,), sentence, guard)

    def _bound(self, node: ast.expr) -> Affine:
        found = affine(node, self._is_number)
        if found is None:
            raise _Other
        return found
