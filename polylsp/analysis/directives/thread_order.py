"""Order among threads: calls that establish none, loops that wait for other threads, and pairs of calls
between which a thread owns a lock, critical sections under another name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.directive import AnyDirective, Directive
from polylsp.ir.effects import effects, walk
from polylsp.ir.library import ALLOCATING, LOCK_LIFE, UNLOCKED_BY, UNORDERED
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Block,
    Call,
    Declare,
    Evaluate,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Pointer,
    Read,
    Simple,
    Site,
    Statement,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.spelling import spell


def keeps_no_order(call: Call, calls: Calls) -> bool:
    """True if nothing in a function that is called lets threads wait for each other."""
    summary = calls.of(call)
    if call.pure or call.reads_memory or call.function in UNORDERED | ALLOCATING | calls.passed_over:
        return True
    return call.function in calls.state or (summary is not None and not summary.directed)


def is_guarded(site: Site, around: Iterable[Call], calls: Calls) -> bool:
    """True if a site lies in one of some calls, of functions with directives inside."""
    called = (calls.of(call) for call in around if within(site, call.site))
    return any(summary is not None and summary.directed for summary in called)


def busy_waits(statement: Statement, directives: Iterable[AnyDirective]) -> bool:
    """True if a loop in a statement goes on until a variable changes that it looks at in a critical section
    or atomically: the effects of another thread before it set the variable happen before the code after the
    loop."""
    guarded = [d.site for d in directives if d.site is not None and _is_guard(d)]
    loops = [s for s in walk(statement) if isinstance(s, Loop)] if guarded else []
    return any(_exits_on(loop, _looked_at(loop, guarded)) for loop in loops)


def waits_for_memory(statement: Statement, own: frozenset[Variable]) -> bool:
    """True if a loop in a statement may go on until another thread changes memory: it ends on more than the
    variables that each thread has for itself. A loop with a counter may do so only by a variable that the
    statement assigns. Without such a loop or an atomic access `flush` orders nothing (OpenMP 5.2, 1.4.4)."""
    whole = effects(statement)
    shared = whole.variables - own
    changing = {each for each in shared if each.name in whole.scalars}
    loops = (s for s in walk(statement) if isinstance(s, Loop))
    return any(_exits_on(each, shared if each.iterator is None else changing) for each in loops)


def _is_guard(directive: AnyDirective) -> bool:
    return isinstance(directive, Directive) and directive.words[0] in ("critical", "atomic")


def _looked_at(loop: Loop, guarded: list[Site]) -> set[Variable]:
    """The variables that critical sections in a loop assign, and those computed of them there."""
    assigned = [s for s in walk(loop) if isinstance(s, Assign) and not s.target.steps]
    found = {s.target.variable for s in assigned if any(within(s.site, each) for each in guarded)}
    while True:
        more = {s.target.variable for s in assigned if reads_any(s.value, found)} - found
        if not more:
            return found
        found |= more


def _exits_on(loop: Loop, variables: Set[Variable]) -> bool:
    """True if a loop ends, or is left, where a test of some variables says so."""
    leaving = (
        s.condition
        for s in walk(loop.body)
        if isinstance(s, If) and any(isinstance(each, Jump) for each in walk(s.then, s.otherwise))
    )
    own = (loop.condition,) if loop.condition is not None else ()
    return any(reads_any(condition, variables) for condition in (*own, *leaving))


def reads_any(value: Expr, variables: Set[Variable]) -> bool:
    """True if an expression reads one of some variables."""
    return any(isinstance(n, Read) and n.place.variable in variables for n in subexpressions(value))


# --- Locks -------------------------------------------------------------------------------


def with_locks(function: Function) -> tuple[Function, tuple[int, ...]] | None:
    """The function with a critical section, named as its lock is, for each piece between two calls that set
    and release a lock; and the numbers of its pragmas before, -1 for those that were added. `None` where a
    call for a lock has no partner in its list of statements."""
    sections = list(_locked(function.body.statements))
    calls = [call for call in effects(function.body).calls if "_lock" in call.function]
    known = [c for c in calls if c.function in UNLOCKED_BY or c.function in UNLOCKED_BY.values()]
    named = {spell(call.arguments[0]): call.arguments[0] for call in known if len(call.arguments) == 1}
    if not known or len(known) != 2 * len(sections):
        return None
    if any(call.function not in LOCK_LIFE for call in calls if call not in known):
        return None
    # Locks that may have several names, or be several ones under one name, are taken to be the same.
    alike = not all(map(_is_one_object, named.values()))
    sections = [(site, name) for site, name in sections if alike or not _is_own(function, named[name], site)]
    words, names = ("critical",), {name: "lock" if alike else f"lock {name}" for name in named}
    added = [Directive("omp", words, (), -1, site.first, site, names[name]) for site, name in sections]
    # A directive comes before the critical section that stands at the same token.
    every = sorted((*function.directives, *added), key=lambda d: (d.at, d.pragma < 0))
    numbered = tuple(replace(each, pragma=number) for number, each in enumerate(every))
    return replace(function, directives=numbered), tuple(each.pragma for each in every)


def _locked(statements: tuple[Statement, ...]) -> Iterator[tuple[Site, str]]:
    """The pieces of a list of statements, and of those in them, between calls that set and release a lock,
    with the lock's name."""
    waiting: list[tuple[Call, Site]] = []
    for each in _flat(statements):
        for inner in _lists(each):
            yield from _locked(inner)
        call = each.value if isinstance(each, Evaluate) else None
        if not isinstance(call, Call) or len(call.arguments) != 1:
            continue
        if call.function in UNLOCKED_BY:
            waiting.append((call, each.site))
        elif waiting and call.function == UNLOCKED_BY[waiting[-1][0].function]:
            setting, site = waiting.pop()
            name = spell(setting.arguments[0])
            if name == spell(call.arguments[0]):
                yield Site(site.first, each.site.last), name


def _flat(statements: tuple[Statement, ...]) -> Iterator[Simple]:
    for each in statements:
        if isinstance(each, Block):
            yield from _flat(each.statements)
        else:
            yield each


def _lists(statement: Statement) -> tuple[tuple[Statement, ...], ...]:
    match statement:
        case If(_, then, otherwise, _):
            return (then.statements, otherwise.statements)
        case Loop(body=body):
            return (body.statements,)
        case _:
            return ()


def _is_own(function: Function, lock: Expr, site: Site) -> bool:
    """True if each thread has the lock of a piece of code for itself: it is declared in the statement of the
    innermost directive around it that makes threads, and no task may take it to another one."""
    inside = [d for d in function.directives if d.site is not None and within(site, d.site)]
    known = [d for d in inside if isinstance(d, Directive)]
    regions = [d for d in known if "parallel" in d.words]
    if len(known) < len(inside) or not regions or any("task" in word for d in known for word in d.words):
        return False
    variable, region = _lock_variable(lock), regions[-1].site
    declared = (s.site for s in walk(function.body) if isinstance(s, Declare) and s.variable == variable)
    return region is not None and any(within(each, region) for each in declared)


def _is_one_object(lock: Expr) -> bool:
    """True if an expression is the address of a variable, which no other name has."""
    variable = _lock_variable(lock)
    return variable is not None and not isinstance(variable.type, Pointer)


def _lock_variable(lock: Expr) -> Variable | None:
    """The variable whose address an expression is."""
    lock = stripped(lock)
    return lock.place.variable if isinstance(lock, AddressOf) and not lock.place.steps else None
