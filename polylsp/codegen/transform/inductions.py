"""Variables that are counted along with a loop (Wolfe 1992: induction variables)."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.effects import effects, walk
from polylsp.analysis.induction import Step, additive, steps
from polylsp.analysis.liveness import live_after_loops
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.expressions import stripped
from polylsp.model.program import Assign, Constant, Declare, Integer, Loop, Variable
from polylsp.model.verdict import Parallel


@dataclass(frozen=True, slots=True)
class Counted:
    """An integer that changes by `sign` times `amount`, as it is written, in each iteration of a loop, by the
    assignments `updates`; `live`: its value is needed after the loop."""

    variable: Variable
    of_type: Integer
    sign: int
    amount: str
    updates: tuple[Assign, ...]
    live: bool


def counted_along(subject: Subject, ordinal: int) -> list[Counted] | Declined:
    """Variables of a parallel loop that have a closed form, or the reason why not all can be rewritten."""
    facts = subject.known(ordinal)
    name = facts.iterator or facts.kind
    if not isinstance(facts.verdict, Parallel) or not facts.verdict.inductions:
        return Declined(f"The loop `{name}` has no variable that is counted along with it.")
    if facts.misfit:
        return Declined(f"The loop `{name}` cannot be rewritten: {facts.misfit}.")
    loop = subject.loop(ordinal)
    after = live_after_loops(subject.function, ())[ordinal]
    changes = steps(loop)
    found: list[Counted] = []
    for induction in facts.verdict.inductions:
        named = {v for v in effects(loop).variables if v.source_name == induction.variable}
        if len(named) != 1:
            return Declined(f"There are two variables `{induction.variable}` here.")
        (variable,) = named
        live = variable.name in after or "*" in after
        one = _counted(subject, loop, variable, changes.get(variable.name) or (), live)
        if isinstance(one, Declined):
            return one
        found.append(one)
    return found


def _counted(
    subject: Subject, loop: Loop, variable: Variable, parts: tuple[Step, ...], live: bool
) -> Counted | Declined:
    name, of_type = variable.source_name, variable.type
    if not isinstance(of_type, Integer):
        return Declined(
            f"`{name}` is a pointer that moves along with `{loop.iterator}`: "
            f"use `{name}[…]` with a subscript instead."
        )
    if of_type.bits < 32:
        return Declined(f"`{name}` wraps around early, since its type is small: count in an `int`.")
    if variable.storage not in ("local", "parameter") or variable.escapes:
        return Declined(f"`{name}` can be seen by other functions: count in a local variable.")
    if any(part.inner for part in parts):
        return Declined(f"`{name}` is counted in a loop inside of `{loop.iterator}` too: compute it there.")
    found = _amount(subject, loop, parts)
    if found is None:
        return Declined(f"`{name}` does not grow by a number: compute it from `{loop.iterator}` yourself.")
    updates = tuple(
        s for s in walk(loop) if isinstance(s, Assign) and s.target.variable == variable and additive(s)
    )
    return Counted(variable, of_type, *found, updates, live)


def _amount(subject: Subject, loop: Loop, parts: tuple[Step, ...]) -> tuple[int, str] | None:
    """The sign and the size of all steps together: a number, or the name of one, which may be another when
    the program is compiled."""
    amounts = [stripped(part.amount) for part in parts]
    numbers = [a.value for a in amounts if isinstance(a, Constant) and isinstance(a.value, int)]
    if not numbers or len(numbers) < len(amounts):
        return None
    texts = [subject.source(a.site) for a in amounts]
    if all(text.isdigit() or text.endswith(("++", "--")) or text.startswith(("++", "--")) for text in texts):
        step = sum(part.sign * number for part, number in zip(parts, numbers, strict=True))
        return (-1 if step < 0 else 1), str(abs(step))
    one_token = amounts[0].site.first == amounts[0].site.last
    local = {s.variable.source_name for s in walk(loop) if isinstance(s, Declare)}
    named = len(parts) == 1 and one_token and texts[0].isidentifier() and texts[0] not in local
    return (parts[0].sign, texts[0]) if named else None
