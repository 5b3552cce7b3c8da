"""polylsp/iterationSpace: what a drawing beside the text shows of the loop under the cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams

from polylsp.ide.measuring import current
from polylsp.ide.view import shown_at, view
from polylsp.model.facts import LoopFacts
from polylsp.model.report import PlacedFunction
from polylsp.model.space import Drawing, IterationSpace
from polylsp.server import convert, convert_view
from polylsp.server.documents import Document
from polylsp.server.features.freshness import PATIENCE_OF_A_PERSON, fresh
from polylsp.server.session import PolylspServer

Dimensions = tuple[str, str] | None

_IN_NOTEBOOKS = "The loops of notebooks are not drawn; save the cell as a file to see its iterations."


async def iteration_space(ls: PolylspServer, params: Any) -> convert.Json | None:
    """The iterations of the loop at `position` in `textDocument`, along the iterators `dimensions` if these
    are given; `null` where there is no loop."""
    document, position, dimensions = _asked(ls, params)
    report = await fresh(document, PATIENCE_OF_A_PERSON)
    source = document.source
    if report is None:
        return None
    offset = convert.offset_of(source, position, ls.client.encoding)
    found = shown_at(source, report, offset)
    if found is None:
        return None
    drawn = await _drawn(ls, document, found, dimensions)
    if document.source is not source:
        raise JsonRpcContentModified("The text changed")
    measured = current(source, report, ls.measurements.of(document))
    made = view(source, *found, drawn, measured)
    return convert_view.view(source, made, document.version, ls.client.encoding)


async def _drawn(
    ls: PolylspServer,
    document: Document,
    found: tuple[PlacedFunction, LoopFacts],
    dimensions: Dimensions,
) -> IterationSpace | str:
    """The iterations, or a sentence that says why there are none."""
    if document.is_notebook:
        return _IN_NOTEBOOKS
    placed, loop = found
    asked = Drawing(placed.answer.facts.name, placed.start, loop.ordinal, dimensions)
    return await ls.pictures.space(placed.answer.key, asked, document, ls.jobs)


def _asked(ls: PolylspServer, params: Any) -> tuple[Document, types.Position, Dimensions]:
    known: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
    try:
        document = ls.document_of(known["textDocument"]["uri"])
        position = types.Position(int(known["position"]["line"]), int(known["position"]["character"]))
        given = known.get("dimensions")
        dimensions = None if given is None else (str(given[0]), str(given[1]))
    except (KeyError, TypeError, ValueError, IndexError):
        document = position = None
        dimensions = None
    if document is None or position is None:
        raise JsonRpcInvalidParams("This needs the `textDocument` that is open, and a `position` in it")
    return document, position, dimensions
