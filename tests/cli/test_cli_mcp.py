"""The tools for coding assistants, by the real protocol over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

PROGRAM = """\
void scale(int n, double *restrict x, const double *restrict y)
{
    for (int i = 0; i < n; i++)
        x[i] = 2 * y[i];
    for (int i = 1; i < n; i++)
        x[i] += x[i - 1];
}
"""


def asked(folder: Path, asks: Callable[[ClientSession], Awaitable[None]], *options: str) -> None:
    """A session with a server for a folder."""

    async def talk() -> None:
        command = ["-m", "polylsp", "mcp", *options, str(folder)]
        parameters = StdioServerParameters(command=sys.executable, args=command)
        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            await asks(session)

    asyncio.run(asyncio.wait_for(talk(), 90))


async def told(session: ClientSession, tool: str, **arguments: object) -> tuple[str, bool]:
    """The text of an answer, and if it is an error."""
    answer = await session.call_tool(tool, arguments)
    text = "\n".join(each.text for each in answer.content if each.type == "text")
    return text, bool(answer.is_error)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.c").write_text(PROGRAM)
    (tmp_path / "outside.c").write_text(PROGRAM)
    (folder / "link.c").symlink_to(tmp_path / "outside.c")
    return folder


def test_an_assistant_checks_explains_and_gets_the_edit_as_a_diff(project: Path) -> None:
    async def asks(session: ClientSession) -> None:
        names = {each.name for each in (await session.list_tools()).tools}
        assert names == {"check", "report", "explain", "actions", "apply", "measure"}
        text, failed = await told(session, "check", path="a.c")
        assert not failed and "a.c:3:5: parallel-loop" in text and "a.c:5:5: sequential-loop" in text
        text, failed = await told(session, "explain", path="a.c", line=5)
        assert not failed and "i = 1 writes x[1], i = 2 reads it" in text
        text, failed = await told(session, "actions", path="a.c", line=3)
        assert not failed and '"action": "openmp"' in text
        text, failed = await told(session, "apply", path="a.c", line=3, action="openmp")
        assert not failed and "+    #pragma omp parallel for" in text

    asked(project, asks)
    assert (project / "a.c").read_text() == PROGRAM


def test_nothing_is_written_run_or_read_without_consent(project: Path) -> None:
    async def asks(session: ClientSession) -> None:
        refused = {
            "writes no files": ("apply", {"path": "a.c", "line": 3, "action": "openmp", "write": True}),
            "runs no programs": ("measure", {"path": "a.c", "line": 3}),
            "is outside of": ("check", {"path": "../outside.c"}),
            "outside of": ("explain", {"path": "link.c", "line": 3}),
            "no action": ("apply", {"path": "a.c", "line": 3, "action": "--write"}),
            "no loop here": ("explain", {"path": "a.c", "line": 1}),
        }
        for words, (tool, arguments) in refused.items():
            text, failed = await told(session, tool, **arguments)
            assert failed and words in text, (tool, text)

    asked(project, asks)
    assert (project / "a.c").read_text() == PROGRAM


def test_an_edit_is_written_with_consent(project: Path) -> None:
    async def asks(session: ClientSession) -> None:
        text, failed = await told(session, "apply", path="a.c", line=3, action="openmp", write=True)
        assert not failed, text

    asked(project, asks, "--write")
    assert "#pragma omp parallel for" in (project / "a.c").read_text()
