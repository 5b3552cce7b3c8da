"""workspace/didChangeWorkspaceFolders."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from polylsp.server.features import configuration
from polylsp.server.session import PolylspServer, path_of


def did_change_workspace_folders(ls: PolylspServer, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Folders came and went: documents in them may have other settings now."""
    for folder in params.event.removed:
        ls.folders.pop(folder.uri, None)
        ls.folder_settings.pop(folder.uri, None)
    for folder in params.event.added:
        ls.folders[folder.uri] = Path(path_of(folder.uri))
    if ls.client.configuration:
        ls.in_background(configuration.pull(ls))
    ls.reanalyse()
