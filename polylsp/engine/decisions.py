"""Queries on functions that are ready: the effects of calls of them, and their facts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

from polylsp.analysis.function_facts import Wanted, facts, failed, given_up
from polylsp.analysis.scop.summaries import Calls, NoSummary, Summary
from polylsp.analysis.summarising import summarise
from polylsp.core.processes import Mishap, Stop, contained
from polylsp.core.query import digest, query
from polylsp.engine.fact_cache import fact_cache
from polylsp.engine.prepared import Prepared, keep_models
from polylsp.ir.effects import loops_in
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
    Function,
    If,
    Index,
    Jump,
    Loop,
    Place,
    Read,
    Rejection,
    Select,
    Site,
    Type,
    Unary,
    Unsupported,
)
from polylsp.ir.verdict import Unknown, Verdict
from polylsp.model.facts import FunctionAnswer, FunctionFacts


@dataclass(frozen=True)
class Known:
    """Summaries passed along with their keys; all are equal, since the keys tell them apart."""

    summaries: tuple[Summary | NoSummary, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Task:
    """A function to decide, with the summaries of its callees. `cached`: the facts may come from the user's
    cache, and are stored there."""

    key: str
    prepared: Prepared = field(compare=False, repr=False)
    summaries: tuple[Summary | NoSummary, ...] = field(compare=False, repr=False)
    wanted: Wanted = field(compare=False)
    cached: bool = field(default=False, compare=False)


def task_of(
    prepared: Prepared, summaries: tuple[Summary | NoSummary, ...], wanted: Wanted, *, cached: bool
) -> Task:
    """The task, named so that equal keys mean equal facts, in any process."""
    # Sets are unordered.
    exactly = replace(wanted, serial=frozenset(), schedules=False), sorted(wanted.serial)
    key = digest(prepared.key, [s.key for s in summaries], exactly)
    return Task(_named(key, schedules=wanted.schedules), prepared, summaries, wanted, cached)


_LONGER = "s"
"""The end of the key of a task with schedules."""


def _named(key: str, *, schedules: bool) -> str:
    """The key of a task with or without schedules, from that of either."""
    return key.removesuffix(_LONGER) + (_LONGER if schedules else "")


@query()
def summarised(prepared: Prepared, summaries: tuple[str, ...], known: Known) -> Summary | NoSummary:
    """Summary of the reads and writes of a call, or the reason why there is none."""
    function = prepared.function
    return contained(
        f"summarising the function `{function.name}`",
        lambda: summarise(function, calls_of(known.summaries), digest(prepared.key, summaries)),
        lambda mishap: NoSummary(function.name, mishap.of("it"), for_now=True),
    )


@query()
def decided(task: Task) -> FunctionFacts:
    """The facts of a function; where finding them fails, those without schedules, or none."""
    function = task.prepared.function

    def simpler(mishap: Mishap) -> FunctionFacts:
        return decided(_quick(task)) if task.wanted.schedules else failed(function, mishap)

    return contained(f"analysing the function `{function.name}`", lambda: _facts(task), simpler)


def _facts(task: Task) -> FunctionFacts:
    def analysed(function: Function) -> FunctionFacts:
        # An edit of the function needs its models too. Those of a copy note what is read of it.
        is_own = function is task.prepared.function
        keep = partial(keep_models, task.key) if is_own else None
        return facts(function, calls_in(task), task.wanted, keep)

    function, shape = task.prepared.function, _shape(task)
    found = analysed(function) if shape is None else shared(function, shape, analysed)
    found = replace(found, seconds=(*task.prepared.seconds, *found.seconds))
    if task.cached and _is_worth_caching(task):
        fact_cache().put(task.key, found)
    return found


def _shape(task: Task) -> Hashable | None:
    """All that the facts of a function rest on beside its program; `None` where they may rest on its name, or
    are found at once."""
    function, wanted = task.prepared.function, task.wanted
    if not task.prepared.shape or function.directives or not has_questions(task.prepared):
        return None
    summaries = tuple((one.name, one.key) for one in task.summaries)
    return task.prepared.shape, summaries, replace(wanted, serial=frozenset())


def _is_worth_caching(task: Task) -> bool:
    """True if finding the facts takes isl: that of a function without loops costs less than a look-up. A
    function whose reading failed is read again: the next process may have more memory, or a longer stack."""
    function = task.prepared.function
    if any(problem.code in ("internal-error", "budget") for problem in function.problems):
        return False
    return has_questions(task.prepared)


def has_questions(prepared: Prepared) -> bool:
    """True if there is something to decide about a function: it has loops or directives. Its facts rest on
    effects of calls only then."""
    return bool(prepared.function.directives) or bool(loops_in(prepared.function.body))


def at_hand(task: Task) -> Task | None:
    """The task, or the same with schedules, whose facts are available, here or in the user's cache; these are
    remembered. A cache is looked into here alone, once for each task."""
    complete = _with_schedules(task, schedules=True)
    return next((each for each in dict.fromkeys((complete, task)) if _is_known(each)), None)


def _is_known(task: Task) -> bool:
    if decided.remembers(task):
        return True
    known = fact_cache().get(task.key) if task.cached and _is_worth_caching(task) else None
    if known is not None:
        decided.remember(known, task)
    return known is not None


def _quick(task: Task) -> Task:
    """The task without schedules."""
    return _with_schedules(task, schedules=False)


def _with_schedules(task: Task, *, schedules: bool) -> Task:
    if task.wanted.schedules == schedules:
        return task
    key = _named(task.key, schedules=schedules)
    return replace(task, key=key, wanted=replace(task.wanted, schedules=schedules))


def _set_aside(function: Function, stop: Stop) -> FunctionFacts:
    """The facts of a function whose analysis reached a limit: each loop says which."""
    found = given_up(function)
    message = f"the analysis of this function was stopped because {stop.reason}"

    def said(verdict: Verdict) -> Verdict:
        if not isinstance(verdict, Unknown):
            return verdict
        at = verdict.rejection.site
        return replace(verdict, rejection=Rejection("budget", at, message, stop.advice))

    return replace(found, loops=tuple(replace(loop, verdict=said(loop.verdict)) for loop in found.loops))


def calls_of(summaries: tuple[Summary | NoSummary, ...]) -> Calls:
    """The summaries by name, and why there is none of others."""
    known = {s.name: s for s in summaries if isinstance(s, Summary)}
    state = {s.name: s.state for s in summaries if s.state is not None}
    refused = {s.name: s for s in summaries if isinstance(s, NoSummary)}
    reports = frozenset(name for name, one in refused.items() if one.reports)
    reasons = {name: one.reason for name, one in refused.items()}
    ordered = {name: one.ordered for name, one in refused.items() if one.ordered}
    streams = {name: one.stream for name, one in refused.items() if one.ordered and one.stream >= 0}
    keeping = frozenset(s.name for s in summaries if s.keeps)
    blamed = {name: one.blamed for name, one in refused.items() if one.blamed}
    carried = {name: one.carried for name, one in refused.items() if one.carried is not None}
    bodies = {s.name: s.body for s in summaries if s.body is not None}
    return Calls(
        known,
        reasons,
        state,
        reports=reports,
        ordered=ordered,
        streams=streams,
        keeping=keeping,
        blamed=blamed,
        carried=carried,
        bodies=bodies,
    )


def calls_in(task: Task) -> Calls:
    """The summaries that the loops of a task may rest on."""
    found = calls_of(task.summaries).within(task.prepared.function)
    return found if task.wanted.presuming else found.without_presumptions()


def summaries(
    known: Iterable[Prepared],
    names: Iterable[str],
    outside: Callable[[str], Summary | NoSummary | None],
    stopped: Callable[[str], Stop | None],
    begin: Callable[[str, str], None],
    *,
    cached: bool = False,
) -> dict[str, Summary | NoSummary]:
    """Summaries of the functions of these names and of those that they call, callees first; none of functions
    that call themselves, directly or not, nor where `stopped` has a limit that was reached. `outside`
    summarises one that is not among the `known`; `begin(key, name)` is called before each one that is not
    remembered. `cached`: summaries may come from the user's cache, and are stored there."""
    by_name = {one.function.name: one for one in known}
    result: dict[str, Summary | NoSummary] = {}
    visited: set[str] = set()
    # The calls on the way to a function and those that are still to be followed: a chain of calls may be
    # longer than any stack.
    path: list[tuple[Prepared, Iterator[str]]] = []

    def enter(name: str) -> None:
        visited.add(name)
        if name in by_name:
            path.append((by_name[name], iter(by_name[name].calls)))
        elif (found := outside(name)) is not None:
            result[name] = found

    def summary(one: Prepared) -> Summary | NoSummary:
        name, called = one.function.name, used(one, result)
        question = one, tuple(s.key for s in called), Known(called)
        if summarised.remembers(*question):
            return summarised(*question)
        key = digest("summary", one.key, question[1])
        if (stop := stopped(key)) is not None:
            return NoSummary(name, f"its analysis was stopped because {stop.reason}", for_now=True)
        if cached and (stored := fact_cache().summary(key)) is not None:
            summarised.remember(stored, *question)
            return stored
        begin(key, name)
        made = summarised(*question)
        # Code is found anew: reading it takes no longer than reading an entry.
        if cached and made.body is None and not (isinstance(made, NoSummary) and made.for_now):
            fact_cache().put_summary(key, made)
        return made

    for name in names:
        if name not in visited:
            enter(name)
        while path:
            one, calls = path[-1]
            callee = next((each for each in calls if each not in visited), None)
            if callee is not None:
                enter(callee)
                continue
            path.pop()
            result[one.function.name] = summary(one)
    return result


