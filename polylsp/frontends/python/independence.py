"""Loops whose iterations are independent by names alone, whatever their arrays hold and their calls compute.

An iteration stores to elements under its own number, of arrays of which it uses no others, binds names of its
own, and adds to sums; all else it only reads. Such a loop needs no model of shapes, types or callees, so that
it is decided where `for_loop` refuses; functions of unknown effect become assumptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from polylsp.frontends.python.bindings import dimensions
from polylsp.frontends.python.iteration_numbers import (
    Axis,
    IterationNumber,
    axes,
    is_counted,
    is_natural,
    iteration_numbers,
    path_of_name,
)
from polylsp.frontends.python.kinds import (
    ARRAY_OF_OBJECTS,
    ARRAY_OF_STRINGS,
    DEFAULTDICT,
    UNKNOWN,
    Array,
    Instance,
    Number,
    Other,
    is_whole,
)
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Callable, ClassOf, Value
from polylsp.frontends.python.nodes import bindings_in, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.numpy_arguments import asks_for_objects, overlaps_itself
from polylsp.frontends.python.numpy_functions import VIEW_ATTRIBUTES
from polylsp.frontends.python.purity import (
    GROWING,
    Scope,
    assumed_of_call,
    bound_values,
    effect_of_call,
    effect_of_operations,
    freshness,
    reads,
)
from polylsp.frontends.python.reading_loops import is_assertion, is_simple, own_reads, scope_of
from polylsp.frontends.python.sharing_by_names import FunctionNames, Sharing, parents
from polylsp.frontends.python.value_edges import OF_WHOLE
from polylsp.ir.program import Floating
from polylsp.ir.verdict import Assumption, Parallel, Reduction

MOST_PURE_CALLS = 2
"""Functions of unknown effect that a verdict may rest on: more of them help no one."""
_MOST_OVERLAPS = 3
_MOST_WORK = 160_000
"""Nodes of a function times its loops, from which on none is decided here: each is compared with all code."""
_SUMS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "+", ast.Mult: "*"}


def independent_loops(context: Context, body: Sequence[ast.stmt]) -> tuple[tuple[int, Parallel], ...]:
    """The loops (ordinals) of a function's body that are independent by their names, each with its verdict;
    it rests on assumptions of the kind `pure-call` where functions of unknown effect are called."""
    nodes = own_nodes(body)
    loops = [one for one in nodes if isinstance(one, ast.For)]
    if len(nodes) * len(loops) > _MOST_WORK:
        return ()
    function = FunctionNames(context, body, scope_of(context))
    found_axes = [(one, *axis) for one in loops for axis in enumerate(axes(context, one))]
    found = ((one, k, _Iteration.of(context, function, one, axis)) for one, k, axis in found_axes)
    verdicts = ((one, k, iteration.verdict()) for one, k, iteration in found if iteration is not None)
    return tuple(
        (context.ordinals[id(one)] + k, verdict) for one, k, verdict in verdicts if verdict is not None
    )


class _DependsError(Exception):
    """Something in a loop that may join two of its iterations."""


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
class _Iteration:
    """An iteration of a loop. `numbers` are the names that are another whole number in each one; `own` are
    the names that it binds, among them `sums`, which it only adds to, and `views`, which stand for a part of
    an array; `followed` are calls of functions of the file."""

    context: Context
    function: FunctionNames
    loop: ast.For
    scope: Scope
    nodes: list[ast.AST]
    sharing: Sharing
    numbers: dict[str, IterationNumber]
    own: frozenset[str]
    sums: frozenset[str] = frozenset()
    views: dict[str, ast.Subscript] = field(default_factory=dict[str, ast.Subscript])
    assumed: dict[Assumption, None] = field(default_factory=dict[Assumption, None])
    followed: list[tuple[ast.Call, Callable]] = field(default_factory=list[tuple[ast.Call, Callable]])

    @classmethod
    def of(cls, context: Context, function: FunctionNames, loop: ast.For, axis: Axis) -> _Iteration | None:
        """The iteration of an axis of a loop, if all of its statements are of known effect."""
        if (
            loop.orelse
            or id(loop) in context.caught
            or not all(is_simple(context, one, loop) for one in own_nodes(loop.body))
        ):
            return None
        numbers = dict(iteration_numbers(context, *axis))
        nodes = nodes_in_all(loop.body)
        bound = [n.id for n in bindings_in(loop.body)]
        shadowed = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        numbers = {name: number for name, number in numbers.items() if name not in shadowed}
        targets = {n.id for n in nodes_in(loop.target) if isinstance(n, ast.Name)}
        own, sharing = frozenset((*bound, *targets)), Sharing(function, loop)
        return cls(context, function, loop, function.scope, nodes, sharing, numbers, own)

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
            self._check_properties()
            self._check_operations({one.path for one in elements})
            self._check_calls(elements)
            self._check_overlaps(elements)
        except _DependsError:
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
        for name in sorted(self.own):
            updates = [one for one in self.nodes if _updates(one, name)]
            uses = [n for n in self.nodes if isinstance(n, ast.Name) and n.id == name]
            operators = {_sum_of(one) for one in updates}
            named = sum(2 if isinstance(one, ast.Assign) else 1 for one in updates)
            operator = next(iter(operators), None)
            if not updates or len(uses) != named or len(operators) != 1 or operator is None:
                continue
            kind = self.context.kinds.of_name(name)
            values = self._values_outside(name)
            told = [v for v in values if v is not None]
            given = self.function.parameters.get(name)
            is_given = given is not None and given.annotation is not None
            is_number = isinstance(kind, Number) and all(self._is_new_value(v, 1) for v in told)
            is_number = is_number and (is_given or (bool(told) and len(told) == len(values)))
            is_array = bool(told) and all(map(self._is_numeric, told)) and self.sharing.is_unshared(name)
            if is_number or is_array:
                yield name, Reduction("*" if operator == "*" else "+", spelled(name))

    def _is_numeric(self, value: ast.expr) -> bool:
        is_number = isinstance(value, ast.Constant) and isinstance(value.value, int | float | complex)
        return is_number or isinstance(self.context.kind(value), Number | Array) or self._is_array(value)

    def _is_array(self, value: ast.expr) -> bool:
        """True for a call that makes an array of numbers."""
        kind = self.context.kind(value)
        if isinstance(kind, Array) and not kind.lists:
            return True
        is_numpy = isinstance(value, ast.Call) and self.scope.path(value.func).startswith("numpy.")
        return is_numpy and freshness(self.scope, value) == 2

    def _copies(self) -> tuple[list[str], list[str]]:
        """The names of which each iteration has a copy, and those whose last value is needed."""
        private: list[str] = []
        last: list[str] = []
        for name in sorted(self.own - self.sums):
            if name not in self.context.kinds.local:
                raise _DependsError
            inside, seen = own_reads(self.context, self.loop, name)
            if not inside or "." in name or (name in self.function.captured and not self.context.is_module):
                raise _DependsError
            if not seen or self.context.is_module:
                if name in self.numbers or _is_bound_surely(self.loop, name):
                    last.append(name)
                    continue
                raise _DependsError
            private.append(name)
        counted = {name for name, number in self.numbers.items() if number.start is not None}
        counted |= {
            n.id for n in nodes_in(self.loop.target) if isinstance(n, ast.Name) and dimensions(self.loop) > 1
        }
        return [one for one in private if one not in counted], last

    def _values_outside(self, name: str) -> list[ast.expr | None]:
        nodes = [n for n in self.function.nodes if not self.sharing.is_inside(n)]
        values = list(bound_values(nodes, name))
        return [*values, None] if name in self.function.parameters else values

    def _is_new(self, name: str, depth: int) -> bool:
        """True if an iteration binds a name to new values alone."""
        values = list(bound_values([self.loop, *self.nodes], name))
        return all(v is not None and self._is_new_value(v, depth) for v in values)

    def _is_new_value(self, value: ast.expr, depth: int) -> bool:
        """True for a value that is made anew, and for a number out of an array of known dimensions."""
        is_element = isinstance(value, ast.Subscript)
        if freshness(self.scope, value) >= depth or (is_whole(self.context.kind(value)) and not is_element):
            return True
        names = (n for n in nodes_in(value) if isinstance(n, ast.Name))
        kinds = [self.context.kind(n) for n in names]
        told = (isinstance(k, Array) and not k.assumed and not k.guessed for k in kinds)
        is_number = isinstance(self.context.kind(value), Number)
        return is_number and all(t or is_whole(k) for t, k in zip(told, kinds, strict=True))

    def _views(self) -> Iterator[tuple[str, ast.Subscript]]:
        """Names that an iteration binds once, to a part of an array."""
        for name in self.own:
            values = list(bound_values([self.loop, *self.nodes], name))
            if len(values) == 1 and isinstance(values[0], ast.Subscript):
                yield name, values[0]

    # --- Elements ---

    def _elements(self) -> list[_Element]:
        """The elements of arrays from outside that an iteration stores to: all that it uses of these arrays
        is under its own number."""
        found: dict[str, _Element] = {}
        for node in self.nodes:
            match node:
                case ast.Subscript(ctx=ast.Store()):
                    is_update = any(isinstance(n, ast.AugAssign) and n.target is node for n in self.nodes)
                    self._note(found, node, is_update)
                case ast.AugAssign(target=ast.Name(id=name)) if name in self.own:
                    if name not in self.sums and not self._is_new(name, 1):
                        raise _DependsError
                case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Del()):
                    raise _DependsError
                case ast.Call() if name := _grown(node):
                    if name not in self.own or not self._is_new(name, 1):
                        raise _DependsError
                case _:
                    pass
        for element in found.values():
            self._check_uses(element)
        return list(found.values())

    def _note(self, found: dict[str, _Element], node: ast.Subscript, is_update: bool) -> None:
        base, parts = self._resolved(node)
        path = path_of_name(base)
        if not path or path.rpartition(".")[2] in VIEW_ATTRIBUTES:
            raise _DependsError
        if any(map(self._overlaps_itself, self.function.points_to.owners(path))):
            raise _DependsError
        if path.split(".")[0] in self.own:
            if path not in self.own or not self._is_new(path, 1 if len(parts) == 1 and not is_update else 2):
                raise _DependsError
            return
        deep = is_update or len(parts) > 1
        element = self._element(path, parts, deep)
        if element is None:
            raise _DependsError
        other = found.get(path)
        if other is not None and not other.is_beside(element):
            raise _DependsError
        found[path] = element if other is None or deep else other

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
                name = self._number_in(one)
                if name:
                    return _Element(path, dimension, name, ast.unparse(one), deep or link > 0)
                is_row = isinstance(one, ast.Slice) and not link
                if not is_row and not isinstance(self.context.kind(one), Number):
                    return None
                dimension += 1
            if any(isinstance(one, ast.Slice) for one in nodes_in(part)):
                return None
        return None

    def _number_in(self, subscript: ast.expr) -> str:
        """The name of the number that a subscript is, or is at a distance from that the loop does not change;
        empty for others, and where it may be negative."""
        match subscript:
            case ast.Name(id=name) if name in self.numbers:
                return name
            case (
                ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=by)
                | ast.BinOp(left=by, op=ast.Add(), right=ast.Name(id=name))
            ) if name in self.numbers and is_natural(by):
                return name
            case ast.BinOp(left=ast.Name(id=name), op=ast.Sub(), right=by) if name in self.numbers:
                start = self.numbers[name].start
                names = {n.id for n in nodes_in(by) if isinstance(n, ast.Name)}
                if start is None or not names.isdisjoint(self.own):
                    return ""
                if is_natural(start) and is_natural(by):
                    return name if ast.literal_eval(by) <= ast.literal_eval(start) else ""
                return name if ast.unparse(start) == ast.unparse(by) else ""
            case _:
                return ""

    def _check_uses(self, element: _Element) -> None:
        """Raise an error unless all uses of an array are under the iteration's number."""
        number, path = self.numbers[element.number], element.path
        if number.assumed is not None:
            self.assumed[number.assumed] = None
            if number.assumed.kind == "distinct-values" and not self._holds_numbers(path, True):
                raise _DependsError
        if element.deep and self._holds_objects(path):
            if not self.sharing.has_own_rows(path):
                raise _DependsError
            sentence = f"each element of `{spelled(path)}` is an object of its own"
            self.assumed[Assumption("distinct-rows", (spelled(path),), sentence)] = None
        elif not self._holds_numbers(path, element.deep) and not self.sharing.makes_rows(path):
            kind = self.context.kinds.of_name(path)
            if kind not in (None, UNKNOWN) and not (isinstance(kind, Array) and not kind.lists):
                raise _DependsError
            self._assume_elements(element)
        around = parents(self.nodes)
        for node in self.nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or path_of_name(node) != path:
                continue
            match around.get(id(node)):
                case ast.Subscript(value=of) if of is node:
                    other = self._element(path, list(_chain(node, around)), False)
                    if other is None or not other.is_beside(element):
                        raise _DependsError
                case ast.Attribute(attr=name) if name in OF_WHOLE:
                    pass
                case ast.Call(func=ast.Name(id="len")):
                    pass
                case _:
                    raise _DependsError
        if not is_counted(self.scope.path, self.loop.iter) and any(
            path_of_name(n) == path
            for n in nodes_in(self.loop.iter)
            if isinstance(n, ast.Name | ast.Attribute)
        ):
            raise _DependsError

    def _assume_elements(self, element: _Element) -> None:
        """Let the verdict rest on that a store to an element leaves the others as they are."""
        path = element.path
        parts = [
            n.slice for n in self.nodes if isinstance(n, ast.Subscript) and path_of_name(n.value) == path
        ]
        is_array = any(isinstance(one, ast.Tuple) for one in parts)
        what = "a NumPy array" if is_array else "an array or a list"
        self._assume(f"`{path}` is {'a NumPy array of numbers' if element.deep else what}")

    def _holds_numbers(self, path: str, deep: bool) -> bool:
        """True if a store to an element leaves the others as they are: in an array, and in a list where it
        replaces the element."""
        kind = self.context.kinds.of_name(path)
        if isinstance(kind, Array) and not kind.lists and not kind.assumed:
            return True
        if kind in (ARRAY_OF_OBJECTS, ARRAY_OF_STRINGS, Other("a list")) and not deep:
            return True
        values = self._values_outside(path)
        if not values:
            return False
        is_list = isinstance(kind, Other) and "list" in kind.what
        told = [v for v in values if v is not None]
        are_numbers = all(self._is_array(v) and not (deep and self._is_assumed(v)) for v in told)
        return len(told) == len(values) and (are_numbers or (is_list and not deep))

    def _is_assumed(self, value: ast.expr) -> bool:
        """True for an array of which nothing tells the type of the elements."""
        kind = self.context.kind(value)
        return isinstance(kind, Array) and kind.assumed

    def _overlaps_itself(self, name: str) -> bool:
        """True for a name of an array that may have several elements in one place."""
        values = (v for v in bound_values(self.function.nodes, name) if v is not None)
        calls = (n for v in values for n in nodes_in(v) if isinstance(n, ast.Call))
        return any(overlaps_itself(self.scope.path(call.func)) for call in calls)

    def _holds_objects(self, path: str) -> bool:
        """True for an array whose elements are objects, by its annotation or where it is made."""
        named = (n for n in self.nodes if isinstance(n, ast.Attribute) and path_of_name(n) == path)
        kinds = (self.context.kinds.of_name(path), *map(self.context.kind, named))
        if ARRAY_OF_OBJECTS in kinds:
            return True
        given = self.function.parameters.get(path)
        values = (v for v in self._values_outside(path) if v is not None)
        told = (given.annotation if given is not None else None, *values)
        return any(one is not None and asks_for_objects(one) for one in told)

    # --- Calls ---

    def _check_properties(self) -> None:
        """Raise an error where a property of an object is read: that runs code."""
        functions = {id(n.func) for n in self.nodes if isinstance(n, ast.Call)}
        for node in self.nodes:
            of, _, name = node.id.rpartition(".") if isinstance(node, ast.Name) else ("", "", "")
            read = ast.Attribute(ast.Name(of), name) if of else node
            if (
                isinstance(read, ast.Attribute)
                and id(node) not in functions
                and self.context.is_property(read)
            ):
                raise _DependsError

    def _iterated(self) -> list[ast.AST]:
        """The nodes that each iteration evaluates: those of the body, and of what the loop runs over."""
        return [
            *self.nodes,
            *([] if is_counted(self.scope.path, self.loop.iter) else nodes_in(self.loop.iter)),
        ]

    def _check_operations(self, stored: AbstractSet[str]) -> None:
        """Raise an error where operators on objects of the file may change something, where elements of a
        defaultdict or values of an iterator are read that are no elements of what is `stored`, and where a
        generator expression, which reads names later, may outlive the iteration."""
        nodes = self._iterated()
        if effect_of_operations(self.scope, [self.loop, *nodes]) != "reads":
            raise _DependsError
        # What the loop itself runs over may be an iterator.
        read = (n for n in self.nodes if isinstance(n, ast.Name | ast.Attribute))
        if any(path_of_name(n) not in self.own and self.function.is_iterator(n) for n in read):
            raise _DependsError
        if any(path_of_name(n) not in stored and self._holds_changing(n) for n in self.nodes):
            raise _DependsError
        around = parents(nodes)
        for node in nodes:
            match node:
                case ast.Subscript(value=of) if self.context.kind(of) == DEFAULTDICT:
                    raise _DependsError
                case ast.GeneratorExp() if not isinstance(around.get(id(node)), ast.Call | ast.For):
                    raise _DependsError
                case _:
                    pass

    def _holds_changing(self, node: ast.AST) -> bool:
        """True for a name of an object that holds others which reads may change, and for one that may be such
        an object, of a class that nothing tells."""
        path = path_of_name(node)
        if not path:
            return False
        points_to = self.function.points_to
        is_told = isinstance(node, ast.expr) and bool(self.scope.classes_of(node))
        is_outer = path.split(".")[0] not in self.own | self.comprehended
        if is_outer and points_to.holds_changing(path):
            return True
        return not is_told and points_to.is_changing(path, is_outer)

    @cached_property
    def comprehended(self) -> frozenset[str]:
        """Names that comprehensions bind."""
        targets = (n.target for n in self.nodes if isinstance(n, ast.comprehension))
        return frozenset(n.id for n in nodes_in_all(targets) if isinstance(n, ast.Name))

    def _check_calls(self, elements: Sequence[_Element]) -> None:
        """Raise an error where a call may change something, or may read elements of other iterations."""
        stored = {one.path for one in elements} | {f".{one.path.rpartition('.')[2]}" for one in elements}
        pure: dict[str, None] = {}
        for call in [n for n in self._iterated() if isinstance(n, ast.Call)]:
            if is_assertion(call) or _grown(call):
                continue
            effect = effect_of_call(self.scope, call)
            declared = self.scope.callee(call)
            inside = isinstance(call.func, ast.Name) and call.func.id in self.function.functions_inside
            if effect == "acts" or isinstance(declared, ClassOf) or inside:
                raise _DependsError
            if effect == "unknown":
                pure[spelled(self.context.text(call.func))] = None
            elif reads(self.scope, call):
                self._assume(assumed_of_call(self.scope, call))
            elif isinstance(declared, Callable):
                if not (stored | self.own).isdisjoint(declared.outer):
                    raise _DependsError
                self.followed.append((call, declared))
                for sentence in declared.assumes:
                    self._assume(sentence)
            self._check_arguments(call, elements, declared is None and not reads(self.scope, call))
        if len(pure) > MOST_PURE_CALLS:
            raise _DependsError
        if pure:
            names = " and ".join(f"`{name}`" for name in pure)
            verb = "computes its result from its" if len(pure) == 1 else "compute their results from their"
            sentence = f"{names} {verb} arguments alone"
            self.assumed[Assumption("pure-call", tuple(pure), sentence)] = None

    def _assume(self, sentence: str) -> None:
        """Let the verdict rest on a condition, if there is one, about the first name that it quotes."""
        if sentence:
            self.assumed[Assumption("other", (sentence.split("`")[1],), spelled(sentence))] = None

    def _check_arguments(self, call: ast.Call, elements: Sequence[_Element], is_unknown: bool) -> None:
        """Raise an error where a call is given the object that has an array whose elements are stored."""
        owners = {one.path.split(".")[0] for one in elements if "." in one.path}
        given = (*call.args, *(one.value for one in call.keywords))
        if any(isinstance(one, ast.Name) and one.id in owners for one in given):
            raise _DependsError
        function = call.func
        of = function.value if isinstance(function, ast.Attribute) else None
        bare = isinstance(of, ast.Name) and of.id in owners
        if is_unknown and bare and isinstance(of, ast.Name) and not self.scope.classes_of(of):
            raise _DependsError

    # --- Overlaps ---

    def _check_overlaps(self, elements: Sequence[_Element]) -> None:
        """Assume that arrays whose elements are stored overlap no others; raise an error where that is too
        much to assume."""
        deep = {one.path: one.deep for one in elements}
        related = self.function.points_to.are_related
        read = [*self._arrays_read(), *(one for each in self.followed for one in self._arrays_reached(*each))]
        others = [one for one in dict.fromkeys(read) if one not in deep]
        # A function that the code makes may read what it was made of.
        made = sorted(self._called())
        for path, is_deep in deep.items():
            apart = (one for one in deep if one != path)
            if any(related(path, one, is_deep) for one in (*apart, *others, *made)):
                raise _DependsError
        shared = [one for one in deep if not self.sharing.is_unshared(one)]
        others = [one for one in others if not self.sharing.is_unshared(one)]
        pairs: dict[tuple[str, str], None] = {}
        for number, path in enumerate(shared):
            apart = (*shared[number + 1 :], *others)
            pairs |= {(min(path, one), max(path, one)): None for one in apart}
        if len(pairs) > _MOST_OVERLAPS:
            raise _DependsError
        for one, other in pairs:
            reasons = [self.context.unfollowed.get(each, "") for each in (one, other)]
            if any(reason.startswith("may be ") for reason in reasons):
                raise _DependsError
            names = spelled(one), spelled(other)
            sentence = f"`{names[0]}` and `{names[1]}` do not overlap"
            self.assumed[Assumption("no-overlap", names, sentence)] = None

    def _called(self) -> frozenset[str]:
        """Names that the function binds and the iteration calls."""
        calls = (n.func for n in self._iterated() if isinstance(n, ast.Call))
        names = {f.id for f in calls if isinstance(f, ast.Name)}
        return frozenset(names & self.context.kinds.local - self.function.parameters.keys())

    def _arrays_read(self) -> list[str]:
        """The paths from outside that an iteration reads, and that may lead to arrays."""
        nodes = self._iterated()
        around = parents(nodes)
        in_calls = {id(n) for call in nodes if isinstance(call, ast.Call) for n in nodes_in(call)}
        found: dict[str, None] = {}
        for node in nodes:
            if not isinstance(node, ast.Name | ast.Attribute) or self.scope.path(node):
                continue
            parent = around.get(id(node))
            is_called = _is_function(node, parent)
            of_method = isinstance(parent, ast.Attribute) and _is_function(parent, around.get(id(parent)))
            is_part = isinstance(parent, ast.Attribute) and not (of_method or parent.attr in VIEW_ATTRIBUTES)
            last = node.attr if isinstance(node, ast.Attribute) else ""
            path = path_of_name(node)
            if not path or is_called or is_part or last in OF_WHOLE | VIEW_ATTRIBUTES:
                continue
            is_own = path.split(".")[0] in self.own or path in self.sums
            kind = self.context.kind(node)
            is_part_of = isinstance(parent, ast.Subscript) and parent.value is node
            is_guess = (self._is_told_by_use(path) and id(node) in in_calls) or self._is_result(path)
            is_number = isinstance(kind, Number) and not is_guess and not is_part_of
            is_object = isinstance(kind, Instance) and (of_method or _is_identity(parent))
            if not is_own and not is_number and not is_object and kind != Other("a string"):
                found[path] = None
        return list(found)

    def _is_result(self, name: str) -> bool:
        """True for a name that is bound to what a function of the file gives."""
        values = self._values_outside(name)
        return any(isinstance(v, ast.Call) and self.scope.callee(v) is not None for v in values)

    def _is_told_by_use(self, name: str) -> bool:
        """True for a parameter whose real value is taken for a number by its use alone."""
        kind, given = self.context.kinds.of_name(name), self.function.parameters.get(name)
        real = isinstance(kind, Number) and isinstance(kind.type, Floating)
        return real and given is not None and given.annotation is None

    def _arrays_reached(self, call: ast.Call, declared: Callable) -> Iterator[str]:
        """The variables and attributes, as paths, that a function of the file reads and that may be arrays;
        raises an error where the object of an attribute is not known."""
        function = call.func
        of = path_of_name(function.value) if isinstance(function, ast.Attribute) else ""
        owners = self.scope.classes_of(function.value) if isinstance(function, ast.Attribute) and of else []
        fields = dict(owners[0].fields) if len(owners) == 1 else {}
        for name in declared.outer:
            attribute = name.removeprefix(".")
            known = self.scope.declarations.get(name)
            if name == attribute:
                is_number = isinstance(known, Value) and isinstance(known.kind, Number)
                yield from () if is_number else (name,)
            elif attribute not in fields:
                raise _DependsError
            elif not isinstance(fields[attribute], Number):
                yield f"{of}.{attribute}"


# --------------------------------------------------------------------------------------------------
# Statements and expressions.
# --------------------------------------------------------------------------------------------------


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


def _sum_of(update: ast.AST) -> str | None:
    match update:
        case ast.AugAssign(op=operator) | ast.Assign(value=ast.BinOp(op=operator)):
            return _SUMS.get(type(operator))
        case _:
            return None


def _grown(call: ast.Call) -> str:
    """The name of the list that a call adds to, or takes from; empty for other calls."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if method in GROWING:
            return name
        case _:
            return ""


def _is_function(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def _is_identity(node: ast.AST | None) -> bool:
    """True for `v is None`, which reads nothing of an object."""
    return isinstance(node, ast.Compare) and all(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)


def _is_bound_surely(loop: ast.For, name: str) -> bool:
    """True if each iteration binds a name: by the loop's target, or by a statement of its own body."""
    targets = [loop.target]
    for one in loop.body:
        if any(isinstance(n, ast.Continue) for n in nodes_in(one)):
            break
        targets += one.targets if isinstance(one, ast.Assign) else []
    return any(one.id == name for one in bindings_in(targets))
