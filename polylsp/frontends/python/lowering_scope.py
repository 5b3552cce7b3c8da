"""Context and building blocks of lowering a Python function: names, temporaries, arithmetic.

Builds typed expressions with Python's semantics, implied loops of array statements,
non-negativity proofs, and assumptions on the lengths of arrays that meet in one statement.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import (
    BOOL,
    DOUBLE,
    GENERATOR,
    INT,
    NATURAL,
    Array,
    Instance,
    Kind,
    NumberType,
    wider,
)
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.names import ClassOf, path_of
from polylsp.frontends.python.syntax import Parsed
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    BinaryOperator,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    Invariant,
    Loop,
    Place,
    Read,
    Rejection,
    RejectionCode,
    Select,
    Site,
    Statement,
    Type,
    Unary,
    Variable,
    subexpressions,
)
from polylsp.ir.spelling import UniqueNames

if TYPE_CHECKING:
    from polylsp.frontends.python.array_lengths import Shapes
    from polylsp.frontends.python.array_sections import Section


@dataclass(slots=True)
class Agreement:
    """`words`: assumptions, by the unique names of the arrays whose elements rest on them; `equal`: for a
    length another one that it is assumed to equal; `measured`: the lengths of each array that array
    statements use. Lengths are as they are spelled (`a.shape[0]`)."""

    words: dict[str, dict[str, None]] = field(default_factory=dict[str, "dict[str, None]"])
    equal: dict[str, str] = field(default_factory=dict[str, str])
    measured: dict[str, dict[str, None]] = field(default_factory=dict[str, "dict[str, None]"])

    def root(self, length: str) -> str:
        """The length that stands for all that are assumed to equal this one."""
        while length in self.equal:
            length = self.equal[length]
        return length

    def join(self, one: str, other: str) -> None:
        """Assume that two lengths are equal."""
        first, second = sorted((self.root(one), self.root(other)))
        if first != second:
            self.equal[second] = first

    def note(self, array: str, words: str) -> None:
        """Record an assumption about the elements of an array."""
        self.words.setdefault(array, {})[spelled(words)] = None


# --------------------------------------------------------------------------------------------------
# Context of lowering at a point of the function: names, kinds, tokens; and effects under way.
# --------------------------------------------------------------------------------------------------


def _no_shapes() -> Shapes:
    from polylsp.frontends.python.array_lengths import Shapes

    return Shapes()


@dataclass(frozen=True, slots=True)
class Stored:
    """Storage of the elements of an array: steps from a variable, the array's kind and its lengths; these
    assume that the arrays `alike`, of which the variable holds one or another, have equal ones."""

    variable: Variable
    steps: tuple[Index | Field, ...]
    kind: Array
    extents: tuple[Expr, ...]
    alike: tuple[str, ...] = ()


@dataclass(slots=True)
class Effects:
    """Side effects of evaluating an expression, in order; and the reasons why it is not modelled. `certain`:
    it is evaluated whenever its statement runs."""

    statements: list[Statement] = field(default_factory=list[Statement])
    rejections: list[Rejection] = field(default_factory=list[Rejection])
    certain: bool = True

    def branch(self) -> Effects:
        """For an operand that is evaluated only sometimes."""
        return Effects(self.statements, self.rejections, False)


@dataclass(slots=True)
class Context(UniqueNames):
    """State of lowering one function.

    `private` are names of loop variables that no code outside of their loops reads; `iterators` are the
    variables of those of the loops around, and `counted` (unique names) those that never get below zero, with
    their least values. `owned` are arrays without aliases, each with the block (its first statement's
    identity) in which it comes into being; `blocks` the declarations to insert there. `remade` are those of
    them whose names get new arrays, one after the other: in the model these overwrite one another. `released`
    are names of arrays that other code of the file may alias; `unfollowed` are names whose array is unknown,
    and the reason; `settled` names that are bound once at most; `captured` names that other functions see,
    too, or may see, as those of a module, but for its `unseen` ones; `viewed` are names of parts of arrays,
    each with that of the array, and `views` the parts that they stand for from their bindings on; `aliased`
    are names that share arrays with other such names; `agreed` are the assumptions on lengths; `is_module`:
    this is the code outside of functions; `own` is a method's first parameter, its object, and `rebound` are
    attributes that get another array; `name` the function's;
    `mask` the condition, in words, under which elements are stored. `library_arrays` are names of arrays
    that are not NumPy's, each with its library; loops (identities) `for_libraries` have no model, since they
    take single elements of such arrays. An exception of loops (identities) that are `caught` may end these
    while the function goes on.
    """

    parsed: Parsed
    kinds: Kinds
    ordinals: dict[int, int]
    private: frozenset[str] = frozenset()
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    arrays: dict[str, Stored] = field(default_factory=dict[str, Stored])
    iterators: dict[str, Variable] = field(default_factory=dict[str, Variable])
    counted: dict[str, int] = field(default_factory=dict[str, int])
    declared: list[Variable] = field(default_factory=list[Variable])
    blocks: dict[int, list[Variable]] = field(default_factory=dict[int, list[Variable]])
    parameters: dict[str, Variable] = field(default_factory=dict[str, Variable])
    owned: dict[str, int] = field(default_factory=dict[str, int])
    remade: frozenset[str] = frozenset()
    released: frozenset[str] = frozenset()
    unfollowed: dict[str, str] = field(default_factory=dict[str, str])
    settled: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    viewed: dict[str, str] = field(default_factory=dict[str, str])
    views: dict[str, Section] = field(default_factory=dict[str, "Section"])
    aliased: set[str] = field(default_factory=set[str])
    agreed: Agreement = field(default_factory=Agreement)
    is_module: bool = False
    own: str = ""
    rebound: tuple[str, ...] = ()
    mask: str = ""
    name: str = ""
    shapes: Shapes = field(default_factory=_no_shapes)
    depth: int = 0
    implied: int = 0
    library_arrays: Mapping[str, str] = field(default_factory=dict[str, str])
    for_libraries: set[int] = field(default_factory=set[int])
    caught: frozenset[int] = frozenset()

    def site(self, node: ast.AST) -> Site:
        """The tokens of a node of the tree."""
        return self.parsed.site(node)

    def text(self, node: ast.AST) -> str:
        """The spelling of a node for a message."""
        return spelled(self.parsed.text(node))

    def kind(self, node: ast.expr) -> Kind | None:
        """Kind of an expression."""
        return self.kinds.of(node)

    def path(self, node: ast.expr) -> str:
        """The full dotted name of a module's function or number; empty for anything else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.kinds.local:
            return ""
        return path_of(node, self.kinds.declarations)

    def generator(self, function: ast.expr) -> ast.expr | None:
        """The generator of random numbers of which an expression names a method; `None` for others."""
        if not isinstance(function, ast.Attribute) or self.path(function):
            return None
        return function.value if self.kinds.of(function.value) == GENERATOR else None

    def is_property(self, node: ast.Attribute) -> bool:
        """True if reading an attribute runs a method of its object's class."""
        kind = self.kinds.of(node.value)
        owner = self.kinds.declarations.get(kind.name) if isinstance(kind, Instance) else None
        if not isinstance(owner, ClassOf):
            return False
        if owner.method("__getattribute__") is not None:
            return True
        is_open = owner.method("__getattr__") is not None and node.attr not in dict(owner.fields)
        return is_open or owner.method(node.attr) is not None

    def next_implied(self) -> int:
        """The ordinal of one more loop that no `for` of the source writes."""
        self.implied += 1
        return 100_000 + self.implied


