"""Parts of arrays that expressions name: `a`, `a[1:-1, ::2, i]`, `a.T`, and names of such parts."""

from __future__ import annotations

import ast
from dataclasses import replace

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import INT, Array
from polylsp.frontends.python.lower.agreeing import lengths, measured
from polylsp.frontends.python.lower.arithmetic import binary, compared, convert, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.linear import simplified
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.places import base_of, not_a_number
from polylsp.frontends.python.lower.section import New, Pick, Run, Section, everything, is_zero
from polylsp.frontends.python.lower.slices import sliced
from polylsp.model.program import Constant, Expr, Index, Integer, Select, Site


def section_of(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    """The part of an array that an expression names: all of it, the elements that subscripts select, or its
    transpose."""
    if isinstance(node, ast.Name) and node.id in context.views:
        return replace(context.views[node.id], site=context.site(node))
    array = base_of(context, node)
    if array is not None:
        return everything(array, measured(context, array), context.site(node))
    if isinstance(node, ast.Subscript):
        of = section_of(context, node.value, fx)
        return _subscripted(context, node, of, fx) if of is not None else None
    if flipped(context, node) is not None:
        of = section_of(context, flipped(context, node) or node, fx)
        return _reversed(of) if of is not None else None
    turned = transposed(context, node)
    of = section_of(context, turned, fx) if turned is not None else None
    return replace(of.turned(), site=context.site(node)) if of is not None else None


def transposed(context: Context, node: ast.expr) -> ast.expr | None:
    """The array of `a.T`, `a.transpose()` or `np.transpose(a)`."""
    match node:
        case ast.Attribute(value=inner, attr="T"):
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=[], keywords=[]):
            return inner
        case ast.Call(func=function, args=[inner], keywords=[]):
            return inner if library.numpy_name(context.path(function)) == "transpose" else None
        case _:
            return None


def flipped(context: Context, node: ast.expr) -> ast.expr | None:
    """The array of `np.flip(a)`."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]):
            return inner if library.numpy_name(context.path(function)) == "flip" else None
        case _:
            return None


def _reversed(of: Section) -> Section:
    """A part with the elements of each dimension in the opposite order."""
    return replace(of, runs=tuple(_backwards(run) if isinstance(run, Run) else run for run in of.runs))


def _backwards(run: Run) -> Run:
    site = run.count.site
    last = run.at(simplified(binary("-", run.count, whole(1, site), site), site), site)
    return replace(run, start=simplified(last, site), step=-run.step)


def lengths_of(context: Context, node: ast.expr) -> tuple[Expr, ...] | None:
    """The lengths of an array, or of a part of one."""
    array = base_of(context, node)
    if array is not None:
        return lengths(context, array)
    fx = Effects()
    found = section_of(context, node, fx)
    if found is None or fx.statements or fx.rejections:
        return None
    return tuple(_length(context, run, found.site) for run in found.runs)


def _length(context: Context, run: Run | New, site: Site) -> Expr:
    """The length of a part, which is never negative, in one dimension."""
    if isinstance(run, New):
        return whole(1, site)
    nothing = whole(0, run.count.site)
    return run.count if is_natural(run.count, context.counted) else binary("max", run.count, nothing, site)


def _subscripted(context: Context, node: ast.Subscript, of: Section, fx: Effects) -> Section | None:
    """Part of a section that the subscripts in a pair of brackets select."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    taking = sum(not _is_new(context, part) and not _is_ellipsis(part) for part in parts)
    missing = len(of.runs) - taking
    if missing < 0:
        refuse(context, fx, "unknown-shape", node, f"`{context.text(node)}` has too many subscripts")
        return None
    if not any(map(_is_ellipsis, parts)):
        parts.append(ast.Constant(...))
    fixed, runs = list(of.fixed), list[Run | New]()
    rest = list(of.runs)
    for part in parts:
        if _is_ellipsis(part):
            runs += rest[:missing]
            del rest[:missing]
        elif _is_new(context, part):
            runs.append(New())
        else:
            run = rest.pop(0)
            pick = _pick(context, part, run, fx)
            if pick is None:
                return None
            if not isinstance(pick, Index):
                runs.append(pick)
            elif isinstance(run, Run):
                fixed[run.dimension] = pick
    return Section(of.array, tuple(fixed), tuple(runs), context.site(node))


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_new(context: Context, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or context.path(node) == "numpy.newaxis"


def _pick(context: Context, node: ast.expr, of: Run | New, fx: Effects) -> Pick | None:
    """Part of a dimension that a subscript selects."""
    if isinstance(node, ast.Slice):
        if isinstance(of, Run):
            return sliced(context, node, of, fx)
        if node.lower is None and node.upper is None and node.step is None:
            return of
        text = f"`{context.text(node)}` takes a part of a new dimension"
        refuse(context, fx, "unsupported-statement", node, text)
        return None
    if isinstance(context.kind(node), Array):
        text = f"`{context.text(node)}` takes elements by an array of subscripts"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    return _one(context, node, of, fx)


def _one(context: Context, node: ast.expr, of: Run | New, fx: Effects) -> Index | None:
    from polylsp.frontends.python.lower.expressions import value

    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        refuse(context, fx, "non-affine-subscript", node, not_a_number(context, node))
        return None
    return subscript(context, convert(found, INT), of) if isinstance(of, Run) else Index(whole(0, found.site))


def subscript(context: Context, index: Expr, of: Run) -> Index:
    """The subscript in the array of one element of a run; a negative one counts from the run's end."""
    site = index.site
    natural = is_natural(index, context.counted)
    if is_zero(of.start) and of.step == 1:
        return Index(index, None if natural else of.count)
    if isinstance(index, Constant) and index.value < 0:
        index = simplified(binary("+", of.count, index, site), site)
    elif not natural:
        below = compared("<", index, whole(0, site), site)
        index = Select(below, binary("+", index, of.count, site), index, INT, site)
    return Index(simplified(of.at(index, site), site))
