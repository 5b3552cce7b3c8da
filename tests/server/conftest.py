from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest_asyncio
from editor import Editor

Start = Callable[..., Awaitable[Editor]]


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Starts editors with servers; `tmp_path` holds the gates of the fake analysis."""
    editors: list[Editor] = []

    async def start_one(
        capture: str = "nvim-bookworm",
        *command: str,
        settings: Any = None,
        prepare: Callable[[dict[str, Any]], None] | None = None,
    ) -> Editor:
        editor = Editor(capture, settings=settings)
        if prepare is not None:
            prepare(editor.initialize)
        editors.append(editor)
        kept = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        await editor.start(*command, env={"FAKE_GATES": str(tmp_path), **kept})
        return editor

    yield start_one
    for editor in editors:
        await editor.stop()
