"""Array statements without temporary arrays: an expression of whole arrays becomes one ufunc of Numba.

`w = np.sqrt(u * u + v * v)` becomes `w = _f_w(u, v)`, whose function computes one element
(`numba.vectorize`): one pass over the arrays, and one more where the result is stored to a part of an
array. It is called as NumPy's functions are, so that shapes, broadcasting, steps and overlaps mean the same.
Parts of an expression that are no operations on elements (slices, transposes, calls) are its arguments.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from polylsp.core.text import Span, newline
from polylsp.emit.subject import Subject
from polylsp.frontends.python.kinds import DOUBLE, INT, INT64, UNKNOWN, Array, Number
from polylsp.frontends.python.syntax import constant
from polylsp.ir.program import ArrayStatements
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.targets.numba.array_loops import root_of
from polylsp.targets.numba.extraction import function_place, module_source
from polylsp.targets.numba.numba_subset import ELEMENTWISE
from polylsp.targets.numba.prange import options
from polylsp.targets.numba.python_imports import empty_lines, importing, spelled
from polylsp.targets.numba.python_loops import Source, source_of

_EXACT = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr)
"""Operations whose results are the same to the last bit."""
_OPERATIONS = (*_EXACT, ast.Pow)
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_FUNCTIONS = frozenset(f"numpy.{name}" for name in ELEMENTWISE)
_CHOICE = "numpy.where"
_CONSTANTS = ("numpy.pi", "numpy.e", "math.pi", "math.e")
_FEWEST = 2
"""Operations in one function: a single one is NumPy's own."""
_LAST_DIGITS = "Powers and functions such as `exp` may differ from NumPy's in the last digits."


def edit(subject: Subject, number: int) -> Answer:
    """Functions of Numba in the place of the expressions of array statements: of the run `number` (from 1) of
    those that the function has."""
    run = next(iter(subject.facts.arrays[number - 1 : number]), None)
    source = module_source(subject) or source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    if run is None:
        return Declined("There are no such array statements any more.")
    vectorize = spelled(source, "numba", "vectorize")
    place = function_place(source, source.span(next(statements(source, run))).start)
    if not vectorize and "vectorize" in source.declarations:
        return Declined(
            "`vectorize` is something else in this file: import Numba's under another name first."
        )
    if place is None:
        return Declined("A function cannot stand before these statements: put them into one first.")
    names = set(re.findall(r"\w+", subject.text))
    made = [
        one
        for each in statements(source, run)
        if (one := _fused(source, each, vectorize or "vectorize", names)) is not None
    ]
    if not made:
        return Declined(
            "None of these statements has several operations on numbers of type `float64` that can be one "
            "function of elements."
        )
    end = newline(subject.text)
    text = end.join(
        (*empty_lines(subject.text, place), *(line for one in made for line in (*one.lines, "", "")), "")
    )
    edits = [Replacement(Span(place, place), text), *(one.replacement for one in made)]
    edits += [] if vectorize else [importing(source, "numba", ["vectorize"], above=place)]
    assumed = tuple(dict.fromkeys(each for one in made for each in one.assumed))
    told = () if all(one.is_exact for one in made) else (_LAST_DIGITS,)
    return Edited(tuple(edits), assumed, told)


def statements(source: Source, run: ArrayStatements) -> Iterator[ast.stmt]:
    """The statements of a run, in the source."""
    for block in source.blocks:
        yield from (n for n in block if run.site.first <= source.parsed.site(n).first <= run.site.last)


@dataclass(frozen=True, slots=True)
class _Made:
    """A function of Numba, and the edit of the statement that calls it."""

    lines: tuple[str, ...]
    replacement: Replacement
    assumed: tuple[Assumption, ...]
    is_exact: bool


