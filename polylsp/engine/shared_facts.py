"""Facts shared by functions that differ in their names, and in constants that their facts do not rest on.

Generated code repeats a function with other factors and names. The second function of a shape is analysed on
a copy whose constants note when their values are read; its facts hold for every function that agrees with it
in all else (dependences found at run time: Acar, Blelloch and Harper, Adaptive functional programming,
POPL 2002).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeVar

from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Function,
    If,
    Index,
    Jump,
    Loop,
    Place,
    Read,
    Select,
    Site,
    Type,
    Unary,
    Unsupported,
)
from polylsp.model.facts import FunctionFacts

_SHAPES = 512
_MOST_TEMPLATES = 4
"""Functions of one shape whose facts are remembered: they differ in constants that these rest on."""

T = TypeVar("T")


def shared(
    function: Function, shape: Hashable, analysed: Callable[[Function], FunctionFacts]
) -> FunctionFacts:
    """The facts of a function as `analysed` finds them, or as it found them for another one. Where shapes are
    equal, so is all that facts rest on beside the function. `analysed` uses its name for
    `FunctionFacts.name` alone."""
    known = _shapes.get(shape)
    if known is None:
        # Most functions are alone of their shape.
        _shapes[shape] = []
        if len(_shapes) > _SHAPES:
            _shapes.popitem(last=False)
        return analysed(function)
    _shapes.move_to_end(shape)
    template = next((each for each in known if each.holds_for(function)), None)
    if template is not None:
        return replace(template.facts, name=function.name)
    if len(known) >= _MOST_TEMPLATES:
        return analysed(function)
    read: set[int] = set()
    observed = replace(function, body=_observed(function.body, read, {}))
    found = analysed(observed)
    known.append(_Template(observed, frozenset(read), replace(found, seconds=())))
    return found


_shapes: OrderedDict[Hashable, list[_Template]] = OrderedDict()


@dataclass(frozen=True, slots=True)
class _Template:
    """A function with its facts, and the numbers of the constants that these rest on."""

    function: Function
    read: frozenset[int]
    facts: FunctionFacts

    def holds_for(self, other: Function) -> bool:
        """True if another function has the same facts."""
        own = self.function
        return _AROUND(own) == _AROUND(other) and _agree(own.body, other.body, self.read)


_AROUND = attrgetter(*(each.name for each in fields(Function) if each.name not in ("name", "body")))
"""All of a function but its name and body."""


class _ObservedConstant(Constant):
    """A constant that notes when its value is read, as comparisons and hashes do too."""

    __slots__ = ("_hidden", "_number", "_read")

    def __init__(
        self, value: float, type: Type, site: Site, number: int = -1, read: set[int] | None = None
    ) -> None:
        setters = {"_hidden": value, "type": type, "site": site, "_number": number}
        for name, each in (*setters.items(), ("_read", set[int]() if read is None else read)):
            object.__setattr__(self, name, each)

    @property
    def value(self) -> int | float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The value, which is noted."""
        self._read.add(self._number)
        return self._hidden

    def agrees(self, other: Constant, read: frozenset[int]) -> bool:
        """True if another constant has the same type and place, and, if that was read, the same value."""
        if self.type != other.type or self.site != other.site:
            return False
        # 0.0 equals -0.0, and 1 equals 1.0.
        return self._number not in read or repr(self._hidden) == repr(other.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return (self.value, self.type, self.site) == (other.value, other.type, other.site)

    def __hash__(self) -> int:
        return hash((self.value, self.type, self.site))


_PARTS = (
    *(Assign, Assume, Block, Declare, Evaluate, If, Jump, Loop, Unsupported),
    *(AddressOf, Binary, Call, Cast, Read, Select, Unary),
    *(Index, Place),
)
"""The parts of a program that contain expressions. All others are compared as they are."""


_FIELDS = {kind: attrgetter(*(each.name for each in fields(kind)), "__class__") for kind in _PARTS}
"""For each kind of part, its fields in order, and its class (so that there are always several)."""


def _observed(part: T, read: set[int], known: dict[int, tuple[object, object]]) -> T:
    """A part of a program with constants that enter their numbers into `read`. What stands in several places
    (`known` by identity) stays one object."""
    kind = type(part)
    if kind is tuple:
        return tuple(_observed(each, read, known) for each in part)  # type: ignore[return-value]
    if kind is not Constant and kind not in _PARTS:
        return part
    if (found := known.get(id(part))) is None:
        if isinstance(part, Constant):
            made: object = _ObservedConstant(part.value, part.type, part.site, len(known), read)
        else:
            parts = _FIELDS[kind](part)[:-1]  # pyright: ignore[reportArgumentType]
            made = kind(*(_observed(each, read, known) for each in parts))
        found = known[id(part)] = part, made
    return found[1]  # type: ignore[return-value]


def _agree(own: object, other: object, read: frozenset[int]) -> bool:
    """True if two parts of programs are equal but for constants that are not `read`; `own` is observed."""
    pending: list[tuple[Any, Any]] = [(own, other)]
    while pending:
        left, right = pending.pop()
        kind = type(left)
        if kind is _ObservedConstant:
            if type(right) is not Constant or not left.agrees(right, read):
                return False
        elif kind is not type(right):
            return False
        elif kind is tuple:
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif (parts := _FIELDS.get(kind)) is not None:
            pending += zip(parts(left), parts(right), strict=True)
        elif left is not right and left != right:
            return False
    return True
