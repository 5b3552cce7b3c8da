"""Variables that a loop changes by a fixed number in each iteration, and the clause `linear` that says so
(OpenMP 5.2, 5.4.6)."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.directives.loop_forms import counter_of
from polylsp.analysis.directives.races import DataSharing, listed
from polylsp.ir.directive import Finding, Mend, Ordered, OtherStep, Sharing
from polylsp.ir.effects import declared_in, effects, walk
from polylsp.ir.induction import steps
from polylsp.ir.must_execute import always_assigned, always_read, always_run
from polylsp.ir.program import (
    Assign,
    Constant,
    Expr,
    Integer,
    Loop,
    Read,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.verdict import AccessPoint


def linear_findings(sharing: DataSharing, scalars: LoopScalars) -> Iterator[tuple[str, Finding]]:
    """Faults of the variables in `linear` clauses, by unique name: the loop's increment differs from the
    clause's."""
    loop = sharing.construct.loop
    for clause in sharing.construct.directive.clauses:
        if not isinstance(clause, Sharing) or clause.kind != "linear" or clause.step is None:
            continue
        for item in clause.items:
            variable = _outer(loop, item.name)
            found = None if variable is None else _other_step(sharing, scalars, variable, clause.step)
            if variable is not None and found is not None:
                yield variable.name, found


def counting(sharing: DataSharing, variable: Variable, out_of: str) -> Mend | None:
    """The clause for a variable from which each iteration goes on where the one before left it."""
    construct, name = sharing.construct, variable.source_name
    words, clauses = construct.directive.words, construct.directive.clauses
    if "for" not in words or "distribute" in words or any(isinstance(c, Ordered) for c in clauses):
        return None
    if sharing.is_shared_by_clause(name):
        return None
    step = _step(sharing, variable)
    return None if step is None else Mend(f"linear({name}:{step})", name if out_of else "", out_of)


def places_copies(sharing: DataSharing, variable: Variable) -> Mend | None:
    """The clause for a variable of which each thread counts a copy from the same value on, and which selects
    the element of a shared array that each iteration writes: all threads write the same ones."""
    construct, name = sharing.construct, variable.source_name
    if construct.mode != "threads" or name not in listed(construct.directive, "firstprivate"):
        return None
    own = declared_in(construct.loop.body)
    for each in always_run(construct.loop.body):
        written = each.target if isinstance(each, Assign) and each.target.steps else None
        if written is None or written.variable in own or sharing.has_copies(written.variable, written.site):
            continue
        found = [stripped(value) for value in subscripts(written)]
        others = [one for one in found if not (isinstance(one, Read) and one.place.variable == variable)]
        if len(others) < len(found) and not any(_changes(construct.loop, one) for one in others):
            return counting(sharing, variable, "firstprivate")
    return None


def _changes(loop: Loop, value: Expr) -> bool:
    """True if an expression reads a scalar that the loop sets: then it may separate iterations."""
    changing = effects(loop).scalars
    return any(isinstance(n, Read) and n.place.variable.name in changing for n in subexpressions(value))


def _other_step(
    sharing: DataSharing, scalars: LoopScalars, variable: Variable, stated: int
) -> OtherStep | None:
    loop, name = sharing.construct.loop, variable.source_name
    used = name in {each.variable for each in scalars.inductions} or scalars.live(variable.name)
    computed = _step(sharing, variable)
    if computed is None or computed == stated or (computed and not used):
        return None
    assign, read = always_assigned(loop.body, variable), always_read(loop.body, variable)
    if computed and assign is not None:
        return OtherStep(name, stated, computed, AccessPoint(name, name, "write", assign.site))
    if not computed and read is not None:
        return OtherStep(name, stated, computed, AccessPoint(name, name, "read", read.place.site))
    return None


def _step(sharing: DataSharing, variable: Variable) -> int | None:
    """Certain increment per iteration of an integer that is no counter; `None` where it is no constant."""
    loop = sharing.construct.loop
    counters = [counter_of(each) for each in sharing.construct.loops]
    if len(counters) > 1 or variable in counters:
        return None
    seen_elsewhere = variable.escapes or variable.storage not in ("local", "parameter")
    if seen_elsewhere or not isinstance(variable.type, Integer):
        return None
    assigned = any(isinstance(s, Assign) and s.target.variable == variable for s in walk(loop))
    if not assigned:
        return None if variable.name in effects(loop).scalars else 0
    total = 0
    for step in steps(loop).get(variable.name) or ():
        amount = stripped(step.amount)
        if step.inner or step.in_prologue or not isinstance(amount, Constant) or amount.value % 1:
            return None
        total += step.sign * int(amount.value)
    return total or None


def _outer(loop: Loop, name: str) -> Variable | None:
    """The variable of that name that the loop uses and does not declare, if there is one alone."""
    own = declared_in(loop.body)
    found = [v for v in effects(loop).variables if v.source_name == name]
    return found[0] if len(found) == 1 and found[0] not in own else None
