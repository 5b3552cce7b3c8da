"""Updates of elements that several iterations may share, one at a time: `#pragma omp atomic`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.effects import walk
from polylsp.analysis.induction import reads_only
from polylsp.codegen.directive import Directive
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.expressions import stripped
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Assign, Binary, Evaluate, Floating, Integer, Site, within
from polylsp.model.scop import Access
from polylsp.model.verdict import Reduction

_OPERATORS = ("+", "*", "&", "|", "^")
_SIZES = (8, 16, 32, 64)
WORDS = {"omp": "atomic", "acc": "atomic update"}


@dataclass(frozen=True, slots=True)
class Atomic:
    """An array whose elements are updated one at a time by the statements at `updates`; `rounds`: in
    floating point, where the order shows."""

    name: str
    updates: tuple[Site, ...]
    rounds: bool


def atomic(
    subject: Subject, root: LoopFacts, reduction: Reduction, accesses: list[Access]
) -> Atomic | Declined:
    """The updates of an array by a reduction's operator, if each is a statement that can be atomic
    (OpenMP 5.2, 15.8.4; OpenACC 3.3, 2.12)."""
    name = reduction.variable
    if reduction.operator not in _OPERATORS:
        return Declined(
            f"There is no atomic update by `{reduction.operator}` for elements of `{name}`: "
            "use a local variable for each."
        )
    inside = list(walk(subject.loop(root.ordinal)))
    assigns = {s.target.site: s for s in inside if isinstance(s, Assign)}
    effects = [s.site for s in inside if isinstance(s, (Assign, Evaluate))]
    found: list[Assign] = []
    for access in (a for a in accesses if a.update == reduction.operator and a.kind == "write"):
        assign = assigns.get(access.site)
        more = assign is None or sum(within(site, assign.site) for site in effects) > 1
        if assign is None or more or not _has_form(subject, assign) or not _is_statement(subject, assign):
            line = subject.line_number(access.site)
            return Declined(
                f"The update of `{name}` on line {line} cannot be atomic: write it as one statement, "
                f"`{access.text} {reduction.operator}= …;`."
            )
        found.append(assign)
    sites = tuple(sorted({each.site for each in found}))
    return Atomic(name, sites, any(isinstance(each.target.type, Floating) for each in found))


def directives(found: tuple[Atomic, ...], like: Directive) -> Iterator[tuple[Site, Directive]]:
    """The directive before each update, in the words of another one's family."""
    for site in sorted({site for each in found for site in each.updates}):
        yield site, Directive(like.sentinel, WORDS[like.sentinel])


def remark(found: tuple[Atomic, ...]) -> str:
    """Remark on sums whose order is open; empty if there are none."""
    names = ", ".join(f"`{each.name}`" for each in found if each.rounds)
    return f"Updates of {names} happen in any order: sums may differ in their last digits." if names else ""


def _has_form(subject: Subject, assign: Assign) -> bool:
    """True if an assignment has one of the forms of an atomic update."""
    of_type = assign.target.type
    if not isinstance(of_type, (Integer, Floating)) or of_type.bits not in _SIZES:
        return False
    if assign.operator is not None:
        return assign.operator in (*_OPERATORS, "-")
    value = stripped(assign.value)
    if not isinstance(value, Binary):
        return False
    # Neither a conversion nor parentheses may be written around the target or around all of the value.
    target = _tokens(subject, assign.target.site)
    written = _tokens(subject, Site(assign.target.site.last + 2, assign.site.last))
    size = len(target)
    if value.operator in (*_OPERATORS, "-") and reads_only(value.left, assign):
        return written[: size + 1] == [*target, value.operator]
    if value.operator in _OPERATORS and reads_only(value.right, assign):
        return written[-size - 1 :] == [value.operator, *target]
    return False


def _is_statement(subject: Subject, assign: Assign) -> bool:
    """True if the assignment is a whole statement, written out, that has no directive yet."""
    site, target = assign.site, assign.target.site
    before, two_before, behind = (_token(subject, k) for k in (site.first - 1, site.first - 2, site.last + 1))
    # What a label or a cast stands before can have no directive.
    follows = before in (";", "{", "}", "else", "do") or (before == ")" and two_before != "void")
    leading = target.first == site.first or _token(subject, site.first) in ("++", "--")
    written = subject.is_written_out(site) and subject.is_written_out(target)
    above = subject.text[: subject.span(site).start].rstrip().rpartition("\n")[2]
    return follows and behind == ";" and leading and written and not above.lstrip().startswith("#")


def _tokens(subject: Subject, site: Site) -> list[str]:
    return [_token(subject, number) for number in range(site.first, site.last + 1)]


def _token(subject: Subject, number: int) -> str:
    return subject.token(number) if 0 <= number < len(subject.starts) else ""
