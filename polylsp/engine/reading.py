"""Reading of files in any language, and summaries of functions in other files of a project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.language import C, Language, language_of
from polylsp.core.processes import Mishap, Stop, contained
from polylsp.core.settings import Settings
from polylsp.core.source_files import absolute
from polylsp.core.text import Span
from polylsp.engine.c_project import homes, text_of
from polylsp.engine.decisions import summaries
from polylsp.engine.prepared import (
    Functions,
    Observer,
    Prepared,
    Question,
    Reader,
    Stopped,
    never_stopped,
    state_of,
)
from polylsp.frontends.c.compile_options import nearest
from polylsp.frontends.c.file_reading import stamp
from polylsp.frontends.c.types import in_library
from polylsp.ir.library import effect_of
from polylsp.ir.program import AddressOf, Read, Variable, subexpressions
from polylsp.model.facts import FileProblem

if TYPE_CHECKING:
    from polylsp.engine.c_files import Linkable


def language_for(path: str) -> Language:
    """The language that a file is read in: by its name, else C."""
    return language_of(path) or C


def read(
    path: str,
    text: str,
    settings: Settings,
    *,
    remembered: str = "",
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions:
    """The functions of a file; its state is stored under the name `remembered`, else under its path. What is
    near it in its project is found by its absolute path without `..`."""
    read_all, state = _reader(language_for(path)).read, state_of(remembered or path)

    def unread(mishap: Mishap) -> Functions:
        message = f"{mishap.of('this file')}: {mishap.advice}."
        problem = FileProblem(mishap.code, Span(0, 0), message[:1].upper() + message[1:])
        return Functions([], lambda _: (problem,))

    if len(text) > settings.max_file_mb * 2**20:
        message = (
            f"This file is not analysed because it is larger than {settings.max_file_mb} MiB (`max_file_mb`)."
        )
        return Functions([], lambda _: (FileProblem("budget", Span(0, 0), message),))
    work = partial(read_all, absolute(path), text, settings, state, stopped, observe)
    return contained(f"reading the file {path}", work, unread)


def read_urgent(
    path: str,
    text: str,
    settings: Settings,
    focus: tuple[Span, ...],
    *,
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions | None:
    """The functions of a file that are read before the others, if it has so many that this is worth it."""
    if len(text) > settings.max_file_mb * 2**20:
        return None
    read_some = _reader(language_for(path)).read_urgent
    place = absolute(path)
    work = partial(read_some, place, text, settings, state_of(path), focus, stopped, observe)
    return contained(f"reading the first functions of {path}", work, lambda _: None)


def load(language: Language) -> None:
    """Load the reader of a language before its first file comes."""
    _reader(language)


def _reader(language: Language) -> Reader:
    # Loaded when a file needs it: who reads C has no use for the others.
    return cast("Reader", import_module(f"polylsp.engine.{language.name}_files"))


# --------------------------------------------------------------------------------------------------
# Summaries of functions whose bodies stand in other files of a project.
# --------------------------------------------------------------------------------------------------


_DEEPEST = 8
"""The largest number of files that a chain of calls may pass."""


def called(
    path: str,
    functions: Functions,
    callers: Iterable[Prepared],
    links: Links,
) -> dict[str, Summary | NoSummary]:
    """Summaries of the functions that some of a file call, wherever in its project they are defined."""
    names = dict.fromkeys(name for one in callers for name in one.calls)
    outside = partial(links.outside, absolute(path), ())
    found = links.summaries(functions.callable, names, outside)
    links.questions.update(dict.fromkeys(functions.questions))
    return found


Chain = tuple[tuple[str, str], ...]
"""The files and functions on the way to a call, the latest last."""


@dataclass(slots=True)
class Links:
    """Finds the definitions of functions in other files, as these are when the first is looked for; `stopped`
    and `begin` as in `summaries`. `questions` are those about other files that were asked; `is_settled`
    unless the next process may find another summary."""

    settings: Settings
    stopped: Callable[[str], Stop | None] = lambda key: None
    begin: Callable[[str, str], None] = lambda key, name: None
    questions: dict[Question, None] = field(default_factory=dict[Question, None])
    is_settled: bool = True
    _homes: dict[str, Mapping[str, tuple[str, ...]]] = field(
        default_factory=lambda: dict[str, Mapping[str, tuple[str, ...]]]()
    )
    """By the folder of a caller, the files of its project that define a function, by its name."""
    _linkable: dict[tuple[str, str], Linkable] = field(
        default_factory=lambda: dict[tuple[str, str], "Linkable"]()
    )
    """The functions of other files that were read, by file and name."""

    def summaries(
        self,
        known: Iterable[Prepared],
        names: Iterable[str],
        outside: Callable[[str], Summary | NoSummary | None],
    ) -> dict[str, Summary | NoSummary]:
        """Summaries of functions and of those that they call."""
        cached = self.settings.cache
        found = summaries(known, names, outside, self.stopped, self.begin, cached=cached)
        passing = any(isinstance(one, NoSummary) and one.for_now for one in found.values())
        self.is_settled = self.is_settled and not passing
        return found

    def outside(self, path: str, chain: Chain, name: str) -> Summary | NoSummary | None:
        """The summary of a function that a file calls and does not define."""
        if language_for(path) is not C or in_library(name) or effect_of(name) is not None:
            return None
        home = self.defined_in(path, name)
        self.questions["home", path, name] = None
        if home is None or len(chain) >= _DEEPEST:
            return None
        if (home, name) in chain:
            return NoSummary(name, "it calls itself")
        return self._linked(home, name, (*chain, (home, name)))

    def _linked(self, home: str, name: str, chain: Chain) -> Summary | NoSummary | None:
        from polylsp.engine.c_files import linkable

        found = self._linkable.get((home, name))
        if found is None:
            # Once for all callers: to ask whether the headers are still the same takes longer than a summary.
            found = linkable(home, text_of(home, stamp(home)), name, self.settings)
            self._linkable[home, name] = found
            own = ("file", home), ("options", home), *found.questions
            self.questions.update(dict.fromkeys(own))
        if not found.functions:
            return None
        outside = partial(self.outside, home, chain)
        summary = self.summaries(found.functions, [name], outside)[name]
        return _seen_outside(summary, found.internal, home)

    def defined_in(self, path: str, name: str) -> str | None:
        """The file that defines a function for others: the nearest to `path`, if there is just one."""
        folder = str(Path(path).parent)
        if folder not in self._homes:
            self._homes[folder] = homes(path, self.settings.cache)
        near = nearest((one for one in self._homes[folder].get(name, ()) if one != path), folder)
        return near[0] if len(near) == 1 else None


def _seen_outside(summary: Summary | NoSummary, internal: frozenset[str], home: str) -> Summary | NoSummary:
    """Summary for callers in other files: variables with internal linkage differ from theirs of the same
    name."""

    def seen(variable: Variable) -> Variable:
        if variable.storage != "global" or variable.source_name not in internal:
            return variable
        return replace(variable, name=f"{variable.source_name}@static@{home}", storage="static")

    state = summary.state
    if state is not None:
        state = tuple(
            replace(one, place=replace(one.place, variable=seen(one.place.variable))) for one in state
        )
    if isinstance(summary, NoSummary):
        return replace(summary, state=state, body=None)
    value = summary.returns
    parts = () if value is None else subexpressions(value)
    named = (each.place.variable for each in parts if isinstance(each, (Read, AddressOf)))
    hidden = any(seen(variable) is not variable for variable in named)
    return replace(
        summary,
        key=f"{summary.key} {home}",
        accesses=tuple(replace(one, variable=seen(one.variable)) for one in summary.accesses),
        returns=None if hidden else value,
        state=state,
        counters=tuple(map(seen, summary.counters)),
        body=None,
    )
