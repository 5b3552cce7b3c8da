"""Induction variable substitution: a variable that advances with a loop is computed from its iterator.

No iteration then needs the previous one (Wolfe 1992). The result, or the reason why some variable
has no closed form, covers all variables counted along with a parallel loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_expressions import added
from polylsp.emit.c_syntax import LoopText, headed, loop_text, surrounded, undirected
from polylsp.emit.c_text import element_words, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import declared_in, effects, expressions, walk
from polylsp.ir.induction import Step, additive, own_jumps, steps
from polylsp.ir.liveness import live_after_loops
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Expr,
    Integer,
    Loop,
    Place,
    Read,
    Unary,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.schedule.chain import Chain, fresh_name, header_values, unstable
from polylsp.schedule.loop_headers import Iterations, iterations, spelled
from polylsp.schedule.statement_leaves import counter


@dataclass(frozen=True, slots=True)
class Counted:
    """An integer that changes by `sign` times `amount`, as it is written, in each iteration of a loop, by the
    assignments `updates`; `live`: its value is needed after the loop. `inner` are the loops inside that it is
    counted in, outermost first, if any: these alone use it, and run equally often each time. `is_widened`:
    the amount is of an unsigned type with fewer values, in which a multiple of it would wrap around."""

    variable: Variable
    of_type: Integer
    sign: int
    amount: str
    updates: tuple[Assign, ...]
    live: bool
    inner: tuple[int, ...] = ()
    is_widened: bool = False


def counted_along(subject: Subject, ordinal: int) -> list[Counted] | Declined:
    """Variables of a parallel loop that have a closed form, or the reason why not all can be rewritten."""
    facts = subject.known(ordinal)
    name = facts.iterator or facts.kind
    if not isinstance(facts.verdict, Parallel) or not facts.verdict.inductions:
        return Declined(f"The loop `{name}` has no variable that is counted along with it.")
    if facts.misfit:
        return Declined(f"The loop `{name}` cannot be rewritten: {facts.misfit}.")
    loop = subject.loop(ordinal)
    after = live_after_loops(subject.function)[ordinal]
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
    inner = _inner_loops(subject, loop, variable, parts)
    if inner is None:
        return Declined(f"`{name}` is counted in a loop inside of `{loop.iterator}` too: compute it there.")
    found = _amount(subject, loop, parts)
    if found is None:
        advice = f"compute it from `{loop.iterator}` yourself."
        return Declined(f"`{name}` does not grow by numbers and variables alone: {advice}")
    updates = tuple(
        s for s in walk(loop) if isinstance(s, Assign) and s.target.variable == variable and additive(s)
    )
    added_type = stripped(parts[0].amount).type
    is_widened = isinstance(added_type, Integer) and not added_type.signed and added_type.bits < of_type.bits
    return Counted(variable, of_type, *found, updates, live, inner, is_widened)


def _amount(subject: Subject, loop: Loop, parts: tuple[Step, ...]) -> tuple[int, str] | None:
    """The sign and the size of all steps together: a number, the name of one, which may be another when the
    program is compiled, or sums and products of variables that the loop does not change."""
    amounts = [stripped(part.amount) for part in parts]
    if len(parts) == 1 and (text := _unchanged(subject, loop, parts[0].amount)):
        return parts[0].sign, text
    numbers = [a.value for a in amounts if isinstance(a, Constant) and isinstance(a.value, int)]
    if not numbers or len(numbers) < len(amounts):
        return None
    texts = [subject.source(a.site) for a in amounts]
    if all(text.isdigit() or text.endswith(("++", "--")) or text.startswith(("++", "--")) for text in texts):
        step = sum(part.sign * number for part, number in zip(parts, numbers, strict=True))
        return (-1 if step < 0 else 1), str(abs(step))
    one_token = amounts[0].site.first == amounts[0].site.last
    local = {v.source_name for v in declared_in(loop)}
    named = len(parts) == 1 and one_token and texts[0].isidentifier() and texts[0] not in local
    return (parts[0].sign, texts[0]) if named else None


def _unchanged(subject: Subject, loop: Loop, amount: Expr) -> str:
    """The text of a sum or product of variables that a loop leaves as they are; empty for other values."""
    changed = effects(loop).scalars | {v.name for v in declared_in(loop)}
    named = False
    for node in subexpressions(amount):
        match node:
            case Read(place=Place(variable=variable, steps=())):
                if variable.name in changed or not isinstance(variable.type, Integer):
                    return ""
                named = True
            case Binary(operator="+" | "-" | "*") | Unary(operator="-") | Constant():
                pass
            case Cast(operand=operand) if operand.site == node.site:
                pass  # it is implied
            case _:
                return ""
    text = subject.source(amount.site)
    return (text if text.isidentifier() else f"({text})") if named else ""


def _inner_loops(
    subject: Subject, loop: Loop, variable: Variable, parts: tuple[Step, ...]
) -> tuple[int, ...] | None:
    """The loops inside a loop that advance a variable, outermost first, if they run equally often each time,
    and only the innermost uses the variable; `None` otherwise."""
    inner = [each for part in parts for each, _ in part.inner]
    if not inner:
        return ()
    changed, last = effects(loop).scalars, inner[-1].site
    values = [n for s in walk(loop) for value in expressions(s) for n in subexpressions(value)]
    uses = [n.site for n in values if isinstance(n, (Read, AddressOf)) and n.place.variable == variable]
    if len(parts) > 1 or any(not last.first <= site.first <= last.last for site in uses):
        return None
    for each in inner:
        own = counter(subject, each.ordinal) if each.kind == "for" and not any(own_jumps(each.body)) else None
        if own is None or own.name in effects(each.body).scalars:
            return None
        for node in (n for value in header_values(subject, each) for n in subexpressions(value)):
            moves = isinstance(node, Read) and (
                node.place.steps or node.place.variable.name in changed - {own.name}
            )
            if moves or isinstance(node, (Call, AddressOf)):
                return None
    return tuple(each.ordinal for each in inner)


# --------------------------------------------------------------------------------------------------
# Induction variable substitution: a variable that advances with a loop is computed from its
# iterator, so that no iteration needs the one before (Wolfe 1992).
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rewritten:
    """A variable in closed form: lines before the loop, first in its body, and after it."""

    before: str
    first: str
    after: str
    removed: tuple[Replacement, ...]
    assumption: Assumption | None


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """`const int k0 = k;` before the loop, `k = k0 + 2 * i;` first in it, and the last value after it."""
    text = undirected(subject, ordinal)
    if isinstance(text, Declined):
        return text
    found = counted_along(subject, ordinal)
    if isinstance(found, Declined):
        return found
    moving = unstable(subject, (ordinal,))
    points = iterations(subject, Chain((ordinal,), (text,))) if moving is None else moving
    if isinstance(points, Declined):
        header, name = subject.text[text.header.start : text.header.end], found[0].variable.source_name
        reason = f"`{name}` is computed only from loops that count up by one in signed integers, "
        return moving or Declined(f"{reason}not from `{header}`.")
    made: list[_Rewritten] = []
    for one in found:
        name = fresh_name(subject, f"{one.variable.source_name}0", f"{one.variable.source_name}_before")
        rewritten = _rewritten(subject, ordinal, text, points, one, name)
        if isinstance(rewritten, Declined):
            return rewritten
        made.append(rewritten)
    return _edit(subject, ordinal, text, made)


def _edit(subject: Subject, ordinal: int, text: LoopText, made: list[_Rewritten]) -> Answer:
    facts = subject.known(ordinal)
    braces = style_of(subject, [text]).braces
    around = surrounded(
        subject, facts, text, [m.before for m in made], [m.after for m in made if m.after], braces
    )
    if isinstance(around, Declined):
        return around
    first = [m.first for m in made if m.first]
    inside = headed(subject, text, first, braces) if first else []
    removed = [each for m in made for each in m.removed]
    assert isinstance(facts.verdict, Parallel)
    doubts = [m.assumption for m in made if m.assumption is not None]
    return Edited(
        _in_order([*around[:-1], *inside, *removed, around[-1]]), (*facts.verdict.assumptions, *doubts)
    )


def _in_order(edits: list[Replacement]) -> tuple[Replacement, ...]:
    """Edits sorted, and merged at equal places."""
    result: list[Replacement] = []
    for each in sorted(edits, key=lambda one: one.span):
        if result and result[-1].span == each.span and each.span.start == each.span.end:
            result[-1] = Replacement(each.span, result[-1].text + each.text)
        else:
            result.append(each)
    return tuple(result)


def _rewritten(
    subject: Subject, ordinal: int, text: LoopText, points: Iterations, one: Counted, start: str
) -> _Rewritten | Declined:
    name = one.variable.source_name
    words = element_words(subject, one.variable, one.of_type)
    if words is None:
        return Declined(f"The type of `{name}` has no name here: compute it from the iterator yourself.")
    if one.is_widened and not one.amount.isdigit():
        one = replace(one, amount=f"({words}){one.amount}")
    if one.inner:
        return _rewritten_inside(subject, ordinal, points, one, start, words)
    own = counter(subject, ordinal)
    assert isinstance(own.type, Integer)
    cast = "" if one.of_type.signed and one.of_type.bits <= own.type.bits else f"({words})"
    index = spelled(points, added({f"{cast}{own.source_name}": 1}, points.firsts[0], -1))
    after = f"{name} = {_moved(start, one, _rounds(points, cast))};" if one.live else ""
    return _Rewritten(
        f"const {words} {start} = {name};",
        f"{name} = {_moved(start, one, index)};",
        after,
        _removed(subject, subject.loop(ordinal), text, one),
        _assumption(points, one, index) if not cast and one.of_type.bits >= own.type.bits else None,
    )


def _rewritten_inside(
    subject: Subject, ordinal: int, points: Iterations, one: Counted, start: str, words: str
) -> _Rewritten | Declined:
    """A variable in closed form in the innermost of the loops that advance it, by the number of iterations of
    these before the present one."""
    name, index, rounds = one.variable.source_name, "", list[str]()
    text, texts = loop_text(subject, ordinal), [loop_text(subject, each) for each in one.inner]
    for each, own in zip((ordinal, *one.inner), (text, *texts), strict=True):
        found = iterations(subject, Chain((each,), (own,))) if isinstance(own, LoopText) else own
        if isinstance(found, Declined):
            return found
        (first,), (last,) = found.firsts, found.lasts
        count = spelled(found, added(last, first, -1))
        here = spelled(found, added({f"{counter(subject, each).source_name}": 1}, first, -1))
        if index:
            outer = f"({index})" if _has_sum(index) else index
            index = f"{outer} * {f'({count})' if _has_sum(count) else count} + "
        index += here
        rounds.append(_rounds(found, ""))
    innermost = texts[-1]
    types = {counter(subject, each).type for each in (ordinal, *one.inner)}
    if not isinstance(innermost, LoopText) or types != {one.of_type}:
        return Declined(
            f"`{name}` and the counters of its loops have different types: give them the same one."
        )
    amounts = [one.amount] if one.amount != "1" else []
    after = f"{name} = {start} {'+' if one.sign > 0 else '-'} {' * '.join([*amounts, *rounds])};"
    shown = f"{one.amount} * ({index})" if amounts else index
    doubt = Assumption("no-overflow", (name,), f"`{shown}` does not overflow")
    from_zero = one.amount == "1" and _starts_at_zero(subject, subject.loop(ordinal), one.variable)
    removed = _removed(subject, subject.loop(one.inner[-1]), innermost, one)
    line = f"{name} = {_moved(start, one, index)};"
    braces = style_of(subject, [innermost]).braces
    return _Rewritten(
        f"const {words} {start} = {name};",
        "",
        after if one.live else "",
        (*headed(subject, innermost, [line], braces), *removed),
        None if from_zero else doubt,
    )


def _starts_at_zero(subject: Subject, loop: Loop, variable: Variable) -> bool:
    """True if statements directly before a loop set a variable to a number that is not negative."""
    for block in walk(subject.function.body):
        if not isinstance(block, Block) or loop not in block.statements:
            continue
        for each in reversed(block.statements[: block.statements.index(loop)]):
            if not isinstance(each, (Assign, Declare)):
                return False
            if isinstance(each, Assign) and each.target.variable == variable:
                value = stripped(each.value)
                return each.operator is None and isinstance(value, Constant) and value.value >= 0
    return False


def _moved(start: str, one: Counted, rounds: str) -> str:
    """The value after some rounds."""
    sign = "+" if one.sign > 0 else "-"
    if rounds.isdigit() and one.amount.isdigit():
        return f"{start} {sign} {int(rounds) * int(one.amount)}"
    grouped = f"({rounds})" if _has_sum(rounds) else rounds
    if one.amount != "1":
        return f"{start} {sign} {one.amount} * {grouped}"
    return f"{start} {sign} {rounds if one.sign > 0 else grouped}"


def _has_sum(text: str) -> bool:
    """True if a text has an operator outside of parentheses."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == " " and not depth:
            return True
    return False


