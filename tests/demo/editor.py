"""A small editor: one session with `polylsp serve` over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from polylsp.core.text import Position, Source

PATIENCE = 60.0
CAPABILITIES = types.ClientCapabilities(
    general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf16]),
    text_document=types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText]),
        inlay_hint=types.InlayHintClientCapabilities(),
    ),
)


@dataclass(frozen=True)
class Shown:
    """Display of the editor for one version of a text: the diagnostics, the hint at the end of a 0-based
    line, and the seconds until its diagnostics."""

    source: Source
    diagnostics: tuple[types.Diagnostic, ...]
    hints: dict[int, str]
    seconds: float


class Editor:
    """The session. Open files are named by their paths."""

    def __init__(self) -> None:
        self._client = LanguageClient("polylsp-demo", "1")
        self._published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self._texts: dict[Path, tuple[int, str]] = {}
        self.ready_after = 0.0

    async def __aenter__(self) -> Editor:
        started = time.perf_counter()

        @self._client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self._published.put_nowait(params)

        await self._client.start_io(sys.executable, "-m", "polylsp", "serve")
        params = types.InitializeParams(CAPABILITIES, process_id=os.getpid())
        await asyncio.wait_for(self._client.initialize_async(params), PATIENCE)
        self.ready_after = time.perf_counter() - started
        self._client.initialized(types.InitializedParams())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.wait_for(self._client.shutdown_async(None), PATIENCE)
        self._client.exit(None)
        await self._client.stop()

    async def open(self, path: Path) -> Shown:
        """Open a file."""
        text = path.read_text(encoding="utf-8", errors="replace")
        self._texts[path] = 1, text
        item = types.TextDocumentItem(path.as_uri(), "c", 1, text)
        started = time.perf_counter()
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self._shown(path, started)

    async def replace(self, path: Path, old: str, new: str) -> Shown:
        """Type `new` over the first `old`."""
        version, text = self._texts[path]
        at = text.index(old)
        source = Source(text)
        extent = types.Range(_position(source, at), _position(source, at + len(old)))
        self._texts[path] = version + 1, text[:at] + new + text[at + len(old) :]
        document = types.VersionedTextDocumentIdentifier(version + 1, path.as_uri())
        change = types.TextDocumentContentChangePartial(extent, new)
        started = time.perf_counter()
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        return await self._shown(path, started)

    async def hover(self, path: Path, text: str) -> list[str]:
        """The lines shown when the mouse points at the first `text`."""
        source = Source(self._texts[path][1])
        position = _position(source, source.text.index(text))
        document = types.TextDocumentIdentifier(path.as_uri())
        found = await self._client.text_document_hover_async(types.HoverParams(document, position))
        assert found is not None and isinstance(found.contents, types.MarkupContent)
        return found.contents.value.splitlines()

    async def _shown(self, path: Path, started: float) -> Shown:
        version, text = self._texts[path]
        while True:
            told = await asyncio.wait_for(self._published.get(), PATIENCE)
            if told.uri == path.as_uri() and told.version == version:
                break
        seconds = time.perf_counter() - started
        source = Source(text)
        whole = types.Range(types.Position(0, 0), _position(source, len(text)))
        document = types.TextDocumentIdentifier(path.as_uri())
        hints = await self._client.text_document_inlay_hint_async(types.InlayHintParams(document, whole))
        labels = {hint.position.line: str(hint.label) for hint in hints or ()}
        return Shown(source, tuple(told.diagnostics), labels, seconds)


def _position(source: Source, offset: int) -> types.Position:
    found: Position = source.position(offset, "utf-16")
    return types.Position(found.line, found.character)
