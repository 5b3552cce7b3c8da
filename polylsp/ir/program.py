"""Language-independent representation of a function: types, expressions, places, statements, loops.

A front end lowers source text to it; the analysis reads nothing else. Expressions never write
(`a[k++] = x` arrives as two assignments): the order of statements is the order of effects.
Positions are `Site`s, intervals of the token list after macro expansion: they survive edits of
white space and comments. A `Rejection` is an unsupported construct as a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Literal, Union

from polylsp.core.query import by_identity

if TYPE_CHECKING:
    from polylsp.ir.directive import AnyDirective, Misfit
    from polylsp.ir.verdict import Assumption, Parallel, Sequential


@dataclass(frozen=True, slots=True, order=True)
class Site:
    """The tokens `first` to `last`, both included, of the function's token list. `part` tells apart what one
    spelling stands for: places and statements of the members of a structure that is copied."""

    first: int
    last: int
    part: int = 0


NOWHERE = Site(-1, -1)
"""Of what the function does not spell: a part of a type that the file names."""


def within(inner: Site, outer: Site) -> bool:
    """True if a site is a part of another one."""
    return outer.first <= inner.first and inner.last <= outer.last


# --- Types -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer type (enumerations, `char` and `_Bool` too); unsigned arithmetic wraps."""

    bits: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Floating:
    """A floating-point type of 16, 32, 64 or 80 bits and more."""

    bits: int


@dataclass(frozen=True, slots=True)
class Complex:
    """A complex number of C, whose real and imaginary part have so many bits each."""

    bits: int


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer. `restrict` is the promise that memory reached through it is reached through no other path
    that is written."""

    to: Type
    restrict: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """An array of `extent` elements; `None` for an unknown extent.

    A parameter declared with brackets keeps its array type, though it is a pointer; then
    `restrict` says that the word stands inside its outermost brackets.
    """

    element: Type
    extent: Expr | None
    restrict: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """A structure, or (`union`) a union, by its tag or a generated name for an untagged one."""

    name: str
    union: bool = False


@dataclass(frozen=True, slots=True)
class OtherType:
    """Any other type (`void`, a function), by its spelling."""

    name: str


UNTAGGED = "untagged"
"""Beginning of the names of structures without a tag, which are those of one function."""

Type = Union[Integer, Floating, Complex, Pointer, Array, Struct, OtherType]


# --- Variables and places ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the function or of the file.

    `name` is unique in the function (`i`, then `i@2` for a second `i` of another scope); `source_name` is the
    name in the source. `escapes` says that its address is taken in a way that lets an unknown pointer reach
    it. `const`: it is written before the program begins, and no correct program writes it again (C11
    6.7.3p6). `assumed` says the assumption behind its type and its elements' type where the source leaves
    them open ("`a` is an array of float64"). A `cell` is seen by other functions too, but by its name alone:
    no pointer leads to it. `remade`: an array whose name gets new ones, each of which replaces the whole
    contents of the one before (Python). `bytes`: its size, where the declaration settles it (C).
    `per_thread`: each thread has a private variable of that name. `leads_to` are the names in the source of
    variables whose addresses its initialiser has, if its storage is static, sorted: keys of summaries are
    spelled with them. `values` are the elements of a constant array of integers.
    """

    name: str
    source_name: str
    type: Type
    storage: Literal["parameter", "local", "static", "global", "cell"]
    escapes: bool = False
    const: bool = False
    assumed: tuple[str, ...] = ()
    remade: bool = False
    bytes: int | None = None
    per_thread: bool = False
    leads_to: tuple[str, ...] = ()
    values: tuple[int, ...] = ()

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class Index:
    """Subscript step of a place: element `subscript` of an array, or of the target of a pointer.

    `p[e]`, `*(p + e)` and `*p` (with 0) are all this step; `p->f` is `Index(0)` then `Field`. `wraps`: a
    negative subscript counts from the end (Python), and this expression is added to it. `joined`: it stands
    in the same brackets as the step before, as in `a[i, j]`.
    """

    subscript: Expr
    wraps: Expr | None = None
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """Member step of a place: a member of a structure, and the member's type if resolved. `shares`: other
    bit-fields in the same memory location, which a write of this one rewrites (C11, 3.14). A `bit_field` has
    no address, alone in its location too. `partial`: other members of its union are larger."""

    name: str
    type: Type | None = None
    shares: tuple[Field, ...] = ()
    bit_field: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be read or written: a variable, then steps into it.

    `type` is the type of the whole place; `site` covers all of its spelling.
    """

    variable: Variable
    steps: tuple[Index | Field, ...]
    type: Type
    site: Site


# --- Expressions (no side effects) -------------------------------------------------------

UnaryOperator = Literal["-", "~", "!"]
BinaryOperator = Literal[
    "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^",
    "<", "<=", ">", ">=", "==", "!=", "&&", "||", "min", "max",
]  # fmt: skip

HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne,
}  # fmt: skip
"""The functions that the operators of comparisons stand for."""

NEGATED: dict[BinaryOperator, BinaryOperator] = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==",
}  # fmt: skip
"""The operators of comparisons that are true where others are false."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: a literal, an enumerator, a folded `sizeof`, a `const` with a constant initialiser."""

    value: int | float
    type: Type
    site: Site


