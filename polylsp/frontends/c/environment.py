"""What a file's functions see of it: macros and declarations, from the file and its headers.

The file's part is its skeleton, so typing inside a function leaves the environment as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polylsp.frontends.c import declarations
from polylsp.frontends.c.declarations import Declaration, Index
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.options import Options
from polylsp.frontends.c.outline import Item
from polylsp.frontends.c.reading import Problem, Reading, stamp
from polylsp.frontends.c.tokens import words
from polylsp.query import query
from polylsp.text import Span


@dataclass(frozen=True, eq=False)
class Environment:
    """Macros and declarations of a file. `headers` are the files read, `wanted` those that would
    have been read, had they existed: changes of either make the environment stale. `per_thread` are
    the variables of which each thread has its own."""

    macros: Mapping[int, Mapping[str, Macro]]
    known: Index
    problems: tuple[Problem, ...]
    headers: tuple[str, ...]
    wanted: tuple[str, ...]
    per_thread: frozenset[str]

    def macros_at(self, item: int) -> Mapping[str, Macro] | None:
        """The macros in force where item `item`, a function, starts; `None` if a conditional
        leaves the function out."""
        return self.macros.get(item)


def environment(
    skeleton: tuple[str, ...], functions: tuple[int, ...], path: str, options: Options
) -> Environment:
    """The environment of a file, given the skeletons of its items and which are functions.

    Remembered until the skeleton, the options or a header on disk changes.
    """
    key = (path, options)
    watched = _watched.get(key, ())
    if any(stamp(name) != before for name, before in watched):
        _generations[key] = _generations.get(key, 0) + 1
    answer = _environment(skeleton, functions, path, options, _generations.get(key, 0))
    if len(_watched) > 4096:
        _watched.clear()
    _watched[key] = tuple((name, stamp(name)) for name in (*answer.headers, *answer.wanted))
    return answer


def environment_of(items: tuple[Item, ...], path: str, options: Options) -> Environment:
    """The environment of a file, given its outline's items."""
    skeleton = tuple("" if item.kind == "stray" else item.skeleton for item in items)
    functions = tuple(k for k, item in enumerate(items) if item.kind == "function")
    return environment(skeleton, functions, path, options)


def needed(known: Environment, tokens: Iterable[str]) -> tuple[Declaration, ...]:
    """The declarations that a function's tokens name, directly or through others, in order."""
    return declarations.needed(known.known, tokens)


def per_thread(text: str, known: Environment) -> frozenset[str]:
    """Names of which each thread may have a variable of its own in a function with that text, or in those
    that it calls."""
    named = words(text)
    if declarations.THREAD_STORAGE.isdisjoint(named):
        return known.per_thread
    return known.per_thread | named  # One of its own `static` variables; which one is not worth telling.


def place(problem: Problem, item: Item) -> Span:
    """Where in its item a problem stands, relative to the item's start."""
    directive = problem.directive.strip()
    at = item.text.find(directive)
    if at < 0:
        return Span(0, len(item.text))
    return Span(at, at + len(directive))


_watched: dict[tuple[str, Options], tuple[tuple[str, int], ...]] = {}
_generations: dict[tuple[str, Options], int] = {}


@query(size=256)
def _environment(
    skeleton: tuple[str, ...], functions: tuple[int, ...], path: str, options: Options, generation: int
) -> Environment:
    reading = Reading(path, options)
    reading.begin()
    reading.read_file(skeleton, frozenset(functions))
    return Environment(
        reading.snapshots,
        declarations.index(reading.found),
        tuple(reading.problems),
        tuple(reading.headers),
        tuple(reading.wanted),
        frozenset(reading.per_thread).union(*(each.names for each in reading.found if each.per_thread)),
    )
