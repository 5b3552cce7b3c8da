"""State of the connection with a client, and the services for the request handlers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from polylsp import __version__
from polylsp.core.language import PYTHON
from polylsp.core.project import Project, WrongProject, project_of, rooted
from polylsp.core.settings import Settings
from polylsp.measuring.tools import compiler_here, gpu_here
from polylsp.server import client
from polylsp.server.client import Client
from polylsp.server.closed_files import ClosedFiles
from polylsp.server.jobs import Jobs
from polylsp.server.kernel_checks import KernelWords
from polylsp.server.measurements import Measurements, Tunings
from polylsp.server.progress import Progress
from polylsp.server.protocol import Protocol, ServerCancelled, strict_converter
from polylsp.server.queue import Job
from polylsp.server.worker import WORKER_COMMAND

if TYPE_CHECKING:
    from polylsp.core.text import Span
    from polylsp.model.facts import FileReport
    from polylsp.server.documents import Document
    from polylsp.server.findings import CellFindings, Findings
    from polylsp.server.pictures import Pictures


logger = logging.getLogger(__name__)

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="*", cells=[types.NotebookCellLanguage(language=PYTHON.name)]
        )
    ],
    save=True,
)

_FIRST_PART = 0.1
"""Seconds after which the findings of finished functions are sent while others are not."""

_LATER_PARTS = 3.0
"""The most seconds between two such times: each costs the client as much as all findings."""

_TRACES = ("off", "messages", "verbose")


class PolylspServer(LanguageServer):
    """The language server of one client. It is the `Observer` of its jobs."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]
    outlives_client = False
    """Set if the process goes on after the client's ends."""

    def __init__(self, worker_command: Sequence[str] = WORKER_COMMAND) -> None:
        super().__init__(
            "polylsp",
            __version__,
            protocol_cls=Protocol,
            converter_factory=strict_converter,
            notebook_document_sync=_NOTEBOOKS,
            max_workers=1,
        )
        self.client = Client()
        self.documents: dict[str, Document] = {}
        self.folders: dict[str, Path] = {}
        self.settings = Settings()
        self.folder_settings: dict[str, Settings] = {}
        self._projects: dict[Path, Project] = {}
        self._wrong_projects: set[str] = set()
        self.jobs = Jobs(worker_command, self._analysed_documents, self.settings_of, self)
        self.closed_files = ClosedFiles(self.jobs, self.settings_at)
        self.job_progress = Progress(self.protocol, False, self.jobs.abandon)
        self.measurements = Measurements(self.protocol)
        self.tunings = Tunings()
        self.kernel_words = KernelWords()
        self.trace = types.TraceValue.Off
        self._findings: dict[str, Findings | CellFindings] = {}
        self._json: dict[str, dict[str, str]] = {}
        self._saved: set[str] = set()
        self._delays: dict[str, asyncio.TimerHandle] = {}
        self._status: dict[str, Any] = {}
        self._parts: dict[str, asyncio.TimerHandle] = {}
        self._pauses: dict[str, float] = {}
        self._owed_diagnostics: set[str] = set()
        self._owed_hints: set[str] = set()
        self._owed_lenses: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._lost: dict[str, tuple[Document, Findings | CellFindings] | None] = {}
        self.protocol.edits_lost = self.edits_lost

    # --- documents ---------------------------------------------------------------------------

    def document_of(self, uri: str) -> Document | None:
        """The document that one of the client's belongs to: itself, or the notebook of a cell."""
        known = self.documents.get(uri)
        return known or next((each for each in self.documents.values() if uri in each.uris), None)

    def open(self, document: Document, findings: Findings | CellFindings) -> None:
        """Keep a document that the client opened, and analyse it; one that it had open is replaced."""
        self.close(document.uri)
        self._projects.pop(Path(document.path).parent, None)
        self._lost.pop(document.uri, None)
        self.documents[document.uri] = document
        self._findings[document.uri] = findings
        self.closed_files.opened(document.path)
        if document.is_ours:
            self.jobs.want(document, full=True)

    def follows(self, uri: str, version: int, *, is_whole: bool = False) -> Document | None:
        """The document that was edited, if its text is determined after that: in any case if it `is_whole`,
        that is, all of the text has come. Where it will not, the user is notified, and the document counts as
        not open."""
        if is_whole and (lost := self._lost.get(uri)) is not None:
            self.open(*lost)
        document = self.documents.get(uri)
        if document is None:
            self._tell_lost(uri)
        elif document.is_doubtful and not is_whole and version != document.version + 1:
            self._lose(document)
            return None
        else:
            document.is_doubtful = False
        return document

    def edits_lost(self, uri: str | None) -> None:
        """Handle a change that could not be read, of a document or (`None`) of an undetermined one."""
        if uri is None:
            for each in self.documents.values():
                each.is_doubtful = True
        elif (document := self.document_of(uri)) is not None:
            self._lose(document)

    def _lose(self, document: Document) -> None:
        """Withdraw the findings of a document whose text is lost."""
        findings = self._findings[document.uri]
        self.close(document.uri)
        self._tell_lost(document.uri)
        self._lost[document.uri] = (document, findings)

    def _tell_lost(self, uri: str) -> None:
        """Say, once, that a document must be opened again."""
        if uri in self._lost:
            return
        self._lost[uri] = None
        message = (
            f"polylsp lost track of the text of {Path(path_of(uri)).name}, and says nothing of it: "
            "close the file and open it again."
        )
        logger.warning(
            "%s: a change was lost, could not be read, or came for a document that is not open", uri
        )
        self.tell_user(message, types.MessageType.Warning)

    def changed(self, document: Document) -> None:
        """Analyse a document that was edited, after the delay that the user set."""
        if not document.is_ours:
            return
        self._cancel_delay(document.uri)
        self._end_parts(document)  # Findings of the new text are sent at once again.
        delay = self.settings_of(document).delay_ms
        if delay:
            loop = asyncio.get_running_loop()
            self._delays[document.uri] = loop.call_later(delay / 1000, self._changed_now, document)
        else:
            self._changed_now(document)

    def saved(self, document: Document) -> None:
        """Work out schedules and transforms of a document that was saved, then the report of NVIDIA's
        compiler on its kernels."""
        self._projects.pop(Path(document.path).parent, None)
        if document.is_ours:
            self._saved.add(document.uri)
            self.jobs.want_schedules(document)

    def close(self, uri: str) -> None:
        """Forget a document, and clear its diagnostics at the client."""
        self._lost.pop(uri, None)
        document = self.documents.pop(uri, None)
        if document is None:
            return
        self._cancel_delay(uri)
        self._end_parts(document)
        self._saved.discard(uri)
        document.close()
        self.measurements.forget(uri)
        self.tunings.forget(uri)
        self.kernel_words.forget(uri)
        self.jobs.drop(document)
        del self._findings[uri]
        told = {*document.uris, *self._json.pop(uri, {})}
        self._owed_diagnostics.discard(uri)
        self._owed_hints.discard(uri)
        self._owed_lenses.discard(uri)
        for each in told if self._publishes(document) else ():
            self._publish(each, None, "[]")
        self.closed_files.closed(document.path)

    def end(self) -> None:
        """The client has left: nothing of the conversation goes on."""
        for uri in list(self.documents):
            self.close(uri)
        for task in list(self._tasks):
            task.cancel()

    def reanalyse(self) -> None:
        """Analyse every open document again: something beside their texts has changed."""
        self._projects.clear()
        self.closed_files.outdate()
        for document in self.documents.values():
            if document.is_ours:
                self._owed_diagnostics.add(document.uri)
                self._owed_hints.add(document.uri)
                self._owed_lenses.add(document.uri)
                self.jobs.want(document, full=True, again=True)

    def settings_of(self, document: Document) -> Settings:
        """The settings for a document."""
        return self.settings_at(document.path)

    def settings_at(self, name: str) -> Settings:
        """The settings of the innermost workspace folder that holds a file; where these are defaults, those
        of its project."""
        path = Path(name)
        holding = [(uri, folder) for uri, folder in self.folders.items() if path.is_relative_to(folder)]
        settings = self.settings
        if holding:
            uri, folder = max(holding, key=lambda each: len(each[1].parts))
            settings = rooted(self.folder_settings.get(uri, self.settings), folder)
        return self._project_at(path).beneath(settings)

    def _project_at(self, path: Path) -> Project:
        """Settings of the project of a document; none, and a message to the user, if its file is invalid."""
        if not path.is_absolute():
            return Project()
        if path.parent not in self._projects:
            try:
                self._projects[path.parent] = project_of(path)
            except WrongProject as wrong:
                self._projects[path.parent] = Project()
                if str(wrong) not in self._wrong_projects:
                    self._wrong_projects.add(str(wrong))
                    self.tell_user(str(wrong), types.MessageType.Warning)
        return self._projects[path.parent]

    def configure(self, values: Any, folder: str | None = None) -> None:
        """Take settings from the client, for all documents or those of one folder."""
        reading = client.read(values)
        for key in reading.ignored:
            logger.info("Unknown setting polylsp.%s is ignored.", key)
        for sentence in reading.wrong:
            self.tell_user(sentence, types.MessageType.Warning)
        if folder is None:
            self.settings = reading.settings
        else:
            self.folder_settings[folder] = reading.settings

    @cached_property
    def pictures(self) -> Pictures:
        """Drawings for hovers, created on the first hover."""
        from polylsp.server.pictures import Pictures

        return Pictures()

    # --- diagnostics ---------------------------------------------------------------------------

    def findings(self, document: Document) -> tuple[str, str]:
        """The diagnostics of a document as JSON text, and a name for them: another name, others."""
        text = self._json.get(document.uri, {}).get(document.uri, "[]")
        return text, f"{hash(text):x}"

    def owe_diagnostics(self, document: Document) -> None:
        """The client has got the diagnostics of some functions, and others will come."""
        self._owed_diagnostics.add(document.uri)

    def shows(self, document: Document, span: Span) -> None:
        """The client shows a part of a document: its functions come first."""
        if document.show(span):
            self.jobs.refocus(document)

    def wishes(self, document: Document, span: Span) -> None:
        """The client lists the actions on a part of a document: edits that were not tried there are tried
        next."""
        if document.wish(span):
            self.jobs.want_schedules(document)

    def owe_hints(self, document: Document) -> None:
        """The client has got hints that will be other ones once the present text is analysed."""
        self._owed_hints.add(document.uri)

    def owe_lenses(self, document: Document) -> None:
        """Record that the client has lenses that will change once the present text is analysed."""
        self._owed_lenses.add(document.uri)

    def server_cancelled(self, *, retry: bool) -> ServerCancelled:
        """The error for diagnostics that will not be ready."""
        return ServerCancelled(data={"retriggerRequest": retry})

    def measured(self, document: Document) -> None:
        """There is a new measurement of a document."""
        if document.is_reported and document.report is not None:
            self._tell_findings(document, self.settings_of(document), is_asked=True)
        if self.client.refreshes_hints:
            self._ask_client(types.WORKSPACE_INLAY_HINT_REFRESH)
        if self.client.refreshes_lenses:
            self._ask_client(types.WORKSPACE_CODE_LENS_REFRESH)

    # --- the jobs' observer ----------------------------------------------------------------------

    def job_progressed(self, job: Job) -> None:
        """Show how far it is; for files that are not open, their request does."""
        if job.document.is_open:
            self.job_progress.job_progressed(job)

    def job_ended(self, job: Job) -> None:
        """Show that it is over."""
        self.job_progress.job_ended(job)

    def part_ready(self, document: Document) -> None:
        """Send the client the findings so far, after a delay that grows with the duration."""
        uri = document.uri
        if uri in self.documents and uri not in self._parts:
            pause = self._pauses[uri] = min(2 * self._pauses.get(uri, _FIRST_PART / 2), _LATER_PARTS)
            self._parts[uri] = asyncio.get_running_loop().call_later(pause, self._tell_part, document)

    def report_ready(self, job: Job) -> None:
        """Send the findings to the client."""
        document = job.document
        if not document.is_open:
            return
        assert document.report is not None
        self._end_parts(document)
        # After an edit the client asks by itself.
        is_asked = job.full or document.uri in self._owed_diagnostics
        self._tell_findings(document, job.settings, is_asked=is_asked)
        self._refresh(document)
        self._owed_diagnostics.discard(document.uri)
        self._trace_job(job)
        if job.full and document.uri in self._saved:
            self._saved.discard(document.uri)
            self._compile_kernels(document, document.report, job.settings)

    def state_changed(self) -> None:
        """Send the status, if the client wants it and it is another."""
        status = self.status()
        if self.client.wants_status and status != self._status:
            self._status = status
            self.protocol.notify_json("polylsp/status", json.dumps(status))

    def tell_user(self, message: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=message))

    def status(self) -> dict[str, Any]:
        """Status of the server: `health` (ok, warning, error), `quiescent`, a `message`, how many open
        documents are `analysing`, how many of their loops were given up, which functions were set aside, and
        why; the compiler and the GPU here, if any."""
        return {
            "health": "error" if self.jobs.trouble else "ok",
            "quiescent": self.jobs.is_idle,
            "message": self.jobs.trouble,
            "analysing": sum(each.is_due for each in self.documents.values()),
            "givenUp": sum(each.given_up for each in self._findings.values()),
            "setAside": self.jobs.set_aside,
            "compiler": compiler_here(),
            "gpu": gpu_here(),
        }

    # --- talking to the client -------------------------------------------------------------------

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a conversation with the client beside everything else; its failure is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish_task)

    def register(self, method: str, options: Any) -> None:
        """Register for messages that the client sends only on request."""
        registration = types.Registration(id=method, method=method, register_options=options)
        params = types.RegistrationParams([registration])

        async def ask() -> None:
            await self.client_register_capability_async(params)

        self.in_background(ask())

    def trace_line(self, message: str, verbose: str | None = None) -> None:
        """Send a line of trace, at the level that the client or the user requested."""
        level = max(_TRACES.index(self.trace.value), _TRACES.index(self.settings.trace))
        if level:
            details = verbose if level == _TRACES.index("verbose") else None
            self.protocol.notify(types.LOG_TRACE, types.LogTraceParams(message=message, verbose=details))

    def _analysed_documents(self) -> list[Document]:
        """The open documents, and the other file that is being analysed, if one is."""
        file = self.closed_files.at_hand
        return [*self.documents.values(), *([file] if file is not None else [])]

    def _tell_findings(self, document: Document, settings: Settings, *, is_asked: bool) -> None:
        kept = self.measurements.of(document)
        before = self._json.get(document.uri, {})
        texts = self._json[document.uri] = self._findings[document.uri].by_document(document, settings, kept)
        if self._publishes(document):
            self._publish_all(document, before, texts)
        elif before != texts and is_asked:
            self._ask_client(types.WORKSPACE_DIAGNOSTIC_REFRESH)

    def _compile_kernels(self, document: Document, report: FileReport, settings: Settings) -> None:
        """Request the report of NVIDIA's compiler, unless the user distrusts the folder."""
        from polylsp.ide.hover import asks_of

        if self.measurements.is_trusted:
            self.kernel_words.want(document, settings, asks_of(report))

    def _tell_part(self, document: Document) -> None:
        """Send the client the findings so far of a document that is being analysed."""
        self._parts.pop(document.uri, None)
        if document.uri in self.documents and document.found_for == document.revision:
            # A client that pulls requests first by itself; it gets a refresh request where it got less.
            is_asked = document.is_reported or document.uri in self._owed_diagnostics
            document.set_part(self.jobs.part(document))
            self._tell_findings(document, self.settings_of(document), is_asked=is_asked)
            self._refresh(document)

    def _end_parts(self, document: Document) -> None:
        self._pauses.pop(document.uri, None)
        if (timer := self._parts.pop(document.uri, None)) is not None:
            timer.cancel()

    def _refresh(self, document: Document) -> None:
        """Send refresh requests for answers that the client got about an older text, or about a part of
        it."""
        if document.uri in self._owed_hints and self.client.refreshes_hints:
            self._ask_client(types.WORKSPACE_INLAY_HINT_REFRESH)
        if document.uri in self._owed_lenses and self.client.refreshes_lenses:
            self._ask_client(types.WORKSPACE_CODE_LENS_REFRESH)
        self._owed_hints.discard(document.uri)
        self._owed_lenses.discard(document.uri)

    def _changed_now(self, document: Document) -> None:
        self._delays.pop(document.uri, None)
        self.jobs.want(document)

    def _cancel_delay(self, uri: str) -> None:
        if (delay := self._delays.pop(uri, None)) is not None:
            delay.cancel()

    def _publishes(self, document: Document) -> bool:
        """True if diagnostics are published: no client pulls those of cells."""
        return document.is_notebook or not self.client.pulls

    def _publish_all(self, document: Document, before: dict[str, str], texts: dict[str, str]) -> None:
        """Send the diagnostics of a document; of a notebook, those of the cells where they are others."""
        versions = dict(document.versions)
        for uri, text in texts.items():
            if not document.is_notebook or before.get(uri) != text:
                self._publish(uri, versions[uri], text)
        for uri in before.keys() - texts.keys():
            self._publish(uri, None, "[]")

    def _publish(self, uri: str, version: int | None, diagnostics: str) -> None:
        number = "" if version is None else f'"version":{version},'
        self.protocol.notify_json(
            types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS,
            f'{{"uri":{json.dumps(uri)},{number}"diagnostics":{diagnostics}}}',
        )

    def _ask_client(self, method: str) -> None:
        async def ask() -> None:
            await self.protocol.send_request_async(method)

        self.in_background(ask())

    def _finish_task(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.warning("The client refused a request: %s", error)

    def _trace_job(self, job: Job) -> None:
        document = job.document
        seconds = asyncio.get_running_loop().time() - job.started.clock
        kind = "with schedules" if job.full else "without schedules"
        self.trace_line(
            f"{document.path}: version {document.version} analysed {kind} in {1000 * seconds:.0f} ms",
            f"{self._findings[document.uri].rewritten} functions have new findings",
        )


def path_of(uri: str) -> str:
    """The path of a document; for other schemes, the rest of the URI."""
    return to_fs_path(uri) or uri.partition(":")[2] or uri
