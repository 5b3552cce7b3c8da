"""Context of lowering at a point of the function: names, kinds, tokens; and effects under way."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array, Kind
from polylsp.frontends.python.lower.agreement import Agreement
from polylsp.frontends.python.names import path_of
from polylsp.frontends.python.parse import Parsed
from polylsp.frontends.python.versions import spelled
from polylsp.frontends.unique_names import UniqueNames
from polylsp.model.program import Expr, Field, Index, Invariant, Site, Statement, Variable
from polylsp.model.rejection import Rejection, RejectionCode

if TYPE_CHECKING:
    from polylsp.frontends.python.lower.section import Section
    from polylsp.frontends.python.lower.shapes import Shapes


def _no_shapes() -> Shapes:
    from polylsp.frontends.python.lower.shapes import Shapes

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
    and the reason; `settled` names that are bound once at most; `captured` names that other functions see
    too; `viewed` are names of parts of arrays, each with that of the array, and `views` the parts that they
    stand for from their bindings on; `aliased` are names that share arrays with other such names; `agreed`
    are the assumptions on lengths; `is_module`: this is the code outside of functions; `own` is a method's
    first parameter, its object, and `rebound` are attributes that get another array; `name` the function's;
    `mask` the condition, in words, under which elements are stored.
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
