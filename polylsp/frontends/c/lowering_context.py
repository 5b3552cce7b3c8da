"""Context of lowering a C function: scopes, types, pending side effects, and sites of tree nodes.

A node of pycparser has one token, often not its first, and never its last; both are recovered from
the tree and the brackets of the token list. Unsupported code is noted as a rejection (`refuse`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.tokens import matching_brackets
from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Place,
    Pointer,
    Read,
    Rejection,
    RejectionCode,
    Select,
    Site,
    Statement,
    Struct,
    Type,
    Variable,
)
from polylsp.ir.spelling import UniqueNames


class Sites:
    """The token list of a function, its matching brackets, and the sites of nodes."""

    def __init__(self, tokens: tuple[str, ...]):
        self.tokens = tokens
        self.words = frozenset(tokens)
        self.match = matching_brackets(tokens)
        self._known: dict[int, tuple[tuple[int, int], Any]] = {}
        self._closed: dict[int, Site] = {}

    def of(self, node: Any) -> Site:
        """The tokens of an expression, widened until its brackets are closed."""
        found = self._closed.get(id(node))
        if found is None:
            first, last = self.bounds(node)
            found = Site(0, 0) if first < 0 else self._balanced(first, max(first, last))
            self._closed[id(node)] = found
        return found

    def parentheses_after(self, keyword: int) -> Site:
        """`for (...)`: from a keyword to the end of the parentheses that follow it."""
        opening = keyword + 1
        return Site(keyword, self.match.get(opening, opening))

    def until(self, index: int, closing: str) -> int:
        """The first `closing` at or after `index` outside of brackets opened on the way."""
        while index < len(self.tokens) and self.tokens[index] != closing:
            if self.tokens[index] in "([{" and index in self.match:
                index = self.match[index]
            index += 1
        return min(index, len(self.tokens) - 1)

    def text(self, site: Site) -> str:
        """The spelling of some tokens, spaced for reading."""
        return spelled(self.tokens[site.first : site.last + 1])

    def _balanced(self, first: int, last: int) -> Site:
        match = self.match
        if first == last and first not in match:
            return Site(first, last)
        index = first
        while index <= last:
            partner = match.get(index)
            if partner is not None:
                last = max(last, partner)
                if partner < first:
                    first, index = partner, partner
                    continue
            index += 1
        return Site(first, last)

    def bounds(self, node: Any) -> tuple[int, int]:
        """The first and the last token of a node, where the tree tells them."""
        known = self._known.get(id(node))
        if known is None:
            coord = getattr(node, "coord", None)
            line = -1 if coord is None else coord.line
            find = _BOUNDS.get(type(node))
            # The node stays referenced so that no other reuses its identity.
            known = self._known[id(node)] = (line, line) if find is None else find(self, node, line), node
        return known[0]


def _unary_bounds(sites: Sites, node: Any, line: int) -> tuple[int, int]:
    if node.op in ("p++", "p--"):
        first, last = sites.bounds(node.expr)
        return first, _skipped(sites.tokens, last + 1, node.op[1:])
    if node.op in ("sizeof", "_Alignof"):
        if isinstance(node.expr, c_ast.Typename):
            return line, sites.match.get(line + 1, line)
        return line, sites.bounds(node.expr)[1]
    first, last = sites.bounds(node.expr)
    before = first - 1
    # Nodes of declarations outside of the function have lines of other tokens.
    known = before < len(sites.tokens)
    while known and before > 0 and sites.tokens[before] == "(":
        before -= 1
    return (before if known and before >= 0 and sites.tokens[before] == node.op else first), last


def _list_bounds(sites: Sites, _: Any, line: int) -> tuple[int, int]:
    if line < 0 or sites.tokens[line] == "{":
        return line, sites.match.get(line, line)
    opening = line
    while opening > 0 and sites.tokens[opening] != "{":
        opening -= 1
    return opening, sites.match.get(opening, line)


def _element_bounds(sites: Sites, node: Any, _: int) -> tuple[int, int]:
    last = sites.bounds(node.subscript)[1]
    return sites.bounds(node.name)[0], _skipped(sites.tokens, last + 1, "]")


def _call_bounds(sites: Sites, node: Any, _: int) -> tuple[int, int]:
    first, last = sites.bounds(node.name)
    opening = _skipped(sites.tokens, last + 1, "(")
    return first, sites.match.get(opening, opening)


def _constant_bounds(sites: Sites, node: Any, line: int) -> tuple[int, int]:
    last = line
    while node.type == "string" and last + 1 < len(sites.tokens) and sites.tokens[last + 1].endswith('"'):
        last += 1
    return line, last


def _skipped(tokens: tuple[str, ...], index: int, wanted: str) -> int:
    while 0 <= index < len(tokens) and tokens[index] == ")" and wanted != ")":
        index += 1
    return min(index, len(tokens) - 1)


_BOUNDS: dict[type, Callable[[Sites, Any, int], tuple[int, int]]] = {
    c_ast.UnaryOp: _unary_bounds,
    c_ast.BinaryOp: lambda sites, node, _: (sites.bounds(node.left)[0], sites.bounds(node.right)[1]),
    c_ast.Assignment: lambda sites, node, _: (sites.bounds(node.lvalue)[0], sites.bounds(node.rvalue)[1]),
    c_ast.TernaryOp: lambda sites, node, _: (sites.bounds(node.cond)[0], sites.bounds(node.iffalse)[1]),
    c_ast.ArrayRef: _element_bounds,
    c_ast.StructRef: lambda sites, node, _: (sites.bounds(node.name)[0], node.field.coord.line),
    c_ast.FuncCall: _call_bounds,
    c_ast.ExprList: lambda sites, node, _: (
        sites.bounds(node.exprs[0])[0],
        sites.bounds(node.exprs[-1])[1],
    ),
    c_ast.Cast: lambda sites, node, line: (line, sites.bounds(node.expr)[1]),
    c_ast.CompoundLiteral: lambda sites, _, line: (
        line,
        sites.match.get(sites.match.get(line, line) + 1, line),
    ),
    c_ast.Compound: lambda sites, _, line: (line, sites.match.get(line, line)),
    c_ast.InitList: _list_bounds,
    c_ast.NamedInitializer: lambda sites, node, _: sites.bounds(node.expr),
    c_ast.Constant: _constant_bounds,
}
"""The first and the last token of a node, given the token that it names; of other nodes just that one."""


def token_of(node: Any) -> int:
    """The token that the coordinate of a node names: the keyword of a statement."""
    return node.coord.line


def spelled(tokens: tuple[str, ...]) -> str:
    """Tokens as one line of C, spaced as a person would write it (nearly)."""
    line = ""
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        called = token == "(" and (before[-1:].isalnum() or before[-1:] in "_)]") and before not in _KEYWORDS
        if not line or token in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER or called:
            line += token
        elif token in _UNARY and index and _is_operator(before):
            line += " " + token
        elif before in _UNARY and (index == 1 or _is_operator(tokens[index - 2])):
            line += token
        else:
            line += " " + token
    return line


_NO_SPACE_BEFORE = frozenset((")", "]", ",", ";", "[", ".", "->", "++", "--"))
_NO_SPACE_AFTER = frozenset(("(", "[", ".", "->", "!", "~"))
_UNARY = frozenset(("-", "+", "*", "&", "++", "--"))
_KEYWORDS = frozenset(("for", "while", "if", "switch", "return", "do", "else"))


def _is_operator(token: str) -> bool:
    return (
        token in _NO_SPACE_AFTER
        or token in _KEYWORDS
        or (not token[-1:].isalnum() and token[-1:] not in "_)]\"'}" and token not in ("++", "--"))
    )


# --------------------------------------------------------------------------------------------------
# Context of lowering at a point of the function: scopes, types, tokens; and effects under way.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prototype:
    """A function that can be called by name. `replaceable` is an attribute for which another
    definition than that of the file may run."""

    name: str
    result: Type
    parameters: tuple[Type, ...] | None
    const: bool = False
    pure: bool = False
    defined: bool = False
    ends: bool = False
    replaceable: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a structure; an unnamed one is searched for inner members. `shares`: a bit-field's
    neighbours in the same memory location. `partial`: it is smaller than its union. `displaced`: attributes
    or pragmas change its offset and the size of its structure. `covers`: it is an array without elements,
    whose memory is that of the members after it."""

    name: str
    type: Type
    volatile: bool = False
    anonymous: bool = False
    bit_field: bool = False
    shares: tuple[Field, ...] = ()
    partial: bool = False
    displaced: bool = False
    covers: bool = False

    @property
    def step(self) -> Field:
        """The step of a place from the structure to the member."""
        return Field(self.name, self.type, self.shares, self.bit_field, self.partial)


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
    """The state of lowering one function. `jumped_to` has the number of `goto`s to each label, `changed` are
    names that the function assigns or whose address it takes;
    `watched` the variables of the C library that it or, for `signgam`, the file names;
    `attributes` are those of the declaration of the file that is being entered, `realigned` the typedefs with
    an alignment of their own, and `refused` the reasons why variables are not analysed."""

    sites: Sites
    escaping: frozenset[str]
    ordinals: dict[int, int]
    jumped_to: Counter[str] = field(default_factory=Counter[str])
    per_thread: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    watched: tuple[str, ...] = ()
    result: Type | None = None
    scopes: list[Scope] = field(default_factory=lambda: [Scope()])
    structs: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    known: dict[str, Constant] = field(default_factory=dict)
    volatile: set[str] = field(default_factory=set)
    enumerations: set[str] = field(default_factory=set)
    attributes: frozenset[str] = frozenset()
    realigned: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)
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


