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
    document = ls.documents.get(params.text_document.uri)
    if document is None or not ls.settings_of(document).code_lenses:
        return None
    report = await fresh(document)
    if not document.is_reported:
        ls.owe_lenses(document)
    if report is None:
        return None
    found = [
        convert.code_lens(document.source, each, _COMMAND.format(each.kind), document.uri, ls.client.encoding)
        for each in lenses(report, ls.settings_of(document))
    ]
    return [each for each in found if each["command"]["command"] in ls.client.commands]
