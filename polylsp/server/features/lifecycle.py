"""initialize, initialized, shutdown, and the requests to the client in between."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types

from polylsp.server.client import client_of
from polylsp.server.features import configuration, diagnostic, on_demand, watched_files
from polylsp.server.parent import end_with
from polylsp.server.session import PolylspServer, path_of

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
        diagnostic.register(ls)
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
    asyncio.get_running_loop().call_soon(on_demand.load_all)
    watched_files.register(ls)
    configuration.register(ls)
    if ls.client.configuration:
        ls.jobs.held = True
        asyncio.get_running_loop().call_later(_SECONDS_FOR_CONFIGURATION, ls.jobs.resume)
        ls.in_background(configuration.pull(ls))
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
