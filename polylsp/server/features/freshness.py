"""Time limits of requests that wait for the analysis of the present text."""

from __future__ import annotations

from pygls.exceptions import JsonRpcContentModified

from polylsp.model.report import FileReport
from polylsp.server.documents import Document

_PATIENCE_SECONDS = 0.3

PATIENCE_OF_A_PERSON = 3.0
"""For explicit requests, which a person would repeat if there was no answer."""


async def fresh(document: Document | None, seconds: float = _PATIENCE_SECONDS) -> FileReport | None:
    """Report of a document: about the present text if that comes within some seconds, else the functions that
    the edits since have left untouched. Raises `JsonRpcContentModified` if the text changes meanwhile."""
    if document is None:
        return None
    if await document.settle(seconds) == "changed":
        raise JsonRpcContentModified("The text changed")
    return document.known()
