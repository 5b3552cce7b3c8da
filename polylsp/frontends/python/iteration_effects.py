"""Effects of an iteration: code that its operators, properties and calls run, and the arrays that they read.

`effects` takes an iteration and the paths of the arrays whose elements it stores. It returns the conditions
under which nothing else changes, and the arrays that are read; it raises an error where an effect may join
two iterations.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property

from polylsp.frontends.python.iteration_numbers import (
    Axis,
    IterationNumber,
    is_counted,
    iteration_numbers,
    path_of_name,
)
from polylsp.frontends.python.kinds import DEFAULTDICT, MIXED, UNKNOWN, Instance, Number, Other
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Callable, ClassOf, Value
from polylsp.frontends.python.nodes import (
    bindings_in,
    first_of_subscripts,
    nodes_in,
    nodes_in_all,
    own_nodes,
    parents,
)
from polylsp.frontends.python.numpy_functions import VIEW_ATTRIBUTES
from polylsp.frontends.python.purity import (
    GROWING,
    Scope,
    acting_properties,
    assumed_of_call,
    bound_values,
    effect_of_call,
    effect_of_operations,
    has_acting_operators,
    reads,
)
from polylsp.frontends.python.reading_loops import is_assertion, is_simple, ordinals_of, scope_of
from polylsp.frontends.python.sharing_by_names import FunctionNames, Sharing
from polylsp.frontends.python.value_edges import OF_WHOLE
from polylsp.ir.program import Floating
from polylsp.ir.verdict import Assumption

_MOST_PURE_CALLS = 2
"""Functions of unknown effect that a verdict may rest on: more of them help no one."""


_OF_EACH_ARRAY = VIEW_ATTRIBUTES | OF_WHOLE | {"real", "imag", "nbytes", "itemsize"}
"""Attributes of arrays, which objects of other libraries answer likewise."""
_PLAIN_MODULES = frozenset(("numpy", "scipy", "math", "time", "datetime", "pathlib", "argparse", "itertools"))
"""Modules whose functions give objects that reading an attribute leaves as they are."""


class DependsError(Exception):
    """Something in a loop that may join two of its iterations."""


@dataclass(frozen=True)
class Iteration:
    """An iteration of a loop, all of whose statements are of known effect. `numbers` are the names that are
    another whole number in each one; `own` are the names that it binds."""

    context: Context
    function: FunctionNames
    loop: ast.For
    scope: Scope
    nodes: list[ast.AST]
    sharing: Sharing
    numbers: dict[str, IterationNumber]
    own: frozenset[str]

    @classmethod
    def of(cls, context: Context, function: FunctionNames, loop: ast.For, axis: Axis) -> Iteration | None:
        """The iteration of an axis of a loop; `None` where a statement may do more than its targets say."""
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

    def values_outside(self, name: str) -> list[ast.expr | None]:
        """The values that the function gives a name outside of the loop, as far as they may reach it; `None`
        for an unknown one."""
        if reaching := self.sharing.reaching(name):
            return reaching
        nodes = [n for n in self.function.nodes if not self.sharing.is_inside(n)]
        values = list(bound_values(nodes, name))
        return [*values, None] if name in self.function.parameters else values

    @cached_property
    def evaluated(self) -> list[ast.AST]:
        """The nodes that each iteration evaluates: those of the body, and of what the loop runs over."""
        return [
            *self.nodes,
            *([] if is_counted(self.scope.path, self.loop.iter) else nodes_in(self.loop.iter)),
        ]

    @cached_property
    def around(self) -> dict[int, ast.AST]:
        """The node around each of these nodes, by its identity."""
        return parents(self.evaluated)

    @cached_property
    def comprehended(self) -> frozenset[str]:
        """Names that comprehensions bind."""
        targets = (n.target for n in self.nodes if isinstance(n, ast.comprehension))
        return frozenset(n.id for n in nodes_in_all(targets) if isinstance(n, ast.Name))


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of an iteration: the `assumptions` that they rest on, and the paths of the `arrays` from
    outside that it and the functions of the file that it calls read; `called` are names that the function
    binds and the iteration calls."""

    assumptions: tuple[Assumption, ...]
    arrays: tuple[str, ...]
    called: frozenset[str]


