"""Prepared functions of any language, and the state that survives from one version to the next.

Unchanged functions and answers are reused, so an edit recomputes little. Callers receive each
answer as soon as it is found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from polylsp.analysis.dependence.shared_arguments import SharedArgument
from polylsp.analysis.function_facts import Wanted
from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.processes import Stop
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.frontends.c.macros import Macro
from polylsp.ir.program import Function
from polylsp.model.facts import FileProblem, FunctionAnswer

# --------------------------------------------------------------------------------------------------
# A function of any language, ready for analysis, with the places of its tokens.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """A function ready for analysis; equal where its tokens and declarations are. `pragmas` are the places of
    its pragmas, of all families, `pragma_words` their words after `pragma`, and `macros` those that its text
    uses. `text` is that of a function which a header or a macro defines, after macro expansion. Functions of
    one `shape` may differ in their names and constants alone; empty: it is not determined."""

    key: str
    function: Function = field(compare=False, repr=False)
    calls: tuple[str, ...] = field(compare=False)
    places: str = ""
    starts: tuple[int, ...] = field(default=(), compare=False, repr=False)
    ends: tuple[int, ...] = field(default=(), compare=False, repr=False)
    pragmas: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    pragma_words: tuple[str, ...] = field(default=(), compare=False, repr=False)
    macros: tuple[Macro, ...] = field(default=(), compare=False, repr=False)
    seconds: tuple[tuple[str, float], ...] = field(default=(), compare=False)
    language: str = field(default="c", compare=False)
    text: str = field(default="", compare=False, repr=False)
    shape: str = field(default="", compare=False)


# --------------------------------------------------------------------------------------------------
# State that survives from one version of a file to the next, so that an edit recomputes little.
# --------------------------------------------------------------------------------------------------


_FILES = 64
_MODELS = 32
"""Number of functions whose models are remembered: for edits of one function, one after the other."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The last answer about a function, and the arguments of its query: `keys` name the tasks that it may
    come from, `stopped` those of them that had reached a limit."""

    wanted: Wanted | None = None
    summaries: tuple[Summary | NoSummary, ...] = ()
    keys: tuple[str, ...] = ()
    stopped: tuple[Stop | None, ...] = ()
    answer: FunctionAnswer | None = None

    def get(
        self, wanted: Wanted, summaries: tuple[Summary | NoSummary, ...], given_up: Mapping[str, Stop]
    ) -> FunctionAnswer | None:
        """The answer, if its query had the same arguments, or schedules too."""
        asked = self.wanted
        if (
            asked is None
            or asked.operations != wanted.operations
            or asked.functions != wanted.functions
            or asked.resident != wanted.resident
            or asked.serial != wanted.serial
            or asked.shared != wanted.shared
            or (wanted.schedules and not asked.schedules)
            or (wanted.relations and not asked.relations)
        ):
            return None
        same = all(a is b for a, b in zip(self.summaries, summaries, strict=False))
        same = same and len(summaries) == len(self.summaries)
        return self.answer if same and self.stopped == tuple(map(given_up.get, self.keys)) else None


@dataclass(slots=True)
class State:
    """State of the last version of a file: functions and answers that an edit left alone. A language's reader
    stores there the text with its `outline`, the environment of the functions (`known`), the names that they
    define (`own`), and the `prepared` form of each item. `recorded` are the answers of the record that was
    last found of the file, and that."""

    outline: tuple[str, object] | None = None
    known: object = None
    own: frozenset[str] = frozenset()
    prepared: dict[Any, Prepared] = field(default_factory=dict[Any, "Prepared"])
    answers: dict[Prepared, Answers] = field(default_factory=dict["Prepared", "Answers"])
    recorded: tuple[object, dict[int, FunctionAnswer]] | None = None


_states: OrderedDict[str, State] = OrderedDict()
_models: OrderedDict[str, tuple[Nest, ...]] = OrderedDict()


def state_of(path: str) -> State:
    """State of a file; empty for a new one."""
    return _states.setdefault(path, State())


def forget(path: str, state: State, prepared: list[tuple[int, Prepared]]) -> None:
    """Drop state that neither the current version of a file nor the latest files need."""
    if len(state.answers) > 2 * len(prepared) + 64:
        current = {one for _, one in prepared}
        state.answers = {one: answer for one, answer in state.answers.items() if one in current}
    _states.move_to_end(path)
    if len(_states) > _FILES:
        _states.popitem(last=False)


def keep_models(key: str, nests: tuple[Nest, ...]) -> None:
    """Keep the models of a function's nests, of which there are facts under that key."""
    _models[key] = nests
    _models.move_to_end(key)
    if len(_models) > _MODELS:
        _models.popitem(last=False)


def models(key: str) -> tuple[Nest, ...] | None:
    """Models of the facts under a key, if they are remembered."""
    return _models.get(key)


# --------------------------------------------------------------------------------------------------
# Result of reading a file, for every language: its functions, ready for analysis, and the faults
# outside of them.
# --------------------------------------------------------------------------------------------------


Question = tuple[str, ...]
"""A question about other files that a report rests on: its kind, then its subject. `("file", path)`, which
was read, and `("stamp", path)`, which would be read if it were there: when it changed last; `("header", path,
name, folder)`: the header that a file means by a name; `("options", path)`: those that a file is compiled
with; `("home", path, name)`: the file that defines a function which a file calls; `("includer", path)`: the
one that includes a file."""

Observer = Callable[[str, str, int, int], None]
"""Called with a key, a function's name, and how many of how many functions are done."""

Stopped = Callable[[str], Stop | None]
"""The limit that work on a function reached before, by the key of that work; such work is not begun again."""


