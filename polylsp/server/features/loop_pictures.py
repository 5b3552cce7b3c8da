"""polylsp/loopAt, the loop under the cursor, and polylsp/iterationSpace, the content of its drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from polylsp.core.text import Source
from polylsp.ide.lookup import loop_at as loop_at_offset
from polylsp.ide.lookup import outermost
from polylsp.ide.loop_view import view
from polylsp.ide.measurement_view import current
from polylsp.model.facts import FileReport, LoopFacts, PlacedFunction
from polylsp.model.iteration_points import Drawing, IterationSpace
from polylsp.server import convert
from polylsp.server.documents import Document
from polylsp.server.features.decorations import PATIENCE_OF_A_PERSON, fresh
from polylsp.server.session import PolylspServer

Dimensions = tuple[str, str] | None


async def loop_at(ls: PolylspServer, params: Any) -> convert.Json | None:
    """The outermost loop around `position` in `textDocument`, as the commands that measure and tune are given
    it, and the `given` sizes that the user chose for its function before; `null` where there is none."""
    found = await _found(ls, *_place(ls, params))
    if found is None:
        return None
    placed, loop = found.placed, outermost(found.placed, found.loop)
    span, function = placed.span(loop.header), placed.answer.facts.name
    given = ls.measurements.sizes_of(found.document).get(function, ())
    return {
        "uri": found.document.uri,
        "function": function,
        "ordinal": loop.ordinal,
        "range": convert.extent(found.seen, span, ls.client.encoding),
        **({"given": dict(given)} if given else {}),
    }


async def iteration_space(ls: PolylspServer, params: Any) -> convert.Json | None:
    """The iterations of the loop at `position` in `textDocument`, along the iterators `dimensions` if these
    are given; `null` where there is no loop."""
    dimensions = _dimensions(params)
    found = await _found(ls, *_place(ls, params))
    if found is None:
        return None
    document, source = found.document, found.source
    drawn = await _drawn(ls, found, dimensions)
    if document.source is not source:
        raise JsonRpcContentModified("The text changed")
    measured = current(source, found.report, ls.measurements.of(document))
    made = view(source, found.placed, found.loop, drawn, measured)
    _, version = document.text_document(made.span.start)
    return convert.view(found.seen, made, version, ls.client.encoding)


@dataclass(frozen=True, slots=True)
class _Found:
    """A loop in a document; `seen` is its text as the client's document has it, which may be a cell."""

    document: Document
    source: Source
    seen: Source
    report: FileReport
    placed: PlacedFunction
    loop: LoopFacts


async def _found(ls: PolylspServer, document: Document, uri: str, position: types.Position) -> _Found | None:
    report = await fresh(document, PATIENCE_OF_A_PERSON)
    source, seen = document.source, document.seen(uri)
    if report is None or seen is None:
        return None
    found = loop_at_offset(source, report, convert.offset_of(seen, position, ls.client.encoding))
    return None if found is None else _Found(document, source, seen, report, *found)


async def _drawn(ls: PolylspServer, found: _Found, dimensions: Dimensions) -> IterationSpace | str:
    """The iterations, or a sentence that says why there are none."""
    answer = found.placed.answer
    asked = Drawing(answer.facts.name, found.placed.start, found.loop.ordinal, dimensions)
    return await ls.pictures.space(answer.key, asked, found.document, ls.jobs)


def _dimensions(params: Any) -> Dimensions:
    given = params.get("dimensions") if isinstance(params, Mapping) else None
    match given:
        case None:
            return None
        case [str() as across, str() as upwards]:
            return across, upwards
        case _:
            raise JsonRpcInvalidParams("`dimensions` are the iterators of two loops")


def _place(ls: PolylspServer, params: Any) -> tuple[Document, str, types.Position]:
    known: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
    uri = ""
    try:
        uri = str(known["textDocument"]["uri"])
        document = ls.document_of(uri)
        position = types.Position(int(known["position"]["line"]), int(known["position"]["character"]))
    except (KeyError, TypeError, ValueError):
        document = position = None
    if document is None or position is None:
        raise JsonRpcInvalidParams("This needs the `textDocument` that is open, and a `position` in it")
    return document, uri, position
