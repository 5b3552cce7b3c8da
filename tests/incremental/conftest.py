from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import pytest
from asking import Edited

from polylsp import deciding
from polylsp.frontends.c.expand import expand
from polylsp.languages import c_functions

Edit = Callable[[str], Edited]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edit:
    """Opens a text with a memory that knows of no other text."""
    for query in (expand, c_functions.lowered, deciding.summarised, deciding.decided):
        monkeypatch.setattr(query, "_answers", OrderedDict())

    def open_text(text: str) -> Edited:
        edited = Edited(tmp_path / "edited.c", text)
        edited.asked()
        return edited

    return open_text