def _fused(source: Source, node: ast.stmt, vectorize: str, names: set[str]) -> _Made | None:
    """The function for a statement; `None` where it has too few operations, or others than those that Numba
    does as NumPy."""
    match node:
        case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
            pass
        case ast.Return(value=ast.expr() as value):
            target = ast.Name("result", ast.Store())
        case _:
            return None
    fusing = _Fusing(source)
    if not fusing.collect(value) or fusing.operations < _FEWEST:
        return None
    parameters = _parameters(fusing.leaves)
    name = _fresh(names, f"_{source.definition.name.strip('_')}_{_named(target)}")
    span = source.span(value)
    text = fusing.text(value, {id(each): parameters[k] for k, each in enumerate(fusing.leaves)})
    # Parentheses around it stay in the statement.
    body = (f"return ({text})" if "\n" in text else f"return {text}").split("\n")
    arguments = {parameters[k]: ast.unparse(each) for k, each in enumerate(fusing.leaves)}
    given = options(source)
    decorator = f"@{vectorize}({given})" if given else f"@{vectorize}"
    lines = (decorator, f"def {name}({', '.join(arguments)}):", f"    {body[0]}", *body[1:])
    # Numba (0.68) stores to an `out` without regard to its strides: the statement stores the result.
    replacement = Replacement(span, f"{name}({', '.join(arguments.values())})")
    return _Made(lines, replacement, tuple(fusing.assumed(target)), fusing.is_exact)


@dataclass
class _Fusing:
    """Operations of an expression, its calls of `where` (`choices`), and its other parts (`leaves`), in
    order."""

    source: Source
    operations: int = 0
    leaves: list[ast.expr] = field(default_factory=list[ast.expr])
    choices: list[ast.expr] = field(default_factory=list[ast.expr])
    is_exact: bool = True

    def collect(self, node: ast.expr) -> bool:
        """Take an expression apart; false where it computes with numbers of another type."""
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return True
            case ast.UnaryOp(operand=ast.Constant(value=int() | float())):
                return True
            case ast.Attribute() if self.source.path(node) in _CONSTANTS:
                return True
            case _ if self._is_number(node):
                return self._leaf(node)
            case ast.BinOp(left=left, op=operation, right=right) if isinstance(operation, _OPERATIONS):
                truths = [_is_truth(left), _is_truth(right)]
                # Numba adds and multiplies truth values as whole numbers.
                if truths != [isinstance(operation, ast.BitAnd | ast.BitOr)] * 2:
                    return False
                if isinstance(operation, ast.Pow) and not self._has_power(left, right):
                    return False
                self.is_exact &= isinstance(operation, _EXACT)
                inside = [left, right]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                if _is_truth(operand):
                    return False
                inside = [operand]
            case ast.Compare(left=left, ops=[operation], comparators=[right]) if isinstance(
                operation, _COMPARISONS
            ):
                inside = [left, right]
            case ast.Call(func=function, args=arguments, keywords=[]) if self._is_elementwise(
                function, len(arguments)
            ) and not any(isinstance(each, ast.Starred) for each in arguments):
                is_choice = self.source.path(function) == _CHOICE
                if any(map(_is_truth, arguments[is_choice:])):
                    return False
                if is_choice:
                    self.choices.append(node)
                else:
                    self.is_exact = False
                inside = arguments
            case _:
                return self._leaf(node)
        self.operations += 1
        return all(self.collect(each) for each in inside)

    def _has_power(self, base: ast.expr, exponent: ast.expr) -> bool:
        """True unless NumPy may refuse a power: of a whole number, with a negative exponent."""
        whole = all(map(self._is_whole, (base, exponent)))
        return not whole or (constant(exponent) or -1) >= 0

    def _is_whole(self, node: ast.expr) -> bool:
        kind = self.source.kinds.of(node)
        of_type = kind.type if isinstance(kind, Number) else kind.element if isinstance(kind, Array) else None
        return of_type in (INT, INT64)

    def _is_elementwise(self, function: ast.expr, count: int) -> bool:
        path = self.source.path(function)
        return path in _FUNCTIONS or (path == _CHOICE and count == 3)

    def text(self, node: ast.expr, names: Mapping[int, str]) -> str:
        """A part of the expression, with names in the place of leaves (their identities). Numba makes arrays
        of what `where` gives for numbers of two types: conditional expressions stand for these."""
        if id(node) in names:
            return names[id(node)]
        if isinstance(node, ast.Call) and any(each is node for each in self.choices):
            condition, chosen, other = (f"({self.text(one, names)})" for one in node.args)
            return f"({chosen} if {condition} else {other})"
        text, whole = self.source.subject.text, self.source.span(node)
        made, at = "", whole.start
        for part in _outermost(node, {*names, *map(id, self.choices)}):
            place = self.source.span(part)
            made += text[at : place.start] + self.text(part, names)
            at = place.end
        return made + text[at : whole.end]

    def _is_number(self, node: ast.expr) -> bool:
        """True if a value is certainly no array."""
        if isinstance(node, ast.Compare):
            return all(map(self._is_number, (node.left, *node.comparators)))
        return isinstance(self.source.kinds.of(node), Number)

    def _leaf(self, node: ast.expr) -> bool:
        """A part that is an argument; false if its numbers are of a type with other arithmetic."""
        self.leaves.append(node)
        inside = list(ast.walk(node))
        calls = [each for each in inside if isinstance(each, ast.Call)]
        if any(isinstance(each, _BINDING) for each in inside) or not all(map(self._only_computes, calls)):
            return False
        match self.source.kinds.of(node):
            case Number(of_type):
                return of_type in _USUAL
            case Array(element=element, lists=lists):
                return element in _USUAL and not lists
            case kind:
                return kind in (None, UNKNOWN)

    def _only_computes(self, call: ast.Call) -> bool:
        """True if a call changes no array: it comes before all operations now, not between them."""
        path = self.source.path(call.func)
        if path.startswith(("numpy.", "math.")):
            return True
        match call.func:
            case ast.Name(id=name):
                return name in _BUILTINS and not (
                    name in self.source.local or name in self.source.declarations
                )
            case ast.Attribute(value=value, attr=name):
                return isinstance(self.source.kinds.of(value), Array) and name not in _CHANGING
            case _:
                return False

    def assumed(self, target: ast.expr) -> Iterator[Assumption]:
        """Assumptions on the types of arrays."""
        for each in (target, *self.leaves) if isinstance(target, ast.Subscript) else self.leaves:
            kind, name = self.source.kinds.of(each), root_of(each)
            own = self.source.kinds.of_name(name) if name else kind
            if any(isinstance(one, Array) and one.assumed for one in (kind, own)) and name:
                yield Assumption("other", (name,), f"`{name}` is an array of float64")
            elif not isinstance(kind, (Array, Number)):
                text = name or ast.unparse(each)
                yield Assumption("other", (text,), f"`{text}` is a number or an array of float64")