def is_update(node: Any) -> bool:
    """True for an assignment, `++` and `--` in the tree of the source."""
    return isinstance(node, c_ast.Assignment) or getattr(node, "op", "") in ("++", "--", "p++", "p--")


def occurrences(expr: Expr | Any, variable: Variable) -> int:
    """Number of times that an expression or a place names a variable."""
    if isinstance(expr, Variable):
        return int(expr.name == variable.name)
    if isinstance(expr, tuple):
        return sum(occurrences(item, variable) for item in expr)
    slots = getattr(type(expr), "__slots__", ())
    return sum(occurrences(getattr(expr, slot), variable) for slot in slots if slot not in ("type", "site"))


# --------------------------------------------------------------------------------------------------
# Escape analysis: variables whose addresses an unknown pointer may reach.
# --------------------------------------------------------------------------------------------------


def store(context: Context, target: Place, value: Expr) -> None:
    """Follow a stored value through a local pointer; any other store lets it escape."""
    if not isinstance(value.type, Pointer):
        return
    sources = _sources(context, value)
    if target.steps or target.variable.storage != "local" or not isinstance(target.type, Pointer):
        context.leaked |= sources
        return
    context.flows.setdefault(target.variable.name, set()).update(sources)
    # A scalar is accessed by its name alone: any pointer to it counts.
    context.leaked |= {s for s in sources if s.startswith("&") and s in context.scalars}