def effects(iteration: Iteration, sums: AbstractSet[str], stored: Sequence[str]) -> Effects:
    """The effects of an iteration that adds to `sums` and stores elements of the arrays with the paths
    `stored`; raises `DependsError` where one may join two iterations."""
    _check_properties(iteration)
    _check_operations(iteration, frozenset(stored))
    calls = _check_calls(iteration, stored)
    for path in _run_over(iteration):
        calls.assume(f"`{path}` is not an iterator")
    reached = (one for each in calls.followed for one in _arrays_reached(iteration, *each))
    return Effects(tuple(calls.assumed), (*_arrays_read(iteration, sums), *reached), _called(iteration))


@dataclass(frozen=True, slots=True)
class _Calls:
    """Calls of an iteration: the conditions under which they change nothing, and those of functions of the
    file, which are `followed`."""

    assumed: dict[Assumption, None] = field(default_factory=dict[Assumption, None])
    followed: list[tuple[ast.Call, Callable]] = field(default_factory=list[tuple[ast.Call, Callable]])

    def assume(self, sentence: str) -> None:
        """Add a condition, if there is one."""
        if sentence:
            self.assumed[assumption(sentence)] = None


def _check_properties(iteration: Iteration) -> None:
    """Raise an error where a property of an object is read: that runs code."""
    functions = {id(n.func) for n in iteration.nodes if isinstance(n, ast.Call)}
    acting = acting_properties(iteration.scope.declarations)
    for node in iteration.nodes:
        of, _, name = node.id.rpartition(".") if isinstance(node, ast.Name) else ("", "", "")
        read = ast.Attribute(ast.Name(of), name) if of else node
        if (
            isinstance(read, ast.Attribute)
            and id(node) not in functions
            and (
                iteration.context.is_property(read)
                or (read.attr in acting and not iteration.scope.classes_of(read.value))
            )
        ):
            raise DependsError


def _check_operations(iteration: Iteration, stored: AbstractSet[str]) -> None:
    """Raise an error where operators on objects of the file may change something, where elements of a
    defaultdict or values of an iterator are read that are no elements of what is `stored`, and where a
    generator expression, which reads names later, may outlive the iteration."""
    nodes = iteration.evaluated
    if effect_of_operations(iteration.scope, [iteration.loop, *nodes]) != "reads":
        raise DependsError
    _check_unknown_operands(iteration)
    # What the loop itself runs over may be an iterator.
    read = (n for n in iteration.nodes if isinstance(n, ast.Name | ast.Attribute))
    if any(path_of_name(n) not in iteration.own and iteration.function.is_iterator(n) for n in read):
        raise DependsError
    if any(path_of_name(n) not in stored and _holds_changing(iteration, n) for n in iteration.nodes):
        raise DependsError
    for node in nodes:
        match node:
            case ast.Subscript(value=of) if iteration.context.kind(of) == DEFAULTDICT:
                raise DependsError
            case ast.GeneratorExp() if not isinstance(iteration.around.get(id(node)), ast.Call | ast.For):
                raise DependsError
            case _:
                pass


_RUNNING = frozenset(
    "all any dict enumerate frozenset list max min set sorted sum tuple zip itertools.product "  # noqa: SIM905
    "itertools.combinations itertools.combinations_with_replacement itertools.permutations "
    "itertools.pairwise".split()
)
"""Functions of Python that run over what they are given."""


def _run_over(iteration: Iteration) -> Iterator[str]:
    """The names from outside that an iteration runs over and of which nothing tells that they are more than
    iterators, which it would use up."""
    scope, sized = iteration.scope, set[str]()
    for node in iteration.function.nodes:
        match node:
            case ast.Subscript(value=of) | ast.Call(func=ast.Name(id="len"), args=[of]):
                sized.add(path_of_name(of))
            case _:
                pass
    for node in iteration.nodes:
        match node:
            case ast.For(iter=of) | ast.comprehension(iter=of):
                given = [of]
            case ast.Call(args=arguments) if scope.path(node.func) in _RUNNING:
                is_choice = scope.path(node.func) in ("max", "min") and len(arguments) > 1
                given = [one.value if isinstance(one, ast.Starred) else one for one in arguments]
                given = [] if is_choice else given
            case _:
                continue
        for one in given:
            path = path_of_name(one)
            is_outer = path and path.split(".")[0] not in iteration.own | iteration.comprehended
            if is_outer and path not in sized and not scope.path(one) and not scope.is_value(one):
                yield path


