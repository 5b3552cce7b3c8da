"""textDocument/codeLens, for clients that have the commands which lenses name."""

from __future__ import annotations

from lsprotocol import types

from polylsp.ide.lenses import lenses
from polylsp.server import convert
from polylsp.server.features.freshness import fresh
from polylsp.server.session import PolylspServer

_COMMAND = "polylsp.{}"


async def code_lens(ls: PolylspServer, params: types.CodeLensParams) -> list[convert.Json] | None:
    """The links above loops that the settings ask for."""
    uri = params.text_document.uri
    document = ls.document_of(uri)
    if document is None or not ls.settings_of(document).code_lenses:
        return None
    report = await fresh(document)
    if not document.is_reported:
        ls.owe_lenses(document)
    source, within = document.seen(uri), document.extent(uri)
    if source is None or report is None:
        return None
    found = [
        convert.code_lens(source, each, _COMMAND.format(each.kind), uri, ls.client.encoding)
        for each in lenses(report, ls.settings_of(document))
        if within.start <= each.span.start < within.end
    ]
    return [each for each in found if each["command"]["command"] in ls.client.commands]
