"""Environment of a file's functions: macros and declarations, from the file and its headers; their tokens.

The file's part is its skeleton, so typing inside a function leaves the environment as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from typing_extensions import assert_never

from polylsp.core.query import query
from polylsp.core.text import Span
from polylsp.frontends.c import top_level
from polylsp.frontends.c.compile_options import Options
from polylsp.frontends.c.declared_attributes import OTHER_TYPES, attributes_in, replacing
from polylsp.frontends.c.file_reading import Problem, Reading, stamp
from polylsp.frontends.c.gnu_extensions import plain_c
from polylsp.frontends.c.macro_expansion import Overflow, Uses, expand_uses
from polylsp.frontends.c.macros import Macro, closure, ever_defined
from polylsp.frontends.c.outline import Item
from polylsp.frontends.c.preprocessor_lines import Condition, follow, script
from polylsp.frontends.c.tokens import normalise, tokenize, words
from polylsp.frontends.c.top_level import Declaration, Index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polylsp.ir.program import RejectionCode


@dataclass(frozen=True, eq=False)
class Environment:
    """Macros and declarations of a file. `headers` are the files read, `wanted` those that would have been
    read, had they existed: changes of either make the environment stale. `searched` are the names, each with
    a folder, that no include path led to. `per_thread` are the thread-local variables."""

    macros: Mapping[int, Mapping[str, Macro]]
    known: Index
    problems: tuple[Problem, ...]
    headers: tuple[str, ...]
    wanted: tuple[str, ...]
    per_thread: frozenset[str]
    searched: tuple[tuple[str, str], ...] = ()

    def macros_at(self, item: int) -> Mapping[str, Macro] | None:
        """The macros in force where item `item`, a function, starts; `None` if a conditional
        leaves the function out."""
        return self.macros.get(item)

    @cached_property
    def has_pragma_operator(self) -> bool:
        """True if a macro may stand for a directive (C11 6.10.9)."""
        seen = {id(getattr(macros, "history", macros)): macros for macros in self.macros.values()}
        return any("_Pragma" in one.body for macros in seen.values() for one in ever_defined(macros))

    @cached_property
    def internal(self) -> frozenset[str]:
        """Functions and variables with internal linkage (C11 6.2.2)."""
        static = (one for one in self.known.declarations if "static" in one.tokens[: _specifiers(one)])
        return frozenset(name for one in static for name in one.names)


def environment(
    skeleton: tuple[str, ...], functions: tuple[int, ...], path: str, options: Options
) -> Environment:
    """The environment of a file, given the skeletons of its items and which are functions.

    Remembered until the skeleton, the options or a header on disk changes.
    """
    key = (path, options)
    watched = _watched.get(key, ())
    is_stale = any(stamp(name) != before for name, before in watched)
    if is_stale:
        _generations[key] = _generations.get(key, 0) + 1
    question = skeleton, functions, path, options, _generations.get(key, 0)
    is_remembered = watched and not is_stale and _environment.remembers(*question)
    answer = _environment(*question)
    if is_remembered:
        return answer
    if len(_watched) > 4096:
        _watched.clear()
    _watched[key] = tuple((name, stamp(name)) for name in (*answer.headers, *answer.wanted))
    return answer


def environment_of(items: tuple[Item, ...], path: str, options: Options) -> Environment:
    """The environment of a file, given its outline's items; one with OpenMP directives is read as compilers
    read it that heed them."""
    if any("pragma" in item.text and _OPENMP.search(item.text) for item in items):
        options = options.with_openmp()
    # What is being typed changes nothing; a call of a macro may define functions.
    skeleton = tuple(
        "" if item.kind == "stray" and not _MACRO_CALL.fullmatch(item.text.strip()) else item.skeleton
        for item in items
    )
    functions = tuple(k for k, item in enumerate(items) if item.kind == "function")
    return environment(skeleton, functions, path, options)


def needed(known: Environment, tokens: Iterable[str]) -> tuple[Declaration, ...]:
    """The declarations that a function's tokens name, directly or through others, in order."""
    return top_level.needed(known.known, tokens)


