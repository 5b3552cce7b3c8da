"""Values that can be written in C at a place: the model's parameters, and constants of declarations."""

from __future__ import annotations

import re
from collections.abc import Mapping

from polylsp.analysis.effects import places_in
from polylsp.analysis.spelling import spell, spell_value
from polylsp.codegen.affine import PYTHON_CHOICE, Names
from polylsp.codegen.constants import literals, named_constants
from polylsp.codegen.subject import Subject
from polylsp.language import PYTHON
from polylsp.model.expressions import subexpressions
from polylsp.model.program import (
    AddressOf,
    Array,
    Assign,
    Call,
    Constant,
    Expr,
    Field,
    Floating,
    Index,
    Integer,
    Place,
    Pointer,
    Read,
    Site,
    Type,
    Variable,
)
from polylsp.model.scop import Scop

_CONVERTED = re.compile(r"\([a-z _]+\)([A-Za-z_]\w*)")
_LENGTH = re.compile(r"([A-Za-z_]\w*)\.shape\[\d+\]")


def names_at(subject: Subject, scop: Scop, site: Site) -> Names:
    """The spelling in C, just before `site`, of each parameter (isl name) that stands for the value which
    a variable surely holds there, and of numbers that are written as macros."""
    settled = {v.source_name: v for v in subject.variables if is_settled(subject, v, site)}
    computed = _computed(subject, settled)
    found: dict[str, str] = {}
    members = _members(subject, site)
    for name, text in scop.parameters.items():
        if text in members:
            found[name] = text
            continue
        if text in computed:
            found[name] = computed[text]
            continue
        variable = _leaf(settled, text)
        # An input of the function is what its name says only if nothing is assigned to it.
        if variable is not None and (name in scop.derived or not subject.assigned(variable)):
            found[name] = text
        length = _LENGTH.fullmatch(text) if subject.language == PYTHON.name else None
        if length is not None and length[1] in settled:
            found[name] = text
    for name, factors in scop.products.items():
        if all(factor in found for factor in factors):
            found[name] = " * ".join(found[factor] for factor in factors)
    if subject.language == PYTHON.name:
        return Names(found, choice=PYTHON_CHOICE)
    return Names(found, named_constants(subject), literals(subject))


def _members(subject: Subject, site: Site) -> set[str]:
    """Members of structures (`d->n`), as the source writes them, with one value in all of the function."""
    own = subject.effects
    if subject.members or own.calls:
        return set()
    places = [each for each in places_in(subject.function.body) if _is_member(each)]
    if any(_may_be(stored, each.type) for stored in own.places for each in places[:1]):
        return set()
    return {spell(Read(p)) for p in places if is_settled(subject, p.variable, site)}


def _is_member(place: Place) -> bool:
    """True if a place is a whole number in a structure that no subscript chooses."""
    steps = [s.subscript for s in place.steps if isinstance(s, Index)]
    fixed = all(isinstance(each, Constant) and each.value == 0 for each in steps)
    is_last = bool(place.steps) and isinstance(place.steps[-1], Field)
    return is_last and fixed and isinstance(place.type, Integer)


def _leaf(settled: Mapping[str, Variable], text: str) -> Variable | None:
    """The variable whose value a text is, as it stands or converted."""
    if converted := _CONVERTED.fullmatch(text):
        return settled.get(converted[1])
    variable = settled.get(text)
    return variable if variable is not None and isinstance(variable.type, Integer) else None


def _computed(subject: Subject, settled: Mapping[str, Variable]) -> dict[str, str]:
    """Texts that are conversions of settled variables, and the variables that were set to their values."""
    found: dict[str, str] = {}
    for name, variable in settled.items():
        for assign in subject.assigned(variable) if variable.storage == "local" else ():
            text, leaves = spell_value(assign.value), tuple(subexpressions(assign.value))
            plain = not any(isinstance(each, (AddressOf, Call)) for each in leaves)
            reads = [each.place for each in leaves if isinstance(each, Read)]
            kept = all(not p.steps and settled.get(p.variable.source_name) == p.variable for p in reads)
            if text.startswith("(") and assign.operator is None and plain and kept:
                found.setdefault(text, name)
    return found


def written(subject: Subject, value: Expr, site: Site, names: Names) -> str | None:
    """A value of a declaration in C, if it is the same just before `site`, with `names` for numbers."""
    for node in subexpressions(value):
        if isinstance(node, (AddressOf, Call)):
            return None
        if isinstance(node, Read) and (
            node.place.steps or not is_settled(subject, node.place.variable, site)
        ):
            return None
    if isinstance(value, Constant) and isinstance(value.value, int):
        return names.number(value.value)
    return spell(value)


def declared_sizes(subject: Subject) -> frozenset[str]:
    """The variables that are sizes in the declarations of the function's parameters, and never change."""
    found: set[str] = set()
    for parameter in subject.function.parameters:
        of_type: Type = parameter.type
        while isinstance(of_type, (Array, Pointer)):
            extent = of_type.extent if isinstance(of_type, Array) else None
            if isinstance(extent, Read) and extent.place.variable in subject.function.parameters:
                found.add(extent.place.variable.source_name)
            of_type = of_type.element if isinstance(of_type, Array) else of_type.to
    return frozenset(found)


def is_settled(subject: Subject, variable: Variable, site: Site) -> bool:
    """True if a variable has one value at `site`, and in all of the function after it was set: it is a
    parameter that is never assigned, or assigned once, before and in no loop, and its name is unique."""
    if [v.source_name for v in subject.variables].count(variable.source_name) != 1:
        return False
    if variable.storage in ("global", "static") or variable.escapes:
        return not _is_disturbed(subject, variable)
    assigned = subject.assigned(variable)
    if variable.storage == "parameter":
        return not assigned
    return len(assigned) == 1 and assigned[0].site.last < site.first and not _repeats(subject, assigned[0])


def _is_disturbed(subject: Subject, variable: Variable) -> bool:
    """True if the function may change a variable that others can reach."""
    own = subject.effects
    stored = any(_may_be(place, variable.type) for place in own.places)
    return bool(own.calls) or stored or variable.name in own.scalars


def _may_be(place: Place, of_type: Type) -> bool:
    """True if a stored element may be a number of some type that others can reach: neither one of an array
    with a name of its own, nor a real number where the other is none (C11 6.5p7)."""
    is_named = isinstance(place.variable.type, Array) and place.variable.storage != "parameter"
    apart = isinstance(place.type, Floating) and isinstance(of_type, (Integer, Pointer))
    return not is_named and not apart


def _repeats(subject: Subject, assign: Assign) -> bool:
    """True if an assignment stands in a loop."""
    return any(
        loop.site.first <= assign.site.first and assign.site.last <= loop.site.last
        for loop in subject.facts.loops
    )
