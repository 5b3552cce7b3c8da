"""The documented configuration in a real Neovim: diagnostics, hover, edits, code actions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@pytest.fixture
def neovim() -> str:
    found = shutil.which("nvim")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Neovim is not installed")
        pytest.skip("Neovim is not installed")
    return found


def test_sample_configuration(neovim: str, tmp_path: Path) -> None:
    sample = tmp_path / "jacobi-1d.c"
    shutil.copy(ROOT / "samples/polybench/c/jacobi-1d.c", sample)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **{f"XDG_{name}_HOME": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    configuration = str(ROOT / "samples/nvim/init.lua")
    script = f"luafile {HERE / 'neovim.lua'}"
    result = subprocess.run(
        [neovim, "--headless", "-u", configuration, "-i", "NONE", "-n", str(sample), "-c", script],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    for step in ("undone, it is parallel again", "undo takes it back in one step", "a finding is ignored"):
        assert f"ok {step}" in result.stdout
