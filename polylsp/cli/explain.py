"""`polylsp explain`: one loop and its nest, in full, or as a picture."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

from polylsp.cli.files import Unreadable, line_in
from polylsp.cli.one_file import analysed, iterations, no_loop
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines, write_text
from polylsp.cli.pool import Crashed
from polylsp.core.text import Source
from polylsp.ide import wording
from polylsp.ide.check_json import loop_object, nest_object, position_object
from polylsp.ide.excerpt import excerpt
from polylsp.ide.hover import Bullets, Code, Part, dependence_table, parts_of
from polylsp.ide.lookup import loop_on_line, nest_of
from polylsp.ide.terminal import part_lines
from polylsp.ir.verdict import Dependence, Sequential, Witness
from polylsp.model.facts import FileReport, LoopFacts, NestFacts, PlacedFunction
from polylsp.model.iteration_points import IterationSpace

_STATEMENT = re.compile(r"^\s*(\w+)\[(.*?)\]\s*(?::\s*(.*))?$", re.DOTALL)
_SIGNS = (("<=", "≤"), (">=", "≥"), ("!=", "≠"), (" mod ", " mod "), ("exists", "for some"))


def run(options: argparse.Namespace) -> int:
    """Explains the loop on a line, or the innermost loop around it."""
    place = options.place
    try:
        source, report = analysed(place.path, options)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    line = line_in(source, place.line, place.cell)
    found = loop_on_line(source, report, line) if line is not None else None
    if line is None or found is None:
        complain(f"{place}: {no_loop(source, report)}")
        return Exit.USAGE
    if options.format == "json":
        write_json(explain_object(source, report, line))
    elif options.format == "text":
        width = terminal_width()
        for part in explain_parts(source, *found):
            write_lines([*part_lines(part, width), ()])
    else:
        return _draw(source, report, found, options)
    return Exit.DONE


def _draw(
    source: Source, report: FileReport, found: tuple[PlacedFunction, LoopFacts], options: argparse.Namespace
) -> int:
    from polylsp.ide.picture import picture

    placed, loop = found
    name = placed.answer.facts.name
    space = iterations(report.path, source.text, name, loop.ordinal, options)
    if not isinstance(space, IterationSpace):
        why = space.reason if isinstance(space, Crashed) else space.message
        complain(f"{options.place}: cannot be drawn: {why}")
        return Exit.USAGE
    shown = " and ".join(each for each in space.dimensions if each)
    write_text(picture(space, f"{name}: iterations of {shown}"))
    return Exit.DONE


def explain_parts(whole: Source, placed: PlacedFunction, loop: LoopFacts) -> Iterator[Part]:
    """The loop, its verdict with the evidence, then its nest: iterations and dependences."""
    line = wording.site_line(whole, placed, loop.header)
    source = whole.near(placed.span(loop.header).start)
    header = excerpt(source, placed.span(loop.header))
    yield f"Loop {loop.ordinal} of `{placed.answer.facts.name}`, line {line}: `{header}`"
    yield from parts_of(source, placed, loop)
    if isinstance(loop.verdict, Sequential):
        yield from _example(loop.verdict.witness)
    nest = nest_of(placed, loop)
    if nest is None:
        return
    if nest.transform is not None and nest.transform.schedule:
        yield Code("Schedule, as isl text", nest.transform.schedule)
    if nest.model is not None:
        if words := domain_words(nest.model.domain):
            yield Bullets("Iterations of the nest", words)
        yield Code("Iteration domain, as isl text", nest.model.domain)
    if nest.dependences:
        yield f"All dependences of the nest ({len(nest.dependences)}):"
        yield dependence_table(source, placed, nest.dependences, carriers=_carriers(placed))


def _example(witness: Witness) -> Iterator[str]:
    """Two iterations that conflict, with the sizes for which they do."""
    if words := wording.example_words(witness):
        sizes = ", ".join(f"{name} = {value}" for name, value in witness.parameters)
        yield f"Example{f' with {sizes}' if sizes else ''}: {words}."


def explain_object(source: Source, report: FileReport, line: int) -> dict[str, Any] | None:
    """The same as JSON, for a 0-based line; `None` where there is no loop."""
    found = loop_on_line(source, report, line)
    if found is None:
        return None
    placed, loop = found
    nest = nest_of(placed, loop)
    return {
        "version": 1,
        "path": report.path,
        "loop": loop_object(source, placed, loop),
        "sentence": wording.verdict_sentence(source.near(placed.span(loop.header).start), placed, loop),
        "nest": _nest(source, placed, nest) if nest else None,
    }


def domain_words(domain: str) -> tuple[str, ...]:
    """A domain in isl's notation, one sentence for each statement: "`S0` runs for each (i, j)
    with 0 ≤ i < n". A text of another form gives nothing."""
    inside = domain[domain.find("{") + 1 : domain.rfind("}")] if "{" in domain else ""
    sentences: list[str] = []
    for part in inside.split(";"):
        match = _STATEMENT.match(part)
        if match is None:
            return ()
        name, iterators, condition = match.groups()
        sentences.append(
            _runs(name, [each.strip() for each in iterators.split(",") if each.strip()], condition)
        )
    return tuple(sentences)


def _runs(name: str, iterators: list[str], condition: str | None) -> str:
    if not iterators:
        return f"`{name}` runs once" + (f" if {_signs(condition)}" if condition else "")
    each = iterators[0] if len(iterators) == 1 else f"({', '.join(iterators)})"
    return f"`{name}` runs for each {each}" + (f" with {_signs(condition)}" if condition else "")


def _signs(condition: str) -> str:
    text = " ".join(condition.split())
    for spelled, sign in _SIGNS:
        text = text.replace(spelled, sign)
    return text


def _carriers(placed: PlacedFunction) -> dict[int, str]:
    return {loop.ordinal: loop.iterator or f"`{loop.kind}` loop" for loop in placed.answer.facts.loops}


def _nest(source: Source, placed: PlacedFunction, nest: NestFacts) -> dict[str, Any]:
    found = nest_object(source, placed, nest)
    found["context"] = nest.model.context if nest.model else None
    found["domain"] = nest.model.domain if nest.model else None
    found["domainWords"] = list(domain_words(nest.model.domain)) if nest.model else []
    found["sentence"] = nest.transform.sentence if nest.transform else ""
    found["dependences"] = [_dependence(source, placed, each) for each in nest.dependences]
    return found


def _dependence(source: Source, placed: PlacedFunction, dependence: Dependence) -> dict[str, Any]:
    ends = {}
    for end, access in (("source", dependence.source), ("sink", dependence.sink)):
        span = placed.span(access.site)
        ends[end] = {
            "text": excerpt(source, span),
            "access": access.kind,
            **position_object(source, span.start, ("line",)),
        }
    return {
        "kind": dependence.kind,
        "variable": dependence.sink.variable,
        **ends,
        "carrier": dependence.carrier or None,
        "distance": dependence.distance,
        "directions": list(dependence.directions),
        "certain": dependence.certain,
    }
