"""The documented configurations in real Neovims: diagnostics, hover, hints, edits, code actions.

`nvim` on PATH is always tried; others are those that `$POLYLSP_NEOVIMS` names, separated as in PATH
(`tests/editors/install_neovim.sh` gets them).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PATIENCE = 900
"""Seconds until Neovim is ended: none that works needs nearly as long, on a busy machine either."""

STEPS = (
    "a finding stands where it should after letters that are wide",
    "undone, it is parallel again",
    "undo takes it back in one step",
    "a command lists the rewrites",
    "a finding is ignored",
    "the report lists loops",
)


def neovims() -> list[str]:
    return [each for each in os.environ.get("POLYLSP_NEOVIMS", "").split(os.pathsep) if each]


def version(neovim: str) -> tuple[int, int]:
    told = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.match(r"NVIM v(\d+)\.(\d+)", told)
    assert found is not None
    return int(found[1]), int(found[2])


@pytest.mark.timeout(PATIENCE + 60)
@pytest.mark.parametrize("neovim", ["nvim", *neovims()])
@pytest.mark.parametrize("configuration", ["init.lua", "init-0.11.lua"])
def test_sample_configuration(neovim: str, configuration: str, tmp_path: Path) -> None:
    found = shutil.which(neovim)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{neovim} is not installed")
        pytest.skip(f"{neovim} is not installed")
    if configuration == "init-0.11.lua" and version(found) < (0, 11):
        return  # it says what it is for
    # Building programs takes a while: the oldest and the newest have to do.
    measures = neovim == "nvim" or configuration == "init-0.11.lua"
    result = run(found, ROOT / "samples/nvim" / configuration, tmp_path, measures=measures)
    assert result.returncode == 0, result.stdout + result.stderr
    steps = [*STEPS, "hints tell the verdicts"] if version(found) >= (0, 10) else [*STEPS]
    measuring = ["sizes that the file does not give are asked for", "a measurement is stopped"]
    steps += [*measuring, "a measurement is shown", "sizes are asked for once"] if measures else []
    assert [step for step in steps if f"ok {step}" not in result.stdout] == []


def run(
    neovim: str, configuration: Path, folder: Path, *, measures: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run the steps of neovim.lua, in a separate profile."""
    sample = folder / "jacobi-1d.c"
    shutil.copy(ROOT / "samples/polybench/c/jacobi-1d.c", sample)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        **({"POLYLSP_MEASURES": "1"} if measures else {}),
        **{f"XDG_{name}_HOME": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")},
    }
    script = f"luafile {HERE / 'neovim.lua'}"
    return subprocess.run(
        [neovim, "--headless", "-u", str(configuration), "-i", "NONE", "-n", str(sample), "-c", script],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
