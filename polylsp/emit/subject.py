"""Subject of an edit: one function with its text, its program, and its facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Protocol

from polylsp.analysis.dependence.shared_arguments import SharedArgument
from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.thread_storage import (
    errno_of_runtime,
    floating_point_environment,
    read_by_callers,
)
from polylsp.core.text import Span
from polylsp.frontends.c.macros import Macro
from polylsp.ir.effects import Effects, effects, loops_in, places_in, variables_of, walk
from polylsp.ir.liveness import Live, live_after_loops
from polylsp.ir.program import NOWHERE, Assign, Function, Index, Loop, Site, Variable, is_wide
from polylsp.model.facts import FunctionFacts, LoopFacts, NestFacts

_LIBRARY_VARIABLE = re.compile(r"\b(?:errno|perror|signgam)\b")


@lru_cache(maxsize=8)
def naming_library_variables(text: str) -> tuple[int, ...]:
    """The places in a text that name `errno` or `signgam`, or the function that prints the former: each edit
    of a large file asks for them."""
    return tuple(found.start() for found in _LIBRARY_VARIABLE.finditer(text))


@dataclass(frozen=True)
class Companion:
    """Another function of the file, and the offsets in the text between which it stands; `starts`, `ends`
    and `macros` are those of its text, as in `Subject`. A function of a header has a `text` of its own, after
    macro expansion."""

    function: Function
    start: int
    end: int
    starts: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    macros: tuple[Macro, ...] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class Pragma:
    """A compiled pragma, at its place in the file (a line, a `_Pragma`, or the use of a macro that expands to
    one), and the words after `pragma`."""

    span: Span
    words: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a structure that is a variable of the program, as the source writes it (`text`, whose
    subscripts are zero). Of an array of structures (`base`) the first such member begins at `first`, and one
    structure has the `size`; where the member is an array of `depth` dimensions, `rows` is the first one."""

    text: str
    first: str = ""
    size: str = ""
    base: str = ""
    depth: int = 0
    rows: str = ""