def refuse(
    context: Context, fx: Effects, code: RejectionCode, node: ast.AST, message: str, advice: str = ""
) -> Expr:
    """Note that the code being lowered is not modelled, and return a stand-in for its value."""
    site = context.site(node)
    fx.rejections.append(Rejection(code, site, spelled(message), spelled(advice)))
    from polylsp.frontends.python.kinds import DOUBLE

    return Invariant(context.text(node), DOUBLE, site)


# --------------------------------------------------------------------------------------------------
# Integers whose spelling proves that they are not negative.
# --------------------------------------------------------------------------------------------------


def is_natural(expression: Expr, counted: Mapping[str, int]) -> bool:
    """True if a value is proven not to be negative; `counted` are variables (unique names) that never are,
    with their least values."""
    match expression:
        case Constant(value):
            return value >= 0
        case Read(place):
            return not place.steps and place.variable.name in counted
        case Binary("-", Read(place), Constant(value)):
            return not place.steps and counted.get(place.variable.name, -1) >= value
        case Cast(operand, Integer(_, True)):
            return is_natural(operand, counted)
        case Binary("+" | "*" | "max" | "min" | "/" as operator, left, right):
            if operator == "max" and (is_natural(left, counted) or is_natural(right, counted)):
                return True
            return is_natural(left, counted) and is_natural(right, counted)
        case Binary("%", _, Constant(value), floors=True):
            return value > 0
        case Select(_, then, otherwise):
            return is_natural(then, counted) and is_natural(otherwise, counted)
        case _:
            return isinstance(expression.type, Integer) and not expression.type.signed


