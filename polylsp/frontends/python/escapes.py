"""Escape analysis of arrays for the functions of a file: of their arguments, and of the module's arrays. An
array that a function returns, or stores where it is found later on, has another name then. Attributes that a
function may bind to one array share it in all functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_aliases import keeping
from polylsp.frontends.python.attributes import dotted
from polylsp.frontends.python.callables import Definition, typed
from polylsp.frontends.python.definitions import Class, Item
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.names import Callable, Declaration, path_of
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.numpy_arguments import gives_argument, shared_arguments
from polylsp.frontends.python.syntax import Known, blocks, body_of

Passed = tuple[str, str, int]
"""A name, the function of the file that is given what it holds, and for which of its parameters (-1: one that
is named)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Names whose arrays a function retains, or binds where others see it; and those that it passes on.
    `outer` are the names among them that are not local to the function, `elsewhere` those that it retains
    in other places than attributes of a method's own object, which callers know."""

    names: frozenset[str] = frozenset()
    passed: tuple[Passed, ...] = ()
    outer: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()

    def joined(self, other: Kept) -> Kept:
        """Union of the arrays that either of two functions retains."""
        passed, elsewhere = (*self.passed, *other.passed), self.elsewhere | other.elsewhere
        return Kept(self.names | other.names, passed, self.outer | other.outer, elsewhere)


@query(size=1024)
def kept_by(item: Item, known: Known) -> Kept:
    """Arrays that a function retains, of those that it names."""
    every = Kept(item.words, (), item.words, item.words)
    return contained(f"reading what `{item.name}` keeps", lambda: _kept(item, known), lambda _: every)


def _kept(item: Item, known: Known) -> Kept:
    if (one := typed(item, known)) is None:
        return Kept(item.words, (), item.words, item.words)
    node, kinds = one.node, one.kinds
    names = frozenset(one.id for one in nodes_in(node) if isinstance(one, ast.Name))
    uses = _uses(node, kinds, known.by_name, item.owner)
    bound = _declared_outside(node) & _bound(node)
    elsewhere, _ = _through(uses.aliases, uses.elsewhere | bound, uses.passed)
    found, passed = _through(uses.aliases, uses.elsewhere | uses.by_object | bound, uses.passed)
    return Kept(found, passed, names - kinds.local, elsewhere)


@dataclass(frozen=True, slots=True)
class _Uses:
    """Names that a function retains, those in attributes of a method's own object apart, passes on, or
    gives other names."""

    elsewhere: frozenset[str]
    by_object: frozenset[str]
    passed: frozenset[Passed]
    aliases: frozenset[tuple[str, str]]


def _uses(node: Definition, kinds: Kinds, declarations: Mapping[str, Declaration], owner: str) -> _Uses:
    outside = _declared_outside(node)
    own = node.args.args[0].arg if owner and node.args.args else ""
    found: set[str] = set()
    by_object: set[str] = set()
    passed: set[Passed] = set()
    aliases: set[tuple[str, str]] = set()
    header = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    found.update(n.id for n in nodes_in_all(header) if isinstance(n, ast.Name))
    for name, keeper in keeping(node.body, kinds, lambda one: path_of(one, declarations), {}, True, True):
        if isinstance(keeper, ast.Call) and isinstance(keeper.func, ast.Name):
            passed.add((name, keeper.func.id, _position(keeper, name)))
        elif isinstance(keeper, ast.Assign) and all(_is_own(one, outside) for one in keeper.targets):
            aliases.update((name, one) for target in keeper.targets for one in _names(target))
        elif isinstance(keeper, ast.Assign) and all(_is_field(one, own) for one in keeper.targets):
            by_object.add(name)
        else:
            found.add(name)
    return _Uses(frozenset(found), frozenset(by_object), frozenset(passed), frozenset(aliases))


