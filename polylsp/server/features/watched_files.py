"""workspace/didChangeWatchedFiles: headers, how the project is compiled, and its settings."""

from __future__ import annotations

from lsprotocol import types

from polylsp.server.session import PolylspServer, path_of

_PATTERNS = ("**/compile_commands.json", "**/*.{h,c}", "**/{.polylsp,pyproject}.toml")


def did_change_watched_files(ls: PolylspServer, params: types.DidChangeWatchedFilesParams) -> None:
    """Files changed on disk: analyse the affected documents again."""
    changed = {path_of(change.uri) for change in params.changes}
    others = changed - {document.path for document in ls.documents.values() if document.path.endswith(".c")}
    if others:
        ls.reanalyse()


def register(ls: PolylspServer) -> None:
    """Register for notifications of changes."""
    if ls.client.registers_watched_files:
        watchers = [types.FileSystemWatcher(glob_pattern=pattern) for pattern in _PATTERNS]
        ls.register(
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
        )