@dataclass(frozen=True, slots=True)
class Invariant:
    """A value that no statement can change and that only its spelling names (`sizeof(x)`)."""

    text: str
    type: Type
    site: Site


@dataclass(frozen=True, slots=True)
class Read:
    """The value of a place of scalar or pointer type."""

    place: Place

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.place.type

    @property
    def site(self) -> Site:
        """Site of the place that is read."""
        return self.place.site


@dataclass(frozen=True, slots=True)
class AddressOf:
    """A pointer to a place: `&x`, or an array that decays (`a` becomes `&a[0]`)."""

    place: Place
    type: Pointer
    site: Site


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator applied to one value."""

    operator: UnaryOperator
    operand: Expr
    type: Type
    site: Site


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator applied to two values; the operands have been converted to a common type.

    Integer `/` and `%` truncate towards zero as in C unless `floors` (Python).
    `pointer + integer` counts elements.
    """

    operator: BinaryOperator
    left: Expr
    right: Expr
    type: Type
    site: Site
    floors: bool = False


@dataclass(frozen=True, slots=True)
class Select:
    """`condition ? then : otherwise`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type
    site: Site


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion, written or implied, that changes the type."""

    operand: Expr
    type: Type
    site: Site


@dataclass(frozen=True, slots=True)
class Call:
    """The value of a call. `pure`: it reads nothing but its arguments and writes nothing; otherwise the
    analysis wants a summary of the function of that name. `reads_memory`: it writes nothing, but may read any
    memory that its arguments or globals reach. `ends`: control does not come back from it. `sets`: variables
    of the C library that it may set; `watched`: those that the function (`signgam`: the file) names;
    `macro`: the usual macro (`max`, `min`, `abs`) whose name it has, if it is not declared. `record`: the
    numbers in one of the structures that it sorts or copies, by the members and extents of arrays on the way
    to each; empty where there is anything else; `record_bytes`: the size of one."""

    function: str
    arguments: tuple[Expr, ...]
    pure: bool
    type: Type
    site: Site
    reads_memory: bool = False
    ends: bool = False
    sets: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()
    macro: str = ""
    record: tuple[tuple[tuple[str | int, ...], Type], ...] = ()
    record_bytes: int = 0


Expr = Union[Constant, Invariant, Read, AddressOf, Unary, Binary, Select, Cast, Call]