# --------------------------------------------------------------------------------------------------
# Reads in an expression of the model.
# --------------------------------------------------------------------------------------------------


def places_in(expression: Expr) -> Iterator[Place]:
    """The places that an expression reads, those in subscripts included."""
    parts = subexpressions(expression)
    return (part.place for part in parts if isinstance(part, (Read, AddressOf)))


# --------------------------------------------------------------------------------------------------
# Variables that lowering makes up for values that Python leaves unnamed.
# --------------------------------------------------------------------------------------------------


def held(context: Context, expression: Expr, node: ast.AST, statements: list[Statement]) -> Read:
    """Store the value in a new variable, so that later statements do not change it."""
    place = temporary(context, expression.type, context.text(node), context.site(node), statements)
    statements.append(Assign(place, None, expression, expression.site))
    return Read(place)


def temporary(context: Context, of_type: Type, text: str, site: Site, statements: list[Statement]) -> Place:
    """A new variable, spelled `text` in messages."""
    variable = Variable(context.unused("value"), text, of_type, "local")
    statements.append(Declare(variable, site))
    return Place(variable, (), of_type, site)


def kept(context: Context, expression: Expr, node: ast.AST, statements: list[Statement]) -> Expr:
    """Value as of this point, for later use: in a temporary where it may change until then."""
    if is_kept(context, expression):
        return expression
    found = held(context, expression, node, statements)
    if is_natural(expression, context.counted):
        context.counted[found.place.variable.name] = 0
    return found


def is_kept(context: Context, expression: Expr) -> bool:
    """True if a value is the same at every use."""
    storages = ("parameter", "local", "cell") if context.is_module else ("parameter", "local")
    return all(
        not place.steps
        and place.variable.storage in storages
        and (place.variable.name in context.settled or place.variable in context.iterators.values())
        for place in places_in(expression)
    )


# --------------------------------------------------------------------------------------------------
# Typed expressions of the model, put together as Python means them.
# --------------------------------------------------------------------------------------------------


def number_type(expression: Expr) -> NumberType:
    """The type of a number."""
    return expression.type if isinstance(expression.type, (Integer, Floating)) else DOUBLE


def convert(expression: Expr, to: NumberType) -> Expr:
    """The value in another type."""
    if expression.type == to:
        return expression
    if isinstance(expression, Constant) and isinstance(to, Floating):
        return Constant(float(expression.value), to, expression.site)
    if isinstance(expression, Constant) and isinstance(expression.value, int) and isinstance(to, Integer):
        return Constant(expression.value, to, expression.site)
    return Cast(expression, to, expression.site)


def whole(value: int, site: Site) -> Constant:
    """A whole number."""
    return Constant(value, INT, site)


