from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import Edited, begin_anew

from polylsp.engine import c_files, decisions
from polylsp.frontends.c.environment import expand

Edit = Callable[[str], Edited]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Opens a text with a memory that knows of no other text."""
    for query in (expand, c_files.lowered, decisions.summarised, decisions.decided):
        monkeypatch.setattr(query, "_answers", OrderedDict())

    def open_text(text: str) -> Edited:
        edited = Edited(tmp_path / "edited.c", text)
        edited.asked()
        return edited

    return open_text


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are really analysed."""
    names: list[str] = []
    real = decisions.facts

    def facts(function, calls, wanted, keep):
        names.append(function.name)
        return real(function, calls, wanted, keep)

    begin_anew(monkeypatch)
    monkeypatch.setattr(decisions, "facts", facts)
    return names
