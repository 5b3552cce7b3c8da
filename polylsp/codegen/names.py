"""Which of the model's parameters can be written in C at a place, and how."""

from __future__ import annotations

import re

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.subject import Subject
from polylsp.model.program import Assign, Declare, Site, Variable
from polylsp.model.scop import Scop

_NAME = re.compile(r"[A-Za-z_]\w*")


def names_at(subject: Subject, scop: Scop, site: Site) -> dict[str, str]:
    """The spelling in C, just before `site`, of each parameter (isl name) whose value surely is what its
    spelling says there: variables that are not assigned, or once and before, and constant members."""
    products = {name: factors for name, factors in scop.products.items() if name in scop.parameters}
    plain = {
        name: text
        for name, text in scop.parameters.items()
        if name not in products and _holds(subject, text, name in scop.derived, site)
    }
    for name, factors in products.items():
        if all(factor in plain for factor in factors):
            plain[name] = " * ".join(plain[factor] for factor in factors)
    return plain


def _holds(subject: Subject, text: str, derived: bool, site: Site) -> bool:
    if _NAME.fullmatch(text) is None:
        return False
    named = [v for v in _variables(subject) if v.source_name == text]
    if len(named) != 1:
        return False
    variable = named[0]
    if variable.storage == "global" or variable.escapes:
        return not _is_disturbed(subject, variable)
    assigned = [s for s in walk(subject.function.body) if isinstance(s, Assign) and _is_whole(s, variable)]
    if not derived and variable.storage == "parameter":
        return not assigned
    return len(assigned) == 1 and assigned[0].site.last < site.first and not _repeats(subject, assigned[0])


def _is_whole(assign: Assign, variable: Variable) -> bool:
    return assign.target.variable == variable and not assign.target.steps


def _is_disturbed(subject: Subject, variable: Variable) -> bool:
    """Whether the function may change a variable that others can reach."""
    own = effects(subject.function.body)
    return bool(own.calls) or bool(own.places) or variable.name in own.scalars


def _repeats(subject: Subject, assign: Assign) -> bool:
    """Whether an assignment stands in a loop."""
    return any(
        loop.site.first <= assign.site.first and assign.site.last <= loop.site.last
        for loop in subject.facts.loops
    )


def _variables(subject: Subject) -> set[Variable]:
    body = subject.function.body
    declared = {s.variable for s in walk(body) if isinstance(s, Declare)}
    return declared | effects(body).variables | set(subject.function.parameters)
