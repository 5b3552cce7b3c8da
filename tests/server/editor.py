"""A client for tests: pytest-lsp's, with the abilities of a recorded editor, that remembers what it was
sent and can wait for it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter
from pytest_lsp import LanguageClient, make_test_lsp_client
from warm_start import warm

HERE = Path(__file__).parent
FAKE_SERVER = str(HERE / "fake_server.py")
COLD = (sys.executable, FAKE_SERVER)
"""The command of a server for which a test needs processes that are what they seem: with a CPU time of their
own, and to send signals to."""


def with_real_analysis() -> tuple[str, ...]:
    """The command of a server whose worker does what users' workers do."""
    return warm(FAKE_SERVER, *warm("polylsp.server.worker_main:main"))


CAPTURES = HERE.parent / "editors" / "captures"
PATIENCE = 30.0
SECONDS_BETWEEN_LOOKS = 0.02
"""Pause between two questions for the state of the server, which needs the processor to get on."""


class Editor:
    """A session. `settings` answers `workspace/configuration`; `applies` is its answer to an edit; `received`
    has every notification and request from the server, as (method, parameters)."""

    def __init__(self, capture: str, *, settings: Any = None) -> None:
        self.initialize = json.loads((CAPTURES / f"{capture}.caps.json").read_text())
        self.initialize["processId"] = os.getpid()
        self.initialize["workspaceFolders"] = None
        self.initialize["rootUri"] = self.initialize["rootPath"] = None
        self.settings = settings
        self.received: list[tuple[str, Any]] = []
        self.result: types.InitializeResult | None = None
        self.client: LanguageClient = make_test_lsp_client()
        self.applies = True
        self.texts: dict[str, tuple[int, str]] = {}
        self._news = asyncio.Condition()
        self._listen()

    # --- the session ---------------------------------------------------------------------------

    async def start(self, *command: str, env: dict[str, str] | None = None) -> types.InitializeResult:
        server = command or warm(FAKE_SERVER, *warm(str(HERE / "fake_analysis.py")))
        await self.client.start_io(*server, env={**os.environ, **(env or {})})
        params = get_converter().structure(self.initialize, types.InitializeParams)
        self.result = await self.client.initialize_session(params)
        return self.result

    async def stop(self) -> None:
        process = self.client._server
        if process is not None and process.returncode is None:
            await asyncio.wait_for(self.client.shutdown_session(), PATIENCE)
        await self.client.stop()

    @property
    def process(self) -> asyncio.subprocess.Process:
        process = self.client._server
        assert isinstance(process, asyncio.subprocess.Process)
        return process

    def raw(self, body: bytes) -> None:
        """Send the bytes of a message, right or wrong."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def request(self, method: str, params: Any) -> Any:
        return await asyncio.wait_for(self.client.protocol.send_request_async(method, params), PATIENCE)

    def sent(self, method: str, params: Any) -> asyncio.Future[Any]:
        """The answer to come to a request that is sent before anything that follows."""
        return asyncio.wrap_future(self.client.protocol.send_request(method, params))

    # --- documents -----------------------------------------------------------------------------

    def open(self, text: str, uri: str = "file:///project/a.c", language: str = "c", version: int = 1) -> str:
        item = types.TextDocumentItem(uri=uri, language_id=language, version=version, text=text)
        self.texts[uri] = version, text
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return uri

    def change(self, uri: str, *changes: types.TextDocumentContentChangeEvent, version: int = 0) -> int:
        number = version or self.texts[uri][0] + 1
        self.texts[uri] = number, self.texts[uri][1]
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=number)
        params = types.DidChangeTextDocumentParams(text_document=document, content_changes=list(changes))
        self.client.text_document_did_change(params)
        return number

    def replace(self, uri: str, old: str, new: str) -> int:
        """Replace the first `old` in an ASCII text, as one incremental change."""
        version, text = self.texts[uri]
        start = text.index(old)
        extent = types.Range(start=_at(text, start), end=_at(text, start + len(old)))
        self.texts[uri] = version, text[:start] + new + text[start + len(old) :]
        return self.change(uri, types.TextDocumentContentChangePartial(range=extent, text=new))

    def save(self, uri: str) -> None:
        identifier = types.TextDocumentIdentifier(uri=uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(text_document=identifier))

    def close(self, uri: str) -> None:
        identifier = types.TextDocumentIdentifier(uri=uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(text_document=identifier))

    async def hover(self, uri: str, line: int, character: int) -> types.Hover | None:
        position = types.Position(line=line, character=character)
        identifier = types.TextDocumentIdentifier(uri=uri)
        params = types.HoverParams(text_document=identifier, position=position)
        return await self.request(types.TEXT_DOCUMENT_HOVER, params)

    async def pull(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        """The diagnostics of a document, once all of its functions are finished."""
        answer = await self.pull_now(uri, previous)
        while (await self.execute("polylsp.status"))["analysing"]:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
            answer = await self.pull_now(uri, previous)
        return answer

    async def pull_now(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        """The diagnostics of a document, or of those of its functions that are finished."""
        identifier = types.TextDocumentIdentifier(uri=uri)
        params = types.DocumentDiagnosticParams(text_document=identifier, previous_result_id=previous)
        return await self.request(types.TEXT_DOCUMENT_DIAGNOSTIC, params)

    async def actions(
        self, uri: str, line: int, character: int = 8, *, end: Any = None, **context: Any
    ) -> Any:
        """The code actions at a position, or from there to `end`, once everything is analysed."""
        await self.settle()
        start = types.Position(line, character)
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri),
            range=types.Range(start, end or start),
            context=types.CodeActionContext(**{"diagnostics": [], **context}),
        )
        return await self.request(types.TEXT_DOCUMENT_CODE_ACTION, params)

    async def execute(self, command: str, *arguments: Any) -> Any:
        params = types.ExecuteCommandParams(command=command, arguments=list(arguments) or None)
        return await self.request(types.WORKSPACE_EXECUTE_COMMAND, params)

    async def settle(self) -> None:
        """Wait until everything is analysed: a request would wait for that, but not for ever."""
        while not (await self.execute("polylsp.status"))["quiescent"]:
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async def begun(self, mark: Path) -> None:
        """Wait until the analysis has left a mark."""

        async def wait() -> None:
            while not mark.exists():
                await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

        await asyncio.wait_for(wait(), PATIENCE)

    # --- what the server said ------------------------------------------------------------------

    async def until(self, method: str, accept: Callable[[Any], bool] = lambda _: True, count: int = 1) -> Any:
        """The parameters of the `count`-th accepted message of that method; waits for it."""

        def accepted() -> list[Any]:
            return [params for name, params in self.received if name == method and accept(params)]

        async def wait() -> Any:
            async with self._news:
                await self._news.wait_for(lambda: len(accepted()) >= count)
            return accepted()[count - 1]

        try:
            return await asyncio.wait_for(wait(), PATIENCE)
        except asyncio.TimeoutError:
            raise AssertionError(f"{method} did not come; received {self.received}") from None

    async def diagnostics(self, uri: str, version: int, *codes: str) -> list[types.Diagnostic]:
        """Diagnostics published last for a version; with `codes`, the first that have exactly these."""
        if not codes:
            await self.settle()
        published = await self.until(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            lambda params: (
                params.uri == uri
                and params.version == version
                and (not codes or [d.code for d in params.diagnostics] == list(codes))
            ),
        )
        if not codes:
            published = [each for _, each in self.received if _is_published(each, uri, version)][-1]
        return list(published.diagnostics)

    def methods(self) -> list[str]:
        return [method for method, _ in self.received]

    def _listen(self) -> None:
        note = self._note
        features = self.client.protocol.fm.features
        for method in (
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            types.WORKSPACE_DIAGNOSTIC_REFRESH,
            types.WORKSPACE_INLAY_HINT_REFRESH,
            types.WORKSPACE_CODE_LENS_REFRESH,
            types.CLIENT_REGISTER_CAPABILITY,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE,
            types.PROGRESS,
            types.WINDOW_SHOW_MESSAGE,
            types.WINDOW_LOG_MESSAGE,
            types.LOG_TRACE,
            types.WORKSPACE_CONFIGURATION,
            types.WORKSPACE_APPLY_EDIT,
            "polylsp/status",
        ):
            features.pop(method, None)

            def handle(params: Any, method: str = method) -> Any:
                note(method, params)
                if method == types.WORKSPACE_CONFIGURATION:
                    return [self.settings for _ in params.items]
                if method == types.WORKSPACE_APPLY_EDIT:
                    return types.ApplyWorkspaceEditResult(applied=self.applies)
                return None

            self.client.feature(method)(handle)

    def _note(self, method: str, params: Any) -> None:
        self.received.append((method, params))

        async def tell() -> None:
            async with self._news:
                self._news.notify_all()

        self._telling = asyncio.ensure_future(tell())


def _is_published(params: Any, uri: str, version: int) -> bool:
    is_list = isinstance(params, types.PublishDiagnosticsParams)
    return is_list and params.uri == uri and params.version == version


def _at(text: str, offset: int) -> types.Position:
    before = text[:offset]
    return types.Position(line=before.count("\n"), character=offset - (before.rfind("\n") + 1))
