"""State of the symbolic walk at a point: values of scalars, pointer targets, and parameters.

Also spells symbolic values for people.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from polylsp.analysis.scop.symbolic_value import (
    ONE,
    ZERO,
    AllOf,
    AnyOf,
    Atom,
    Choice,
    Compare,
    Condition,
    Extremum,
    FloorDiv,
    Poly,
    Symbol,
    floor_div,
)
from polylsp.ir.pointer_flow import PointerCopy
from polylsp.ir.program import Integer, Rejection, Site, Type, Variable
from polylsp.poly.scop import Addresses

ANYWHERE = 1 << 30


@dataclass(frozen=True, slots=True)
class Entry:
    """An element of an array that the nest does not write, by the object that it is in (`base`, `shape`) and
    its subscripts; the value meant is `factor` times that of the element, plus `offset`, which `wraps` around
    or not. Where the condition `unless` on parameters holds, the subscript stands for the element."""

    base: str
    shape: tuple[str, ...]
    subscripts: tuple[Poly, ...]
    factor: Poly = ONE
    offset: Poly = ZERO
    wraps: bool = False
    unless: Condition | None = None


@dataclass(frozen=True, slots=True)
class Opaque:
    """A value without a symbolic form. It is fixed inside loops deeper than `depth` (the number of loops of
    the nest around the point where it arose); `ANYWHERE` for a pointer into memory that has another name
    too. `entry`: the element that it is computed from, converted at most to a wider type; `row`: the element
    that it is not less than, while the next element is greater."""

    depth: int
    rejection: Rejection
    entry: Entry | None = None
    row: Entry | None = None

    def changed(self) -> Opaque:
        """A value that is computed from this one."""
        known = self.entry is not None or self.row is not None
        return Opaque(self.depth, self.rejection) if known else self

    def plus(self, by: Poly, wraps: bool = False) -> Opaque:
        """The value and `by`; `wraps`: all such sums are taken modulo the size of their type."""
        entry = self.entry
        if by == ZERO or entry is None:
            return self if by == ZERO else self.changed()
        return replace(self, entry=replace(entry, offset=entry.offset + by, wraps=entry.wraps or wraps))

    def times(self, by: Poly) -> Opaque:
        """The value times `by`, where no such product wraps around."""
        entry = self.entry
        if entry is None:
            return self.changed()
        return replace(self, entry=replace(entry, factor=entry.factor * by, offset=entry.offset * by))


def anything(site: Site) -> Opaque:
    """The subscript of all elements."""
    return Opaque(0, Rejection("data-dependent-value", site, "all elements are meant"))


@dataclass(frozen=True, slots=True)
class Base:
    """Start of a path to memory: a variable, or (`fresh`) an allocation assigned to it. `settled`: ordinal
    of the loop at whose start the variable had the value that leads there (0: another value)."""

    name: str
    variable: Variable
    fresh: bool = False
    settled: int = 0


@dataclass(frozen=True, slots=True)
class At:
    """A step of an evaluated path: an element. `sole`: a pointer to an object that is no element of an array
    leads here, so that only the index 0 is inside (C11, 6.5.6, paragraph 7)."""

    index: Poly | Opaque
    sole: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """A step of an evaluated path: a field; `of` names its structure and `type` is its own, if resolved."""

    name: str
    of: str = field(default="", compare=False)
    type: Type | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PointerValue:
    """A pointer: it points at the element that the steps, the last of them an `At`, lead to.
    `followed` are the numbers of the steps that follow a pointer found in memory; `taken` are the ordinals
    of the loops around the point where the address of a variable was taken; `recast`: it is a pointer to
    another type than the object has there."""

    base: Base
    steps: tuple[At | Member, ...]
    followed: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()
    recast: bool = False


Value = Union[Poly, PointerValue, Opaque]


@dataclass(frozen=True, slots=True)
class Contents:
    """Known elements of an array: `value` in terms of the subscript and of the iterators `around` the point,
    for the elements that are `filled`, a set `{ [around, element] }` as text (isl may lose sets that it had
    before an interruption)."""

    variable: Variable
    value: Poly
    around: tuple[str, ...]
    filled: str


Environment = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Tie:
    """A conversion of a `value` from a type, whose range a signed value never leaves, to another one."""

    value: Poly
    of: Integer
    to: Integer


@dataclass
class Parameters:
    """The parameters of a function's nests: their isl names, spelling and types; `dimensions` are the isl
    names of iterators, `iterators` how each is spelled; `wrapping`: some unsigned value may wrap around, so
    that their limits matter; `ties` are the values of which some parameters are conversions; `derived` are
    parameters for values that were computed, `products` those for products of others; `epoch` counts the
    stretches of code between which memory may change unseen: its contents are another value in each;
    `addresses` records where the addresses of the function's variables escape to; `usual` are variables that
    surely start loops with usual values (see `reductions.py`); `renamed` are the bases of pointers into
    memory that has another name too, with the reason why that name is not known; `assigned` are the
    assignments of pointers to pointer variables; `mentions` counts the uses of each local array by its name
    in the function, if its address goes nowhere."""

    texts: dict[str, str] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    dimensions: set[str] = field(default_factory=set)
    iterators: dict[str, str] = field(default_factory=dict)
    wrapping: bool = False
    derived: set[str] = field(default_factory=set)
    products: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ties: dict[str, Tie] = field(default_factory=dict)
    epoch: int = 0
    addresses: Addresses = field(default_factory=lambda: Addresses())
    usual: frozenset[str] = frozenset()
    renamed: dict[str, Rejection] = field(default_factory=dict)
    assigned: tuple[PointerCopy, ...] = ()
    mentions: Mapping[str, int] = field(default_factory=dict[str, int])
    _by_key: dict[Hashable, str] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)
    """By the stem of names, the number up to which all of them are used."""

    def computed(self, key: Hashable, text: str, of_type: Type, stem: str = "") -> Poly:
        """As `symbol`, for a value that is no input of the function but was computed in it."""
        result = self.symbol(key, text, of_type, stem)
        self.derived |= result.symbols
        return result

    def symbol(self, key: Hashable, text: str, of_type: Type, stem: str = "") -> Poly:
        """The parameter that stands for the value `key`, spelled `text`; its isl name is close to
        `stem`, or to the spelling."""
        name = self._by_key.get(key)
        if name is None:
            name = self.fresh_name(stem or text)
            self._by_key[key] = name
            self.texts[name] = text
            self.types[name] = of_type
        return Poly.atom(Symbol(name))

    def known(self, key: Hashable) -> str | None:
        """The isl name of the parameter for the value `key`; `None` if there is none."""
        return self._by_key.get(key)

    @staticmethod
    def symbol_named(name: str) -> Poly:
        """The symbol of that isl name."""
        return Poly.atom(Symbol(name))

    def fresh_name(self, text: str) -> str:
        """A name for a parameter that isl accepts, close to `text`, not used yet."""
        stem = _stem(text)
        name, count = _first_free(
            stem, lambda n: n in self.texts or n in self.dimensions, self._counts.get(stem, 1)
        )
        self._counts[stem] = count
        self.texts[name] = text
        return name

    def dimension_name(self, text: str, around: tuple[str, ...]) -> str:
        """A name for an iterator inside those `around`; loops side by side may share it."""
        name, _ = _first_free(_stem(text), lambda n: n in self.texts or n in around)
        self.dimensions.add(name)
        self.iterators[name] = text
        return name


def readable(name: str) -> str:
    """A name of letters, digits and underscores as isl accepts it."""
    return f"v_{name}" if name[:1].isdigit() or name in _RESERVED else name


def _stem(text: str) -> str:
    """A name of letters, digits and underscores close to `text`."""
    return readable(re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "value")


def _first_free(stem: str, taken: Callable[[str], bool], count: int = 1) -> tuple[str, int]:
    """The first of `stem`, `stem_2`, `stem_3` ... from `count` on that is not taken, and its number."""
    name = stem if count == 1 else f"{stem}_{count}"
    while taken(name):
        count += 1
        name = f"{stem}_{count}"
    return name, count


# Words of isl's notation, which cannot name a parameter or a dimension.
_WORDS = "and or not exists implies floor ceil ceild floord mod min max true false infty infinity NaN rat div"
_RESERVED = frozenset(_WORDS.split(" "))


# --------------------------------------------------------------------------------------------------
# Symbolic values as a person would write them.
# --------------------------------------------------------------------------------------------------


_MOST = 100
"""Longest value printed, in characters; longer ones are cut."""


def pretty(value: Poly, parameters: Parameters) -> str:
    """A polynomial."""
    parts: list[str] = []
    for monomial, coefficient in sorted(value.terms, key=lambda t: (not t[0], len(t[0]))):
        factors = [_atom(atom, parameters) for atom in monomial]
        size = abs(coefficient)
        if len(factors) > 1:
            factors = [f"({each})" if " / " in each and each[-1] != ")" else each for each in factors]
        body = " * ".join(([str(size)] if size != 1 or not factors else []) + factors)
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {body}")
    text = " ".join(parts).removeprefix("+ ")
    text = text.replace("- ", "-", 1) if text.startswith("- ") else text or "0"
    return text if len(text) <= _MOST else text[:_MOST] + " …"


def _atom(atom: Atom, parameters: Parameters) -> str:
    match atom:
        case Symbol(name):
            return parameters.texts.get(name) or parameters.iterators.get(name, name)
        case FloorDiv(dividend, divisor):
            text = pretty(dividend, parameters)
            simple = len(dividend.terms) == 1 and not text.startswith("-")
            return f"{text} / {divisor}" if simple else f"({text}) / {divisor}"
        case Extremum(kind, left, right):
            return f"{kind}({pretty(left, parameters)}, {pretty(right, parameters)})"
        case Choice(Compare(">=", tested), then, otherwise) if _is_spelled_alike(tested, then, otherwise):
            plain = min(then, otherwise, key=lambda value: abs(dict(value.terms).get((), 0)))
            return f"({pretty(plain, parameters)})" if len(plain.terms) > 1 else pretty(plain, parameters)
        case Choice(condition, then, otherwise):
            either = f"{pretty(then, parameters)} : {pretty(otherwise, parameters)}"
            return f"({_condition(condition, parameters)} ? {either})"


def _is_spelled_alike(tested: Poly, then: Poly, otherwise: Poly) -> bool:
    """True if C writes both ways of a choice alike: a value that becomes unsigned or signed goes around at
    the end of its type, and a quotient of a negative value is rounded up."""
    around = (otherwise - then).as_constant
    if around is not None:
        return abs(around) in (1 << 32, 1 << 64)
    match then.terms:
        case (((FloorDiv(dividend, divisor),), 1),):
            return dividend == tested and otherwise == -floor_div(-dividend, divisor)
        case _:
            return False


def _condition(condition: Condition, parameters: Parameters) -> str:
    match condition:
        case Compare(operator, value):
            return f"{pretty(value, parameters)} {operator} 0"
        case AllOf(parts):
            return " && ".join(_condition(part, parameters) for part in parts)
        case AnyOf(parts):
            return " || ".join(f"({_condition(part, parameters)})" for part in parts)
