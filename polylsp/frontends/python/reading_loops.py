"""Loops that only read: they test, assert and compute names of their own, from values of any kind.

Whatever the values are, such iterations leave nothing behind that another one sees. Objects are taken to
answer reads (`sys.n`, `a[i, j]`, `x + y`) without effects, as those of the standard library and of NumPy do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from polylsp.frontends.python.bindings import dimensions
from polylsp.frontends.python.kinds import DOUBLE, INT, ITERATOR, Array, Number
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context, compared, convert, held, whole
from polylsp.frontends.python.nodes import (
    bindings_in,
    children,
    free_names,
    nodes_in,
    nodes_in_all,
    own_nodes,
)
from polylsp.frontends.python.places import named_in
from polylsp.frontends.python.purity import GROWING, Scope, reads
from polylsp.frontends.python.usage import RANGES
from polylsp.ir.effects import walk
from polylsp.ir.program import (
    Assign,
    Block,
    Call,
    Declare,
    Expr,
    Loop,
    Place,
    Read,
    Site,
    Statement,
    Unsupported,
    Variable,
)

_CALLING = ("raises", "warn", "logs")
"""Parts of the names of assertions that call what they are given."""
_EXPRESSIONS = (
    ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.Compare, ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.FormattedValue,
    ast.Starred, ast.keyword, ast.Call, ast.comprehension, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def reading_loop(context: Context, node: ast.For, lowered: Sequence[Statement]) -> list[Statement] | None:
    """Lowering of a loop that only reads, beside what it reads as an unmodelled statement, which counts for
    the loops around; `None` for others, and where all of it was `lowered` otherwise."""
    unmodelled = [one for each in lowered for one in walk(each) if isinstance(one, Unsupported)]
    if not unmodelled or not _only_reads(context, node):
        return None
    site = context.site(node)
    reads = Unsupported(
        unmodelled[0].rejection, Site(site.first, site.first), (), named_in(context, node), completes=True
    )
    return [reads, *_counted(context, node, 0, ())]


def checking_loops(context: Context, body: Sequence[ast.stmt]) -> frozenset[int]:
    """Ordinals of the loops that only check: they assert and raise errors, and bind names that nothing reads
    behind an iteration. Loops inside of such a loop are among them."""
    loops = [one for one in own_nodes(body) if isinstance(one, ast.For | ast.While)]
    checking = [one for one in loops if isinstance(one, ast.For) and _only_checks(context, one)]
    inside = {id(one) for loop in checking for one in own_nodes([loop])}
    return ordinals_of(context, [one for one in loops if id(one) in inside])


def ordinals_of(context: Context, loops: Iterable[ast.For | ast.While]) -> frozenset[int]:
    """The ordinals of loops of the source; a `for` over several dimensions has one for each."""
    return frozenset(
        context.ordinals[id(one)] + k
        for one in loops
        for k in range(dimensions(one) if isinstance(one, ast.For) else 1)
    )


def _only_checks(context: Context, loop: ast.For) -> bool:
    nodes = own_nodes([loop])
    if not any(isinstance(n, ast.Assert | ast.Raise) or is_assertion(n) for n in nodes):
        return False
    if not all(_leaves_nothing(context, n) for n in nodes if isinstance(n, ast.stmt)):
        return False
    names = {n.id for n in bindings_in([loop.target, *loop.body])}
    return all(_is_own(context, loop, name) for name in names)


def _leaves_nothing(context: Context, node: ast.stmt) -> bool:
    """True for a statement that by itself only checks or binds names."""
    match node:
        case ast.Assert() | ast.Raise() | ast.Pass() | ast.Continue() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If() | ast.For() | ast.While() | ast.With():
            return True
        case ast.Expr(value=value):
            return is_assertion(value) or (
                isinstance(value, ast.Call) and context.path(value.func) == "print"
            )
        case ast.Assign(targets=targets):
            return all(map(only_names, targets))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return only_names(target)
        case _:
            return False


def is_assertion(node: ast.AST) -> bool:
    """True for a call of a function whose name says that it asserts."""
    if not isinstance(node, ast.Call):
        return False
    last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return last.lstrip("_").lower().startswith("assert")


def _counted(context: Context, node: ast.For, level: int, around: tuple[Expr, ...]) -> list[Statement]:
    """A loop that counts its iterations, and gives the names that it binds values of no interest."""
    site, first = context.site(node), context.site(node.target)
    name = next((n.id for n in nodes_in(node.target) if isinstance(n, ast.Name)), "iteration")
    counter = Variable(context.unused(name), spelled(name), INT, "local")
    place = Place(counter, (), INT, first)
    statements: list[Statement] = []
    count = Call("iterations", around, True, INT, context.site(node.iter))
    stop = held(context, count, node.iter, statements)
    if level + 1 < dimensions(node):
        body = _counted(context, node, level + 1, (*around, Read(place)))
    else:
        counts = isinstance(node.iter, ast.Call) and context.path(node.iter.func) in RANGES
        given = [] if counts or level else _bound(context, node.target, Read(place))
        body = [*given, *_statements(context, node.body, (*around, Read(place)))]
    loop = Loop(
        context.ordinals[id(node)] + level,
        "for",
        spelled(name),
        Block(),
        compared("<", Read(place), stop, first),
        Block(tuple(body)),
        Block((Assign(place, "+", whole(1, first), first),)),
        False,
        Site(site.first, context.site(node.iter).last),
        site,
    )
    start = Assign(place, None, whole(0, first), first)
    return [Block((*statements, Declare(counter, first), start, loop))]


def _statements(context: Context, body: Sequence[ast.stmt], around: tuple[Expr, ...]) -> Iterator[Statement]:
    """The loops in a body, and the bindings of names."""
    for one in body:
        match one:
            case ast.For():
                yield from _counted(context, one, 0, around)
            case ast.If(body=then, orelse=otherwise):
                yield from _statements(context, (*then, *otherwise), around)
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from _bound(context, target, whole(0, context.site(one)))
            case _:
                pass


def _bound(context: Context, target: ast.expr, value: Expr) -> Iterator[Statement]:
    """Assignments to the names in a target."""
    for node in nodes_in(target):
        if isinstance(node, ast.Name):
            # Such a name is no identifier: nothing else has the variable.
            variable = context.variables.get(f"{node.id}(…)")
            if variable is None:
                variable = Variable(context.unused(node.id), spelled(node.id), DOUBLE, "local")
                context.variables[f"{node.id}(…)"] = variable
                context.declared.append(variable)
            site = context.site(node)
            yield Assign(Place(variable, (), variable.type, site), None, convert(value, DOUBLE), site)


def _only_reads(context: Context, loop: ast.For) -> bool:
    """True for a loop over numbers or arrays that binds names of its own alone, and changes nothing else."""
    if loop.orelse or not all(_reads(context, one) for one in loop.body) or not _is_read(context, loop.iter):
        return False
    names = {n.id for n in bindings_in([loop.target, *loop.body])}
    if context.is_module or not names <= context.kinds.local or names & context.captured:
        return False
    nodes = nodes_in(loop)
    names_read = (n for n in nodes_in_all(loop.body) if isinstance(n, ast.Name | ast.Attribute))
    if any(context.kind(n) == ITERATOR for n in names_read):
        return False
    is_checked = any(isinstance(n, ast.Assert) or _is_assertion(context, n) for n in nodes)
    of_arrays = any(_is_numeric(context, n) for n in nodes)
    return is_checked and of_arrays and all(_is_own(context, loop, name) for name in names)


def _is_assertion(context: Context, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _asserts(context, node)


def _is_numeric(context: Context, node: ast.AST) -> bool:
    """True for an array, an element of something by a number or a tuple, and a function of NumPy."""
    match node:
        case ast.Subscript(slice=ast.Tuple() | ast.Slice() | ast.BinOp()):
            return True
        case ast.Subscript(slice=subscript):
            return isinstance(context.kind(subscript), Number)
        case ast.Name() | ast.Attribute():
            return isinstance(context.kind(node), Array) or context.path(node).startswith("numpy.")
        case _:
            return False


def _reads(context: Context, node: ast.stmt) -> bool:
    """True for a statement that binds names alone, and changes nothing else."""
    match node:
        case ast.Pass() | ast.Continue():
            return True
        case ast.Assert(test=test, msg=message):
            return _is_read(context, test) and (message is None or _is_read(context, message))
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call() as call) if _asserts(context, call):
            return all(_is_read(context, one) for one in (*call.args, *(k.value for k in call.keywords)))
        case ast.Assign(targets=targets, value=value):
            return all(map(only_names, targets)) and _is_read(context, value)
        case ast.If(test=test, body=body, orelse=otherwise):
            return _is_read(context, test) and all(_reads(context, one) for one in (*body, *otherwise))
        case ast.For(target=target, iter=iterable, body=body, orelse=[]):
            return (
                only_names(target) and _is_read(context, iterable) and all(_reads(context, s) for s in body)
            )
        case _:
            return False


def is_simple(context: Context, node: ast.AST, loop: ast.For) -> bool:
    """True for an expression, and a statement that goes on and changes nothing but what its targets say."""
    match node:
        case ast.Assign(targets=targets):
            return all(map(_only_names_and_elements, targets))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            return isinstance(target, ast.Name | ast.Subscript)
        case ast.For(target=target, orelse=otherwise):
            return only_names(target) and not otherwise
        case ast.While(orelse=otherwise):
            return not otherwise
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(), attr=name))) if name in GROWING:
            return True
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant) or is_assertion(value)
        case ast.With(items=items):
            calls = (one.context_expr for one in items)
            return all(isinstance(c, ast.Call) and context.path(c.func) == "numpy.errstate" for c in calls)
        case ast.Try(handlers=handlers, finalbody=last):
            # An iteration that catches its own exceptions hands on no more than another one.
            return all(one.name is None for one in handlers) and not last
        case ast.Break():
            inner = [n for n in own_nodes(loop.body) if isinstance(n, ast.For | ast.While)]
            return any(node is n for one in inner for n in own_nodes(one.body))
        case ast.stmt():
            return isinstance(node, ast.Pass | ast.Continue | ast.If | ast.Assert)
        case ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr() | ast.Lambda():
            return False
        case _:
            return True


def only_names(target: ast.expr) -> bool:
    """True for a name, or a tuple of names."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(isinstance(one, ast.Name) or (isinstance(one, ast.Tuple) and only_names(one)) for one in parts)