def deciding(prepared: Prepared, known: Mapping[str, Summary | NoSummary]) -> tuple[Summary | NoSummary, ...]:
    """Summaries that the facts of a function rest on."""
    return used(prepared, known) if has_questions(prepared) else ()


def used(prepared: Prepared, known: Mapping[str, Summary | NoSummary]) -> tuple[Summary | NoSummary, ...]:
    """Summaries of a function's callees, as far as there are any."""
    return tuple(known[name] for name in prepared.calls if name in known)


def lighter(task: Task, stopped: Mapping[str, Stop]) -> Task:
    """The task without schedules, where it was stopped with them, or without them even."""
    if not stopped:
        return task
    quick = _quick(task)
    return quick if task.key in stopped or quick.key in stopped else task


def keys_of(task: Task) -> tuple[str, ...]:
    """The keys of a task and of the lighter one that may stand in for it."""
    return task.key, _quick(task).key


def stands_in(key: str, stopped: Collection[str]) -> bool:
    """True if a key is that of the lighter task in place of one that was stopped."""
    return _named(key, schedules=True) in stopped


def is_about(answer: FunctionAnswer, task: Task) -> bool:
    """True if an answer has all that a task wants: its key, or that with schedules."""
    keys = task.key, _named(task.key, schedules=True)
    return any(answer.key.startswith(f"{key}-{task.prepared.places}") for key in keys)