@dataclass(frozen=True)
class Subject:
    """A function to be edited. `text` is the file's; `start` the offset of the function in it; `starts[k]`
    and `ends[k]` are the offsets of token `k`, relative to `start`. `nests` are the models of `facts.nests`,
    in the same order; `calls` the summaries of its callees, and `companions` are the other functions of the
    file; `pragmas` are those of the function, of all families, and `macros` those that its text uses;
    `again_strictly` analyses it without presumptions; `members` are the variables that stand for members of
    structures, by name; `sizes` those with the number of used elements of an array, by the array's name;
    `shared` are the calls in the file that pass one memory to two parameters of the function; `in_package`:
    the file is part of a package of Python; `numba_options` are those of new decorators."""

    text: str
    start: int
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    function: Function
    facts: FunctionFacts
    nests: tuple[Nest, ...]
    calls: Calls
    companions: tuple[Companion, ...] = ()
    pragmas: tuple[Pragma, ...] = ()
    macros: tuple[Macro, ...] = ()
    language: str = "c"
    again_strictly: Callable[[], Subject] | None = field(default=None, compare=False)
    members: Mapping[str, Member] = field(default_factory=dict[str, Member])
    sizes: Mapping[str, str] = field(default_factory=dict[str, str])
    shared: tuple[SharedArgument, ...] = ()
    in_package: bool = False
    numba_options: tuple[str, ...] = ()

    @cached_property
    def strict(self) -> Subject:
        """The same function without presumptions about branches that print or end the program: for edits that
        move its statements, or run them on a device."""
        loops = (loop for nest in self.nests for loop in nest.scop.loops.values())
        resting = any(s.presumed for s in self.calls.summaries.values()) or any(
            assumption.kind == "not-taken" for one in loops for assumption in one.assumptions
        )
        if not resting or self.again_strictly is None:
            return self
        return replace(self.again_strictly(), in_package=self.in_package, numba_options=self.numba_options)

    def of(self, other: Companion) -> Subject:
        """The text and the program of another function of the file, or of a header, of whose loops nothing is
        known."""
        return Subject(
            other.text or self.text,
            other.start,
            other.starts,
            other.ends,
            other.function,
            FunctionFacts(other.function.name, other.function.name_site, (), ()),
            (),
            self.calls,
            macros=other.macros,
            language=self.language,
        )

    @cached_property
    def effects(self) -> Effects:
        """Effects of the function."""
        return effects(self.function.body)

    @cached_property
    def variables(self) -> frozenset[Variable]:
        """Every variable that the function declares or names."""
        return variables_of(self.function)

    @cached_property
    def counted_wide(self) -> frozenset[str]:
        """Names of the variables of which some subscript is computed with 64 bits."""
        places = places_in(self.function.body)
        return frozenset(
            place.variable.name
            for place in places
            if any(isinstance(step, Index) and is_wide(step.subscript.type) for step in place.steps)
        )

    def state_of_thread(self, ordinal: int) -> str:
        """Reason why a loop cannot run on threads or a device because of `errno`, `signgam`, or the
        floating-point environment; empty if it can."""
        environment = floating_point_environment(self.function)
        if environment or not self._naming:
            return environment
        reason = errno_of_runtime(self.function, ordinal, self._naming)
        others = tuple(each.function for each in self.companions)
        return reason or read_by_callers(self.function, self._naming, others)

    @cached_property
    def _naming(self) -> tuple[Function, ...]:
        """The functions of the file that name `errno`, `signgam`, or a function that prints `errno`."""
        end = self.start + self.ends[-1]
        places = [(self.function, self.start, end), *((c.function, c.start, c.end) for c in self.companions)]
        texts = [self.text, *(c.text or self.text for c in self.companions)]
        return tuple(
            f
            for text, (f, first, last) in zip(texts, places, strict=True)
            if any(first <= at < last for at in naming_library_variables(text))
        )

    def assigned(self, variable: Variable) -> list[Assign]:
        """The assignments to a variable as a whole, in source order."""
        return self._assignments.get(variable.name, [])

    @cached_property
    def _assignments(self) -> dict[str, list[Assign]]:
        found: dict[str, list[Assign]] = {}
        for statement in walk(self.function.body):
            if isinstance(statement, Assign) and not statement.target.steps:
                found.setdefault(statement.target.variable.name, []).append(statement)
        return found

    # --- loops ---------------------------------------------------------------------------------

    @cached_property
    def live_after(self) -> dict[int, Live]:
        """For each loop (ordinal) the unique names of the variables whose value may be needed after it."""
        return live_after_loops(self.function, self.calls.callees(self.function))

    def loop(self, ordinal: int) -> Loop:
        """A loop of the program."""
        return self._loops[ordinal]

    @cached_property
    def _loops(self) -> dict[int, Loop]:
        return {each.ordinal: each for each in loops_in(self.function.body)}

    def known(self, ordinal: int) -> LoopFacts:
        """Facts of a loop."""
        return next(each for each in self.facts.loops if each.ordinal == ordinal)

    def nest(self, ordinal: int) -> tuple[NestFacts, Nest] | None:
        """The nest that a loop belongs to, if it is under static control."""
        for facts, nest in zip(self.facts.nests, self.nests, strict=True):
            if ordinal in facts.loops:
                return facts, nest
        return None

    def around(self, ordinal: int) -> tuple[LoopFacts, ...]:
        """The loops around a loop, outermost first."""
        parent = self.known(ordinal).parent
        return (*self.around(parent), self.known(parent)) if parent else ()

    def outermost(self, ordinal: int) -> LoopFacts:
        """The outermost loop around a loop, or itself."""
        return (*self.around(ordinal), self.known(ordinal))[0]

    # --- text ----------------------------------------------------------------------------------

    def span(self, site: Site) -> Span:
        """Span of a site in the file."""
        return Span(self.starts[site.first], self.ends[site.last]).shift(self.start)

    def source(self, site: Site) -> str:
        """Source text of a site; empty where the function does not spell it."""
        if site == NOWHERE:
            return ""
        span = self.span(site)
        return self.text[span.start : span.end]

    def is_from_macro(self, site: Site) -> bool:
        """True if tokens of a site come out of one macro use, and cannot be edited one by one."""
        starts = self.starts[site.first : site.last + 1]
        return len(set(starts)) < len(starts)

    def begins_in_macro(self, site: Site) -> bool:
        """True if a site begins inside the expansion of one macro use, so that no text can stand before
        it."""
        return site.first > 0 and self.starts[site.first - 1] == self.starts[site.first]

    def is_written_out(self, site: Site) -> bool:
        """True if a site begins and ends at tokens of the text, and not inside of the expansion of one macro
        use."""
        last, starts = site.last + 1, self.starts
        return not self.begins_in_macro(site) and (last >= len(starts) or starts[last] != starts[site.last])

    def has_goto(self, loop: Loop) -> bool:
        """True if the text of a loop has a `goto`, or may have one in a macro. Text with a label can be
        neither cut nor repeated, also where the program has a condition in place of the jump."""
        words = {word for each in self.macros for word in each.body}
        return "goto" in words or re.search(r"\bgoto\b", self.source(loop.site)) is not None

    def line_number(self, site: Site) -> int:
        """The line on which a site begins, from 1."""
        return self.text.count("\n", 0, self.span(site).start) + 1

    def line_before(self, offset: int) -> str:
        """The part of the line that stands before an offset."""
        return self.text[self.text.rfind("\n", 0, offset) + 1 : offset]

    def token(self, number: int) -> str:
        """Source text of a token (the use of the macro that it comes out of)."""
        return self.text[self.start + self.starts[number] : self.start + self.ends[number]]

    def indentation(self, offset: int) -> str:
        """The white space before the first character of the line."""
        line = self.line_before(offset)
        return line[: len(line) - len(line.lstrip())]

    def opens_its_line(self, offset: int) -> bool:
        """True if only white space stands before, on the same line."""
        return not self.line_before(offset).strip()


class Again(Protocol):
    """Analysis of another text of the file: the same function in it, or another one that it has; `None` if it
    is not there."""

    def __call__(self, text: str, function: str = "") -> Subject | None:
        """The function in a text."""
        ...