def _rounds(points: Iterations, cast: str) -> str:
    """Trip count of the loop, possibly 0."""
    (first,), (last,) = points.firsts, points.lasts
    rounds = added(last, first, -1)
    if {term for term, factor in rounds.items() if factor} <= {""}:
        return str(max(rounds.get("", 0), 0))
    return f"{cast}({spelled(points, last)} > {spelled(points, first)} ? {spelled(points, rounds)} : 0)"


def _assumption(points: Iterations, one: Counted, index: str) -> Assumption | None:
    """A product or difference that is new in the program must not overflow where the variable does not."""
    constant = {term for term, factor in points.firsts[0].items() if factor} <= {""}
    if one.amount == "1" and constant:
        return None
    shown = index if one.amount == "1" else f"{one.amount} * {f'({index})' if _has_sum(index) else index}"
    return Assumption("no-overflow", (one.variable.source_name,), f"`{shown}` does not overflow")


# --- The update that is no longer needed -------------------------------------------------


def _removed(subject: Subject, loop: Loop, text: LoopText, one: Counted) -> tuple[Replacement, ...]:
    """Line of the update, where it is a statement on a separate line and no later code in the body reads the
    variable; otherwise it may stay."""
    if len(one.updates) != 1 or _is_read_behind(loop, one.variable, one.updates[0]):
        return ()
    update = one.updates[0]
    span = subject.span(update.site)
    part = next((p for p in text.parts if p.core.start == span.start), None)
    if part is None or subject.is_from_macro(update.site) or len(text.parts) < 2:
        return ()
    if subject.text[span.end : part.core.end].strip() != ";" or not subject.opens_its_line(span.start):
        return ()
    end = subject.text.find("\n", part.core.end)
    line = span.start - len(subject.line_before(span.start))
    above = subject.text[part.whole.start : line].strip()
    if end < 0 or subject.text[part.core.end : end].strip() or above:
        return ()
    return (Replacement(Span(line, end + 1), ""),)


def _is_read_behind(loop: Loop, variable: Variable, update: Assign) -> bool:
    """True if the body uses the variable after an update, in the order of the text."""
    for statement in walk(loop.body):
        for value in expressions(statement):
            for node in subexpressions(value):
                reads = isinstance(node, (Read, AddressOf)) and node.place.variable == variable
                if reads and node.site.last > update.site.last:
                    return True
    return False
