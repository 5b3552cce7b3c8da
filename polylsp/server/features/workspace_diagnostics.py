"""workspace/diagnostic: the files of the workspace that are not open, for clients that pull.

A client that has everything already waits for its answer until something changes: it asks again at
once, and as often as it is answered.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import PurePath

from lsprotocol import types

from polylsp.measuring.remote import Step
from polylsp.server.closed_files import Listed
from polylsp.server.measurements import Bar
from polylsp.server.progress import Token
from polylsp.server.protocol import JsonText
from polylsp.server.session import PolylspServer, path_of

_SECONDS_BETWEEN_LOOKS = 10.0
"""Time between two looks at the files of the workspace while a request waits for a change."""

_SECONDS_WITHOUT_BAR = 1.0


async def workspace_diagnostic(ls: PolylspServer, params: types.WorkspaceDiagnosticParams) -> JsonText:
    """The diagnostics of all files that are not open: of each as soon as they are found, where the client
    takes partial results. Findings that a client has of files that are gone, or no longer listed, are
    withdrawn."""
    before = {path_of(each.uri): each for each in params.previous_result_ids}
    answer = _Answer(ls, params.partial_result_token)
    bar = _FilesBar(ls, params.work_done_token)
    waits = bool(before) or answer.token is not None
    try:
        await _look(ls, before, answer, bar)
        while waits and not answer.is_news:
            await ls.closed_files.change(_SECONDS_BETWEEN_LOOKS)
            await _look(ls, before, answer, bar)
    finally:
        bar.end()
    return JsonText(f'{{"items":[{",".join(answer.items)}]}}')


@dataclass(slots=True, eq=False)
class _Answer:
    """Reports on files for one request. `is_news`: one of them says something that the client has not."""

    ls: PolylspServer
    token: Token | None
    items: list[str] = field(default_factory=list[str])
    is_news: bool = False

    def full(self, uri: str, name: str, diagnostics: str) -> None:
        """The client has other findings of a file, or none yet."""
        self.is_news = True
        item = (
            f'{{"kind":"full","uri":{json.dumps(uri)},"version":null,"resultId":{json.dumps(name)},'
            f'"items":{diagnostics}}}'
        )
        if self.token is None:
            self.items.append(item)
        else:
            value = f'{{"token":{json.dumps(self.token)},"value":{{"items":[{item}]}}}}'
            self.ls.protocol.notify_json(types.PROGRESS, value)

    def unchanged(self, uri: str, name: str) -> None:
        """The client has these findings: said once more only where everything is said at once."""
        if self.token is None:
            self.items.append(
                f'{{"kind":"unchanged","uri":{json.dumps(uri)},"version":null,"resultId":{json.dumps(name)}}}'
            )


@dataclass(slots=True, eq=False)
class _FilesBar:
    """Progress of one request: on the token that it brought, else on one that the server asks for when
    the analysis lasts."""

    ls: PolylspServer
    given: Token | None
    _bar: Bar | None = None
    _since: float | None = None

    async def show(self, file: Listed, number: int, total: int) -> None:
        """Tell which of the files comes next."""
        now = asyncio.get_running_loop().time()
        self._since = now if self._since is None else self._since
        lasts = self.ls.client.progress and now - self._since >= _SECONDS_WITHOUT_BAR
        if self._bar is None and (self.given is not None or lasts):
            token = f"polylsp-files-{id(self):x}" if self.given is None else self.given
            self._bar = Bar(self.ls.protocol, token)
            self.ls.closed_files.bars.add(token)
            await self._bar.begin("Analysing the workspace", is_granted=self.given is not None)
        if self._bar is not None:
            what = f"{PurePath(file.path).name} ({number + 1}/{total})"
            self._bar.report(Step(100 * number // max(1, total), what))

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self.ls.closed_files.bars.discard(self._bar.token)
            self._bar.end()


async def _look(
    ls: PolylspServer, before: dict[str, types.PreviousResultId], answer: _Answer, bar: _FilesBar
) -> None:
    """Report on every file once; `before` is what the client has, by path."""
    closed = ls.closed_files
    answer.items.clear()
    opened = frozenset(each.path for each in ls.documents.values())
    folders = ls.folders.values() if ls.settings.workspace_diagnostics else ()
    files = await closed.listed(folders, opened)
    for number, file in enumerate(files):
        if not closed.is_known(file):
            if closed.is_paused:
                break
            await bar.show(file, number, len(files))
        found = await closed.findings(file, ls.client)
        if found is None:
            continue
        had = before.get(file.path)
        is_owed = closed.owes(file.path)
        if had is not None and had.value == found.name and not is_owed:
            answer.unchanged(file.uri, found.name)
        elif found.json != "[]" or had is not None:
            answer.full(file.uri, found.name, found.json)
    listed = {each.path for each in files} | opened
    for path, had in before.items():
        if path not in listed:
            answer.full(had.uri, "", "[]")
