"""How long a request waits for the analysis of the present text."""

from __future__ import annotations

from pygls.exceptions import JsonRpcContentModified

from polylsp.model.report import FileReport
from polylsp.server.documents import Document

_PATIENCE_SECONDS = 0.3


async def fresh(document: Document | None) -> FileReport | None:
    """What is known of a document: about the present text if that comes soon, else what the
    edits since have left untouched. Raises `JsonRpcContentModified` if the text changes meanwhile."""
    if document is None:
        return None
    if await document.settle(_PATIENCE_SECONDS) == "changed":
        raise JsonRpcContentModified("The text changed")
    return document.known()
