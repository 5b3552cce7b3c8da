"""Escape analysis of arrays for the functions of a file: of their arguments, and of the module's arrays. An
array that a function returns, or stores where it is found later on, has another name then."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python.array_aliases import keeping
from polylsp.frontends.python.callables import Definition, parameter_kinds
from polylsp.frontends.python.definitions import Class, Item
from polylsp.frontends.python.inference import Kinds, inferred
from polylsp.frontends.python.names import Callable, Declaration, path_of
from polylsp.frontends.python.syntax import Known, body_of
from polylsp.frontends.python.usage import own_nodes

Passed = tuple[str, str, int]
"""A name, the function of the file that is given what it holds, and for which of its parameters (-1: one that
is named)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Names whose arrays a function retains, or binds where others see it; and those that it passes on.
    `outer` are the names among them that are not local to the function."""

    names: frozenset[str] = frozenset()
    passed: tuple[Passed, ...] = ()
    outer: frozenset[str] = frozenset()

    def joined(self, other: Kept) -> Kept:
        """Union of the arrays that either of two functions retains."""
        return Kept(self.names | other.names, (*self.passed, *other.passed), self.outer | other.outer)


@query(size=1024)
def kept_by(item: Item, known: Known) -> Kept:
    """Arrays that a function retains, of those that it names."""
    every = Kept(item.words, (), item.words)
    return contained(f"reading what `{item.name}` keeps", lambda: _kept(item, known), lambda _: every)


def _kept(item: Item, known: Known) -> Kept:
    node = next((one for one in body_of(item) if isinstance(one, Definition)), None)
    if node is None:
        return Kept(item.words, (), item.words)
    declarations = known.by_name
    kinds = inferred(node.body, parameter_kinds(node, declarations, item.owner), declarations)
    names = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
    found, passed = _uses(node, kinds, declarations)
    found |= _declared_outside(node) & _bound(node)
    return Kept(found, passed, names - kinds.local)


def _uses(
    node: Definition, kinds: Kinds, declarations: Mapping[str, Declaration]
) -> tuple[frozenset[str], tuple[Passed, ...]]:
    outside = _declared_outside(node)
    found: set[str] = set()
    passed: set[Passed] = set()
    aliases: set[tuple[str, str]] = set()
    header = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    found.update(n.id for one in header for n in ast.walk(one) if isinstance(n, ast.Name))
    for name, keeper in keeping(node.body, kinds, lambda one: path_of(one, declarations), {}, True, True):
        if isinstance(keeper, ast.Call) and isinstance(keeper.func, ast.Name):
            passed.add((name, keeper.func.id, _position(keeper, name)))
        elif isinstance(keeper, ast.Assign) and all(_is_own(one, outside) for one in keeper.targets):
            aliases.update((name, one) for target in keeper.targets for one in _names(target))
        else:
            found.add(name)
    return _through(aliases, found, passed)


def _through(
    aliases: set[tuple[str, str]], found: set[str], passed: set[Passed]
) -> tuple[frozenset[str], tuple[Passed, ...]]:
    """Propagate retention and passing on through local aliases of an array."""
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
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def _is_own(target: ast.expr, outside: frozenset[str]) -> bool:
    """True if a target is a local name of the function, or a tuple of them."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(isinstance(one, ast.Name) and one.id not in outside for one in parts)


def _declared_outside(node: Definition) -> frozenset[str]:
    found = (one for one in ast.walk(node) if isinstance(one, (ast.Global, ast.Nonlocal)))
    return frozenset(name for one in found for name in one.names)


def _bound(node: Definition) -> frozenset[str]:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return frozenset(one.id for one in names if not isinstance(one.ctx, ast.Load))


# --- All functions of a file -------------------------------------------------------------


def keeping_parameters(
    functions: Mapping[str, Callable], kept: Mapping[str, Kept]
) -> dict[str, frozenset[str]]:
    """The parameters of functions whose arrays these or their callees retain."""
    found = {name: set(one.names) for name, one in kept.items()}
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
