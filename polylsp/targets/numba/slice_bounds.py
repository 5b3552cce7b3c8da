"""Bounds of slices in Python as affine forms, and the facts on them at a place of a function.

A bound is a whole number, or one more or less than names and lengths (`i + 1`, `n - 1`,
`a.shape[0] - 2`). Facts are the ranges of the loops around the place, and lengths that names stand
for; isl decides what follows from them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.frontends.python.kinds import Array, Number
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.syntax import constant
from polylsp.targets.numba.python_loops import Source, range_arguments


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of texts of Python with whole factors, none of them zero, and of a number."""

    terms: tuple[tuple[str, int], ...]
    number: int

    def __add__(self, other: Affine) -> Affine:
        return _affine((*self.terms, *other.terms), self.number + other.number)

    def __sub__(self, other: Affine) -> Affine:
        return self + other.times(-1)

    def times(self, factor: int) -> Affine:
        """A multiple."""
        return _affine([(text, factor * count) for text, count in self.terms], factor * self.number)

    def renamed(self, names: Mapping[str, str]) -> Affine:
        """The same of other texts."""
        return _affine([(names.get(text, text), count) for text, count in self.terms], self.number)

    def text(self) -> str:
        """As Python."""
        ordered = sorted(self.terms, key=lambda term: term[1] < 0)
        factors = [(t if abs(k) == 1 else f"{abs(k)} * {t}", k) for t, k in ordered]
        if self.number or not factors:
            factors.append((str(abs(self.number)), self.number))
        (first, sign), *rest = factors
        head = f"-{first}" if sign < 0 else first
        return head + "".join(f" {'+' if k > 0 else '-'} {text}" for text, k in rest)


ZERO, ONE = Affine((), 0), Affine((), 1)


def _affine(terms: Sequence[tuple[str, int]], number: int) -> Affine:
    found: dict[str, int] = {}
    for text, count in terms:
        found[text] = found.get(text, 0) + count
    return Affine(tuple((text, count) for text, count in found.items() if count), number)


def name(text: str) -> Affine:
    """The form of one text."""
    return Affine(((text, 1),), 0)


def length(array: str, dimension: int) -> Affine:
    """The length of an array in a dimension."""
    return name(f"{array}.shape[{dimension}]")


def is_plain(node: ast.expr) -> bool:
    """True if a subscript is a slice without a step, or one index: a number, a name, a sum of these."""
    if isinstance(node, ast.Slice):
        return node.step is None or constant(node.step) == 1
    parts = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
    return constant(node) is not None or all(isinstance(one, parts) for one in nodes_in(node))


def affine(node: ast.expr, is_number: Callable[[str], bool]) -> Affine | None:
    """The form of an expression; `None` if it has none."""
    number = constant(node)
    if number is not None:
        return Affine((), number)
    match node:
        case ast.Name(id=text) if is_number(text):
            return name(text)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = affine(operand, is_number)
            return inner.times(-1) if inner is not None else None
        case ast.BinOp(left=left, op=operation, right=right):
            one, other = affine(left, is_number), affine(right, is_number)
            return None if one is None or other is None else _combined(one, operation, other)
        case _:
            return _length(node, is_number)


def _combined(one: Affine, operation: ast.operator, other: Affine) -> Affine | None:
    match operation:
        case ast.Add():
            return one + other
        case ast.Sub():
            return one - other
        case ast.Mult() if not one.terms:
            return other.times(one.number)
        case ast.Mult() if not other.terms:
            return one.times(other.number)
        case _:
            return None


