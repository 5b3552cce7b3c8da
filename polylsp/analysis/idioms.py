"""Usual names of what loops compute: products of matrices, transposes, stencils, histograms.

A nest has a name if each of its assignments to elements is of that kind, or sets, scales or copies elements
by scalars alone. Subscripts are compared as polynomials over counters and sizes, so that `a[i * n + k]` and
`a[i][k]` are the same. Names are for people: no verdict and no edit depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.analysis.scop.symbolic_value import NotAffineError, Poly, Symbol
from polylsp.ir.effects import walk
from polylsp.ir.induction import additive, same_element
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Field,
    Floating,
    Index,
    Loop,
    Place,
    Read,
    Unary,
    Unsupported,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell
from polylsp.model.facts import Idiom

_FEWEST_POINTS = 3


def idioms(body: Block) -> dict[int, Idiom]:
    """The names of the outermost loops that have one, by their ordinals."""
    found: dict[int, Idiom] = {}
    for loop in _loops(body):
        idiom = _idiom(loop)
        found |= {loop.ordinal: idiom} if idiom is not None else idioms(loop.body)
    return found


def _loops(body: Block) -> Iterator[Loop]:
    """The outermost loops of a block."""
    inside: set[int] = set()
    for each in walk(body):
        if isinstance(each, Loop) and each.ordinal not in inside:
            inside.update(one.ordinal for one in walk(each.body) if isinstance(one, Loop))
            yield each


@dataclass(frozen=True, eq=False)
class _Nest:
    """A loop nest: the counters (unique names) of its loops, that of the outermost one first."""

    counters: tuple[str, ...]

    def used(self, subscripts: Sequence[Poly]) -> frozenset[str]:
        """The counters in some subscripts."""
        every = frozenset(name for each in subscripts for name in each.symbols)
        return every.intersection(self.counters)

    def alone(self, subscript: Poly) -> frozenset[str]:
        """The counters that move a subscript by one element."""
        return frozenset(each for each in self.counters if abs(subscript.coefficient(each)) == 1)


def _idiom(loop: Loop) -> Idiom | None:
    """The name of a nest, in which the counter of its outermost loop takes part."""
    statements = list(walk(loop))
    loops = [each for each in statements if isinstance(each, Loop)]
    counters = tuple(name for each in loops if (name := _counter(each)))
    if len(counters) < len(loops) or any(isinstance(each, (Evaluate, Unsupported)) for each in statements):
        return None
    nest, steps = _Nest(counters), {id(one) for each in loops for one in walk(each.step)}
    names: list[Idiom] = []
    for each in statements:
        if not isinstance(each, Assign) or id(each) in steps:
            continue
        named = _named(nest, each)
        if named is None and _is_plain(each):
            continue
        if named is None or (names and named.name != names[0].name):
            return None
        names.append(named)
    return names[0] if names else None


def _counter(loop: Loop) -> str:
    """Unique name of the variable that a header counts; empty where it does another thing."""
    stepped = [each for each in loop.step.statements if isinstance(each, Assign)]
    if loop.kind != "for" or len(stepped) != 1 or stepped[0].target.steps:
        return ""
    return stepped[0].target.variable.name


def _is_plain(assign: Assign) -> bool:
    """True if a statement reads no elements but the one that it sets."""
    return all(same_element(each, assign.target) for each in _elements(assign.value))


def _elements(*values: Expr) -> Iterator[Place]:
    """The elements of arrays that are read, those in subscripts too."""
    for value in values:
        for each in subexpressions(value):
            if isinstance(each, Read) and any(isinstance(step, Index) for step in each.place.steps):
                yield each.place


def _named(nest: _Nest, assign: Assign) -> Idiom | None:
    """The kind of one assignment."""
    added = _added(assign)
    return (
        _histogram(assign, added)
        or _product(nest, assign, added)
        or _transpose(nest, assign)
        or _stencil(nest, assign)
    )


def _added(assign: Assign) -> Expr | None:
    """The value that is added to the target."""
    added = additive(assign)
    return added[0] if added is not None and added[1] > 0 else None


# --- Subscripts --------------------------------------------------------------------------


def _subscripts(place: Place) -> list[Poly]:
    """The subscripts of a place; none where they are out of hand."""
    try:
        return [_polynomial(each) for each in subscripts(place)]
    except NotAffineError:
        return []


def _polynomial(expression: Expr) -> Poly:
    """An expression over counters and sizes; what is no sum or product is an atom by its spelling. Raises
    `NotAffineError` where the polynomial is too large."""
    match expression:
        case Constant(int(value)):
            return Poly.constant(value)
        case Cast(operand):
            return _polynomial(operand)
        case Unary("-", operand):
            return -_polynomial(operand)
        case Binary("+", left, right):
            return _polynomial(left) + _polynomial(right)
        case Binary("-", left, right):
            return _polynomial(left) - _polynomial(right)
        case Binary("*", left, right):
            return _polynomial(left) * _polynomial(right)
        case Read(place) if not place.steps:
            return Poly.atom(Symbol(place.variable.name))
        case _:
            return Poly.atom(Symbol(spell(expression)))


# --- The kinds ---------------------------------------------------------------------------


def _histogram(assign: Assign, added: Expr | None) -> Idiom | None:
    """`h[b[i]] += w`: the subscript is data, or a rounded number."""
    if added is None or not isinstance(stripped(added), (Constant, Read)):
        return None
    own = tuple(subscripts(assign.target))
    chosen = any(_elements(*own)) or any(
        isinstance(each, Cast) and isinstance(each.operand.type, Floating)
        for subscript in own
        for each in subexpressions(subscript)
    )
    return Idiom("histogram", (assign.target.variable.source_name,)) if chosen else None


def _product(nest: _Nest, assign: Assign, added: Expr | None) -> Idiom | None:
    """`c[i][j] += a[i][k] * b[k][j]`, also in a scalar, with scalar factors; of a matrix and a vector where
    one factor has no counter but `k`."""
    factors = [each for each in _factors(added) if any(_elements(each))] if added is not None else []
    places = [each.place for each in factors if isinstance(each, Read)]
    if len(factors) != 2 or len(places) != 2:
        return None
    target, (left, right) = assign.target, places
    if target.variable in (left.variable, right.variable):
        return None
    both = [_subscripts(each) for each in (left, right)]
    if any(len(nest.alone(each)) > 1 for own in both for each in own):
        return None
    one, other = (nest.used(each) for each in both)
    kept = nest.used(_subscripts(target))
    # The counter of the innermost loop is summed over where the sum is a scalar.
    summed = (one & other) - kept if target.steps else (one & other).intersection(nest.counters[-1:])
    of_one, of_other = one - other, other - one
    if not summed or not (of_one or of_other) or nest.counters[0] not in one | other:
        return None
    names = (left.variable.source_name, right.variable.source_name)
    names = names if of_one else names[::-1]
    bits = target.type.bits if isinstance(target.type, Floating) else 0
    kind = "matrix product" if of_one and of_other else "matrix-vector product"
    return Idiom(kind, names, bits)


def _factors(value: Expr) -> Iterator[Expr]:
    bare = stripped(value)
    if isinstance(bare, Binary) and bare.operator == "*":
        yield from _factors(bare.left)
        yield from _factors(bare.right)
    else:
        yield bare


def _transpose(nest: _Nest, assign: Assign) -> Idiom | None:
    """`t[j][i] = a[i][j]`: neighbours on one side are apart on the other."""
    value = stripped(assign.value)
    if assign.operator is not None or not isinstance(value, Read):
        return None
    sides = [_subscripts(assign.target), _subscripts(value.place)]
    if not all(sides):
        return None
    used = [nest.used(each) for each in sides]
    fast = [nest.alone(each[-1]) for each in sides]
    if used[0] != used[1] or nest.counters[0] not in used[0]:
        return None
    if any(len(each) != 1 for each in fast) or fast[0] == fast[1]:
        return None
    return Idiom("transpose", (value.place.variable.source_name,))


def _stencil(nest: _Nest, assign: Assign) -> Idiom | None:
    """An element from several elements of an array at fixed distances, which other iterations read too."""
    if nest.counters[0] not in nest.used(_subscripts(assign.target)):
        return None
    points: dict[tuple[str, ...], dict[tuple[Poly, ...], None]] = {}
    for each in _elements(assign.value):
        members = (step.name for step in each.steps if isinstance(step, Field))
        points.setdefault((each.variable.source_name, *members), {})[tuple(_subscripts(each))] = None
    for (array, *_), found in points.items():
        first, *others = found
        shifted = [each for each in others if len(each) == len(first) and _is_shifted(nest, first, each)]
        if first and len(shifted) == len(others) >= _FEWEST_POINTS - 1:
            return Idiom("stencil", (array,))
    return None


def _is_shifted(nest: _Nest, one: tuple[Poly, ...], other: tuple[Poly, ...]) -> bool:
    """True if other iterations of the nest read the one element by the other reference."""
    for left, right in zip(one, other, strict=True):
        steps = {
            tuple(atom for atom in monomial if atom != Symbol(counter)): abs(coefficient)
            for monomial, coefficient in left.terms
            for counter in nest.counters
            if monomial.count(Symbol(counter)) == 1
        }
        for monomial, coefficient in (left - right).terms:
            if monomial not in steps or coefficient % steps[monomial]:
                return False
    return True
