"""`polylsp model`: the polyhedral model of every nest of a file, as isl text."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from polylsp.cli.files import Unreadable
from polylsp.cli.one_file import analysed
from polylsp.cli.output import Exit, complain, terminal_width, write_json, write_lines
from polylsp.core.text import Source
from polylsp.ide import wording
from polylsp.ide.check_json import range_object
from polylsp.ide.terminal import Line, Piece
from polylsp.model.facts import FileReport, NestFacts, NestModel, NestRelations, PlacedFunction

_RELATIONS = tuple(field.name for field in fields(NestRelations))
_ARROW_WIDTH = 4


def run(options: argparse.Namespace) -> int:
    """Prints the models."""
    try:
        source, report = analysed(options.path, options, relations=True)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    if options.format == "json":
        write_json(model_object(source, report))
    else:
        write_lines(model_lines(source, report, terminal_width()))
    return Exit.DONE


def model_object(source: Source, report: FileReport) -> dict[str, Any]:
    """The models as JSON, in source order."""
    nests = [_nest(source, placed, nest, model) for placed, nest, model in _modelled(report)]
    return {"version": 1, "path": report.path, "nests": nests}


def model_lines(source: Source, report: FileReport, width: int) -> Iterator[Line]:
    """The models for a person: a heading for each nest, then its sets and relations."""
    found = list(_modelled(report))
    for placed, nest, model in found:
        yield from _lines(source, report.path, placed, nest, model, width)
        yield ()
    if not found:
        yield (Piece(f"{report.path}: ", "path"), Piece("no nest of loops was modelled"))


def _modelled(report: FileReport) -> Iterator[tuple[PlacedFunction, NestFacts, NestModel]]:
    for placed in report.functions:
        for nest in placed.answer.facts.nests:
            if nest.model is not None and nest.model.relations is not None:
                yield placed, nest, nest.model


def _nest(source: Source, placed: PlacedFunction, nest: NestFacts, model: NestModel) -> dict[str, Any]:
    return {
        "function": placed.answer.facts.name,
        "range": range_object(source, placed.span(nest.site)),
        "loops": list(nest.loops),
        **dict(_texts(model)),
    }


def _lines(
    source: Source, path: str, placed: PlacedFunction, nest: NestFacts, model: NestModel, width: int
) -> Iterator[Line]:
    facts = placed.answer.facts
    iterators = [loop.iterator or loop.kind for loop in facts.loops if loop.ordinal in nest.loops]
    place = source.place(placed.span(nest.site).start)
    yield (
        Piece(f"{path}:{place}: ", "path"),
        Piece(
            f"{facts.name}, {'loop' if len(iterators) == 1 else 'loops'} {wording.listing(iterators)}", "good"
        ),
    )
    for name, text in _texts(model):
        yield (Piece(f"  {name.replace('_', ' ')}", "advice"),)
        yield from _relation(text, width)


def _texts(model: NestModel) -> Iterator[tuple[str, str]]:
    yield "context", model.context
    yield "domain", model.domain
    yield from ((name, getattr(model.relations, name)) for name in _RELATIONS)


def _relation(text: str, width: int) -> Iterator[Line]:
    """A set or relation, on one line where it fits, else with a line for each of its parts."""
    text = text.strip()
    if len(text) + _ARROW_WIDTH <= width or "{" not in text or text.startswith("{ domain"):
        for line in text.split("\n") or [""]:
            yield (Piece(f"    {line}".rstrip()),)
        return
    opening, closing = text.find("{"), text.rfind("}")
    yield (Piece(f"    {text[: opening + 1]}"),)
    parts = text[opening + 1 : closing].split(";")
    for number, part in enumerate(parts, 1):
        yield (Piece(f"      {part.strip()}{';' if number < len(parts) else ''}"),)
    yield (Piece(f"    {text[closing:]}"),)