def take_finished(task: Task, finished: Callable[[str], FunctionAnswer | None]) -> None:
    """Remember the facts for a task, with or without schedules, that another process has found."""
    for each in dict.fromkeys((task, _with_schedules(task, schedules=True))):
        if not decided.remembers(each) and (answer := finished(each.key)) is not None:
            decided.remember(answer.facts, each)


def tried_elsewhere(
    answer: FunctionAnswer, finished: Callable[[str], FunctionAnswer | None]
) -> FunctionAnswer | None:
    """The same answer with the edits that another process has tried, if one has."""
    found = finished(answer.key.partition("-")[0])
    return found if found is not None and found.key == tried_key(answer) else None


def tried_key(answer: FunctionAnswer) -> str:
    """The key of an answer once its edits have been tried."""
    return f"{answer.key}-tried"


def answer_of(task: Task, stopped: Mapping[str, Stop]) -> FunctionAnswer:
    """Answer for a function; a reduced one if its task was stopped. The key of an answer begins with that of
    its task, unless it was stopped: such an answer is never taken for the task's."""
    key = task.key
    prepared = task.prepared
    if (stop := stopped.get(key)) is not None:
        found, key = _set_aside(prepared.function, stop), f"stopped-{key}-{digest(stop)}"
    else:
        found, key = decided(task), task.key
    answer_key = f"{key}-{prepared.places}"
    places = (prepared.starts, prepared.ends, prepared.pragmas)
    return FunctionAnswer(answer_key, found, *places, language=prepared.language)


# --------------------------------------------------------------------------------------------------
# Facts shared by functions that differ in their names, and in constants that their facts do not
# rest on.
#
# Generated code repeats a function with other factors and names. The second function of a shape is
# analysed on a copy whose constants note when their values are read; its facts hold for every
# function that agrees with it in all else (dependences found at run time: Acar, Blelloch and
# Harper, Adaptive functional programming, POPL 2002).
# --------------------------------------------------------------------------------------------------


_SHAPES = 512
_MOST_TEMPLATES = 4
"""Functions of one shape whose facts are remembered: they differ in constants that these rest on."""

T = TypeVar("T")