def _through(
    aliases: frozenset[tuple[str, str]], retained: frozenset[str], passed_on: frozenset[Passed]
) -> tuple[frozenset[str], tuple[Passed, ...]]:
    """Propagate retention and passing on through local aliases of an array."""
    found, passed = set(retained), set(passed_on)
    named: dict[str, list[str]] = {}
    for name, other in aliases:
        named.setdefault(other, []).append(name)
    pending = list(found)
    while pending:
        more = [name for name in named.get(pending.pop(), ()) if name not in found]
        found.update(more)
        pending += more
    along = list(passed)
    while along:
        one, to, at = along.pop()
        new = [(name, to, at) for name in named.get(one, ()) if (name, to, at) not in passed]
        passed.update(new)
        along += new
    return frozenset(found), tuple(sorted(passed))


def _position(call: ast.Call, name: str) -> int:
    """The number of the argument in which a name stands."""
    for number, argument in enumerate(call.args):
        if isinstance(argument, ast.Starred):
            return -1
        if name in _names(argument):
            return number
    return -1


def _names(node: ast.AST) -> list[str]:
    return [one.id for one in nodes_in(node) if isinstance(one, ast.Name)]


def _is_own(target: ast.expr, outside: frozenset[str]) -> bool:
    """True if a target is a local name of the function, or a tuple of them."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(isinstance(one, ast.Name) and one.id not in outside for one in parts)


def _is_field(target: ast.expr, own: str) -> bool:
    """True for an attribute of a method's own object."""
    of = target.value if isinstance(target, ast.Attribute) else None
    return isinstance(of, ast.Name) and bool(own) and of.id == own


def _declared_outside(node: Definition) -> frozenset[str]:
    found = (one for one in nodes_in(node) if isinstance(one, (ast.Global, ast.Nonlocal)))
    return frozenset(name for one in found for name in one.names)


def _bound(node: Definition) -> frozenset[str]:
    names = (one for one in nodes_in(node) if isinstance(one, ast.Name))
    return frozenset(one.id for one in names if not isinstance(one.ctx, ast.Load))


# --- All functions of a file -------------------------------------------------------------


def keeping_parameters(
    functions: Mapping[str, Callable], kept: Mapping[str, Kept], elsewhere: bool = False
) -> dict[str, frozenset[str]]:
    """The parameters of functions whose arrays these or their callees retain; `elsewhere`: in other places
    than attributes of a method's own object."""
    found = {name: set(one.elsewhere if elsewhere else one.names) for name, one in kept.items()}
    callers: dict[str, list[str]] = {}
    for name, one in kept.items():
        for to in {to for _, to, _ in one.passed}:
            callers.setdefault(to, []).append(name)
    pending = list(kept)
    waiting = set(pending)
    while pending:
        name = pending.pop()
        waiting.discard(name)
        before = len(found[name])
        found[name].update(n for n, to, at in kept[name].passed if _keeps(functions, found, to, at))
        if len(found[name]) > before:
            more = [caller for caller in callers.get(name, ()) if caller not in waiting]
            waiting.update(more)
            pending += more
    return {name: frozenset(names) for name, names in found.items()}


def _keeps(functions: Mapping[str, Callable], found: Mapping[str, set[str]], to: str, at: int) -> bool:
    called = functions.get(to)
    if called is None or to not in found:
        return True
    if 0 <= at < len(called.parameters):
        return called.parameters[at].name in found[to]
    return any(one.name in found[to] for one in called.parameters)


def named_in_classes(classes: Sequence[Class]) -> Iterator[str]:
    """Names that the bodies of classes use: the class may retain their values."""
    for each in classes:
        yield from (n.id for n in own_nodes(body_of(each.body)) if isinstance(n, ast.Name))


# --- Attributes of an object that share an array -----------------------------------------


@dataclass(frozen=True, slots=True)
class SharedAttributes:
    """Attributes of one object that a function leaves, or shows to a function that it calls, with one array:
    `pairs`. `moves`: the function binds the first attribute to the array that the second one had."""

    pairs: frozenset[tuple[str, str]] = frozenset()
    moves: frozenset[tuple[str, str]] = frozenset()