def never_stopped(key: str) -> Stop | None:
    """The answer while no function has reached a limit."""
    return None


def reading_stopped(stop: Stop) -> str:
    """The message on a function whose reading reached a limit."""
    return f"Reading this function was stopped because {stop.reason}."


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of one version of a file, each with the offset at which it starts, in source order.

    `problems(broken)` are the findings outside of functions, apart from those that the functions starting at
    the offsets `broken` report themselves. `resident`: code of the file may keep data on a device for
    functions that do not say so. `serial` are the functions with tasks that no parallel region calls,
    `shared` the calls that pass one memory twice, by the called function. `included` are functions that
    headers define and that those of the file call, or that these call in turn.
    `others` is the number of functions of the file that are left out; `questions` those about other files.
    """

    prepared: list[tuple[int, Prepared]]
    problems: Callable[[frozenset[int]], tuple[FileProblem, ...]]
    resident: bool = False
    serial: frozenset[str] = frozenset()
    shared: Mapping[str, tuple[SharedArgument, ...]] = field(
        default_factory=dict[str, tuple[SharedArgument, ...]]
    )
    included: tuple[Prepared, ...] = ()
    others: int = 0
    questions: tuple[Question, ...] = ()

    def wanted_for(self, one: Prepared, wanted: Wanted) -> Wanted:
        """Requested depth of the analysis of one of the functions."""
        shared = self.shared.get(one.function.name, ())
        return replace(wanted, shared=shared) if shared else wanted

    @property
    def callable(self) -> list[Prepared]:
        """Functions with available bodies: a call may be of any of them."""
        return [*self.included, *(one for _, one in self.prepared)]


class Reader(Protocol):
    """Reads files of one language. `state` is that of a file's last version; functions that `stopped` has a
    limit for are not read, nor remembered; `observe` is called before each one that is really read."""

    def read(
        self,
        path: str,
        text: str,
        settings: Settings,
        state: State,
        stopped: Stopped = ...,
        observe: Observer | None = ...,
    ) -> Functions:
        """The functions of a file."""
        ...

    def read_urgent(
        self,
        path: str,
        text: str,
        settings: Settings,
        state: State,
        focus: tuple[Span, ...],
        stopped: Stopped = ...,
        observe: Observer | None = ...,
    ) -> Functions | None:
        """The functions of a file that are read before the others, if these are many."""
        ...


# --------------------------------------------------------------------------------------------------
# Exchange between an analysis and a caller who takes each answer as soon as it is found.
# --------------------------------------------------------------------------------------------------


T = TypeVar("T")


def _ignore(start: int, answer: FunctionAnswer) -> None:
    pass


def _nothing(key: str) -> FunctionAnswer | None:
    return None


def _idle(key: str) -> bool:
    return False


def _each(start: int) -> bool:
    return True


def _nowhere() -> tuple[Span, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Stream:
    """The caller's side, as functions. `found(start, answer)` takes the answer about the function at an
    offset, those at hand first; `finished(key)` gives an answer that another process has found, by the key of
    its task; `busy(key)`: another process is at that work, which is left out; `focus()` gives the parts of
    the text whose functions come first, most urgent first. `opened(language, starts, problems)` receives,
    before the first answer, the starts of the functions and the faults outside of them; `takes(start)`: the
    function at an offset is left to this process, checked again right before it is analysed. `is_watched`: a
    person waits for the first answers, so that some functions are analysed before the others are read."""

    found: Callable[[int, FunctionAnswer], None] = _ignore
    finished: Callable[[str], FunctionAnswer | None] = _nothing
    busy: Callable[[str], bool] = _idle
    focus: Callable[[], tuple[Span, ...]] = _nowhere
    opened: Callable[[str, tuple[int, ...], tuple[FileProblem, ...]], None] | None = None
    takes: Callable[[int], bool] = _each
    is_watched: bool = False


SILENT = Stream()
"""For a caller who waits for the whole report."""


def urgent_first(
    functions: Iterable[tuple[Span, T]], focus: Callable[[], tuple[Span, ...]]
) -> Generator[tuple[int, T], None, None]:
    """Functions with their starts in the order in which they are wanted: those in the focus as it is by then,
    then the others in source order."""
    waiting = list(functions)
    known: tuple[Span, ...] = ()
    waiting.reverse()
    while waiting:
        if (wanted := focus()) != known:
            known = wanted
            waiting.sort(key=lambda each: (_rank(each[0], known), each[0].start), reverse=True)
        span, function = waiting.pop()
        yield span.start, function


def _rank(span: Span, focus: tuple[Span, ...]) -> int:
    """The number of the first span of the focus that a function meets."""
    met = (number for number, each in enumerate(focus) if _meet(span, each))
    return next(met, len(focus))


def _meet(one: Span, other: Span) -> bool:
    return other.start <= one.end and one.start <= other.end


FEW = 16
"""The largest number of unread functions that are all read before the first is analysed."""
_URGENT = FEW // 2
"""The number of functions that are read before all others, without those that they call."""


def some_first(
    spans: Mapping[int, Span],
    focus: Iterable[Span],
    read: Callable[[int], Prepared],
    named: Callable[[str], Iterable[int]],
) -> dict[int, Prepared] | None:
    """Read the functions (of `spans`) that meet a focus, or else the first, and all that they call; None
    where these are many."""
    met = (k for each in focus for k, span in spans.items() if _meet(span, each))
    waiting = list(dict.fromkeys((*met, *spans)))[:_URGENT]
    found: dict[int, Prepared] = {}
    while waiting:
        number = waiting.pop()
        if number not in found:
            found[number] = one = read(number)
            waiting += (k for name in one.calls for k in named(name))
        if len(found) > 2 * FEW:
            return None
    return found
