"""Loops that Numba can run over `prange`, and the edit of their headers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.codegen.numba.ranges import range_arguments, successor
from polylsp.codegen.numba.source import Source
from polylsp.frontends.python.lower.pranges import updates
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.action import Replacement
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array, Pointer
from polylsp.model.verdict import Parallel, Reduction

_FORMS = {"+": ("+", "-"), "*": ("*",), "min": ("min",), "max": ("max",)}
"""The operators of the one update that Numba takes for a reduction, which combines copies by another one."""


def why_not_over_prange(source: Source, root: LoopFacts) -> str:
    """Reason why a parallel loop cannot run over `prange`; empty if it can."""
    name = f"`{root.iterator}`"
    node = source.loop(root)
    if node is None:
        return f"The loop {name} is not one `for` over a `range`, which Numba needs."
    verdict = root.verdict
    if not isinstance(verdict, Parallel):
        return f"The loop {name} is not known to be parallel."
    return (
        _header(source, node, name)
        or (f"The loop {name} cannot run over `prange`: {root.misfit}." if root.misfit else "")
        or _body(source, node, name)
        or _copies(source, verdict, name)
        or next(filter(None, (_reduction(node, each, name) for each in verdict.reductions)), "")
    )


def over_prange(source: Source, root: LoopFacts, prange: str) -> Iterator[Replacement]:
    """The header that says so."""
    node = source.loop(root)
    assert node is not None and isinstance(node.iter, ast.Call)
    found = range_arguments(node.iter)
    if found is not None and found[2] == -1:
        # In which order the iterations come does not matter, but Numba knows one alone.
        first, last = successor(found[1]), successor(found[0])
        arguments = last if first == "0" else f"{first}, {last}"
        yield Replacement(source.span(node.iter), f"{prange}({arguments})")
    elif not source.is_prange(root):
        yield Replacement(source.span(node.iter.func), prange)


def _header(source: Source, node: ast.For, name: str) -> str:
    call = node.iter
    if not isinstance(call, ast.Call) or source.path(call.func) not in ("range", "prange", "numba.prange"):
        return f"The loop {name} runs over `{ast.unparse(call)}`: write it over a `range` first."
    if not isinstance(node.target, ast.Name):
        return f"The loop {name} has more than one variable: write it over a `range` first."
    if len(call.args) == 3 and range_arguments(call) is None:
        step = ast.unparse(call.args[2])
        return f"`prange` takes steps of 1 alone, and {name} has steps of `{step}`."
    return f"The loop {name} has an `else`: put that after the loop." if node.orelse else ""


def _body(source: Source, node: ast.For, name: str) -> str:
    target = node.target.id if isinstance(node.target, ast.Name) else ""
    for each in own_nodes(node.body):
        if isinstance(each, (ast.Return, ast.Raise, ast.Assert)):
            word = type(each).__name__.lower()
            return f"`{word}` on line {source.line(each)} leaves the loop {name}, which threads cannot do."
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store) and each.id == target:
            return f"{name} is changed in its loop on line {source.line(each)}: use another variable there."
    return ""


def _copies(source: Source, verdict: Parallel, name: str) -> str:
    if verdict.inductions:
        counters = ", ".join(f"`{each.variable}`" for each in verdict.inductions)
        return f"{counters} is counted along with {name}: compute it from {name} in each iteration first."
    if verdict.lastprivate:
        last = verdict.lastprivate[0]
        return (
            f"`{last}` is needed after the loop {name}, and Numba leaves open which iteration it comes from: "
            "compute it after the loop."
        )
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    shared = next((one for one in verdict.private if one in arrays), "")
    if shared:
        return f"All iterations of {name} use the one array `{shared}`: create it inside the loop."
    return ""


def _reduction(node: ast.For, reduction: Reduction, name: str) -> str:
    """Reason why Numba does not recognise a reduction; empty if it does."""
    own = f"`{reduction.variable}`"
    if reduction.is_array:
        return f"Iterations of {name} update the same elements of {own}, which Numba does not make safe."
    forms = _FORMS.get(reduction.operator)
    if forms is None:
        return f"Numba does not combine {own} by `{reduction.operator}`."
    if updates(node, reduction.variable) in [(form,) for form in forms]:
        return ""
    word, variable = reduction.operator, reduction.variable
    form = f"{variable} = {word}({variable}, …)" if word in ("min", "max") else f"{variable} {word}= …"
    told = f"Numba combines {own} of all threads only where one statement of the loop {name} names it"
    return f"{told}: write `{form}` once, with a local variable for what comes before."