def shared(
    function: Function, shape: Hashable, analysed: Callable[[Function], FunctionFacts]
) -> FunctionFacts:
    """The facts of a function as `analysed` finds them, or as it found them for another one. Where shapes are
    equal, so is all that facts rest on beside the function. `analysed` uses its name for
    `FunctionFacts.name` alone."""
    known = _shapes.get(shape)
    if known is None:
        # Most functions are alone of their shape.
        _shapes[shape] = []
        if len(_shapes) > _SHAPES:
            _shapes.popitem(last=False)
        return analysed(function)
    _shapes.move_to_end(shape)
    template = next((each for each in known if each.holds_for(function)), None)
    if template is not None:
        return replace(template.facts, name=function.name)
    if len(known) >= _MOST_TEMPLATES:
        return analysed(function)
    read: set[int] = set()
    observed = replace(function, body=_observed(function.body, read, {}))
    found = analysed(observed)
    known.append(_Template(observed, frozenset(read), replace(found, seconds=())))
    return found


_shapes: OrderedDict[Hashable, list[_Template]] = OrderedDict()


@dataclass(frozen=True, slots=True)
class _Template:
    """A function with its facts, and the numbers of the constants that these rest on."""

    function: Function
    read: frozenset[int]
    facts: FunctionFacts

    def holds_for(self, other: Function) -> bool:
        """True if another function has the same facts."""
        own = self.function
        return _AROUND(own) == _AROUND(other) and _agree(own.body, other.body, self.read)


_AROUND = attrgetter(*(each.name for each in fields(Function) if each.name not in ("name", "body")))
"""All of a function but its name and body."""


class _ObservedConstant(Constant):
    """A constant that notes when its value is read, as comparisons and hashes do too."""

    __slots__ = ("_hidden", "_number", "_read")

    def __init__(
        self, value: float, type: Type, site: Site, number: int = -1, read: set[int] | None = None
    ) -> None:
        setters = {"_hidden": value, "type": type, "site": site, "_number": number}
        for name, each in (*setters.items(), ("_read", set[int]() if read is None else read)):
            object.__setattr__(self, name, each)

    @property
    def value(self) -> int | float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The value, which is noted."""
        self._read.add(self._number)
        return self._hidden

    def agrees(self, other: Constant, read: frozenset[int]) -> bool:
        """True if another constant has the same type and place, and, if that was read, the same value."""
        if self.type != other.type or self.site != other.site:
            return False
        # 0.0 equals -0.0, and 1 equals 1.0.
        return self._number not in read or repr(self._hidden) == repr(other.value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return (self.value, self.type, self.site) == (other.value, other.type, other.site)

    def __hash__(self) -> int:
        return hash((self.value, self.type, self.site))


_PARTS = (
    *(Assign, Assume, Block, Declare, Evaluate, If, Jump, Loop, Unsupported),
    *(AddressOf, Binary, Call, Cast, Read, Select, Unary),
    *(Index, Place),
)
"""The parts of a program that contain expressions. All others are compared as they are."""


_FIELDS = {kind: attrgetter(*(each.name for each in fields(kind)), "__class__") for kind in _PARTS}
"""For each kind of part, its fields in order, and its class (so that there are always several)."""


def _observed(part: T, read: set[int], known: dict[int, tuple[object, object]]) -> T:
    """A part of a program with constants that enter their numbers into `read`. What stands in several places
    (`known` by identity) stays one object."""
    kind = type(part)
    if kind is tuple:
        return tuple(_observed(each, read, known) for each in part)  # type: ignore[return-value]
    if kind is not Constant and kind not in _PARTS:
        return part
    if (found := known.get(id(part))) is None:
        if isinstance(part, Constant):
            made: object = _ObservedConstant(part.value, part.type, part.site, len(known), read)
        else:
            parts = _FIELDS[kind](part)[:-1]  # pyright: ignore[reportArgumentType]
            made = kind(*(_observed(each, read, known) for each in parts))
        found = known[id(part)] = part, made
    return found[1]  # type: ignore[return-value]


def _agree(own: object, other: object, read: frozenset[int]) -> bool:
    """True if two parts of programs are equal but for constants that are not `read`; `own` is observed."""
    pending: list[tuple[Any, Any]] = [(own, other)]
    while pending:
        left, right = pending.pop()
        kind = type(left)
        if kind is _ObservedConstant:
            if type(right) is not Constant or not left.agrees(right, read):
                return False
        elif kind is not type(right):
            return False
        elif kind is tuple:
            if len(left) != len(right):
                return False
            pending += zip(left, right, strict=True)
        elif (parts := _FIELDS.get(kind)) is not None:
            pending += zip(parts(left), parts(right), strict=True)
        elif left is not right and left != right:
            return False
    return True
