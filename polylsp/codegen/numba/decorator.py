"""`@njit(parallel=True)` on a function, or `parallel=True` added to an existing decorator."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from polylsp.codegen.numba.source import Source
from polylsp.model.action import Declined, Replacement
from polylsp.text import Span

_COMPILERS = ("njit", "jit", "numba.njit", "numba.jit")


@dataclass(frozen=True, slots=True)
class Decorated:
    """The edit that makes Numba run a function in parallel. `already`: Numba compiles it as it stands;
    `in_parallel`: with `parallel=True`."""

    replacements: tuple[Replacement, ...]
    already: bool
    in_parallel: bool = False


def is_compiled(source: Source) -> bool:
    """True if Numba compiles the function in its present form."""
    return any(source.path(_function(one)) in _COMPILERS for one in source.definition.decorator_list)


def decorated(source: Source, njit: str) -> Decorated | Declined:
    """The decorator, spelled `njit` where there is none yet."""
    decorators = source.definition.decorator_list
    if not decorators:
        start = source.subject.start
        text = f"@{njit}(parallel=True)\n{source.subject.indentation(start)}"
        return Decorated((Replacement(Span(start, start), text),), False)
    only = decorators[0]
    called = only.func if isinstance(only, ast.Call) else only
    if len(decorators) > 1 or source.path(called) not in _COMPILERS:
        others = (ast.unparse(one) for one in decorators if source.path(_function(one)) not in _COMPILERS)
        name = next(others, ast.unparse(decorators[-1]))
        return Declined(f"`@{name}` may change what Numba has to compile: take it away first.")
    if not isinstance(only, ast.Call):
        end = source.span(only).end
        return Decorated((Replacement(Span(end, end), "(parallel=True)"),), True)
    return _with_option(source, only)


def _function(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _with_option(source: Source, call: ast.Call) -> Decorated | Declined:
    """The option added to a decorator that has others."""
    values = {k.arg: k.value for k in call.keywords}
    objects = "forceobj" in values or _is(values.get("nopython"), False)
    if objects or None in values:
        return Declined(f"`@{ast.unparse(call)}` may leave the function to Python: write `@njit` first.")
    parallel = values.get("parallel")
    if _is(parallel, True):
        return Decorated((), True, in_parallel=True)
    if parallel is not None and not _is(parallel, False):
        return Declined(f"`parallel={ast.unparse(parallel)}` decides elsewhere: write `parallel=True`.")
    if parallel is not None:
        return Decorated((Replacement(source.span(parallel), "True"),), True)
    ends = [source.span(one).end for one in (*call.args, *(k.value for k in call.keywords))]
    end = max(ends, default=source.span(call).end - 1)
    text = ", parallel=True" if ends else "parallel=True"
    return Decorated((Replacement(Span(end, end), text),), True)


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
