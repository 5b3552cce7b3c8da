"""Loops whose iterations are independent by names alone, whatever their arrays hold and their calls compute.

An iteration stores to elements under its own number, of arrays of which it uses no others, binds names of its
own, and adds to sums and to elements of arrays that it does not use otherwise; all else it only reads. Such a
loop needs no model of shapes, types or callees, so that it is decided where `for_loop` refuses; functions of
unknown effect become assumptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from polylsp.frontends.python.bindings import dimensions
from polylsp.frontends.python.element_kinds import (
    holds_numbers,
    holds_objects,
    holds_sums,
    is_array,
    lists_numbers,
    may_hold_numbers,
    may_overlap_itself,
)
from polylsp.frontends.python.iteration_effects import (
    DependsError,
    Effects,
    Iteration,
    assumption,
    effects,
    grown,
)
from polylsp.frontends.python.iteration_numbers import (
    axes,
    is_counted,
    number_in,
    path_of_name,
    strip_of,
)
from polylsp.frontends.python.kinds import (
    Array,
    Number,
    is_whole,
)
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import is_stored
from polylsp.frontends.python.nodes import bindings_in, first_of_subscripts, nodes_in, own_nodes
from polylsp.frontends.python.numpy_functions import VIEW_ATTRIBUTES
from polylsp.frontends.python.purity import bound_values, freshness
from polylsp.frontends.python.reading_loops import own_reads, scope_of
from polylsp.frontends.python.sharing_by_names import FunctionNames
from polylsp.frontends.python.value_edges import OF_WHOLE
from polylsp.ir.verdict import Assumption, Parallel, Reduction

_Operator = Literal["+", "*"]
_MOST_OVERLAPS = 6
"""Pairs of arrays of which a verdict may say that they do not overlap: a reader checks no more of them."""
_MOST_WORK = 160_000
"""Nodes of a function times its loops, from which on none is decided here: each is compared with all code."""
_SUMS: dict[type[ast.operator], _Operator] = {ast.Add: "+", ast.Sub: "+", ast.Mult: "*"}


def independent_loops(context: Context, body: Sequence[ast.stmt]) -> tuple[tuple[int, Parallel], ...]:
    """The loops (ordinals) of a function's body that are independent by their names, each with its verdict;
    it rests on assumptions of the kind `pure-call` where functions of unknown effect are called."""
    nodes = own_nodes(body)
    loops = [one for one in nodes if isinstance(one, ast.For)]
    if len(nodes) * len(loops) > _MOST_WORK:
        return ()
    function = FunctionNames(context, body, scope_of(context))
    found_axes = [(one, *axis) for one in loops for axis in enumerate(axes(context, one))]
    found = ((one, k, Iteration.of(context, function, one, axis)) for one, k, axis in found_axes)
    verdicts = ((one, k, _Independence(each).verdict()) for one, k, each in found if each is not None)
    return tuple(
        (context.ordinals[id(one)] + k, verdict) for one, k, verdict in verdicts if verdict is not None
    )


@dataclass(frozen=True, slots=True)
class _Element:
    """Elements of an array: its path, and the dimension and the spelling of the subscript that holds the
    number of the iteration. `deep`: code changes an element in place."""

    path: str
    dimension: int
    number: str
    subscript: str
    deep: bool

    def is_beside(self, other: _Element) -> bool:
        """True if other elements are in other iterations' reach where these are."""
        return (self.dimension, self.subscript) == (other.dimension, other.subscript)