def give(context: Context, value: Expr) -> None:
    """A value is passed to code that may keep it."""
    if isinstance(value.type, Pointer | Struct):
        context.leaked |= _sources(context, value)


def initialise_static(context: Context, init: Any) -> tuple[str, ...]:
    """Record the addresses in the initialiser of an object with static storage: they get away at once. The
    variables of which these are, by their names in the source."""
    found: set[str] = set()
    pending: list[Any] = [init]
    while pending:
        node = pending.pop()
        named = context.lookup(node.name) if isinstance(node, c_ast.ID) else None
        if isinstance(named, Variable):
            context.leaked.add("&" + named.name)
            found.add(named.source_name)
        pending += [child for _, child in node.children()] if node is not None else []
    return tuple(sorted(found))


def escaped(context: Context) -> frozenset[str]:
    """The unique names of the variables whose address got away."""
    reached: set[str] = set()
    pending = list(context.leaked)
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            # An unknown pointer to `p` reaches the targets of `p` as well.
            pending.extend(context.flows.get(name.removeprefix("&"), ()))
    return frozenset(name[1:] for name in reached if name.startswith("&"))


def _sources(context: Context, value: Expr) -> set[str]:
    """Variables whose addresses (`&x`) or values (`p`) a pointer value is computed from."""
    match value:
        case AddressOf(place=place):
            if _through_pointer(context, place):
                return set()
            if not isinstance(place.type, Array | Struct) and not place.steps:
                context.scalars.add("&" + place.variable.name)
            return {"&" + place.variable.name}
        case Read(place=place) if not place.steps:
            return {place.variable.name}
        case Binary(left=left, right=right):
            return _sources(context, left) | _sources(context, right)
        case Select(then=then, otherwise=otherwise):
            return _sources(context, then) | _sources(context, otherwise)
        case Cast(operand=operand):
            return _sources(context, operand)
        case Call(arguments=arguments):
            return set[str]().union(*(_sources(context, a) for a in arguments))
        case _:
            return set()


def _through_pointer(context: Context, place: Place) -> bool:
    """True if the place lies in the target of a pointer, rather than in the variable."""
    type: Type = place.variable.type
    if isinstance(type, Array) and place.variable.storage == "parameter" and place.steps:
        return True
    for step in place.steps:
        match type:
            case Array():
                type = type.element
            case Struct(name=name) if isinstance(step, Field):
                type = next((m.type for m in context.structs.get(name, ()) if m.name == step.name), type)
            case _:
                return True
    return False
