"""C files: outline and environment, and each function prepared in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from polylsp.frontends.c.damage import damage
from polylsp.frontends.c.environment import (
    Environment,
    definition,
    environment_of,
    internal,
    place,
    replaceable,
)
from polylsp.frontends.c.options import Options, options_for
from polylsp.frontends.c.outline import Item, Outline, outline
from polylsp.frontends.c.pragmas import keeps_data
from polylsp.languages.c_functions import prepare, prepare_included, refused, stopped_reading
from polylsp.languages.functions import Functions, Observer, Stopped, never_stopped
from polylsp.model.directive import Directive
from polylsp.model.program import Function
from polylsp.model.report import FileProblem
from polylsp.prepared import Prepared, digest
from polylsp.remembered import State, state_of
from polylsp.settings import Settings
from polylsp.text import Span


def read(
    path: str,
    text: str,
    settings: Settings,
    state: State,
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions:
    """The functions of a C file."""
    options = options_for(path, settings)
    items = _outlined(state, text)
    known = environment_of(items.items, path, options)
    prepared = _prepared(state, items, known, stopped, observe)
    problems = partial(_findings, text, items, known, options)
    included = _included(state, items, known, prepared)
    return Functions(prepared, problems, _resident(items, prepared), _serial(prepared), included)


@dataclass(frozen=True, slots=True)
class Linkable:
    """A function of a file that others call, with the functions that it calls, as far as their bodies are
    known; `internal` are the variables of the file that no other file names."""

    functions: tuple[Prepared, ...]
    internal: frozenset[str]


def linkable(path: str, text: str, name: str, settings: Settings) -> Linkable | None:
    """The function of a name that a file defines for others, if it does."""
    state = state_of(f"{path} (linked)")
    items = _outlined(state, text)
    known = environment_of(items.items, path, options_for(path, settings))
    if state.known is not known:
        state.known, state.prepared = known, {}
    own = _defined(items)
    found: dict[str, Prepared] = {}
    waiting = [name]
    while waiting:
        callee = waiting.pop()
        if callee in found or callee not in own:
            continue
        places = (k for k, item in enumerate(items.items) if item.kind == "function" and item.name == callee)
        active = [(items.items[k], macros) for k in places if (macros := known.macros_at(k)) is not None]
        if len(active) != 1:
            return None
        ((item, macros),) = active
        one = state.prepared.get(item) or prepare(item, macros, known, own)
        found[callee] = state.prepared[item] = one
        waiting += one.calls
    if name not in found or name in internal(known) or replaceable(known, name):
        return None
    prepared = [(0, one) for one in found.values()]
    return Linkable((*found.values(), *_included(state, items, known, prepared)), internal(known))


def _outlined(state: State, text: str) -> Outline:
    """The items of a file; only what changed since its last text is scanned."""
    before, known = state.outline or ("", None)
    found = outline(text, (before, known) if isinstance(known, Outline) else None)
    state.outline = (text, found)
    return found


def _prepared(
    state: State, items: Outline, known: Environment, stopped: Stopped, observe: Observer | None
) -> list[tuple[int, Prepared]]:
    """The functions of a file and where they start; those the preprocessor leaves out are not there."""
    remembered = state.prepared if state.known is known else {}
    own = _defined(items)
    kept: dict[Item, Prepared] = {}
    result: list[tuple[int, Prepared]] = []
    # What was read stays read where an observer ends this between two functions.
    state.known, state.prepared = known, {**remembered}
    for number, (start, item) in enumerate(zip(items.starts, items.items, strict=True)):
        macros = known.macros_at(number) if item.kind == "function" else None
        if macros is None:
            continue
        one = remembered.get(item)
        if one is None:
            key = digest(item.text)
            if (stop := stopped(key)) is not None:
                result.append((start, refused(item, stopped_reading(stop))))
                continue
            if observe is not None:
                observe(key, item.name, number, len(items.items))
            one = prepare(item, macros, known, own)
        kept[item] = state.prepared[item] = one
        result.append((start, one))
    state.known, state.prepared = known, kept
    return result


def _included(
    state: State, items: Outline, known: Environment, prepared: list[tuple[int, Prepared]]
) -> tuple[Prepared, ...]:
    """The functions that headers and macros define, as far as those of the file call them."""
    own = _defined(items)
    found: dict[str, Prepared] = {}
    waiting = [name for _, one in prepared for name in one.calls]
    seen = set(own)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        declared = definition(known, name)
        if declared is None:
            continue
        one = state.prepared.get(declared)
        if one is None:
            one = state.prepared[declared] = prepare_included(declared, known, own)
        found[name] = one
        waiting += one.calls
    return tuple(found[name] for name in sorted(found))


def _defined(items: Outline) -> frozenset[str]:
    return frozenset(item.name for item in items.items if item.kind == "function")


def _resident(items: Outline, prepared: list[tuple[int, Prepared]]) -> bool:
    """Whether code of the file may keep data on a device for functions that do not say so."""
    directed = [one.function for _, one in prepared if one.function.directives]
    outside = (item.text for item in items.items if item.kind != "function" and "pragma" in item.text.lower())
    return any(map(keeps_data, outside)) or (bool(directed) and _keep_data(directed))


def _serial(prepared: list[tuple[int, Prepared]]) -> frozenset[str]:
    """The functions with tasks that `main` or others of the file call, and these outside of parallel regions
    alone; `main` itself."""
    functions = [one.function for _, one in prepared]
    if not any(isinstance(d, Directive) and "task" in d.words for f in functions for d in f.directives):
        return frozenset()
    from polylsp.analysis.parallel_regions import serial_functions

    return serial_functions(functions)


def _keep_data(directed: list[Function]) -> bool:
    from polylsp.analysis.device_regions import keeps_data_around_calls

    return any(map(keeps_data_around_calls, directed))


def _findings(
    text: str, items: Outline, known: Environment, options: Options, broken: frozenset[int]
) -> tuple[FileProblem, ...]:
    return (*_problems(items, known, options, broken), *damage(text, items, broken))


def _problems(
    items: Outline, known: Environment, options: Options, broken: frozenset[int]
) -> tuple[FileProblem, ...]:
    """What is wrong with directives and headers, but for what functions (at `broken`) say themselves."""
    found: list[FileProblem] = []
    if options.problem:
        found.append(FileProblem("compile-commands", Span(0, 0), options.problem))
    for problem in known.problems:
        if problem.item < 0:
            found.append(FileProblem(problem.code, Span(0, 0), problem.message))
            continue
        item, start = items.items[problem.item], items.starts[problem.item]
        if problem.code == "syntax-error" and start in broken:
            continue
        found.append(FileProblem(problem.code, place(problem, item).shift(start), problem.message))
    return tuple(found)
