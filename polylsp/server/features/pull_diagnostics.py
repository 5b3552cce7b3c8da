"""textDocument/diagnostic, for clients that pull."""

from __future__ import annotations

import json

from lsprotocol import types

from polylsp.server.features.on_demand import answer
from polylsp.server.protocol import JsonText
from polylsp.server.session import PolylspServer

_NOTHING = JsonText('{"kind":"full","items":[]}')


def register_pull_diagnostics(ls: PolylspServer) -> None:
    """Register as a provider of diagnostics; not for clients to which they are published."""
    if types.TEXT_DOCUMENT_DIAGNOSTIC not in ls.protocol.fm.features:
        options = types.DiagnosticOptions(
            identifier="polylsp",
            inter_file_dependencies=True,
            workspace_diagnostics=ls.settings.workspace_diagnostics,
            work_done_progress=True,
        )
        ls.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(diagnostic)
        if ls.settings.workspace_diagnostics:
            work = answer("workspace_diagnostics", "workspace_diagnostic")
            ls.feature(types.WORKSPACE_DIAGNOSTIC)(work)


async def diagnostic(ls: PolylspServer, params: types.DocumentDiagnosticParams) -> JsonText:
    """The diagnostics of the present text, once it has been analysed; while that lasts, those of functions
    that are finished, as soon as they are others than the client has."""
    document = ls.documents.get(params.text_document.uri)
    if document is None or not document.is_ours:
        return _NOTHING
    ls.job_progress.attach(params.work_done_token, document.uri)
    try:
        outcome = "part" if document.is_partly_reported else await document.settle(None, in_part=True)
        while outcome == "part" and ls.findings(document)[1] == params.previous_result_id:
            outcome = await document.settle(None, in_part=True)
    finally:
        ls.job_progress.end(params.work_done_token)
    if outcome == "part":
        ls.owe_diagnostics(document)
    elif outcome != "reported":
        raise ls.server_cancelled(retry=outcome == "changed" and document.uri in ls.documents)
    items, name = ls.findings(document)
    if name == params.previous_result_id:
        return JsonText(f'{{"kind":"unchanged","resultId":{json.dumps(name)}}}')
    return JsonText(f'{{"kind":"full","resultId":{json.dumps(name)},"items":{items}}}')