def definition(known: Environment, name: str) -> Declaration | None:
    """The declaration of a function that a header or a macro defines, with its body."""
    places = known.known.places.get(name, ())
    found = (known.known.declarations[k] for k in places)
    return next((one for one in found if one.definition and one.name == name), None)


def replaceable(known: Environment, name: str) -> bool:
    """True for a function whose definition may be replaced by that of another file."""
    places = known.known.places.get(name, ())
    return any(replacing(known.known.declarations[k].attributes) for k in places)


def _specifiers(declared: Declaration) -> int:
    ends = (k for k, text in enumerate(declared.tokens) if text in ("(", "{", "=", "["))
    return next(ends, len(declared.tokens))


def per_thread(text: str, known: Environment) -> frozenset[str]:
    """Names that may be thread-local in a function with that text, or in those that it calls."""
    named = words(text)
    if top_level.THREAD_STORAGE.isdisjoint(named):
        return known.per_thread
    return known.per_thread | named  # One of its `static` variables, not further resolved.


def thread_variables(function: Expanded, known: Environment) -> frozenset[str]:
    """Names in a function that are thread-local by a directive or a declaration of the file, or by a
    directive of the function."""
    pragmas = (pragma.text for pragma in function.pragmas)
    own = frozenset(name for text in pragmas if "threadprivate" in text for name in words(text))
    return (known.per_thread | own) & frozenset(function.texts)


def place(problem: Problem, item: Item) -> Span:
    """Span of a problem in its item, relative to the item's start."""
    directive = problem.directive.strip()
    at = item.text.find(directive)
    if at < 0:
        return Span(0, len(item.text))
    return Span(at, at + len(directive))


_OPENMP = re.compile(r"(?:^|\n)[ \t]*(?:#|%:)[ \t]*pragma[ \t]+omp\b|\b_Pragma[ \t]*\([ \t]*\"[ \t]*omp\b")

_MACRO_CALL = re.compile(r"[A-Za-z_]\w*\s*\([^(){};]*\)")

_watched: dict[tuple[str, Options], tuple[tuple[str, int], ...]] = {}
_generations: dict[tuple[str, Options], int] = {}


@query(size=256)
def _environment(
    skeleton: tuple[str, ...], functions: tuple[int, ...], path: str, options: Options, generation: int
) -> Environment:
    reading = Reading(path, options)
    if not reading.begin():
        known = _environment(skeleton, functions, path, replace(options, includer=""), generation)
        return replace(known, headers=(*known.headers, *reading.headers))
    reading.read_file(skeleton, frozenset(functions))
    reading.finish()
    return Environment(
        reading.snapshots,
        top_level.index(reading.found),
        tuple(reading.problems),
        tuple(reading.headers),
        tuple(reading.wanted),
        frozenset(reading.per_thread).union(*(each.names for each in reading.found if each.per_thread)),
        tuple(reading.searched),
    )


# --------------------------------------------------------------------------------------------------
# The tokens of one function after macro expansion, each with its place in the source.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pragma:
    """A `#pragma` or `_Pragma` inside a function: it stands before token `token` of the expanded text; `text`
    is that after the word `pragma`; `span` is relative to the function's start."""

    token: int
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Expanded:
    """The tokens of a function in plain C. Spans are relative to the start of the text; tokens
    out of a macro have the span of the outermost use, its arguments included."""

    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pragmas: tuple[Pragma, ...]


@dataclass(frozen=True, slots=True)
class Unexpandable:
    """Reason why the text of a function could not be turned into tokens, and its place (relative)."""

    code: RejectionCode
    span: Span
    message: str
    advice: str = ""


