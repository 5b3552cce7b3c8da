"""The real server on hostile texts: it answers, says what it gave up, and stays alive."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hostile import FIRST, LAST, between, function

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from editor import Editor

pytestmark = pytest.mark.asyncio

SERVE = (sys.executable, "-m", "polylsp", "serve")
LOOP = "for (int i = 0; i < n; i++) "

ENDLESS = function(
    "for (int i = 0; i < n; i += 101) for (int j = i; j < n; j += 103) for (int k = j; k < n; k += 107)\n"
    "for (int l = k; l < n; l += 109) for (int p = l; p < n; p += 113) for (int q = p; q < n; q += 127)\n"
    "for (int r = q; r < n; r += 131) for (int s = r; s < n; s += 137)\n"
    "    a[2*i + 3*j + 4*k + 5*l + 6*p + 7*q + 8*r + 9*s] = a[3*i - 4*j - 5*k - 6*l - 7*p - 8*q - 9*r - s];"
)

HOSTILE = {
    "nul": between("\0\0\0"),
    "binary": between("".join(chr(k * 37 % 256) for k in range(50_000))),
    "surrogate": between('const char *s = "\ud800";'),
    "long line": between(f"/* {'x' * 1_000_000} */"),
    "long expression": function(f"{LOOP} a[i] = {'a[i] + ' * 50_000} 1.0;"),
    "many lines": between("\n" * 100_000),
    "opening braces": function("{" * 5000),
    "closing braces": between("}" * 5000),
    "parentheses": function(f"{LOOP} a[i] = {'(' * 20_000}1{')' * 20_000};"),
    "macro bomb": "#define B0 1\n"
    + "".join(f"#define B{k + 1} B{k} + B{k}\n" for k in range(40))
    + function(f"{LOOP} a[i] = B40;"),
    "empty": "",
}


@pytest_asyncio.fixture
async def editor() -> AsyncIterator[Editor]:
    """A session whose functions are stopped after three seconds."""
    session = Editor("nvim-bookworm")
    session.initialize["initializationOptions"] = {"settings": {"max_seconds": 3.0}}
    await session.start(*SERVE)
    yield session
    await session.stop()


async def verdict_codes(editor: Editor, uri: str, version: int = 1) -> dict[int, Any]:
    """The codes of the findings by line, from 1."""
    return {each.range.start.line + 1: each.code for each in await editor.diagnostics(uri, version)}


async def test_every_hostile_text_is_answered_and_edited(editor: Editor) -> None:
    for name, text in HOSTILE.items():
        uri = editor.open(text, uri=f"file:///project/{name.replace(' ', '-')}.c")
        found = await verdict_codes(editor, uri)
        if text:
            assert "parallel-loop" in found.values(), name
            assert "sequential-loop" in found.values(), name
            await editor.hover(uri, 2, 8)
            version = editor.replace(uri, "int i = 0", "int i = 1")
            assert "sequential-loop" in (await verdict_codes(editor, uri, version)).values(), name
        editor.close(uri)
    assert (await editor.execute("polylsp.status"))["health"] == "ok"


async def test_a_nest_without_end_is_given_up_and_the_rest_is_answered(editor: Editor) -> None:
    uri = editor.open(ENDLESS)
    found = await verdict_codes(editor, uri)
    last = ENDLESS[: ENDLESS.index("for (int i = 1;")].count("\n") + 1
    assert (found[3], found[last]) == ("parallel-loop", "sequential-loop")
    assert {code for line, code in found.items() if line not in (3, last)} == {"not-analyzable"}
    given_up = [each for each in await editor.diagnostics(uri, 1) if each.code == "not-analyzable"]
    assert all("took too long" in each.message for each in given_up)
    status = await editor.execute("polylsp.status")
    assert status["health"] == "ok" and status["workerRestarts"] >= 1


async def test_only_a_change_of_its_text_gives_it_another_chance(editor: Editor) -> None:
    uri = editor.open(ENDLESS)
    await verdict_codes(editor, uri)
    while not (status := await editor.execute("polylsp.status"))["quiescent"]:
        pass
    version = editor.replace(uri, FIRST, f"/* unrelated */\n{FIRST}")
    assert "not-analyzable" in (await verdict_codes(editor, uri, version)).values()
    assert (await editor.execute("polylsp.status"))["workerRestarts"] == status["workerRestarts"]
    body = ENDLESS[ENDLESS.index("for (int i = 0; i < n; i += 101)") : ENDLESS.index("\n}\nvoid last")]
    version = editor.replace(uri, body, f"{LOOP} a[i] = 1.0;")
    assert "not-analyzable" not in (await verdict_codes(editor, uri, version)).values()


async def test_a_worker_killed_while_busy_loses_no_answer() -> None:
    editor = Editor("nvim-bookworm")
    await editor.start(*SERVE)
    try:
        busy = editor.open(ENDLESS, uri="file:///project/busy.c")
        other = editor.open(FIRST + LAST, uri="file:///project/other.c")
        pid = None
        while pid is None:
            pid = (await editor.execute("polylsp.status"))["workerPid"]
        os.kill(pid, signal.SIGKILL)
        assert set((await verdict_codes(editor, other)).values()) == {"parallel-loop", "sequential-loop"}
        editor.close(busy)
        assert (await editor.execute("polylsp.status"))["health"] == "ok"
    finally:
        await asyncio.wait_for(editor.stop(), 30)
