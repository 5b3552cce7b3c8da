"""Emacs with eglot, set up as docs/editor.md says: diagnostics and an action, in batch mode."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SETUP = '(add-to-list \'eglot-server-programs \'((c-mode python-mode) . ("polylsp" "serve")))'
PATIENCE = 900
"""Seconds until Emacs is ended: none that works needs nearly as long, on a busy machine either."""


def test_the_setup_is_the_documented_one() -> None:
    assert SETUP in (HERE / "emacs.el").read_text()
    assert SETUP in (ROOT / "docs/editor.md").read_text()


@pytest.mark.timeout(PATIENCE + 60)
def test_diagnostics_and_an_action(tmp_path: Path) -> None:
    emacs = shutil.which("emacs")
    if emacs is None:
        if os.environ.get("CI") == "true":
            pytest.fail("Emacs is not installed")
        pytest.skip("Emacs is not installed")
    sample = tmp_path / "jacobi-1d.c"
    shutil.copy(ROOT / "samples/polybench/c/jacobi-1d.c", sample)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [emacs, "--batch", "-l", str(HERE / "emacs.el"), str(sample)],
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "ok saved" in result.stdout
    assert "#pragma omp parallel for" in sample.read_text()