def _length(node: ast.expr, is_number: Callable[[str], bool]) -> Affine | None:
    """`a.shape[0]`, `len(a)`."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=ast.Constant(value=int(at))
        ) if at >= 0 and not is_number(array):
            return length(array, at)
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=array)], keywords=[]):
            return None if is_number(array) else length(array, 0)
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# Facts at a place of a function.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Facts:
    """Forms that are not negative at a place of a function. Lengths of arrays are not, either. `lengths`:
    those of arrays that the function makes, by their text, in numbers known before."""

    forms: tuple[Affine, ...] = ()
    lengths: Mapping[str, Affine] = field(default_factory=dict[str, Affine])

    def holds(self, form: Affine) -> bool:
        """True if a form is not negative, as far as the facts tell."""
        return is_impossible((*self.forms, form.times(-1) - ONE))

    def is_zero(self, form: Affine) -> bool:
        """True if a form is zero, as far as the facts tell."""
        return self.holds(form) and self.holds(form.times(-1))


def is_impossible(forms: Sequence[Affine]) -> bool:
    """True if there are no whole numbers for which none of the forms is negative, and no length of an array
    that occurs in them."""
    texts = list(dict.fromkeys(text for form in forms for text, _ in form.terms))
    known = [*forms, *(name(text) for text in texts if ".shape[" in text)]
    space = isl.Space.set_alloc(isl.DEFAULT_CONTEXT, 0, len(texts))
    zero = isl.Aff.zero_on_domain_space(space)
    found = isl.BasicSet.universe(space)
    for form in known:
        value = zero.add_constant_val(form.number)
        for text, count in form.terms:
            value = value.set_coefficient_val(isl.dim_type.in_, texts.index(text), count)
        found = found.intersect(value.ge_basic_set(zero))
    return found.is_empty()


def strongest(forms: Iterable[Affine]) -> Iterator[Affine]:
    """Forms that are not larger than another one: if these are not negative, none is."""
    every = list(dict.fromkeys(forms))
    for form in every:
        apart = [form - other for other in every]
        if not any(not each.terms and each.number > 0 for each in apart):
            yield form


def facts_at(source: Source, node: ast.stmt, is_number: Callable[[str], bool]) -> Facts:
    """Facts at a statement: counters of `for` loops around it are in their ranges, and names are the lengths
    or sums that the function binds them to once, before all loops. Names that change are in no fact."""
    given = [n.arg for n in nodes_in(source.definition.args) if isinstance(n, ast.arg)]
    bound = [*given, *_bound(source.nodes, is_number)]
    once = frozenset(text for text in bound if bound.count(text) == 1)
    forms: list[Affine] = []
    for loop in _around(source.definition.body, node):
        changed = frozenset(_bound(nodes_in_all(loop.body), is_number))
        counter, arguments = affine(loop.target, is_number), range_arguments(loop.iter)
        if arguments is None or counter is None or not changed.isdisjoint(_names(counter)):
            continue
        ends = [affine(end, is_number) for end in arguments[:2]]
        first, last = (e if e is not None and changed.isdisjoint(_names(e)) else None for e in ends)
        if arguments[2] > 0:
            low, high = first, last - ONE if last is not None else None
        else:
            low, high = last + ONE if last is not None else None, first
        forms += [counter - low] if low is not None else []
        forms += [high - counter] if high is not None else []
    for target, value in _definitions(source):
        own, stated = affine(target, is_number), affine(value, is_number)
        if own is not None and stated is not None and once.issuperset((*_names(own), *_names(stated))):
            forms += [own - stated, stated - own]
    return Facts(tuple(forms), dict(_lengths(source, once, is_number)))


def _names(form: Affine) -> Iterator[str]:
    """The names in the texts of a form."""
    return (text.partition(".")[0] for text, _ in form.terms)


def _bound(nodes: Iterable[ast.AST], is_number: Callable[[str], bool]) -> Iterator[str]:
    """The names that nodes bind. An array that is changed in place keeps its lengths."""
    every = tuple(nodes)
    changed = {id(n.target) for n in every if isinstance(n, ast.AugAssign)}
    stored = (n for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    return (n.id for n in stored if id(n) not in changed or is_number(n.id))


def _around(body: Sequence[ast.stmt], node: ast.stmt) -> Iterator[ast.For]:
    """The `for` loops in whose bodies a statement stands, outermost first."""
    for each in body:
        for block in ("body", "orelse", "finalbody"):
            inside: list[ast.stmt] = getattr(each, block, [])
            if any(inner is node for inner in nodes_in_all(inside)):
                if isinstance(each, ast.For) and block == "body":
                    yield each
                yield from _around(inside, node)


_CREATED = ("empty", "zeros", "ones", "full")
_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like")


def _lengths(
    source: Source, once: frozenset[str], is_number: Callable[[str], bool]
) -> Iterator[tuple[str, Affine]]:
    """Lengths of arrays that the function makes in one place, in names that have one value for all of it. A
    negative form stands for no elements, as it does for a loop."""
    inside = {
        n
        for loop in source.nodes
        if isinstance(loop, ast.For | ast.While)
        for n in _bound(nodes_in(loop), is_number)
    }
    for node in source.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=target)], value=ast.Call(func=function, args=[size, *_])
            ) if target in once:
                called = source.path(function).removeprefix("numpy.")
                if called in _CREATED:
                    sizes = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size]
                    found = [affine(_unclamped(each), is_number) for each in sizes]
                else:
                    found = _lengths_like(source, target, size) if called in _LIKE else []
                for at, form in enumerate(found):
                    if form is not None and all(n in once and n not in inside for n in _names(form)):
                        yield f"{target}.shape[{at}]", form
            case _:
                pass


def _lengths_like(source: Source, target: str, like: ast.expr) -> list[Affine | None]:
    kind = source.kinds.of_name(target)
    if isinstance(like, ast.Name) and isinstance(kind, Array):
        return [length(like.id, at) for at in range(kind.rank)]
    return simple_lengths(source, like)


def _unclamped(node: ast.expr) -> ast.expr:
    """The first argument of `max(…, 0)`; other expressions as they are."""
    match node:
        case ast.Call(func=ast.Name(id="max"), args=[inner, ast.Constant(value=0)], keywords=[]):
            return inner
        case _:
            return node


def simple_lengths(source: Source, node: ast.expr) -> list[Affine | None]:
    """Lengths of a part of an array of which all bounds count from its ends; empty for other values."""
    match node:
        case ast.Subscript(value=ast.Name(id=array), slice=index):
            every = index.elts if isinstance(index, ast.Tuple) else [index]
            return [_simple_length(e, array, at) for at, e in enumerate(every) if not _is_one(source, e)]
        case _:
            return []


def _is_one(source: Source, index: ast.expr) -> bool:
    return isinstance(source.kinds.of(index), Number)


def _simple_length(node: ast.expr, array: str, at: int) -> Affine | None:
    if not isinstance(node, ast.Slice) or (node.step is not None and constant(node.step) != 1):
        return None
    lower = 0 if node.lower is None else constant(node.lower)
    upper = 0 if node.upper is None else constant(node.upper)
    if lower is None or upper is None or lower < 0 or upper > 0 or (upper == 0 and node.upper is not None):
        return None
    return length(array, at) + Affine((), upper - lower)


def _definitions(source: Source) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Names with the values that statements outside of loops bind them to, and lengths of new arrays with
    their sizes; `n, m = a.shape` are lengths."""
    for node in source.definition.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                if len(targets) == len(values):
                    yield from zip(targets, values, strict=True)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Attribute(attr="shape") as shape):
                for at, one in enumerate(targets):
                    yield one, ast.Subscript(shape, ast.Constant(at))
            case ast.Assign(
                targets=[ast.Name() as target], value=ast.Call(func=function, args=[size, *_])
            ) if source.path(function).removeprefix("numpy.") in _CREATED:
                sizes = size.elts if isinstance(size, (ast.Tuple, ast.List)) else [size]
                for at, one in enumerate(sizes):
                    yield ast.Subscript(ast.Attribute(target, "shape"), ast.Constant(at)), one
            case ast.Assign(targets=[ast.Name() as target], value=value):
                yield target, value
            case _:
                continue


# --------------------------------------------------------------------------------------------------
# Indices of a dimension, and the counters that run over them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """Indices of a dimension: the `first` one, and the one that is not reached (`last`)."""

    first: Affine
    last: Affine

    @property
    def count(self) -> Affine:
        """The number of indices, if it is not negative."""
        return self.last - self.first

    def header(self, counter: str) -> str:
        """The loop over them."""
        first, last = self.first.text(), self.last.text()
        return f"for {counter} in range({last if first == '0' else f'{first}, {last}'}):"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A dimension of a value, whose elements a counter runs over."""

    counter: str
    range: Range


def within(dimension: Dimension, names: Mapping[str, str]) -> tuple[Affine, Affine]:
    """Forms that are not negative where a counter is in its range; with other names for counters."""
    counter = name(dimension.counter).renamed(names)
    return counter - dimension.range.first, dimension.range.last - ONE - counter
