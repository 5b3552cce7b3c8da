from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile import Check, Checked

from polylsp.cli import main


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Check:
    """Checks a file with the given content (bytes as they are), in this process."""
    monkeypatch.chdir(tmp_path)

    def run(content: str | bytes, *options: str, name: str = "bad.c") -> Checked:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        Path(name).write_bytes(data)
        status = main(["check", "--format", "json", *options, name])
        captured = capsys.readouterr()
        assert "internal error" not in captured.err, captured.err
        (found,) = json.loads(captured.out)["files"]
        return Checked(status, found, captured.err)

    return run