# --- Statements --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declare:
    """A local variable comes into scope, without a value; an initialiser follows as `Assign`."""

    variable: Variable
    site: Site


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`, or `target operator= value` when `operator` is given (the target is
    then read first, and its subscripts are evaluated once)."""

    target: Place
    operator: BinaryOperator | None
    value: Expr
    site: Site


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression evaluated for its effects: a call."""

    value: Expr
    site: Site


@dataclass(frozen=True, slots=True)
class Presumption:
    """The presumption that a branch with calls that print or end the program is not taken. `holds` says of
    its condition what must hold instead ("`verbose` is 0"), `reports` are the functions called in it,
    `function` is the called function around it, if there is one. `otherwise` is the rejection of the calls,
    `decided_by` are the variables (unique names) from which the scalars of the condition are computed. Loops
    in `unhelped` (ordinals) stand in the branch themselves; `guard` is a condition in C, evaluated before the
    loops, under which the branch is never taken."""

    holds: str
    reports: tuple[str, ...]
    otherwise: Rejection
    site: Site
    decided_by: tuple[str, ...] = ()
    unhelped: tuple[int, ...] = ()
    guard: str = ""
    function: str = ""

    @property
    def sentence(self) -> str:
        """The presumption as an assumption of the loops around."""
        where = f" in `{self.function}`" if self.function else ""
        names = " and ".join(f"`{name}`" for name in self.reports[:2])
        return f"{self.holds}{where} (otherwise it calls {names})"


@dataclass(frozen=True, slots=True)
class Assume:
    """A condition that holds whenever control is here: the program is not defined, or ends, where it does not
    (`assert`, `__builtin_assume`; a false constant where control never comes). The loops around rest on the
    `presumed` condition."""

    condition: Expr
    site: Site
    presumed: Presumption | None = None


@dataclass(frozen=True, slots=True)
class If:
    """A condition and its two branches."""

    condition: Expr
    then: Block
    otherwise: Block
    site: Site


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of any spelling. The initialisation of a `for` stands before it, in the same block.

    Each round: test `condition` (before the body, or after body and `step` when `post_test`; `None` is true),
    run `body`, run `step` (`continue` goes there). Assignments inside a condition (`while (i-- > 0)`) are in
    `prologue`, which runs before each test. `ordinal` counts the loops of the function from 1 in source
    order; `iterator` is the source name of the counting variable, if the header determines one; `header`
    covers `for (...)` or `while (...)`; `site` the whole loop. `directives` are the pragmas that stand
    directly before it, as token intervals. `implied`: no loop of the source, but run by an array statement;
    it has no findings of its own. `unusual` is what compilers that take directives decline about the way in
    which the header is written.
    """

    ordinal: int
    kind: Literal["for", "while", "do"]
    iterator: str | None
    prologue: Block
    condition: Expr | None
    body: Block
    step: Block
    post_test: bool
    header: Site
    site: Site
    implied: bool = False
    unusual: Misfit | None = None


@dataclass(frozen=True, slots=True)
class Jump:
    """`break`, `continue` or `return` (of `value`)."""

    kind: Literal["break", "continue", "return"]
    site: Site
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """Order that each run of a statement keeps with the runs before, for some `reason`: it goes on from what
    these left in an object, which is another one after the sites where it is `renewed`. It counts only where
    one of the `values` changes in between, if any are given, or what the sites that are `varying` bind.
    `chosen` is the reason in place of the other one where data decide which runs there are."""

    reason: str
    renewed: tuple[Site, ...] = ()
    values: frozenset[Variable] | None = None
    varying: tuple[Site, ...] = ()
    chosen: str = ""
    kind: Literal["flow", "output"] = "output"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A statement that is not modelled, and why. `loops` are the loops inside it, if any, so that they can
    still be reported (and tried alone). `reads` are the variables that it may read by their names, where it
    assigns none; `None` where its reads and writes, or the origin of control, are unknown; where it `leaves`,
    only where control goes. `completes`: control goes on behind it, unless it leaves all loops around; its
    runs may have an `order`."""

    rejection: Rejection
    site: Site
    loops: tuple[Loop, ...] = ()
    reads: frozenset[Variable] | None = None
    leaves: bool = False
    completes: bool = False
    order: Order | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order; a `Declare` in it ends its scope with the block."""

    statements: tuple[Statement, ...] = ()


Simple = Union[Declare, Assign, Evaluate, Assume, If, Loop, Jump, Unsupported]
"""Statements with separate places."""

Statement = Union[Simple, Block]


@dataclass(frozen=True, slots=True)
class ArrayStatements:
    """A number of array statements (`count`) that follow one another, at a site. They make so many `passes`
    over arrays and so many `temporaries`, of the size of the array `like`; once their operations are fused,
    `fused_passes` and `fused_temporaries`."""

    site: Site
    count: int
    passes: int
    temporaries: int
    fused_passes: int
    fused_temporaries: int
    like: str


@dataclass(frozen=True, slots=True)
class Function:
    """A lowered function; `name_site` covers the name. `directives` are OpenMP's and OpenACC's in source
    order; `per_thread` are the names of thread-private variables. `checking` are loops (ordinals) that
    assert and raise errors, and leave nothing behind; `independent` are those that are decided by their names
    alone, with their verdicts, and `recurrent` those that surely go on from elements of earlier iterations.
    Loops `aside` do not compute with elements of arrays. `arrays` are runs of array statements with many
    temporaries. `conditions`, each of a loop, are what claims of independence rest on besides."""

    name: str
    parameters: tuple[Variable, ...]
    body: Block
    name_site: Site
    problems: tuple[Rejection, ...] = ()
    directives: tuple[AnyDirective, ...] = ()
    per_thread: frozenset[str] = frozenset()
    checking: frozenset[int] = frozenset()
    independent: tuple[tuple[int, Parallel], ...] = ()
    aside: frozenset[int] = frozenset()
    arrays: tuple[ArrayStatements, ...] = ()
    conditions: tuple[tuple[int, Assumption], ...] = ()
    recurrent: tuple[tuple[int, Sequential], ...] = ()

    @property
    def unreadable(self) -> bool:
        """True if the function does not parse."""
        body = self.body.statements
        whole = body[0] if len(body) == 1 else None
        return isinstance(whole, Unsupported) and whole.rejection in self.problems


def innermost(of_type: Type) -> Type:
    """Type of the elements of an array of arrays, or behind pointers."""
    while isinstance(of_type, (Array, Pointer)):
        of_type = of_type.element if isinstance(of_type, Array) else of_type.to
    return of_type


# --------------------------------------------------------------------------------------------------
# The parts of an expression.
# --------------------------------------------------------------------------------------------------


def subexpressions(expression: Expr) -> Iterator[Expr]:
    """An expression and everything inside it, subscripts included; that of the last expressions is
    remembered, since each is taken apart for many questions."""
    if isinstance(expression, (Constant, Invariant)) or (
        isinstance(expression, (Read, AddressOf)) and not expression.place.steps
    ):
        return iter((expression,))
    return iter(_parts(expression))


@by_identity()
def _parts(expression: Expr) -> tuple[Expr, ...]:
    return tuple(_each(expression))


def _each(expression: Expr) -> Iterator[Expr]:
    pending = [expression]
    while pending:
        expression = pending.pop()
        yield expression
        # The most frequent first, and without the attributes that patterns would fetch.
        if isinstance(expression, (Read, AddressOf)):
            if expression.place.steps:
                pending += [*subscripts(expression.place)][::-1]
        elif isinstance(expression, (Constant, Invariant)):
            pass
        elif isinstance(expression, Binary):
            pending += (expression.right, expression.left)
        elif isinstance(expression, (Cast, Unary)):
            pending.append(expression.operand)
        elif isinstance(expression, Call):
            pending += expression.arguments[::-1]
        else:
            pending += (expression.otherwise, expression.then, expression.condition)


def subscripts(place: Place) -> Iterator[Expr]:
    """The subscripts of a place."""
    for step in place.steps:
        if isinstance(step, Index):
            yield step.subscript


def shape_of(steps: tuple[Index | Field, ...]) -> tuple[str, ...]:
    """The steps into a variable without their subscripts."""
    return tuple(f".{step.name}" if isinstance(step, Field) else "[]" for step in steps)


COMPARISONS = frozenset(HOLDS)


def is_truth(expression: Expr) -> bool:
    """True if the expression can only be 0 or 1."""
    match expression:
        case Binary(operator=operator):
            return operator in COMPARISONS or operator in ("&&", "||")
        case Unary(operator="!"):
            return True
        case Constant(value=value, type=Integer()):
            return value in (0, 1)
        case _:
            return False


def bare(value: Expr) -> Expr:
    """A whole number without conversions to other types of whole numbers."""
    while (
        isinstance(value, Cast)
        and isinstance(value.type, Integer)
        and isinstance(value.operand.type, Integer)
    ):
        value = value.operand
    return value


def is_wide(of_type: Type) -> bool:
    """True if integers of a type have more bits than an `int`."""
    return isinstance(of_type, Integer) and of_type.bits > 32


def stripped(expression: Expr) -> Expr:
    """The expression without conversions around it."""
    while isinstance(expression, Cast):
        expression = expression.operand
    return expression


def around(expression: Expr, inner: Expr) -> Expr:
    """Another expression with the conversions that are around one."""
    if not isinstance(expression, Cast):
        return inner
    return Cast(around(expression.operand, inner), expression.type, expression.site)


# --------------------------------------------------------------------------------------------------
# Extents of arrays, read off their types.
# --------------------------------------------------------------------------------------------------


def constant_extents(of_type: Type) -> tuple[int, ...] | None:
    """The extents of an array, outermost first, if all are constants; none for other types."""
    found: list[int] = []
    while isinstance(of_type, Array):
        extent = of_type.extent
        if not isinstance(extent, Constant) or not isinstance(extent.value, int):
            return None
        found.append(extent.value)
        of_type = of_type.element
    return tuple(found)


def is_whole_array(variable: Variable) -> bool:
    """True if a variable is an array of constant extents and not a parameter, which is a pointer."""
    return variable.storage != "parameter" and bool(constant_extents(variable.type))


# --------------------------------------------------------------------------------------------------
# Rejections: reasons for an undecided loop as values, with a code, a place and a sentence for the
# user.
# --------------------------------------------------------------------------------------------------


RejectionCode = Literal[
    "non-affine-subscript",
    "non-affine-bound",
    "generic-iterable",
    "whole-arrays",
    "non-affine-condition",
    "data-dependent-exit",
    "data-dependent-value",
    "unknown-call",
    "callee-state",
    "may-alias",
    "pointer-arithmetic",
    "unknown-shape",
    "unsupported-type",
    "unsupported-statement",
    "volatile",
    "thread-local",
    "out-of-bounds",
    "irreducible-control",
    "infinite-loop",
    "syntax-error",
    "missing-header",
    "budget",
    "internal-error",
    "wrong-pragma",
]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Obstacle to a verdict.

    `message` is one sentence without compiler jargon that names the variable at fault; `advice` says how to
    remove the obstacle, or is empty.
    """

    code: RejectionCode
    site: Site
    message: str
    advice: str = ""