def used_macros(text: str, macros: Mapping[str, Macro]) -> tuple[Macro, ...]:
    """The macros that can take part in expanding `text`, in the order of their names."""
    return closure(words(text), macros)


@query()
def expand(text: str, macros: tuple[Macro, ...]) -> Expanded | Unexpandable:
    """Expand the text of one function with the macros it uses (see `used_macros`)."""
    plain = normalise(text)
    tokens = tokenize(plain)
    if tokens.unterminated >= 0:
        return Unexpandable(
            "syntax-error",
            Span(tokens.unterminated, tokens.unterminated + 2),
            "This comment is never closed.",
            "close it with `*/`",
        )
    table = {known.name: known for known in macros}
    if any(text[0] == "#" and not text.startswith("#pragma") for text in tokens.texts if len(text) > 2):
        uses = _active(plain, table)
    else:
        uses = expand_uses(tokens.texts, tokens.starts, tokens.ends, table)
    match uses:
        case Overflow():
            return too_much(uses)
        case Unexpandable():
            return uses
        case Uses():
            return _cleaned(uses.texts, uses.starts, uses.ends)
        case _:
            assert_never(uses)


def too_much(overflow: Overflow) -> Unexpandable:
    """The finding for macros that expand without end."""
    return Unexpandable(
        "budget",
        Span(overflow.start, overflow.end),
        f"The macro `{overflow.name}` expands to far too much code to be analysed.",
        "write out what it stands for, or make it shorter",
    )


def _cleaned(texts: list[str], starts: list[int], ends: list[int]) -> Expanded | Unexpandable:
    if not OTHER_TYPES.isdisjoint(attributes_in(texts)):
        at = next(k for k, text in enumerate(texts) if text.strip("_") in OTHER_TYPES)
        message = f"`{texts[at]}` makes a type that is not analysed; give it a name outside of functions."
        return Unexpandable("unsupported-type", Span(starts[at], ends[at]), message)
    plain = plain_c(texts, starts, ends)
    if isinstance(plain, tuple):
        message, start, end = plain
        return Unexpandable("unsupported-statement", Span(start, end), message)
    pragmas = tuple(Pragma(token, text, Span(start, end)) for token, text, start, end in plain.pragmas)
    return Expanded(tuple(plain.texts), tuple(plain.starts), tuple(plain.ends), pragmas)


def _active(text: str, table: dict[str, Macro]) -> Uses | Overflow | Unexpandable:
    """The expanded tokens of a text that has directives: of the parts that they leave in."""
    parts = script(text).parts
    out = Uses()
    failures: list[Overflow | Unexpandable] = []

    def perform(k: int) -> None:
        step = parts[k]
        if failures or isinstance(step, Condition):
            return
        match step.kind:
            case "text" if step.tokens is not None:
                starts = tuple(step.start + start for start in step.tokens.starts)
                ends = tuple(step.start + end for end in step.tokens.ends)
                uses = expand_uses(step.tokens.texts, starts, ends, table)
                if isinstance(uses, Overflow):
                    failures.append(uses)
                    return
                out.texts += uses.texts
                out.starts += uses.starts
                out.ends += uses.ends
            case "define" if step.macro is not None:
                table[step.macro.name] = step.macro
            case "undef":
                table.pop(step.argument, None)
            case "include":
                failures.append(
                    Unexpandable(
                        "unsupported-statement",
                        Span(step.start, step.end),
                        f"Code that `#include {step.argument}` puts into a function is not analysed.",
                        "move the code into the function, or into a function of its own",
                    )
                )
            case "error":
                failures.append(
                    Unexpandable("syntax-error", Span(step.start, step.end), f"`#error`: {step.argument}")
                )
            case _:
                pass

    misplaced = follow(parts, table, perform)
    if failures:
        return failures[0]
    if misplaced:
        part = parts[misplaced[0].index]
        return Unexpandable("syntax-error", Span(part.start, part.end), misplaced[0].message)
    return out
