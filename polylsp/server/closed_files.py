"""Diagnostics of workspace files that are not open: listed, analysed one after the other behind all work for
open documents, and remembered until the file, its settings or its surroundings change.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pygls.uris import from_fs_path

from polylsp.core.language import SEARCHED, language_of
from polylsp.core.notebook import SUFFIX
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, read_file, sources_in, why_no_python
from polylsp.core.text import Source

if TYPE_CHECKING:
    from polylsp.server.client import Client
    from polylsp.server.documents import Document
    from polylsp.server.jobs import Jobs

logger = logging.getLogger(__name__)

MOST_FILES = 2000
"""Files of a workspace that are analysed; the others are left out, in alphabetical order."""

_NOTHING = "[]"

# Clients have no documents for the cells of a notebook that is not open.
_SUFFIXES = SEARCHED - {SUFFIX}


@dataclass(frozen=True, slots=True)
class Listed:
    """A file of the workspace, with what its findings depend on."""

    path: str
    uri: str
    settings: Settings
    stamp: tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileFindings:
    """Diagnostics of a file as JSON text, and a name for them: another name, others."""

    file: Listed
    json: str
    name: str


@dataclass(slots=True, eq=False)
class ClosedFiles:
    """Findings of files that are not open, by URI. `at_hand` is the file that is being analysed. `is_paused`:
    the user cancelled, and no file is analysed until something changes; `bars` are the progress bars whose
    cancel button does that."""

    jobs: Jobs
    settings_at: Callable[[str], Settings]
    at_hand: Document | None = None
    is_paused: bool = False
    bars: set[str | int] = field(default_factory=set[str | int])
    _known: dict[str, FileFindings] = field(default_factory=dict[str, FileFindings])
    _owed: set[str] = field(default_factory=set[str])
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_limit_logged: bool = False

    # --- what happens in the workspace -------------------------------------------------------------

    def opened(self, path: str) -> None:
        """The editor has a file from now on: it is analysed as a document."""
        if self.at_hand is not None and self.at_hand.path == path:
            self._drop()

    def closed(self, path: str) -> None:
        """A document was closed: the client has lost its findings, and gets them whatever it had before."""
        self._owed.add(path)
        self._changed.set()

    def outdate(self) -> None:
        """Headers, settings or other files changed: no findings are certain any more."""
        self._known.clear()
        self.is_paused = False
        self._changed.set()

    def cancelled(self, token: str | int) -> None:
        """The user pressed cancel beside a progress bar: files are left alone until something changes."""
        if token in self.bars:
            self.is_paused = True
            self._drop()

    async def change(self, seconds: float) -> None:
        """Wait until one of these happens, or for so many seconds: files change on disk without a word."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return

    # --- their findings ------------------------------------------------------------------------------

    async def listed(self, folders: Iterable[Path], opened: frozenset[str]) -> list[Listed]:
        """The files of some folders without those that are open, at most so many."""
        self._changed.clear()
        paths = await asyncio.to_thread(_paths, tuple(folders))
        if len(paths) > MOST_FILES and not self._is_limit_logged:
            self._is_limit_logged = True
            logger.warning("The workspace has %d files; the first %d are analysed.", len(paths), MOST_FILES)
        found = [(path, stamp) for path, stamp in paths[:MOST_FILES] if path not in opened]
        return [self._listed(path, stamp) for path, stamp in found]

    def is_known(self, file: Listed) -> bool:
        """True if the findings of a file need no analysis."""
        known = self._known.get(file.uri)
        return known is not None and known.file == file

    def owes(self, path: str) -> bool:
        """True, once, if the client needs the findings of a file though their name may be the same."""
        is_owed = path in self._owed
        self._owed.discard(path)
        return is_owed

    async def findings(self, file: Listed, client: Client) -> FileFindings | None:
        """The findings of a file; `None` if its analysis was stopped. Of one that cannot be read there are
        none: it says so when it is opened or checked."""
        if self.is_known(file):
            return self._known[file.uri]
        async with self._turn:
            text = await asyncio.to_thread(_text, file)
            json = _NOTHING if text is None else await self._analysed(file, text, client)
        if json is None:
            return None
        made = self._known[file.uri] = FileFindings(file, json, f"{hash(json):x}")
        return made

    async def _analysed(self, file: Listed, text: str, client: Client) -> str | None:
        # Imported here: none of it need be loaded before the editor has its `initialize` answered.
        from polylsp.server.documents import Document
        from polylsp.server.findings import Findings

        language = language_of(file.path)
        assert language is not None
        document = Document(file.uri, file.path, language.name, 0, Source(text), is_open=False)
        self.at_hand = document
        try:
            self.jobs.want(document, quick=False, full=True)
            await document.settle(None)
            if document.report is not None and document.is_reported:
                return Findings(file.uri, client).json(document.source, document.report, file.settings)
            # Nothing is found by trying a file again whose analysis failed, which the log tells of.
            return _NOTHING if self.at_hand is document else None
        finally:
            if self.at_hand is document:
                self._drop()

    def _drop(self) -> None:
        document, self.at_hand = self.at_hand, None
        if document is not None:
            self.jobs.drop(document)

    def _listed(self, path: str, stamp: tuple[int, int]) -> Listed:
        return Listed(path, from_fs_path(path) or path, self.settings_at(path), stamp)


def _paths(folders: tuple[Path, ...]) -> list[tuple[str, tuple[int, int]]]:
    """Source files of some folders, each once, with the time of their last change and their size."""
    found: dict[str, tuple[int, int]] = {}
    for folder in folders:
        for path in sources_in(folder, _SUFFIXES):
            try:
                status = Path(path).stat()
            except OSError:
                continue
            found.setdefault(path, (status.st_mtime_ns, status.st_size))
    return sorted(found.items())


def _text(file: Listed) -> str | None:
    """The text of a file; `None` if it cannot be read, or is in another encoding than it declares."""
    try:
        data = read_file(file.path, file.settings.max_file_mb)
    except (OSError, ValueError):
        return None
    return None if file.path.endswith(".py") and why_no_python(data) else decode(data)
