"""The ranking of the loops of the workspace, by the real analysis."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from editor import HERE
from lsprotocol import types

from polylsp.server.worker import WORKER_COMMAND

pytestmark = pytest.mark.asyncio

SMALL = """
void small(float *restrict a) {
    for (int i = 0; i < N; i++)
        a[i] = 1;
}
"""
LARGE = """
void large(float a[restrict 4000][4000], int n) {
    for (int i = 0; i < 4000; i++)
        for (int j = 0; j < 4000; j++)
            a[i][j] = 1;
    for (int t = 1; t < 4000; t++)
        a[0][t] = a[0][t - 1];
}
"""
SERVER = (sys.executable, str(HERE / "fake_server.py"), *WORKER_COMMAND)


async def begin(start: Any, folder: Path | None, settings: dict[str, Any] | None = None) -> Any:
    def prepare(initialize: dict[str, Any]) -> None:
        if folder is not None:
            initialize["workspaceFolders"] = [{"uri": folder.as_uri(), "name": "project"}]

    editor = await start("vscode1139-ext11", *SERVER, settings=settings or {}, prepare=prepare)
    await editor.until(types.WORKSPACE_CONFIGURATION)
    await editor.execute("polylsp.status")  # comes after the settings
    return editor


async def test_the_loops_of_all_files_most_work_first(start, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "a.c").write_text(SMALL)
    (folder / "b.c").write_text(LARGE)
    editor = await begin(start, folder, {"defines": ["N=20000", "TWO=1,2"]})
    found = await editor.execute("polylsp.rank")
    assert [(each["function"], each["iterator"]) for each in found["loops"]] == [
        ("large", "i"),
        ("small", "i"),
    ]
    first, second = found["loops"]
    assert first["uri"] == (folder / "b.c").as_uri()
    assert first["range"]["start"] == {"line": 2, "character": 4}
    assert first["estimate"] == "about 16,000,000 operations"
    assert first["label"] == "parallel" and first["obstacle"] is None
    assert second["estimate"] == "about 20,000 operations", "the editor's settings hold"
    assert found["verdicts"] == {"parallel": 3, "sequential": 1}
    begun = [params.value for method, params in editor.received if method == types.PROGRESS]
    assert begun[0]["title"] == "Ranking the loops of the workspace"


async def test_nothing_to_rank_is_no_error(start, tmp_path):
    (tmp_path / "empty").mkdir()
    editor = await begin(start, tmp_path / "empty")
    found = await editor.execute("polylsp.rank")
    assert found["loops"] == [] and found["verdicts"] == {}


async def test_without_a_folder_it_says_what_to_do(start):
    editor = await begin(start, None)
    assert (await editor.execute("polylsp.rank"))["reason"].startswith("Open a folder")
    shown = await editor.until(types.WINDOW_SHOW_MESSAGE)
    assert shown.type == types.MessageType.Info


async def test_settings_that_the_report_cannot_use_are_told(start, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.c").write_text(LARGE)
    (tmp_path / "project" / ".polylsp.toml").write_text("tile_sizes = 'x'\n")
    editor = await begin(start, tmp_path / "project")
    assert ".polylsp.toml" in (await editor.execute("polylsp.rank"))["reason"]


async def test_the_button_of_its_progress_bar_ends_it(start, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.c").write_text(LARGE)
    editor = await begin(start, tmp_path / "project")
    waiting = asyncio.ensure_future(editor.execute("polylsp.rank"))
    begun = await editor.until(types.PROGRESS)
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=begun.token))
    assert await waiting == {"reason": "cancelled"}
    assert (await editor.execute("polylsp.status"))["health"] == "ok"
