"""Branches that print or end the program, presumed not to be taken: error checks and tracing in a loop.

A call that prints or ends the program keeps iterations in order. Where a condition stands around it, the
loops around that condition are analysed without the call, and their verdicts rest on the condition not
holding. All other statements of the branch stay in the model, so that loops beside it need not rest on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polylsp.analysis.scop.call_effects import is_known
from polylsp.analysis.scop.obstacles import obstacle, unknown_call
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import Changes, changes, declared_in, effects, loops_in, nodes, walk
from polylsp.ir.library import effect_of
from polylsp.ir.program import (
    NEGATED,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    Function,
    If,
    Integer,
    Jump,
    Loop,
    Pointer,
    Presumption,
    Read,
    Rejection,
    Statement,
    Unary,
    Unsupported,
    stripped,
)
from polylsp.ir.spelling import is_zero, spell

MOST_PRESUMPTIONS = 4
"""Presumptions that one nest or function may have: a claim that rests on more helps no one."""

_INT = Integer(32, True)
_BOUNDS = ("<", "<=", ">", ">=")
_EQUALITY = ("==", "!=")
_COMPARED = (*_BOUNDS, *_EQUALITY)
_SPELLED_AS_NEGATIONS = (">", ">=", "!=")


def without_reports(statement: Statement, calls: Calls) -> Statement | None:
    """The statement with presumptions in place of the calls under conditions that print or end the program;
    `None` where something else in it, or such a call under no condition, is an obstacle to static control."""
    rewriter = _Rewriter(calls, changes(statement))
    try:
        made = rewriter.rewrite(statement, ())
    except _ObstructedError:
        return None
    sentences = {each.presumed.sentence for each in presumptions_in(made) if each.presumed is not None}
    if len(sentences) > MOST_PRESUMPTIONS or _contradictory(rewriter.never):
        return None
    return made if obstacle(made, calls) is None else None


def loops_left_out(statement: Statement, made: Statement) -> Iterator[Loop]:
    """The outermost loops of a statement that it has no more once it is `made` without reports."""
    seen = {loop.ordinal for loop in loops_in(made)}
    for loop in loops_in(statement):
        if loop.ordinal not in seen:
            seen |= {inner.ordinal for inner in loops_in(loop)}
            yield loop


def presumptions_in(statement: Statement) -> Iterator[Assume]:
    """The presumptions in a statement."""
    return (s for s in walk(statement) if isinstance(s, Assume) and s.presumed is not None)


def computes(statement: Statement) -> bool:
    """True if a nest changes more than its counters and the variables that it declares: a loop that only
    checks or prints has no purpose without its reports."""
    statement = _as_presumed(statement)
    found = effects(statement)
    stepping = (s for loop in loops_in(statement) for s in (*loop.step.statements, *loop.prologue.statements))
    counters = {s.target.variable.name for s in stepping if isinstance(s, Assign)}
    own = {v.name for v in declared_in(statement)}
    return bool(found.places or found.calls or found.scalars - counters - own)


def silent(statement: Statement, calls: Calls) -> Statement:
    """A statement without its calls that print or end the program."""
    match statement:
        case Evaluate(Call() as call) if _is_report(call, calls):
            return Block()
        case Block():
            return _silent_block(statement, calls)
        case If(_, then, otherwise):
            branches = _silent_block(then, calls), _silent_block(otherwise, calls)
            return replace(statement, then=branches[0], otherwise=branches[1])
        case Loop():
            return replace(statement, body=_silent_block(statement.body, calls))
        case _:
            return statement


def _silent_block(block: Block, calls: Calls) -> Block:
    return Block(tuple(silent(s, calls) for s in block.statements))


def only_reports(function: Function, calls: Calls) -> bool:
    """True if a function only prints, or ends the program: it has no loops, changes nothing
    but local variables, and calls nothing else of unknown effect."""
    found = False
    for statement in walk(function.body):
        match statement:
            case Loop() | Unsupported():
                return False
            case Assign(target) if target.variable.storage not in ("local", "parameter") or target.steps:
                return False
            case Evaluate(Call() as call) if _is_report(call, calls):
                found = True
            case Block():
                pass
            case _ if not isinstance(statement, If) and obstacle(statement, calls) is not None:
                return False
            case _:
                pass
    return found


def firm_obstacle(statement: Statement, calls: Calls) -> Rejection | None:
    """First obstacle to static control in a statement that would remain without the calls that print or end
    the program; where there is none, the first obstacle."""
    for inner in walk(statement):
        if isinstance(inner, Unsupported):
            return inner.rejection
        for call in (node for node in nodes(inner) if isinstance(node, Call)):
            if not (is_known(call, calls) or _is_report(call, calls)):
                return unknown_call(call, calls)
    return obstacle(statement, calls)


def _is_report(call: Call, calls: Calls) -> bool:
    """True if a call prints, or ends the program."""
    if call.function in calls.summaries:
        return False
    return call.ends or call.function in calls.reports or _effect(call) in ("output", "termination")


def _effect(call: Call) -> str | None:
    # Without MPI, a project may define the function itself: then there is a summary, or none for a reason.
    return "termination" if call.function == "MPI_Abort" else effect_of(call.function)


class _ObstructedError(Exception):
    """A call that no condition keeps away."""


@dataclass(slots=True)
class _Way:
    """A branch around a statement: the condition under which it runs, the loops around it, and the reports
    in it, by the parts of the condition that are presumed not to hold."""

    condition: Expr
    loops: tuple[int, ...]
    reports: dict[Expr, list[Call]] = field(default_factory=dict[Expr, "list[Call]"])


@dataclass(slots=True)
class _Rewriter:
    """Rewriting of one nest or function whose variables are assigned `changes`; `loops` are the ordinals of
    the loops around the statement that is being rewritten, `never` the conditions that are presumed not to
    hold."""

    calls: Calls
    changes: Changes
    loops: tuple[int, ...] = ()
    never: list[Expr] = field(default_factory=list[Expr])

    def rewrite(self, statement: Statement, ways: tuple[_Way, ...]) -> Statement:
        """The statement without reports, inside of branches. Raises `_ObstructedError`."""
        match statement:
            case Block(inner):
                return self.block(inner, ways)
            case If(condition, then, otherwise):
                taken, other = _Way(condition, self.loops), _Way(_negation(condition), self.loops)
                first = self.branch(then, (*ways, taken)), taken.condition
                second = self.branch(otherwise, (*ways, other)), other.condition
                if not (taken.reports and other.reports):
                    return _without_ends(statement, first, second)
                # Control never comes to a choice of which neither branch is taken.
                every = [call for way in (taken, other) for calls in way.reports.values() for call in calls]
                never = [mark for call in every for mark in self.presumed(call, ways)]
                self.never = [c for c in self.never if c not in taken.reports and c not in other.reports]
                kept = replace(statement, then=_unmarked(first[0]), otherwise=_unmarked(second[0]))
                return Block((*never, kept))
            case Loop():
                outer, self.loops = self.loops, (*self.loops, statement.ordinal)
                body = self.block(statement.body.statements, ways)
                self.loops = outer
                return replace(statement, body=body)
            case _:
                return statement

    def branch(self, block: Block, ways: tuple[_Way, ...]) -> Block:
        """A branch without reports; the presumptions that it is not taken stand at its start."""
        made = _without_end(self.block(block.statements, ways))
        marks = (_mark(self.presumption(each, calls)) for each, calls in ways[-1].reports.items())
        return Block((*marks, *made.statements))

    def presumption(self, condition: Expr, reports: Sequence[Call]) -> Presumption:
        """The presumption that a condition does not hold, under which there are reports."""
        self.never.append(condition)
        first, names = reports[0], tuple(dict.fromkeys(call.function for call in reports))
        behind = tuple(sorted(self.changes.behind(condition)))
        guard = _guard(condition) if self.changes.is_invariant(condition) else ""
        why = unknown_call(first, self.calls)
        return Presumption(_falsity(condition), names, why, first.site, behind, guard=guard)

    def block(self, statements: tuple[Statement, ...], ways: tuple[_Way, ...]) -> Block:
        """Statements without reports. A `return` after one is an error return, and presumed away with it."""
        found: list[Statement] = []
        reported = False
        for statement in statements:
            match statement:
                case Evaluate(Call() as call) if _is_report(call, self.calls):
                    found += self.presumed(call, ways)
                    reported = True
                case Jump("return", site) if reported:
                    found.append(Assume(Constant(0, _INT, site), site))
                case _:
                    found.append(self.rewrite(statement, ways))
        return Block(tuple(found))

    def presumed(self, call: Call, ways: tuple[_Way, ...]) -> list[Statement]:
        """Statements in place of a report. The presumption is noted at the innermost branch around it whose
        condition may be false throughout; loops inside of that branch do not gain by it."""
        for way in reversed(ways):
            condition = next((c for c in _parts(way.condition) if self.may_never_hold(c)), None)
            if condition is not None:
                break
        else:
            raise _ObstructedError
        way.reports.setdefault(condition, []).append(call)
        # Calls in its arguments with effects of their own stand before it, in temporaries.
        found: list[Statement] = []
        inside = self.loops[len(way.loops) :]
        if inside:
            found.append(_mark(replace(self.presumption(condition, (call,)), unhelped=tuple(sorted(inside)))))
        if call.ends or _effect(call) == "termination":
            found.append(Assume(Constant(0, _INT, call.site), call.site))
        return found

    def may_never_hold(self, condition: Expr) -> bool:
        """True if a condition may be false in all iterations: unless it compares counters for more than their
        bounds (`i % 100 == 0`)."""
        inner = condition.operand if isinstance(condition, Unary) else condition
        if isinstance(inner, Binary) and inner.operator in _BOUNDS:
            return True
        return not any(self.changes.counts(name) for name in self.changes.behind(condition))


def _unmarked(branch: Block) -> Block:
    """A branch without the presumptions that it is not taken."""
    return Block(tuple(s for s in branch.statements if not _is_untaken(s)))


def _is_untaken(mark: Statement) -> bool:
    """True for the presumption that the branch in which it stands is not taken."""
    return isinstance(mark, Assume) and mark.presumed is not None and not mark.presumed.unhelped


def _as_presumed(statement: Statement) -> Statement:
    """A statement without the contents of the branches that are presumed not to be taken."""
    match statement:
        case Block():
            return _block_as_presumed(statement)
        case If(_, then, otherwise):
            branches = _block_as_presumed(then), _block_as_presumed(otherwise)
            return replace(statement, then=branches[0], otherwise=branches[1])
        case Loop():
            return replace(statement, body=_block_as_presumed(statement.body))
        case _:
            return statement


def _block_as_presumed(block: Block) -> Block:
    untaken = any(map(_is_untaken, block.statements))
    return Block() if untaken else Block(tuple(map(_as_presumed, block.statements)))


def _without_end(branch: Block) -> Block:
    """A branch that always ends the program, without its other statements: no loop around it goes on with
    what they leave."""
    marks: list[Statement] = []
    for statement in branch.statements:
        match statement:
            case Assume(Constant(value=0), presumed=None):
                return Block((*marks, statement))
            case Assume(presumed=Presumption()):
                marks.append(statement)
            case _ if any(isinstance(s, (Jump, Unsupported)) for s in walk(statement)):
                break
            case _:
                pass
    return branch


def _without_ends(statement: If, first: tuple[Block, Expr], second: tuple[Block, Expr]) -> Statement:
    """A choice between two branches, each with its condition. Where one ends the program, the condition of
    the other holds from there on."""
    for (one, _), (other, holds) in ((first, second), (second, first)):
        match one.statements:
            case (*rest, Assume(Constant(value=0))) if one.statements:
                left = Block(tuple(rest))
                branches = (left, Block()) if one is first[0] else (Block(), left)
                choice = replace(statement, then=branches[0], otherwise=branches[1])
                return Block((choice, Assume(holds, statement.site), *other.statements))
            case _:
                pass
    return replace(statement, then=first[0], otherwise=second[0])


def _mark(presumed: Presumption) -> Assume:
    """The point at which loops begin to rest on a presumption."""
    return Assume(Constant(1, _INT, presumed.site), presumed.site, presumed)


# --- Conditions --------------------------------------------------------------------------


def _negation(condition: Expr) -> Expr:
    return Unary("!", condition, _INT, condition.site)


def _parts(condition: Expr) -> Iterator[Expr]:
    """A condition, and those of which each must hold where it does."""
    yield condition
    match condition:
        case Binary("&&", left, right):
            yield from _parts(left)
            yield from _parts(right)
        case Unary("!", Binary("||", left, right)):
            yield from _parts(_negation(left))
            yield from _parts(_negation(right))
        case Cast(operand):
            yield from _parts(operand)
        case _:
            pass


def _contradictory(never: Sequence[Expr]) -> bool:
    """True if one of some conditions certainly holds where another one does not."""
    return not {_normal(each, True) for each in never}.isdisjoint(_normal(each, False) for each in never)


def _normal(condition: Expr, holds: bool) -> tuple[str, bool]:
    """A condition without `!`, `>`, `>=` and `!=`, as it is spelled, and whether it holds where the given one
    does, or does not."""
    match stripped(condition):
        case Unary("!", inner):
            return _normal(inner, not holds)
        case Binary("==" | "!=" as operator, inner, right) if is_zero(stripped(right)):
            return _normal(inner, holds == (operator == "!="))
        case Binary(operator, _, _) as inner if operator in _SPELLED_AS_NEGATIONS:
            return spell(replace(inner, operator=NEGATED[operator])), not holds
        case inner:
            return spell(inner), holds


def _falsity(condition: Expr) -> str:
    """The sentence that a condition is false throughout."""
    match stripped(condition):
        case Unary("!", Unary("!", inner)):
            return _falsity(inner)
        case Unary("!", Binary(operator, _, _) as inner) if operator in _COMPARED:
            zero = _compared_with_zero(inner)
            return zero or f"`{spell(inner)}` always holds"
        case Binary(operator, _, _) as inner if operator in _COMPARED:
            negated = replace(inner, operator=NEGATED[operator]) if operator in _EQUALITY else None
            zero = _compared_with_zero(negated) if negated is not None else None
            return zero or f"`{spell(inner)}` never holds"
        case Unary("!", inner):
            return f"`{spell(inner)}` is not {_zero(inner)}"
        case Read() | Call() as inner:
            return f"`{spell(inner)}` is {_zero(inner)}"
        case inner:
            return f"`{spell(inner)}` never holds"


def _guard(condition: Expr) -> str:
    """The condition in C that another one is false."""
    match stripped(condition):
        case Unary("!", inner):
            return _truth(inner)
        case Binary("!=", left, Constant(value=0)):
            return f"!{spell(left, 11)}"
        case Binary("==", left, Constant(value=0)):
            return _truth(left)
        case Read() as inner:
            return f"!{spell(inner)}"
        case inner:
            return f"!({spell(inner)})"


def _truth(value: Expr) -> str:
    text = spell(value)
    return text if isinstance(stripped(value), Read) else f"({text})"


def _compared_with_zero(condition: Binary) -> str | None:
    """The sentence that a comparison with 0 holds, in words."""
    if condition.operator not in _EQUALITY or not is_zero(stripped(condition.right)):
        return None
    left = stripped(condition.left)
    if isinstance(left, Unary) and left.operator == "!":
        return None
    is_not = "" if condition.operator == "==" else "not "
    return f"`{spell(left)}` is {is_not}{_zero(left)}"


def _zero(value: Expr) -> str:
    return "NULL" if isinstance(value.type, Pointer) else "0"
