"""Loop headers as compilers accept them after a directive (OpenMP 5.2, 4.4.1; OpenACC 3.3, 2.9), as far as
the program of the model does not show how a header is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.lowering_context import Context, Sites, is_update
from polylsp.frontends.c.types import number
from polylsp.ir.directive import Misfit
from polylsp.ir.effects import effects, may_alias_types
from polylsp.ir.program import (
    COMPARISONS,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Expr,
    Floating,
    Integer,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Variable,
    stripped,
    subexpressions,
)


def unusual(
    context: Context,
    node: Any,
    header: Site,
    before: Sequence[Statement],
    condition: Expr | None,
    body: Block,
) -> Misfit | None:
    """Reason why gcc 12 or clang 19 declines a directive before a `for` loop whose header is written like
    this, or evaluates its first value in each thread. `before`, `condition` and `body` are the parts of the
    loop as lowered."""
    sites = context.sites
    start = header.first + 2
    if sites.tokens[start] == "(":
        return Misfit("other", "its header begins with a parenthesis")
    if _is_in_parentheses(sites, start, node.cond):
        return Misfit("other", "its condition is in parentheses")
    step = node.next
    if isinstance(step, c_ast.Cast) or (
        isinstance(step, c_ast.Assignment) and step.op == "=" and isinstance(step.rvalue, c_ast.Cast)
    ):
        return Misfit("other", "its last part converts a value")
    changed = getattr(step, "expr", None) or getattr(step, "lvalue", None)
    counter = context.lookup(changed.name) if isinstance(changed, c_ast.ID) else None
    if isinstance(counter, Variable) and counter.name in context.enumerations:
        return Misfit("other", "its counter is of an enumerated type")
    sides = (node.cond.left, node.cond.right) if isinstance(node.cond, c_ast.BinaryOp) else ()
    if any(isinstance(side, c_ast.Cast) and _names_one(side.expr, changed) for side in sides):
        return Misfit("other", "its condition converts its counter")
    start_or_test = _unusual_start(sites, node.init, before, body) or _unusual_test(node.cond, condition)
    return start_or_test or _unusual_step(step)


def _is_in_parentheses(sites: Sites, start: int, condition: Any) -> bool:
    test = sites.until(start, ";") + 1
    if not isinstance(condition, c_ast.BinaryOp) or sites.tokens[test] != "(":
        return False
    closing = sites.match.get(test, test)
    return sites.tokens[closing + 1 : closing + 2] == (";",)


def _names_one(left: Any, right: Any) -> bool:
    """True if two expressions are the same variable."""
    return isinstance(left, c_ast.ID) and isinstance(right, c_ast.ID) and left.name == right.name


def _unusual_test(written: Any, condition: Expr | None) -> Misfit | None:
    """Finding about a condition that is a comparison in the model, but not in the source."""
    if not isinstance(condition, Binary) or condition.operator not in COMPARISONS:
        return None
    compared = (stripped(side) for side in (condition.left, condition.right))
    if not any(isinstance(each, Read) and not each.place.steps for each in compared):
        return None
    if isinstance(written, c_ast.ID):
        return Misfit("test", f"its condition tests `{written.name}` without a comparison")
    sides = (written.left, written.right) if isinstance(written, c_ast.BinaryOp) else ()
    if getattr(written, "op", "") in COMPARISONS and any(isinstance(side, c_ast.ID) for side in sides):
        return None
    return Misfit("other", "its condition does more than compare a counter with a bound")


def _unusual_start(sites: Sites, written: Any, before: Sequence[Statement], body: Block) -> Misfit | None:
    """Finding about a first part with more than one variable or value, or with a value that each thread would
    compute anew, though it has effects or the loop may change it; or that is converted to a whole number."""
    declared = written.decls if isinstance(written, c_ast.DeclList) else []
    if len(declared) > 1 or (isinstance(written, c_ast.ExprList) and not all(map(is_update, written.exprs))):
        return Misfit("start", "its header does not start with one value of its counter alone")
    adds = isinstance(written, c_ast.Assignment) and written.op != "="
    if adds or isinstance(written, c_ast.UnaryOp):
        return Misfit("start", "its header does not start with a value of its counter")
    values = [each.value for each in before if isinstance(each, Assign)]
    has_effects = (
        len(values) > 1
        or any(not isinstance(each, Assign | Declare) for each in before)
        or any(_may_have_effects(each) for value in values for each in subexpressions(value))
    )
    single = len(declared) == 1 or (
        isinstance(written, c_ast.Assignment) and not isinstance(written.rvalue, c_ast.Assignment)
    )
    if single and has_effects:
        return Misfit("value", "its counter starts with a value that has effects")
    if any(_is_rounded(sites, each) for each in values):
        return Misfit("value", "its counter starts with a value that is no whole number")
    counters = {each.target.variable for each in before if isinstance(each, Assign)}
    if single and any(
        _may_change(each, counters, body) for value in values for each in subexpressions(value)
    ):
        return Misfit("value", "its counter starts with a value that the loop may change")
    return None


def _may_change(value: Expr, counters: set[Variable], body: Block) -> bool:
    """True for the value of a counter, or of a variable or an element that the body of the loop may set."""
    if isinstance(value, Call) and value.reads_memory:
        inside = effects(body)
        return bool(inside.calls or inside.places)
    if not isinstance(value, Read):
        return False
    inside = effects(body)
    place = value.place
    variable = place.variable
    if not place.steps and (variable in counters or variable.name in inside.scalars):
        return True
    is_seen = bool(place.steps) or variable.escapes or variable.storage in ("global", "static")
    if variable.const or not is_seen:
        return False
    return bool(inside.calls) or any(_may_meet(place, stored) for stored in inside.places)


def _may_meet(read: Place, stored: Place) -> bool:
    """True if a place that is read and one that is stored may share memory."""
    if not may_alias_types(read.type, stored.type):
        return False
    one, other = read.variable, stored.variable
    pointers = [each for each in (one, other) if _is_pointer(each)]
    # A pointer of the function may be computed from another one.
    is_apart = any(map(_is_restrict, pointers)) and all(each.storage != "local" for each in pointers)
    return one == other or (bool(pointers) and not is_apart)


def _is_pointer(variable: Variable) -> bool:
    of_type = variable.type
    return isinstance(of_type, Pointer) or (isinstance(of_type, Array) and variable.storage == "parameter")


def _is_restrict(variable: Variable) -> bool:
    return isinstance(variable.type, Pointer | Array) and variable.type.restrict


def _is_rounded(sites: Sites, value: Expr) -> bool:
    """True if a value was converted from a floating one, though the source does not say so."""
    if isinstance(value, Cast):
        return isinstance(value.operand.type, Floating) and sites.tokens[value.site.first] != "("
    if not isinstance(value, Constant) or not isinstance(value.type, Integer):
        return False
    written = sites.tokens[value.site.first : value.site.last + 1]
    found = [number(each) for each in written if each[0] in _DIGITS]
    return any(each is not None and isinstance(each[1], Floating) for each in found)


_DIGITS = frozenset(".0123456789")


def _may_have_effects(value: Expr) -> bool:
    return isinstance(value, Call) and not value.pure and not value.reads_memory


def _unusual_step(written: Any) -> Misfit | None:
    """Finding about a last part with commas that the model does not show."""
    parts = written.exprs if isinstance(written, c_ast.ExprList) else [written]
    amounts = [getattr(each, "rvalue", None) for each in parts]
    is_idle = len(parts) > 1 and not all(map(is_update, parts))
    if is_idle or any(map(_has_comma, amounts)):
        return Misfit("step", "it does not change its counter alone")
    return None


def _has_comma(node: Any) -> bool:
    if node is None or isinstance(node, c_ast.FuncCall):
        return False
    return isinstance(node, c_ast.ExprList) or any(_has_comma(child) for _, child in node.children())