def binary(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """`+ - *`, bits, `min` and `max` of two numbers, in their common type."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    a, b = convert(left, common), convert(right, common)
    if isinstance(a, Constant) and isinstance(b, Constant) and common == INT and operator in ("+", "-", "*"):
        x, y = int(a.value), int(b.value)
        return whole(x + y if operator == "+" else x - y if operator == "-" else x * y, site)
    return Binary(operator, a, b, common, site)


def _plain(of_type: NumberType) -> NumberType:
    """Truth values and lengths count as plain whole numbers."""
    return INT if of_type in (BOOL, NATURAL) else of_type


def quotient(left: Expr, right: Expr, site: Site) -> Expr:
    """`left / right`."""
    common = wider(wider(number_type(left), number_type(right)), Floating(16))
    if not (isinstance(number_type(left), Floating) or isinstance(number_type(right), Floating)):
        common = DOUBLE
    return Binary("/", convert(left, common), convert(right, common), common, site)


def floored(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """`left // right` or `left % right`, which round down."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    a, b = convert(left, common), convert(right, common)
    if isinstance(common, Floating):
        return Call("floor_divide" if operator == "/" else "fmod", (a, b), True, common, site)
    return Binary(operator, a, b, common, site, floors=True)


def power(left: Expr, right: Expr, site: Site) -> Expr:
    """`left ** right`."""
    if isinstance(right, Constant) and right.value in (2, 3) and isinstance(right.type, Integer):
        square = binary("*", left, left, site)
        return square if right.value == 2 else binary("*", square, left, site)
    common = wider(number_type(left), number_type(right))
    is_whole = isinstance(right, Constant) and right.type == INT and right.value >= 0
    result = common if isinstance(common, Floating) or is_whole else DOUBLE
    return Call("pow", (left, right), True, result, site)


def compared(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """A comparison of two numbers."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    return Binary(operator, convert(left, common), convert(right, common), INT, site)


def negated(operand: Expr, site: Site) -> Expr:
    """`-operand`."""
    if isinstance(operand, Constant):
        return Constant(-operand.value, INT if isinstance(operand.type, Integer) else operand.type, site)
    of_type = _plain(number_type(operand))
    return Unary("-", convert(operand, of_type), of_type, site)


def inverted(operand: Expr, site: Site) -> Expr:
    """`not operand`."""
    return Unary("!", operand, INT, site)


# --------------------------------------------------------------------------------------------------
# Loops that no `for` of the source writes: array statements run them.
# --------------------------------------------------------------------------------------------------


_NAMES = {1: ("element",), 2: ("row", "column")}


def loops(
    context: Context,
    counts: tuple[Expr, ...],
    node: ast.AST,
    body: Callable[[tuple[Expr, ...]], list[Statement]],
) -> list[Statement]:
    """Loops over all subscripts of an array with these lengths, around the statements of `body` for these."""
    statements: list[Statement] = []
    fixed = [_fixed(context, count, node, statements) for count in counts]
    names = _NAMES.get(len(counts), tuple(f"index{k}" for k in range(len(counts))))
    counters = [Variable(context.unused(name), name, INT, "local") for name in names]
    site = context.site(node)
    context.counted.update((counter.name, 0) for counter in counters)
    at = tuple(Read(Place(counter, (), INT, site)) for counter in counters)
    ordinals = [context.next_implied() for _ in counts]
    inner = body(at)
    for counter, count, ordinal in reversed(list(zip(counters, fixed, ordinals, strict=True))):
        place = Place(counter, (), INT, site)
        test = compared("<", Read(place), count, site)
        step = Block((Assign(place, "+", whole(1, site), site),))
        loop = Loop(
            ordinal, "for", counter.source_name, Block(), test, Block(tuple(inner)), step, False, site, site,
            implied=True,
        )  # fmt: skip
        inner = [Block((Declare(counter, site), Assign(place, None, whole(0, site), site), loop))]
    return [*statements, *inner]


def _fixed(context: Context, count: Expr, node: ast.AST, statements: list[Statement]) -> Expr:
    """A length that stores of the loops cannot change."""
    loads = any(place.steps or place.variable.storage in ("global", "cell") for place in places_in(count))
    return held(context, count, node, statements) if loads else count