def _check_unknown_operands(iteration: Iteration) -> None:
    """Raise an error where an operand of unknown class may be an object of a class of the file whose
    operators change something."""
    classes = [one for one in iteration.scope.declarations.values() if isinstance(one, ClassOf)]
    if not any(map(has_acting_operators, classes)):
        return
    for node in iteration.evaluated:
        if isinstance(node, ast.Subscript | ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            user = iteration.around.get(id(node))
            if _is_operand(node, user) and not _is_told(iteration, node):
                raise DependsError


def _is_operand(node: ast.expr, user: ast.AST | None) -> bool:
    """True for a value on which a statement or an expression may run special methods."""
    match user:
        case ast.Subscript(value=of):
            # An element of an array that is stored to is replaced by value.
            return of is node and isinstance(user.ctx, ast.Load)
        case ast.Compare(ops=operators):
            return not all(isinstance(one, ast.Is | ast.IsNot) for one in operators)
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.AugAssign():
            return True
        case ast.If() | ast.While() | ast.Assert() | ast.comprehension() | ast.For():
            return True
        case ast.IfExp(test=test):
            return test is node
        case ast.Call(func=function):
            return function is not node
        case _:
            return False


def _is_told(iteration: Iteration, node: ast.expr) -> bool:
    """True for a value that is no object of a class of the file, for one whose class is known, and for a part
    of a collection that the function makes of constants."""
    if iteration.scope.is_value(node) or iteration.scope.classes_of(node):
        return True
    node = first_of_subscripts(node)
    is_own = isinstance(node, ast.Name) and node.id not in iteration.own
    values = iteration.values_outside(node.id) if isinstance(node, ast.Name) and is_own else []
    parts = [n for v in values if v is not None for n in nodes_in(v)]
    return bool(values) and None not in values and not any(isinstance(n, ast.Name | ast.Call) for n in parts)


def _holds_changing(iteration: Iteration, node: ast.AST) -> bool:
    """True for a name of an object that holds others which reads may change, and for one that may be such
    an object, of a class that nothing tells."""
    path = path_of_name(node)
    if not path:
        return False
    points_to = iteration.function.points_to
    is_told = isinstance(node, ast.expr) and bool(iteration.scope.classes_of(node))
    is_outer = path.split(".")[0] not in iteration.own | iteration.comprehended
    if is_outer and points_to.holds_changing(path):
        return True
    return not is_told and points_to.is_changing(path, is_outer)


def _check_calls(iteration: Iteration, stored: Sequence[str]) -> _Calls:
    """The calls that an iteration makes; raises an error where one may change something, or may read elements
    of other iterations."""
    scope, function = iteration.scope, iteration.function
    names = {*stored, *(f".{path.rpartition('.')[2]}" for path in stored)}
    found = _Calls()
    pure: dict[str, None] = {}
    for call in [n for n in iteration.evaluated if isinstance(n, ast.Call)]:
        if is_assertion(call) or grown(call):
            continue
        effect, declared = effect_of_call(scope, call), scope.callee(call)
        declared = declared.making if isinstance(declared, ClassOf) else declared
        inside = isinstance(call.func, ast.Name) and call.func.id in function.functions_inside
        if effect == "acts" or inside:
            raise DependsError
        if effect == "unknown":
            pure[spelled(iteration.context.text(call.func))] = None
        elif reads(scope, call):
            found.assume(assumed_of_call(scope, call))
        elif isinstance(declared, Callable):
            if not (names | iteration.own).isdisjoint(declared.outer):
                raise DependsError
            found.followed.append((call, declared))
            for sentence in declared.assumes:
                found.assume(sentence)
        _check_arguments(iteration, call, stored, declared is None and not reads(scope, call))
    if len(pure) > _MOST_PURE_CALLS:
        raise DependsError
    if pure:
        quoted = " and ".join(f"`{name}`" for name in pure)
        verb = "computes its result from its" if len(pure) == 1 else "compute their results from their"
        found.assumed[Assumption("pure-call", tuple(pure), f"{quoted} {verb} arguments alone")] = None
    return found


def _check_arguments(iteration: Iteration, call: ast.Call, stored: Sequence[str], is_unknown: bool) -> None:
    """Raise an error where a call is given the object that has an array whose elements are stored."""
    owners = {path.split(".")[0] for path in stored if "." in path}
    given = (*call.args, *(one.value for one in call.keywords))
    if any(isinstance(one, ast.Name) and one.id in owners for one in given):
        raise DependsError
    function = call.func
    of = function.value if isinstance(function, ast.Attribute) else None
    bare = isinstance(of, ast.Name) and of.id in owners
    if is_unknown and bare and isinstance(of, ast.Name) and not iteration.scope.classes_of(of):
        raise DependsError


def _called(iteration: Iteration) -> frozenset[str]:
    """Names that the function binds and the iteration calls."""
    calls = (n.func for n in iteration.evaluated if isinstance(n, ast.Call))
    names = {f.id for f in calls if isinstance(f, ast.Name)}
    return frozenset(names & iteration.context.kinds.local - iteration.function.parameters.keys())


def _arrays_read(iteration: Iteration, sums: AbstractSet[str]) -> list[str]:
    """The paths from outside that an iteration reads, and that may lead to arrays."""
    nodes, around = iteration.evaluated, iteration.around
    in_calls = {id(n) for call in nodes if isinstance(call, ast.Call) for n in nodes_in(call)}
    found: dict[str, None] = {}
    for node in nodes:
        if not isinstance(node, ast.Name | ast.Attribute):
            continue
        parent = around.get(id(node))
        if iteration.scope.path(node):
            of_module = iteration.scope.module_variable(node)
            if of_module and not isinstance(parent, ast.Attribute) and not _is_function(node, parent):
                found[of_module] = None
            continue
        is_called = _is_function(node, parent)
        of_method = isinstance(parent, ast.Attribute) and _is_function(parent, around.get(id(parent)))
        is_part = isinstance(parent, ast.Attribute) and not (of_method or parent.attr in VIEW_ATTRIBUTES)
        last = node.attr if isinstance(node, ast.Attribute) else ""
        path = path_of_name(node)
        if not path or is_called or is_part or last in OF_WHOLE | VIEW_ATTRIBUTES:
            continue
        is_own = path.split(".")[0] in iteration.own or path in sums
        kind = iteration.context.kind(node)
        is_part_of = isinstance(parent, ast.Subscript) and parent.value is node
        is_guess = (_is_told_by_use(iteration, path) and id(node) in in_calls) or _is_result(iteration, path)
        is_number = isinstance(kind, Number) and not is_guess and not is_part_of
        is_object = isinstance(kind, Instance) and (of_method or _is_identity(parent))
        if not is_own and not is_number and not is_object and kind != Other("a string"):
            found[path] = None
    return list(found)


def _is_result(iteration: Iteration, name: str) -> bool:
    """True for a name that is bound to what a function of the file gives."""
    values = iteration.values_outside(name)
    return any(isinstance(v, ast.Call) and iteration.scope.callee(v) is not None for v in values)


def _is_told_by_use(iteration: Iteration, name: str) -> bool:
    """True for a parameter whose real value is taken for a number by its use alone."""
    kind, given = iteration.context.kinds.of_name(name), iteration.function.parameters.get(name)
    real = isinstance(kind, Number) and isinstance(kind.type, Floating)
    return real and given is not None and given.annotation is None


def _arrays_reached(iteration: Iteration, call: ast.Call, declared: Callable) -> Iterator[str]:
    """The variables and attributes, as paths, that a function of the file reads and that may be arrays;
    raises an error where the object of an attribute is not known."""
    function = call.func
    of = path_of_name(function.value) if isinstance(function, ast.Attribute) else ""
    owners = iteration.scope.classes_of(function.value) if isinstance(function, ast.Attribute) and of else []
    fields = dict(owners[0].fields) if len(owners) == 1 else {}
    for name in declared.outer:
        attribute = name.removeprefix(".")
        known = iteration.scope.declarations.get(name)
        if name == attribute:
            is_number = isinstance(known, Value) and isinstance(known.kind, Number)
            yield from () if is_number else (name,)
        elif attribute not in fields:
            raise DependsError
        elif not isinstance(fields[attribute], Number):
            yield f"{of}.{attribute}"


# --------------------------------------------------------------------------------------------------
# Attributes of objects of unknown classes: a property would run code.
# --------------------------------------------------------------------------------------------------


def attribute_conditions(context: Context, body: Sequence[ast.stmt]) -> tuple[tuple[int, Assumption], ...]:
    """For each loop (ordinal) whose iterations name attributes of objects of unknown classes, the condition
    that these are no properties."""
    nodes = own_nodes(body)
    attributes = _Attributes(context, scope_of(context), nodes)
    loops = [one for one in nodes if isinstance(one, ast.For | ast.While)]
    found = ((one, attributes.condition(one)) for one in loops)
    return tuple(
        (ordinal, condition)
        for one, condition in found
        if condition is not None
        for ordinal in sorted(ordinals_of(context, [one]))
    )


@dataclass(frozen=True)
class _Attributes:
    """The attributes that a function's `nodes` name; `known` remembers which may be properties."""

    context: Context
    scope: Scope
    nodes: Sequence[ast.AST]
    known: dict[str, bool] = field(default_factory=dict[str, bool])

    def condition(self, loop: ast.For | ast.While) -> Assumption | None:
        """The condition that no attribute in an iteration of a loop is a property."""
        nodes = own_nodes([*([loop.test] if isinstance(loop, ast.While) else []), *loop.body])
        around = parents(nodes)
        names: dict[str, None] = {}
        for node in nodes:
            user = around.get(id(node))
            chain = _attribute(node) if not isinstance(user, ast.Attribute) else None
            if chain is not None and isinstance(user, ast.Call) and user.func is node:
                chain = chain.value if isinstance(chain.value, ast.Attribute) else None
            if chain is not None and self._is_open(chain):
                names[spelled(ast.unparse(chain))] = None
        if not names:
            return None
        *first, last = (f"`{name}`" for name in names)
        listed = f"{', '.join(first)} and {last}" if first else last
        what = "are plain attributes" if first else "is a plain attribute"
        return Assumption("other", tuple(names), f"{listed} {what}")

    def _is_open(self, chain: ast.Attribute) -> bool:
        """True if an attribute in a chain may be a property."""
        text = ast.unparse(chain)
        if text not in self.known:
            before = isinstance(chain.value, ast.Attribute) and self._is_open(chain.value)
            self.known[text] = before or self._may_be_property(chain)
        return self.known[text]

    def _may_be_property(self, node: ast.Attribute) -> bool:
        of, name, context = node.value, node.attr, self.context
        if name in _OF_EACH_ARRAY or self.scope.path(node):
            return False
        path = path_of_name(of)
        kind = context.kinds.of_name(path) if "." in path else None
        kind = kind if kind not in (None, UNKNOWN) else context.kind(of)
        if isinstance(kind, Instance):
            return self._is_inherited(kind, name)
        if kind not in (None, UNKNOWN, MIXED) or self.scope.owners(of):
            return False
        values = list(bound_values(self.nodes, path)) if isinstance(of, ast.Name) else [of]
        return not values or not all(v is not None and self._is_of_library(v) for v in values)

    def _is_inherited(self, of: Instance, name: str) -> bool:
        """True for an attribute that only a base outside of the file may give an object."""
        owner = self.scope.declarations.get(of.name)
        if not isinstance(owner, ClassOf) or not owner.is_open:
            return False
        return not any(name in one.binds or one.name.rpartition(".")[2] == name for one in owner.methods)

    def _is_of_library(self, value: ast.expr) -> bool:
        """True for the result of a function of Python or of NumPy."""
        path = self.scope.path(value.func) if isinstance(value, ast.Call) else ""
        return hasattr(builtins, path) or path.split(".")[0] in _PLAIN_MODULES


def assumption(sentence: str) -> Assumption:
    """A condition in words, about the first name that it quotes."""
    return Assumption("other", (sentence.split("`")[1],), spelled(sentence))


def grown(call: ast.Call) -> str:
    """The name of the list that a call adds to, or takes from; empty for other calls."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if method in GROWING:
            return name
        case _:
            return ""


def _is_function(node: ast.AST, parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.Call) and parent.func is node


def _attribute(node: ast.AST) -> ast.Attribute | None:
    """An attribute, also one that a dotted name stands for."""
    path = path_of_name(node) if isinstance(node, ast.Name) else ""
    if "." in path:
        root, *names = path.split(".")
        chain: ast.expr = ast.Name(root, ast.Load())
        for name in names:
            chain = ast.Attribute(chain, name, ast.Load())
        node = chain
    return node if isinstance(node, ast.Attribute) else None


def _is_identity(node: ast.AST | None) -> bool:
    """True for `v is None`, which reads nothing of an object."""
    return isinstance(node, ast.Compare) and all(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)
