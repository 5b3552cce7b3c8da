"""initialize, initialized, shutdown, and the requests to the client in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from polylsp.core.processes import end_with
from polylsp.server.client import SECTION, client_of
from polylsp.server.features import commands
from polylsp.server.protocol import JsonText
from polylsp.server.session import PolylspServer, path_of

# --------------------------------------------------------------------------------------------------
# workspace/didChangeConfiguration, and workspace/configuration requested from the client.
# --------------------------------------------------------------------------------------------------


def did_change_configuration(ls: PolylspServer, params: types.DidChangeConfigurationParams) -> None:
    """Settings changed: ask for them, or take those that came along."""
    if ls.client.configuration:
        ls.in_background(pull(ls))
        return
    settings = params.settings
    if isinstance(settings, Mapping):
        ls.folder_settings.clear()
        ls.configure(settings.get(SECTION, settings))
        ls.reanalyse()


async def pull(ls: PolylspServer) -> None:
    """Ask the client for the settings of the workspace and of each of its folders."""
    folders = list(ls.folders)
    items = [types.ConfigurationItem(section=SECTION)]
    items += [types.ConfigurationItem(scope_uri=uri, section=SECTION) for uri in folders]
    try:
        values = await ls.workspace_configuration_async(types.ConfigurationParams(items=items))
        before = ls.settings, dict(ls.folder_settings)
        ls.folder_settings.clear()
        for folder, value in zip([None, *folders], values, strict=False):
            if value is not None:
                ls.configure(value, folder)
        if before != (ls.settings, ls.folder_settings):
            ls.reanalyse()
    finally:
        ls.jobs.resume()


def register(ls: PolylspServer) -> None:
    """Register for notifications of changes, where the client requires that."""
    if ls.client.registers_configuration:
        ls.register(
            types.WORKSPACE_DID_CHANGE_CONFIGURATION,
            types.DidChangeConfigurationRegistrationOptions(section=SECTION),
        )


# --------------------------------------------------------------------------------------------------
# workspace/didChangeWatchedFiles: headers, how the project is compiled, and its settings.
# --------------------------------------------------------------------------------------------------


_PATTERNS = ("**/compile_commands.json", "**/*.{h,c,py}", "**/{.polylsp,pyproject}.toml")


def did_change_watched_files(ls: PolylspServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Files changed on disk: analyse the affected documents again."""
    changed = {path_of(change.uri) for change in params.changes}
    others = changed - {
        document.path for document in ls.documents.values() if document.path.endswith((".c", ".py"))
    }
    if others:
        ls.reanalyse()
    else:
        ls.closed_files.outdate()


def watch_files(ls: PolylspServer) -> None:
    """Register for notifications of changes."""
    if ls.client.registers_watched_files:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _PATTERNS]
        ls.register(
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
        )


# --------------------------------------------------------------------------------------------------
# textDocument/diagnostic, for clients that pull.
# --------------------------------------------------------------------------------------------------


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
            work = commands.answer("workspace_diagnostics", "workspace_diagnostic")
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


# --------------------------------------------------------------------------------------------------
# initialize, initialized, shutdown, and the requests to the client in between.
# --------------------------------------------------------------------------------------------------


DID_CHANGE_TRUST = "polylsp/didChangeTrust"
_SECONDS_FOR_CONFIGURATION = 1.0


def initialize(ls: PolylspServer, params: types.InitializeParams) -> None:
    """Record the client's capabilities and folders."""
    ls.client = client_of(params)
    ls.job_progress.supported = ls.client.progress
    ls.trace = params.trace or types.TraceValue.Off
    ls.folders.update(_folders(params))
    options = params.initialization_options
    known: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    ls.measurements.is_trusted = known.get("trusted") is not False
    ls.configure(known.get("settings"))
    if ls.client.pulls:
        register_pull_diagnostics(ls)
    if not ls.outlives_client:
        end_with(params.process_id, ls.jobs.close)


def did_change_trust(ls: PolylspServer, params: Any) -> None:
    """The user trusts the folder from now on, or does not any more."""
    ls.measurements.is_trusted = isinstance(params, Mapping) and params.get("trusted") is True
    if not ls.measurements.is_trusted:
        ls.measurements.close()


def initialized(ls: PolylspServer, _: types.InitializedParams) -> None:
    """Start the worker, and ask the client for its settings and to watch files."""
    ls.jobs.start()
    asyncio.get_running_loop().call_soon(commands.load_all)
    watch_files(ls)
    register(ls)
    if ls.client.configuration:
        ls.jobs.held = True
        asyncio.get_running_loop().call_later(_SECONDS_FOR_CONFIGURATION, ls.jobs.resume)
        ls.in_background(pull(ls))
    ls.state_changed()


def shutdown(ls: PolylspServer, *_: Any) -> None:
    """End the worker, and running measurements and compilations."""
    ls.measurements.close()
    ls.kernel_words.close()
    ls.jobs.close()


def _folders(params: types.InitializeParams) -> dict[str, Path]:
    if params.workspace_folders:
        return {folder.uri: Path(path_of(folder.uri)) for folder in params.workspace_folders}
    if params.root_uri:
        return {params.root_uri: Path(path_of(params.root_uri))}
    return {}


# --------------------------------------------------------------------------------------------------
# workspace/didChangeWorkspaceFolders.
# --------------------------------------------------------------------------------------------------


def did_change_workspace_folders(ls: PolylspServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came and went: documents in them may have other settings now."""
    for folder in params.event.removed:
        ls.folders.pop(folder.uri, None)
        ls.folder_settings.pop(folder.uri, None)
    for folder in params.event.added:
        ls.folders[folder.uri] = Path(path_of(folder.uri))
    if ls.client.configuration:
        ls.in_background(pull(ls))
    ls.reanalyse()


# --------------------------------------------------------------------------------------------------
# $/setTrace and window/workDoneProgress/cancel.
# --------------------------------------------------------------------------------------------------


def set_trace(ls: PolylspServer, params: types.SetTraceParams) -> None:
    """Log more, or less."""
    ls.trace = params.value


def cancel_progress(ls: PolylspServer, params: types.WorkDoneProgressCancelParams) -> None:
    """The user pressed cancel beside a progress bar."""
    ls.job_progress.cancelled(params.token)
    ls.closed_files.cancelled(params.token)
    ls.measurements.cancelled(params.token)