@dataclass
class _Independence:
    """Names that an iteration binds, and elements that it stores. `sums` are names that it only adds to;
    `element_sums` are arrays to whose elements, of any subscripts, it only adds, or that it only multiplies,
    each with the operator; `views` stand for a part of an array."""

    iteration: Iteration
    sums: frozenset[str] = frozenset()
    element_sums: dict[str, _Operator] = field(default_factory=dict[str, _Operator])
    views: dict[str, ast.Subscript] = field(default_factory=dict[str, ast.Subscript])
    assumed: dict[Assumption, None] = field(default_factory=dict[Assumption, None])

    def verdict(self) -> Parallel | None:
        """The verdict, if no two iterations are joined."""
        try:
            reductions = dict(self._sums())
            self.sums = frozenset(reductions)
            private, last = self._copies()
            self.views = dict(self._views())
            elements = self._elements()
            if not elements and not reductions:
                return None
            reductions |= {
                path: Reduction(one, spelled(path), True) for path, one in self.element_sums.items()
            }
            found = effects(self.iteration, self.sums, [one.path for one in elements])
            self.assumed |= dict.fromkeys(found.assumptions)
            self._check_overlaps(elements, found)
        except DependsError:
            return None
        return Parallel(
            tuple(self.assumed),
            tuple(sorted(map(spelled, private))),
            tuple(sorted(map(spelled, last))),
            tuple(reductions.values()),
        )

    # --- Names ---

    def _sums(self) -> Iterator[tuple[str, Reduction]]:
        """Names of numbers and arrays from outside that iterations only add to, or multiply."""
        for name in sorted(self.iteration.own):
            updates = [one for one in self.iteration.nodes if _updates(one, name)]
            uses = [n for n in self.iteration.nodes if isinstance(n, ast.Name) and n.id == name]
            operators = {_sum_of(one) for one in updates}
            named = sum(2 if isinstance(one, ast.Assign) else 1 for one in updates)
            operator = next(iter(operators), None)
            if not updates or len(uses) != named or len(operators) != 1 or operator is None:
                continue
            kind = self.iteration.context.kinds.of_name(name)
            values = self.iteration.values_outside(name)
            told = [v for v in values if v is not None]
            given = self.iteration.function.parameters.get(name)
            is_given = given is not None and given.annotation is not None
            is_number = isinstance(kind, Number) and all(self._is_new_value(v, 1) for v in told)
            is_number = is_number and (is_given or (bool(told) and len(told) == len(values)))
            is_array = (
                bool(told) and all(map(self._is_numeric, told)) and self.iteration.sharing.is_unshared(name)
            )
            if is_number or is_array:
                yield name, Reduction("*" if operator == "*" else "+", spelled(name))

    def _is_numeric(self, value: ast.expr) -> bool:
        is_number = isinstance(value, ast.Constant) and isinstance(value.value, int | float | complex)
        return (
            is_number
            or isinstance(self.iteration.context.kind(value), Number | Array)
            or is_array(self.iteration, value)
        )

    def _copies(self) -> tuple[list[str], list[str]]:
        """The names of which each iteration has a copy, and those whose last value is needed."""
        private: list[str] = []
        last: list[str] = []
        for name in sorted(self.iteration.own - self.sums):
            if name not in self.iteration.context.kinds.local:
                raise DependsError
            inside, seen = own_reads(self.iteration.context, self.iteration.loop, name)
            if (
                not inside
                or "." in name
                or (name in self.iteration.function.captured and not self.iteration.context.is_module)
            ):
                raise DependsError
            if not seen or self.iteration.context.is_module:
                if name in self.iteration.numbers or _is_bound_surely(self.iteration.loop, name):
                    last.append(name)
                    continue
                raise DependsError
            private.append(name)
        counted = {name for name, number in self.iteration.numbers.items() if number.start is not None}
        counted |= {
            n.id
            for n in nodes_in(self.iteration.loop.target)
            if isinstance(n, ast.Name) and dimensions(self.iteration.loop) > 1
        }
        return [one for one in private if one not in counted], last

    def _is_new(self, name: str, depth: int) -> bool:
        """True if an iteration binds a name to new values alone."""
        values = list(bound_values([self.iteration.loop, *self.iteration.nodes], name))
        return all(v is not None and self._is_new_value(v, depth) for v in values)

    def _is_new_value(self, value: ast.expr, depth: int) -> bool:
        """True for a value that is made anew, and for a number out of an array of known dimensions."""
        is_element = isinstance(value, ast.Subscript)
        if freshness(self.iteration.scope, value) >= depth or (
            is_whole(self.iteration.context.kind(value)) and not is_element
        ):
            return True
        names = (n for n in nodes_in(value) if isinstance(n, ast.Name))
        kinds = [self.iteration.context.kind(n) for n in names]
        told = (isinstance(k, Array) and not k.assumed and not k.guessed for k in kinds)
        is_number = isinstance(self.iteration.context.kind(value), Number)
        return is_number and all(t or is_whole(k) for t, k in zip(told, kinds, strict=True))

    def _views(self) -> Iterator[tuple[str, ast.Subscript]]:
        """Names that an iteration binds once, to a part of an array."""
        for name in self.iteration.own:
            values = list(bound_values([self.iteration.loop, *self.iteration.nodes], name))
            if len(values) == 1 and isinstance(values[0], ast.Subscript):
                yield name, values[0]

    # --- Elements ---

    def _elements(self) -> list[_Element]:
        """The elements of arrays from outside that an iteration stores to: all that it uses of these arrays
        is under its own number."""
        found: dict[str, _Element] = {}
        for node in self.iteration.nodes:
            match node:
                case ast.Subscript(ctx=ast.Store()):
                    is_update = any(
                        isinstance(n, ast.AugAssign) and n.target is node for n in self.iteration.nodes
                    )
                    self._note(found, node, is_update)
                case ast.AugAssign(target=ast.Name(id=name)) if name in self.iteration.own:
                    if name not in self.sums and not self._is_new(name, 1):
                        raise DependsError
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Del()):
                    raise DependsError
                case ast.Call() if name := grown(node):
                    if name not in self.iteration.own or not self._is_new(name, 1):
                        raise DependsError
                case _:
                    pass
        for element in found.values():
            self._check_uses(element)
        return list(found.values())

    def _note(self, found: dict[str, _Element], node: ast.Subscript, is_update: bool) -> None:
        base, parts = self._resolved(node)
        path = path_of_name(base)
        if not path or path.rpartition(".")[2] in VIEW_ATTRIBUTES:
            raise DependsError
        if any(
            may_overlap_itself(self.iteration, one) for one in self.iteration.function.points_to.owners(path)
        ):
            raise DependsError
        if path.split(".")[0] in self.iteration.own:
            if path not in self.iteration.own or not self._is_new(
                path, 1 if len(parts) == 1 and not is_update else 2
            ):
                raise DependsError
            return
        deep = is_update or len(parts) > 1
        element = self._element(path, parts, deep)
        if element is None or (is_update and self._may_repeat(element)):
            element = self._summed(path, element)
        other = found.get(path)
        if other is not None and not other.is_beside(element):
            raise DependsError
        found[path] = element if other is None or deep else other

    def _may_repeat(self, element: _Element) -> bool:
        """True for elements that several iterations have unless a condition holds, as in a histogram."""
        assumed = self.iteration.numbers[element.number].assumed
        return assumed is not None and assumed.kind == "distinct-values"

    def _summed(self, path: str, otherwise: _Element | None) -> _Element:
        """All elements of an array of numbers that an iteration only adds to, or only multiplies. Raises an
        error for others; where a condition keeps iterations apart `otherwise`, only what is surely such an
        array counts."""
        try:
            return self._all_summed(path, otherwise is None)
        except DependsError:
            if otherwise is None:
                raise
            return otherwise

    def _all_summed(self, path: str, may_assume: bool) -> _Element:
        nodes = self.iteration.nodes
        updates = [one for one in nodes if isinstance(one, ast.AugAssign) and _updated(one) == path]
        uses = [n for n in self.iteration.evaluated if path_of_name(n) == path]
        operators: set[_Operator | None] = {_SUMS.get(type(one.op)) for one in updates}
        if len(uses) != len(updates) or len(operators) != 1:
            raise DependsError
        operator = operators.pop()
        is_bound_inside = path in self.iteration.function.captured and not self.iteration.context.is_module
        if operator is None or is_bound_inside or holds_objects(self.iteration, path):
            raise DependsError
        whole = all(is_whole(self.iteration.context.kind(one.value)) for one in updates)
        known = holds_sums(self.iteration, path, whole)
        if not known and lists_numbers(self.iteration, path, [one.value for one in updates]):
            known = True
        if known is None and may_assume and may_hold_numbers(self.iteration, path, True):
            numbers = "numbers" if whole else "floating-point numbers"
            self.assumed[assumption(f"`{path}` is a NumPy array of {numbers}")] = None
        elif not known:
            raise DependsError
        self.element_sums[path] = operator
        return _Element(path, 0, "", "", True)

    def _resolved(self, node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
        """The array behind a chain of subscripts and of names that stand for parts of arrays, and its
        subscripts, the first first."""
        parts: list[ast.expr] = []
        base: ast.expr = node
        for _ in range(8):
            if isinstance(base, ast.Subscript):
                parts.insert(0, base.slice)
                base = base.value
            elif isinstance(base, ast.Name) and base.id in self.views:
                base = self.views[base.id]
            else:
                break
        return base, parts

    def _element(self, path: str, parts: list[ast.expr], deep: bool) -> _Element | None:
        """The element under the iteration's own number that the subscripts of a chain choose; `None` where
        none of them is such a number."""
        dimension = 0
        for link, part in enumerate(parts):
            for one in part.elts if isinstance(part, ast.Tuple) else [part]:
                name = number_in(self.iteration.numbers, self.iteration.own, one)
                if name:
                    return _Element(path, dimension, name, ast.unparse(one), deep or link > 0)
                name = self._strip_in(one)
                if name:
                    # Elements of a list change their places where another number of them replaces some.
                    return _Element(path, dimension, name, ast.unparse(one), True)
                is_row = isinstance(one, ast.Slice) and not link
                if not is_row and not isinstance(self.iteration.context.kind(one), Number):
                    return None
                dimension += 1
            if any(isinstance(one, ast.Slice) for one in nodes_in(part)):
                return None
        return None

    def _strip_in(self, subscript: ast.expr) -> str:
        """The name of the number whose iteration alone has the elements of a slice; empty for others."""
        iteration, at = self.iteration, self._value_of(subscript)
        match at:
            case ast.Slice(lower=ast.expr() as lower, upper=ast.expr() as upper, step=step):
                at = ast.Slice(self._value_of(lower), self._value_of(upper), step)
            case ast.Call(func=called, args=[lower, upper]) if iteration.scope.path(called) == "slice":
                at = ast.Slice(self._value_of(lower), self._value_of(upper))
            case _:
                pass
        if not isinstance(at, ast.Slice):
            return ""
        return strip_of(iteration.scope.path, iteration.numbers, iteration.own, at)

    def _may_be_negative(self, node: ast.expr) -> bool:
        """True if the function binds a name in an expression to a negative constant."""
        names = {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}
        values = (v for name in names for v in bound_values(self.iteration.function.nodes, name))
        return any(isinstance(v, ast.UnaryOp) and isinstance(v.op, ast.USub) for v in values)

    def _value_of(self, node: ast.expr, depth: int = 3) -> ast.expr:
        """The value of a name that an iteration binds once, also in a sum; other expressions as they are."""
        if depth and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = (self._value_of(one, depth - 1) for one in (node.left, node.right))
            return ast.BinOp(next(sides), node.op, next(sides))
        iteration = self.iteration
        if depth and isinstance(node, ast.Name) and node.id in iteration.own - iteration.numbers.keys():
            nodes = [iteration.loop, *iteration.nodes]
            stores = [n for n in nodes if is_stored(n) and n.id == node.id]
            values = list(bound_values(nodes, node.id))
            value = values[0] if len(values) == len(stores) == 1 else None
            return node if value is None else self._value_of(value, depth - 1)
        return node

    def _check_uses(self, element: _Element) -> None:
        """Raise an error unless all uses of an array are under the iteration's number, or add to elements."""
        path = element.path
        if path in self.element_sums:
            return
        self._check_elements(element)
        number = self.iteration.numbers[element.number]
        if number.assumed is not None:
            self.assumed[number.assumed] = None
            if number.step is not None and self._may_be_negative(number.step):
                raise DependsError
            if number.assumed.kind == "distinct-values" and not holds_numbers(self.iteration, path, True):
                raise DependsError
        around = self.iteration.around
        for node in self.iteration.nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or path_of_name(node) != path:
                continue
            match around.get(id(node)):
                case ast.Subscript(value=of) if of is node:
                    other = self._element(path, list(_chain(node, around)), False)
                    if other is None or not other.is_beside(element):
                        raise DependsError
                case ast.Attribute(attr=name) if name in OF_WHOLE:
                    pass
                case ast.Call(func=ast.Name(id="len")):
                    pass
                case _:
                    raise DependsError
        if not is_counted(self.iteration.scope.path, self.iteration.loop.iter) and any(
            path_of_name(n) == path
            for n in nodes_in(self.iteration.loop.iter)
            if isinstance(n, ast.Name | ast.Attribute)
        ):
            raise DependsError

    def _check_elements(self, element: _Element) -> None:
        """Raise an error unless a store to an element of an array leaves the others as they are, or may be
        assumed to."""
        path, iteration = element.path, self.iteration
        if element.deep and holds_objects(iteration, path):
            # What methods put into an array of a class's objects may be one row for several elements.
            if "." in path or not iteration.sharing.has_own_rows(path):
                raise DependsError
            sentence = f"each element of `{spelled(path)}` is an object of its own"
            self.assumed[Assumption("distinct-rows", (spelled(path),), sentence)] = None
        elif not holds_numbers(iteration, path, element.deep) and not iteration.sharing.makes_rows(path):
            self._assume_elements(element)

    def _assume_elements(self, element: _Element) -> None:
        """Let the verdict rest on that a store to an element leaves the others as they are; raise an error
        where the kind of the array refutes it."""
        path = element.path
        if not may_hold_numbers(self.iteration, path, element.deep):
            raise DependsError
        parts = [
            n.slice
            for n in self.iteration.nodes
            if isinstance(n, ast.Subscript) and path_of_name(n.value) == path
        ]
        has_axes = any(isinstance(one, ast.Tuple) for one in parts)
        what = "a NumPy array" if has_axes else "an array or a list"
        self.assumed[_of_numbers(path) if element.deep else assumption(f"`{path}` is {what}")] = None

    # --- Overlaps ---

    def _check_overlaps(self, elements: Sequence[_Element], found: Effects) -> None:
        """Assume that arrays whose elements are stored overlap no others; raise an error where that is too
        much to assume."""
        deep = {one.path: one.deep for one in elements}
        others = [one for one in dict.fromkeys(found.arrays) if one not in deep]
        # A function that the code makes may read what it was made of.
        made = sorted(found.called)
        for path, is_deep in deep.items():
            apart = (one for one in deep if one != path)
            if any(self._are_related(path, one, is_deep) for one in (*apart, *others, *made)):
                raise DependsError
        shared = [one for one in deep if not self.iteration.sharing.is_unshared(one)]
        others = [one for one in others if not self.iteration.sharing.is_unshared(one)]
        pairs: dict[tuple[str, str], None] = {}
        for number, path in enumerate(shared):
            apart = (*shared[number + 1 :], *others)
            pairs |= {(min(path, one), max(path, one)): None for one in apart}
        if len(pairs) > _MOST_OVERLAPS:
            raise DependsError
        for one, other in pairs:
            reasons = [self.iteration.context.unfollowed.get(each, "") for each in (one, other)]
            if any(reason.startswith("may be ") for reason in reasons):
                raise DependsError
            names = spelled(one), spelled(other)
            sentence = f"`{names[0]}` and `{names[1]}` do not overlap"
            self.assumed[Assumption("no-overlap", names, sentence)] = None

    def _are_related(self, stored: str, other: str, deep: bool) -> bool:
        """True if stores to elements of one path may be seen through another one while the loop runs."""
        whole, sharing = self.iteration.function.points_to, self.iteration.sharing
        of_numbers = self._is_of_numbers(stored)
        if not whole.are_related(stored, other, deep, of_numbers) or not sharing.points_to.are_related(
            stored, other, deep, of_numbers
        ):
            return False
        is_flat = not deep or of_numbers
        return not sharing.is_made_before(stored, 1 if is_flat else 2) and not sharing.is_made_before(
            other, 2
        )

    def _is_of_numbers(self, path: str) -> bool:
        """True for an array of numbers alone, by its kind or by a condition of the verdict."""
        return _of_numbers(path) in self.assumed or holds_numbers(self.iteration, path, True)


# --------------------------------------------------------------------------------------------------
# Statements and expressions.
# --------------------------------------------------------------------------------------------------


def _of_numbers(path: str) -> Assumption:
    return assumption(f"`{path}` is a NumPy array of numbers")


def _chain(node: ast.AST, around: dict[int, ast.AST]) -> Iterator[ast.expr]:
    """The subscripts that follow one another behind an array."""
    while isinstance(parent := around.get(id(node)), ast.Subscript) and parent.value is node:
        yield parent.slice
        node = parent


def _updates(node: ast.AST, name: str) -> bool:
    """True for `name += …`, and `name = name + …`."""
    match node:
        case ast.AugAssign(target=ast.Name(id=own), op=operator):
            return own == name and type(operator) in _SUMS
        case ast.Assign(targets=[ast.Name(id=own)], value=ast.BinOp(left=ast.Name(id=left))):
            return own == name and left == name
        case _:
            return False


def _updated(update: ast.AugAssign) -> str:
    """The path of the array of which an update changes an element; empty for other updates."""
    target = first_of_subscripts(update.target)
    return path_of_name(target) if target is not update.target else ""


def _sum_of(update: ast.AST) -> str | None:
    match update:
        case ast.AugAssign(op=operator) | ast.Assign(value=ast.BinOp(op=operator)):
            return _SUMS.get(type(operator))
        case _:
            return None


def _is_bound_surely(loop: ast.For, name: str) -> bool:
    """True if each iteration binds a name: by the loop's target, or by a statement of its own body."""
    targets = [loop.target]
    for one in loop.body:
        if any(isinstance(n, ast.Continue) for n in nodes_in(one)):
            break
        targets += one.targets if isinstance(one, ast.Assign) else []
    return any(one.id == name for one in bindings_in(targets))