@query(size=1024)
def shared_by(item: Item) -> SharedAttributes:
    """Attributes that the assignments of a function bind to one array, or to views of one."""
    if "." not in item.words:
        return SharedAttributes()
    nothing = SharedAttributes()
    return contained(
        f"reading what attributes of `{item.name}` share", lambda: _shared(item), lambda _: nothing
    )


def _shared(item: Item) -> SharedAttributes:
    found = _Arrays()
    body = body_of(item)
    nodes = (n for n in nodes_in_all(body) if isinstance(n, ast.Attribute))
    for node in body if not all(isinstance(one.ctx, ast.Load) for one in nodes) else ():
        found.look(found.run(node.body if isinstance(node, Definition) else [node], [{}]))
    return SharedAttributes(frozenset(found.pairs), frozenset(found.moves))


_Leads = dict[str, frozenset[str]]
"""Arrays that names and attributes may lead to, by the names that these had first, or by what made them."""
_MOST_PATHS, _MOST_ROUNDS = 16, 4
"""Ways through a function, and rounds of a loop, that are followed apart: a swap on one is no sharing."""


class _Arrays:
    """Follows what names and attributes lead to as a function runs, on each of its ways."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, str]] = set()
        self.moves: set[tuple[str, str]] = set()

    def run(self, body: Sequence[ast.stmt], ways: list[_Leads]) -> list[_Leads]:
        """Follow statements in source order; loops any number of times."""
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if any(isinstance(n, (ast.Call, ast.Yield, ast.YieldFrom)) for n in _own_parts(statement)):
                self.look(ways)
            is_loop = isinstance(statement, (ast.For, ast.While, ast.AsyncFor))
            for inner in blocks(statement):
                ways = self._either(inner, ways, rounds=_MOST_ROUNDS if is_loop else 1)
            match statement:
                case ast.Assign(targets=targets, value=value):
                    ways = [_aged(leads, value) for leads in ways]
                    for target in targets:
                        ways = [self._bound(target, value, leads) for leads in ways]
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    ways = [self._bound(target, value, _aged(leads, value)) for leads in ways]
                case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                    self.look(ways)
                case _:
                    pass
        return _merged(ways)

    def _either(self, body: list[ast.stmt], ways: list[_Leads], rounds: int) -> list[_Leads]:
        """Ways that run a block up to a number of times; any number where they still differ after many."""
        for _ in range(rounds):
            before, ways = ways, _merged([*ways, *self.run(body, ways)])
            if before == ways or rounds == 1:
                return ways
        before = []
        while before != ways:
            before, ways = ways, [_joined([*ways, *self.run(body, ways)])]
        return ways

    def look(self, ways: list[_Leads]) -> None:
        """Note the attributes that share an array now."""
        for leads in ways:
            owners: dict[str, list[str]] = {}
            held = [name for name in leads if "." in name]
            met = {one for name in held for one in leads[name] if "." in one and one not in leads}
            for name in (*held, *sorted(met)):
                for one in leads.get(name, (name,)):
                    owners.setdefault(one, []).append(name)
            for first, second in (pair for names in owners.values() for pair in combinations(names, 2)):
                (of, one), (to, other) = first.rsplit(".", 1), second.rsplit(".", 1)
                if of == to:
                    self.pairs.add((one, other))

    def _bound(self, target: ast.expr, value: ast.expr, leads: _Leads) -> _Leads:
        """Arrays that names lead to after an assignment."""
        bound: _Leads = {}
        for number, (one, given) in enumerate(_matched(target, value)):
            name = one.id if isinstance(one, ast.Name) else dotted(one)
            if name:
                firsts = [leads.get(each, frozenset((each,))) for each in _viewed(given)]
                bound[name] = frozenset().union(*firsts) if firsts else frozenset((_new(given, number),))
        for name, firsts in bound.items():
            attributes = [one.rsplit(".", 1) for one in firsts if "." in one and "." in name]
            self.moves |= {(name.rsplit(".", 1)[1], one) for _, one in attributes}
        return leads | bound


def _new(value: ast.expr, number: int) -> str:
    """A name for the array that an expression made last; for each part of a target one of its own."""
    return f"new {id(value)} {number}"


def _aged(leads: _Leads, value: ast.expr) -> _Leads:
    """Arrays that names lead to before an expression makes arrays once more."""
    made = tuple(f"new {id(one)} " for one in nodes_in(value))
    last = {one for firsts in leads.values() for one in firsts if one.startswith(made)}
    if not last:
        return leads
    return {
        name: frozenset(f"old {one}" if one in last else one for one in firsts)
        for name, firsts in leads.items()
    }


def _merged(ways: list[_Leads]) -> list[_Leads]:
    """Different ways; one that may be any of them, where there are too many."""
    found: list[_Leads] = []
    for one in ways:
        if one not in found:
            found.append(one)
    return found if len(found) <= _MOST_PATHS else [_joined(found)]


def _joined(ways: list[_Leads]) -> _Leads:
    """Arrays that names may lead to on any of some ways."""
    names = {name for one in ways for name in one}
    every = {name: [one.get(name, frozenset((name,))) for one in ways] for name in names}
    return {name: frozenset().union(*firsts) for name, firsts in every.items()}


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """Nodes of a statement outside of its blocks."""
    inside = {id(one) for block in blocks(statement) for one in block}
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [one for one in children(node) if id(one) not in inside]


def _matched(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with their values; each part of a target has all of a value that is not taken apart."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    alike = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
    values = value.elts if alike and isinstance(value, (ast.Tuple, ast.List)) else [value] * len(target.elts)
    for one, given in zip(target.elts, values, strict=True):
        yield from _matched(one, given)


def _viewed(node: ast.expr) -> Iterator[str]:
    """Names and attributes whose arrays an expression may give, or views of them."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr=attribute):
            yield from [dotted(node)] if dotted(node) else []
            if attribute in numpy_functions.VIEW_ATTRIBUTES:
                yield from _viewed(value)
        case ast.Subscript(value=value, slice=subscript) if not isinstance(subscript, ast.Compare):
            yield from _viewed(value)
        case ast.IfExp(body=one, orelse=other):
            yield from (*_viewed(one), *_viewed(other))
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts):
            yield from (name for part in parts for name in _viewed(part))
        case ast.BinOp(left=ast.Tuple() as one, op=ast.Mult()):
            yield from _viewed(one)
        case ast.NamedExpr(value=value) | ast.Starred(value=value):
            yield from _viewed(value)
        case ast.Call(func=ast.Attribute(value=value) as function, args=arguments):
            path = path_of(function, {})
            path = path if numpy_functions.numpy_name(path) else ""
            if gives_argument(path, node):
                given = (*shared_arguments(path, node), value, *arguments[:1])
                yield from (each for one in given for each in _viewed(one))
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if gives_argument(f"numpy.{name}", node):
            given = (*shared_arguments(f"numpy.{name}", node), first)
            yield from (each for one in given for each in _viewed(one))
        case _:
            pass


def sharing_groups(found: Sequence[SharedAttributes]) -> tuple[frozenset[str], ...]:
    """Groups of attributes that may lead to one array, by all the functions of a file: what one function
    shares, another one may move on."""
    moves = {move for one in found for move in one.moves}
    groups: list[frozenset[str]] = []
    for pair in sorted({pair for one in found for pair in one.pairs}):
        group = set(pair)
        while more := {to for to, of in moves if of in group} - group:
            group |= more
        apart = [one for one in groups if one.isdisjoint(group)]
        groups = [*apart, frozenset(group).union(*(one for one in groups if one not in apart))]
    return tuple(groups)
