"""Context of lowering at a point of the function: scopes, types, tokens; and effects under way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from polylsp.frontends.c.lower.sites import Sites
from polylsp.frontends.unique_names import UniqueNames
from polylsp.model.program import Constant, Expr, Field, Site, Statement, Type, Variable
from polylsp.model.rejection import Rejection, RejectionCode


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function that can be called by name."""

    name: str
    result: Type
    parameters: tuple[Type, ...] | None
    const: bool = False
    pure: bool = False
    defined: bool = False
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a structure; an unnamed one is searched for inner members. `shares`: a bit-field's
    neighbours in the same memory location."""

    name: str
    type: Type
    volatile: bool = False
    anonymous: bool = False
    bit_field: bool = False
    shares: tuple[Field, ...] = ()

    @property
    def step(self) -> Field:
        """The step of a place from the structure to the member."""
        return Field(self.name, self.type, self.shares, self.bit_field)


@dataclass(slots=True)
class Scope:
    """The names of one block: objects, functions and enumerators, typedefs, tags."""

    names: dict[str, Variable | Constant | Prototype] = field(default_factory=dict)
    typedefs: dict[str, tuple[Type, bool]] = field(default_factory=dict)
    tags: dict[str, Type] = field(default_factory=dict)


@dataclass(slots=True)
class Effects:
    """The side effects of an expression that is being lowered.

    `statements` run before its value is used, `after` when the whole expression is done
    (`None` where nothing may be put off). `modified` are variables changed on the way, with how
    often the value may name them before C leaves the order open.
    """

    statements: list[Statement] = field(default_factory=list)
    after: list[Statement] | None = None
    rejections: list[Rejection] = field(default_factory=list)
    modified: list[tuple[Variable, int, bool]] = field(default_factory=list)

    def sequenced(self) -> Effects:
        """For an operand after which C has a sequence point: nothing of it is put off."""
        return Effects(self.statements, None, self.rejections)

    def branch(self) -> Effects:
        """For an operand that is evaluated only sometimes: its statements stand apart."""
        return Effects([], None, self.rejections)


@dataclass(slots=True)
class Context(UniqueNames):
    """The state of lowering one function."""

    sites: Sites
    escaping: frozenset[str]
    ordinals: dict[int, int]
    jumped_to: frozenset[str] = frozenset()
    per_thread: frozenset[str] = frozenset()
    result: Type | None = None
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])
    structs: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    known: dict[str, Constant] = field(default_factory=dict)
    volatile: set[str] = field(default_factory=set)
    flows: dict[str, set[str]] = field(default_factory=dict)
    leaked: set[str] = field(default_factory=set)
    scalars: set[str] = field(default_factory=set)

    def lookup(self, name: str) -> Variable | Constant | Prototype | None:
        """Entity that an identifier names at this point; `None` if undeclared."""
        for scope in reversed(self.scopes):
            if name in scope.names:
                return scope.names[name]
        return None

    def lookup_type(self, name: str) -> tuple[Type, bool] | None:
        """The type that a typedef names here, and whether it is volatile."""
        for scope in reversed(self.scopes):
            if name in scope.typedefs:
                return scope.typedefs[name]
        return None

    def lookup_tag(self, tag: str) -> Type | None:
        """The structure, union or enumeration of a tag."""
        for scope in reversed(self.scopes):
            if tag in scope.tags:
                return scope.tags[tag]
        return None

    def site(self, node: Any) -> Site:
        """The tokens of a node of the tree."""
        return self.sites.of(node)

    def text(self, node: Any) -> str:
        """The spelling of a node for a message."""
        return self.sites.text(self.sites.of(node))


def refuse(fx: Effects, code: RejectionCode, site: Site, message: str, advice: str = "") -> None:
    """Note that the code being lowered is not modelled."""
    fx.rejections.append(Rejection(code, site, message, advice))


def occurrences(expr: Expr | Any, variable: Variable) -> int:
    """Number of times that an expression or a place names a variable."""
    if isinstance(expr, Variable):
        return int(expr.name == variable.name)
    if isinstance(expr, tuple):
        return sum(occurrences(item, variable) for item in expr)
    slots = getattr(type(expr), "__slots__", ())
    return sum(occurrences(getattr(expr, slot), variable) for slot in slots if slot not in ("type", "site"))
