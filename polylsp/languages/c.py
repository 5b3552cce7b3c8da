"""C files: outline and environment, and each function prepared in them."""

from __future__ import annotations

from functools import partial

from polylsp.analysis.device_regions import keeps_data_around_calls
from polylsp.frontends.c.damage import damage
from polylsp.frontends.c.environment import Environment, environment_of, place
from polylsp.frontends.c.options import Options, options_for
from polylsp.frontends.c.outline import Item, Outline, outline
from polylsp.frontends.c.pragmas import keeps_data
from polylsp.languages.c_functions import TOO_LONG, prepare, refused
from polylsp.languages.functions import Functions, Observer
from polylsp.model.report import FileProblem
from polylsp.prepared import Prepared, digest
from polylsp.remembered import State
from polylsp.settings import Settings
from polylsp.text import Span


def read(
    path: str,
    text: str,
    settings: Settings,
    state: State,
    stopped: frozenset[str] = frozenset(),
    observe: Observer | None = None,
) -> Functions:
    """The functions of a C file."""
    options = options_for(path, settings)
    items = _outlined(state, text)
    known = environment_of(items.items, path, options)
    prepared = _prepared(state, items, known, stopped, observe)
    problems = partial(_findings, text, items, known, options)
    return Functions(prepared, problems, _resident(items, prepared))


def _outlined(state: State, text: str) -> Outline:
    """The items of a file; only what changed since its last text is scanned."""
    before, known = state.outline or ("", None)
    found = outline(text, (before, known) if isinstance(known, Outline) else None)
    state.outline = (text, found)
    return found


def _prepared(
    state: State, items: Outline, known: Environment, stopped: frozenset[str], observe: Observer | None
) -> list[tuple[int, Prepared]]:
    """The functions of a file and where they start; those the preprocessor leaves out are not there."""
    remembered = state.prepared if state.known is known else {}
    own = frozenset(item.name for item in items.items if item.kind == "function")
    kept: dict[Item, Prepared] = {}
    result: list[tuple[int, Prepared]] = []
    for number, (start, item) in enumerate(zip(items.starts, items.items, strict=True)):
        macros = known.macros_at(number) if item.kind == "function" else None
        if macros is None:
            continue
        one = remembered.get(item)
        if one is None:
            key = digest(item.text)
            if observe is not None and key not in stopped:
                observe(key, item.name, number, len(items.items))
            one = refused(item, TOO_LONG) if key in stopped else prepare(item, macros, known, own)
        kept[item] = one
        result.append((start, one))
    state.known, state.prepared = known, kept
    return result


def _resident(items: Outline, prepared: list[tuple[int, Prepared]]) -> bool:
    """Whether code of the file may keep data on a device for functions that do not say so."""
    outside = (item.text for item in items.items if item.kind != "function" and "pragma" in item.text.lower())
    return any(map(keeps_data, outside)) or any(keeps_data_around_calls(one.function) for _, one in prepared)


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
