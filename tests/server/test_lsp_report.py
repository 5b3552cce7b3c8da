"""The ranking of the loops of the workspace, and the tools of assistants, by the real analysis."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from editor import with_real_analysis
from lsprotocol import types

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


async def begin(start: Any, folder: Path | None, settings: dict[str, Any] | None = None) -> Any:
    def prepare(initialize: dict[str, Any]) -> None:
        if folder is not None:
            initialize["workspaceFolders"] = [{"uri": folder.as_uri(), "name": "project"}]

    editor = await start("vscode1139-ext11", *with_real_analysis(), settings=settings or {}, prepare=prepare)
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


async def test_a_profile_ranks_loops_by_its_samples(start, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.c").write_text(SMALL)
    (folder / "b.c").write_text(LARGE)
    (folder / "p.txt").write_text("small (a.c:3) 70\nlarge (b.c:7) 30\n")
    editor = await begin(start, folder, {"defines": ["N=20000"]})
    found = await editor.execute("polylsp.rank", {"profile": str(folder / "p.txt")})
    assert found["loops"][0]["estimate"] == "70% of the samples"
    assert [each["uri"] for each in found["hot"]] == [(folder / "b.c").as_uri()]
    found = await editor.execute("polylsp.rank", {"profile": str(folder / "a.c")})
    assert "neither text of `perf script`" in found["reason"]


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


# --- Tools of coding assistants ----------------------------------------------------------


async def called(editor: Any, tool: str, consents: dict[str, bool] | None = None, **arguments: Any) -> Any:
    return await editor.execute("polylsp.tool", {"tool": tool, "arguments": arguments, **(consents or {})})


async def test_tools_answer_with_the_settings_of_the_editor(start, tmp_path):
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "a.c"
    file.write_text(SMALL)
    editor = await begin(start, tmp_path / "project", {"defines": ["N=20000"]})
    found = await called(editor, "check", path="a.c")
    assert "a.c:3:5: parallel-loop" in found["answer"] and "`N`" not in found["answer"]
    found = await called(editor, "explain", path=str(file), line=3)
    assert "can run in parallel" in found["answer"]


async def test_tools_write_and_run_only_with_consent(start, tmp_path):
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "b.c"
    file.write_text(LARGE)
    editor = await begin(start, tmp_path / "project")
    edit = {"path": "b.c", "line": 3, "action": "openmp"}
    found = await called(editor, "apply", **edit)
    assert "+    #pragma omp parallel for" in found["answer"] and file.read_text() == LARGE
    found = await called(editor, "apply", **edit, write=True)
    assert "--write" in found["reason"] and file.read_text() == LARGE
    found = await called(editor, "measure", path="b.c", line=3)
    assert "--measure" in found["reason"]
    found = await called(editor, "apply", {"write": True}, **edit, write=True)
    assert "answer" in found and "#pragma omp parallel for" in file.read_text()


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("check", {"path": "../outside.c"}, "is outside of"),
        ("check", {"path": "none.c"}, "none.c"),
        ("explain", {"path": "a.c", "line": "3"}, "`line` cannot be '3'"),
        ("explain", {"path": "a.c"}, "missing a required argument"),
        ("apply", {"path": "a.c", "line": 3, "action": "fly"}, "There is no action 'fly'"),
        ("measure", {"path": "a.c", "line": 3, "sizes": {"n": "many"}}, "`sizes` cannot be"),
        ("format", {}, "invalid choice"),
    ],
)
async def test_tools_refuse_in_words(start, tmp_path, tool, arguments, reason):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.c").write_text(SMALL)
    (tmp_path / "outside.c").write_text(SMALL)
    editor = await begin(start, tmp_path / "project")
    found = await called(editor, tool, {"measure": True}, **arguments)
    assert reason in found["reason"]


async def test_tools_know_of_changes_that_are_not_saved(start, tmp_path):
    (tmp_path / "project").mkdir()
    file = tmp_path / "project" / "b.c"
    file.write_text(LARGE)
    editor = await begin(start, tmp_path / "project")
    editor.open(LARGE + "\nint more;\n", file.as_uri())
    found = await called(editor, "check", path="b.c")
    assert found["answer"].startswith("This is about the file on disk")
    edit = {"path": "b.c", "line": 3, "action": "openmp", "write": True}
    found = await called(editor, "apply", {"write": True}, **edit)
    assert "not saved" in found["reason"] and file.read_text() == LARGE