def _only_names_and_elements(target: ast.expr) -> bool:
    """True for a name, an element, or a tuple of these."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(
        isinstance(one, ast.Name | ast.Subscript)
        or (isinstance(one, ast.Tuple | ast.List) and _only_names_and_elements(one))
        for one in parts
    )


def _asserts(context: Context, call: ast.Call) -> bool:
    """True for a call of a function that compares its arguments and raises an error where they differ."""
    path, function = context.path(call.func), call.func
    of = function.value if isinstance(function, ast.Attribute) else None
    name = function.attr if isinstance(function, ast.Attribute) else path.rpartition(".")[2]
    if any(part in name.lower() for part in _CALLING):
        return False
    is_own = isinstance(of, ast.Name) and of.id == "self" and name.startswith("assert")
    return is_own or path.startswith("numpy.testing.assert")


def _is_read(context: Context, node: ast.expr) -> bool:
    """True for an expression whose value may be anything, and that changes nothing."""
    parts = nodes_in(node)
    calls = (one for one in parts if isinstance(one, ast.Call))
    return all(isinstance(one, _EXPRESSIONS) for one in parts) and all(
        reads(scope_of(context), one) for one in calls
    )


def scope_of(context: Context) -> Scope:
    """The names that the code being lowered sees."""
    body = context.parsed.tree.body
    only = body[0] if len(body) == 1 and not context.is_module else None
    if not isinstance(only, ast.FunctionDef | ast.AsyncFunctionDef):
        return Scope(context.kinds, body)
    arguments = [one for one in children(only.args) if isinstance(one, ast.arg)]
    annotated = frozenset(one.arg for one in arguments if one.annotation is not None)
    return Scope(context.kinds, only.body, frozenset(one.arg for one in arguments), annotated)


def _is_own(context: Context, loop: ast.For, name: str) -> bool:
    """True if every read of a name in a loop sees a value that the same iteration gave it before, and those
    elsewhere in the function one that another loop gave it."""
    return own_reads(context, loop, name) == (True, True)


def own_reads(context: Context, loop: ast.For, name: str) -> tuple[bool, bool]:
    """Two truths about the reads of a name: those in a loop see values that the same iteration gave it
    before, and those elsewhere in the function see one that another loop gave it."""
    inside = {id(one) for one in nodes_in(loop)}
    reads = {id(n) for n in _loads(context.parsed.tree, name)}
    given = {id(n) for n in _seen(loop.body, name, _binds(loop.target, name))}
    others = (n for n in nodes_in(context.parsed.tree) if isinstance(n, ast.For) and n is not loop)
    elsewhere: set[int] = set()
    for other in others:
        if _binds(other.target, name) and not any(one is loop for one in nodes_in(other)):
            elsewhere |= {id(n) for statement in other.body for n in _loads(statement, name)} - inside
    return reads & inside <= given, reads - inside <= elsewhere


def _loads(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """The reads of a name, those before it is updated among them."""
    added = {id(n.target) for n in nodes_in(node) if isinstance(n, ast.AugAssign)}
    found = (n for n in free_names(node) if n.id == name)
    return (n for n in found if isinstance(n.ctx, ast.Load) or id(n) in added)


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in nodes_in(target))


def _seen(body: Sequence[ast.stmt], name: str, bound: bool) -> Iterator[ast.Name]:
    """The reads of a name in a body behind a statement, of it or around it, that surely binds the name."""
    for statement in body:
        if isinstance(statement, (ast.For, ast.If)):
            head = statement.iter if isinstance(statement, ast.For) else statement.test
            yield from _loads(head, name) if bound else ()
            is_target = isinstance(statement, ast.For) and _binds(statement.target, name)
            yield from _seen(statement.body, name, bound or is_target)
            yield from _seen(statement.orelse, name, bound)
            bound = bound or (isinstance(statement, ast.If) and _is_bound_in(statement, name))
            continue
        if isinstance(statement, ast.Try):
            # An exception may come before any of the bindings.
            for block in (statement.body, *(one.body for one in statement.handlers)):
                yield from _seen(block, name, bound)
            yield from _seen(statement.orelse, name, bound)
            continue
        yield from _loads(statement, name) if bound else ()
        if isinstance(statement, ast.Assign):
            bound = bound or any(_binds(one, name) for one in statement.targets)


def _is_bound_in(choice: ast.If, name: str) -> bool:
    """True if both branches of a choice surely bind a name."""
    return all(
        any(
            any(_binds(target, name) for target in one.targets)
            if isinstance(one, ast.Assign)
            else isinstance(one, ast.If) and _is_bound_in(one, name)
            for one in branch
        )
        for branch in (choice.body, choice.orelse)
    )