_USUAL = (DOUBLE, INT, INT64)
"""Types of numbers with which Numba computes as NumPy does."""
_BUILTINS = ("len", "float", "int", "abs", "min", "max", "round", "sum")
_CHANGING = ("fill", "itemset", "partition", "put", "resize", "setfield", "sort")
"""Methods of arrays that change them."""
_BINDING = (ast.NamedExpr, ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await)


def _parameters(leaves: Sequence[ast.expr]) -> dict[int, str]:
    """A name for each part, by its place among them: that of its array where this is the only part of it.
    Parts with the same text have one name, but calls, which may give something else each time."""
    texts = [f"{ast.unparse(each)}{k if _calls(each) else ''}" for k, each in enumerate(leaves)]
    bases = dict(zip(texts, map(_named, leaves), strict=True))
    named: dict[str, str] = {}
    for text, base in bases.items():
        same = [one for one, other in bases.items() if other == base]
        wanted = base if len(same) == 1 else f"{base}{same.index(text) + 1}"
        named[text] = _fresh({*named.values(), *keyword.kwlist}, wanted)
    return {k: named[text] for k, text in enumerate(texts)}


def _is_truth(node: ast.expr) -> bool:
    """True if a value consists of truth values, as far as its form tells."""
    match node:
        case ast.Compare() | ast.Constant(value=bool()):
            return True
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr()):
            return _is_truth(left)
        case _:
            return False


def _outermost(node: ast.expr, among: set[int]) -> Iterator[ast.expr]:
    """The parts of an expression that are among some (identities), without those inside of one another."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.expr):
            if id(each) in among:
                yield each
            else:
                yield from _outermost(each, among)


def _calls(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Call) for each in ast.walk(node))


def _named(node: ast.expr) -> str:
    """A name for a value: that of its array or attribute."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return f"{_named(node.value)}_t"
    return (
        node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else "value"
    )


def _fresh(names: set[str], wanted: str) -> str:
    """A name that is not among some, to which it is added."""
    numbered = (f"{wanted}_{number}" for number in range(2, 1000))
    found = next(each for each in (wanted, *numbered) if each not in names)
    names.add(found)
    return found
